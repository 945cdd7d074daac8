cfr_fuzz(xml cfr_base)
