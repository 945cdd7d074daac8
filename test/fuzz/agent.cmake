cfr_fuzz(kubeconfig cfr_agent)
foreach(name ack doctor_mount http_head minter_store record)
    cfr_fuzz(${name} cfr_agent)
endforeach()
