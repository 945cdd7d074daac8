cfr_fuzz(profile cfr_files cfr_files_format)
cfr_fuzz(format cfr_files cfr_files_format)
