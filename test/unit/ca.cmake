foreach(subject authority cert issuer life memory)
    cfr_unit_test(ca_${subject} cfr_pki PkgConfig::CRYPTO)
endforeach()
target_link_options(test_ca_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
