/* SPDX-License-Identifier: MIT */
/* Output formats: a grant rendered as the bytes of a file. Pure. */
#ifndef CFR_FILES_FORMAT_H
#define CFR_FILES_FORMAT_H

#include "base/grant.h"

#define CFR_FORMAT_OUTPUT_MAX 262144

/* What a format may need besides the grant; strings are borrowed and may be NULL where not configured. */
struct cfr_format_input {
    const char *credential;
    uint64_t generation;
    const struct cfr_grant *grant;
    const char *profile; /* section name, "default" when NULL: letters, digits, `_`, `.`, `-` */
    const char *command; /* aws-config: what credential_process is to be; used when there is no token_path */
    const char *token_path; /* aws-config: web_identity_token_file, with role_arn */
    const char *role_arn;
    const char *session_name;
    const char *region;  /* else the grant's aws_region */
    bool section_header; /* false: only the body lines, for merging into a profile */
};

struct cfr_format {
    const char *name;
    /* Appends to OUT (limit CFR_FORMAT_OUTPUT_MAX). CFR_E_CONFIG if the grant or the input has not what the
     * format needs, naming it, or if a configured value cannot stand in this format; CFR_E_ANSWER if a
     * granted value cannot (a line feed in an ini file). After an error OUT may hold a part. */
    int (*render)(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err);
    bool profile;      /* can be merged as a profile */
    const char *needs; /* a grant field without which it cannot be rendered, or NULL */
    const char *doc;   /* one line for the reference page */
};

/* The table, ends with name == NULL; and the names alone, NULL-terminated, in the same order. */
extern const struct cfr_format cfr_formats[];
extern const char *const cfr_format_names[];
const struct cfr_format *cfr_format_find(struct cfr_view name);
/* The text between the brackets of the section that FORMAT's profile is: `NAME`, or for aws-config `profile
 * NAME`
 * (`default` for the default profile, which NULL means too). CFR_E_CONFIG for a name that not all SDKs take.
 */
#define CFR_FORMAT_SECTION_MAX 80
int cfr_format_section(const struct cfr_format *format, const char *profile, char out[CFR_FORMAT_SECTION_MAX],
                       struct cfr_err *err);

#endif
