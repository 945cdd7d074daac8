cfr_fuzz(mint_aws cfr_rotation)
cfr_fuzz(mint_answer cfr_rotation)
cfr_fuzz(mint_journal cfr_rotation)
cfr_fuzz(mint_found cfr_rotation)
