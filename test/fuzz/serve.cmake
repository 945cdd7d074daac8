cfr_fuzz(routes cfr_serve)
