include_guard()
if(TARGET libcredfresh_tls_static)
    cfr_fuzz(reload_tls libcredfresh_tls_static)
endif()
