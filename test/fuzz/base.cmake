foreach(name redact time xml)
    cfr_fuzz(${name} cfr_base)
endforeach()
