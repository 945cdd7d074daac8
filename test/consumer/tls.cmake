# A server and its clients, and a project that uses what was installed.
if(TARGET libcredfresh_tls)
    set(here ${CMAKE_CURRENT_LIST_DIR})
    add_executable(tls_server ${PROJECT_SOURCE_DIR}/libcredfresh/examples/tls_server.c)
    add_executable(tls_rotation ${here}/tls_rotation.c)
    foreach(program tls_server tls_rotation)
        target_link_libraries(${program} PRIVATE libcredfresh_tls cfr_flags)
    endforeach()
    add_test(NAME consumer_tls_rotation COMMAND tls_rotation $<TARGET_FILE:tls_server>)
    set(flag -g) # no generator expression: the list of sanitizers has commas
    if(CFR_SANITIZE)
        set(flag -fsanitize=${CFR_SANITIZE})
    endif()
    add_test(NAME consumer_tls_install COMMAND sh ${here}/tls_install.sh ${PROJECT_BINARY_DIR}/libcredfresh ${CMAKE_C_COMPILER}
        ${flag})
endif()
