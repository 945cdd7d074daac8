include_guard()
# libcredfresh-tls, through its shared library.
if(TARGET libcredfresh_tls)
    foreach(subject tls tls_peer tls_memory)
        cfr_unit_test(reload_${subject} libcredfresh_tls)
    endforeach()
endif()
