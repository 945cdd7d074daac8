cfr_fuzz(authority_store cfr_pki)
cfr_fuzz(ca_import cfr_pki)
cfr_fuzz(issuer_store cfr_pki)
cfr_fuzz(objects_answer cfr_objects)
