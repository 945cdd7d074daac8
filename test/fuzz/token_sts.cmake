cfr_fuzz(claims cfr_token)
cfr_fuzz(xml cfr_sts)
cfr_fuzz(aws_answer cfr_sts)
cfr_fuzz(aws_endpoint cfr_sts)
