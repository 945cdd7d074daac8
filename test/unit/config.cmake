cfr_unit_test(config cfr_agent)
cfr_unit_test(config_mistakes cfr_agent)
cfr_unit_test(config_publish cfr_agent)
cfr_unit_test(config_load cfr_agent)
cfr_unit_test(config_image cfr_agent)
cfr_unit_test(config_serve cfr_agent)
cfr_unit_test(config_ack cfr_agent)
# This one stands in for malloc, so that libyaml's allocations fail, too.
cfr_unit_test(config_memory cfr_agent)
