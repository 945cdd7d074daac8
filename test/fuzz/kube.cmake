cfr_fuzz(kube_answer cfr_kube)
cfr_fuzz(kube_credential cfr_kube)
