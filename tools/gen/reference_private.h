/* SPDX-License-Identifier: MIT */
/* Configuration reference, made from the tables of the parser. Texts are Markdown within a line: `code` and **term**.
 */
#ifndef CFR_TOOLS_GEN_REFERENCE_PRIVATE_H
#define CFR_TOOLS_GEN_REFERENCE_PRIVATE_H

#include "agent/config/config.h"

#define CFR_GEN_REFERENCE_SECTIONS_MAX 128
#define CFR_GEN_REFERENCE_PATH_MAX     128

/* Every mapping has one section, in the order in which it is first met. */
struct cfr_gen_reference {
    struct cfr_gen_reference_section {
        const struct cfr_table *table;
        char path[CFR_GEN_REFERENCE_PATH_MAX]; /* the keys that lead there; "" for the root */
    } items[CFR_GEN_REFERENCE_SECTIONS_MAX];
    size_t count;
};

/* The name of page I of the reference in Markdown: the index, docs/NAME.md, then docs/configuration/NAME.md. NULL after
 * the last. */
const char *cfr_gen_reference_page(size_t i);
/* Appends page PAGE, which must exist. */
void cfr_gen_reference_markdown(struct cfr_str *out, size_t page);
/* The manual page. */
void cfr_gen_reference_man(struct cfr_str *out);

void cfr_gen_reference_collect(struct cfr_gen_reference *all);
/* How values are written. */
extern const char cfr_gen_reference_notation[];
/* Appends what F takes: "integer, 1 to 1024". */
void cfr_gen_reference_add_value(struct cfr_str *out, const struct cfr_field *f);
/* Appends the section of the keys of F's mapping, if that is not the section of its own path. */
void cfr_gen_reference_add_place(struct cfr_str *out, const struct cfr_gen_reference *all,
                                 const struct cfr_gen_reference_section *parent, const struct cfr_field *f);

#endif
