cfr_fuzz(mint_aws cfr_mint)
cfr_fuzz(mint_answer cfr_mint)
cfr_fuzz(mint_journal cfr_mint)
