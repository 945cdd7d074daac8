cfr_fuzz(kubeconfig cfr_agent_cmd)
foreach(name ack doctor_mount http_head minter_store record)
    cfr_fuzz(${name} cfr_agent_cmd)
endforeach()
