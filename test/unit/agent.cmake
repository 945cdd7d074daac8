foreach(subject credential timers record)
    cfr_unit_test(agent_${subject} cfr_agent)
endforeach()
