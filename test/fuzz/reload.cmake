cfr_fuzz(reload_expiry libcredfresh_static)
cfr_fuzz(reload_mount libcredfresh_static)
include(reload_tls.cmake OPTIONAL)
