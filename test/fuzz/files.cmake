cfr_fuzz(profile cfr_files)
cfr_fuzz(format cfr_files)
