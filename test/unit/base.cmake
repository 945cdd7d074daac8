foreach(subject base64 err field hash log refusal scrub str time view xml)
    cfr_unit_test(base_${subject} cfr_base)
endforeach()
# These look at memory when it is freed, and let allocations fail.
foreach(subject grant json secret wipealloc)
    cfr_unit_test(base_${subject} cfr_base -Wl,--wrap=free -Wl,--wrap=malloc)
endforeach()
# The one about copies lets allocations fail.
target_link_options(test_base_field PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=strdup)
