cfr_fuzz(authority_store cfr_ca)
cfr_fuzz(issuer_store cfr_ca)
