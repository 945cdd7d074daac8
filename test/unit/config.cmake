cfr_unit_test(config cfr_agent_cmd)
cfr_unit_test(config_mistakes cfr_agent_cmd)
cfr_unit_test(config_publish cfr_agent_cmd)
cfr_unit_test(config_load cfr_agent_cmd)
cfr_unit_test(config_image cfr_agent_cmd)
cfr_unit_test(config_serve cfr_agent_cmd)
cfr_unit_test(config_ack cfr_agent_cmd)
# This one stands in for malloc, so that libyaml's allocations fail, too.
cfr_unit_test(config_memory cfr_agent_cmd)
