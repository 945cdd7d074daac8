cfr_fuzz(kubeconfig cfr_agent)
