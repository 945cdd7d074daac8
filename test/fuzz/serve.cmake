cfr_fuzz(routes cfr_serve_sdk cfr_serve_api)
cfr_fuzz(serve_endpoint cfr_serve_sdk cfr_serve_api)
cfr_fuzz(serve_get cfr_serve_sdk cfr_serve_api)
