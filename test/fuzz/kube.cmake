cfr_fuzz(kube_answer cfr_kube)
cfr_fuzz(kube_ca_bundle cfr_kube)
cfr_fuzz(kube_credential cfr_kube)
cfr_fuzz(kube_pod_certificate cfr_kube)
