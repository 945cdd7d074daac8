# Shapes of the Kubernetes API.
foreach(subject exec image match memory name secret status token)
    cfr_unit_test(kube_${subject} cfr_kube)
    target_compile_definitions(test_kube_${subject} PRIVATE CFR_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/../data")
endforeach()
target_link_options(test_kube_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
