cfr_fuzz(config cfr_agent_cmd)
