cfr_fuzz(routes cfr_serve)
cfr_fuzz(serve_endpoint cfr_serve)
cfr_fuzz(serve_get cfr_serve)
