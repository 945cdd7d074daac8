/* SPDX-License-Identifier: MIT */
/* Output formats of single fields: one value alone, and a template that names several. */
#include "files/format/format_private.h"

#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>

#define OPEN      "${"
#define NAME_MAX_ 640 /* of a field with its scope */

const char *const cfr_format_values_names[] = {"line", "json", "raw", NULL};

/* What is known of the grant as a whole. */
enum fact { CREDENTIAL, GENERATION, IDENTITY, ISSUED, EXPIRES, EXPIRES_AT, NO_FACT };
static const char *const facts[] = {"credential", "generation", "identity", "issued", "expires", "expires_at", NULL};

static enum fact find_fact(struct cfr_view name)
{
    int i = 0;

    while (facts[i] != NULL && !cfr_view_is(name, facts[i]))
        i++;
    return (enum fact)i;
}

static int check_name(struct cfr_view name, struct cfr_err *err)
{
    char shown[96];
    const char *like;

    if (name.n < NAME_MAX_ && (find_fact(name) != NO_FACT || cfr_grant_find_name(name) != NULL))
        return 0;
    like = cfr_grant_suggest_name(name);
    (void)cfr_view_show(name, shown, sizeof shown);
    if (like != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "there is no field %s; did you mean %s?", shown, like);
    return cfr_err_set(err, CFR_E_CONFIG, "there is no field %s; `credfresh reference fields` lists them", shown);
}

int cfr_format_field_check(const char *name, struct cfr_err *err)
{
    return check_name(cfr_view_of(name), err);
}

/* ---- template ---- */

/* Cuts what is next off *REST: *TEXT as it is, and then the field *NAME, which is empty at the end. */
static int cut_piece(struct cfr_view *rest, struct cfr_view *text, struct cfr_view *name, struct cfr_err *err)
{
    ptrdiff_t at = cfr_view_find(*rest, OPEN);
    ptrdiff_t end;

    *name = (struct cfr_view){NULL, 0};
    *text = (struct cfr_view){rest->p, at < 0 ? rest->n : (size_t)at};
    *rest = (struct cfr_view){rest->p + text->n, rest->n - text->n};
    if (at < 0)
        return 0;
    rest->p += sizeof OPEN - 1;
    rest->n -= sizeof OPEN - 1;
    if (text->n != 0 && text->p[text->n - 1] == '$') {
        text->n += sizeof OPEN - 1;
        return 0;
    }
    end = cfr_view_find(*rest, "}");
    if (end < 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "a field begins with ${ and does not end with }; write $${ for the text ${ itself");
    *name = (struct cfr_view){rest->p, (size_t)end};
    *rest = (struct cfr_view){rest->p + end + 1, rest->n - (size_t)end - 1};
    return name->n != 0 ? 0 : cfr_err_set(err, CFR_E_CONFIG, "${} names no field");
}

/* The text of a piece; of `$${` without the first character. */
static void write_text(struct cfr_writer *p, struct cfr_view text)
{
    size_t n = sizeof OPEN; /* with the character before it */
    bool escaped = text.n >= n && cfr_view_is((struct cfr_view){text.p + text.n - n, n}, "$" OPEN);

    cfr_writer_view(p, (struct cfr_view){text.p, escaped ? text.n - n : text.n});
    if (escaped)
        cfr_writer_text(p, OPEN);
}

int cfr_format_template_check(const char *text, struct cfr_err *err)
{
    struct cfr_view rest = cfr_view_of(text);
    struct cfr_view piece;
    struct cfr_view name;

    while (rest.n != 0) {
        const char *before = rest.p;
        int rc = cut_piece(&rest, &piece, &name, err);
        int line = 1;

        if (rc == 0 && name.n != 0)
            rc = check_name(name, err);
        for (const char *c = text; rc != 0 && c < before + piece.n; c++)
            line += *c == '\n';
        if (rc != 0)
            return cfr_err_prefix(err, "line %d of it", line);
    }
    return 0;
}

bool cfr_format_template_field(struct cfr_view *rest, struct cfr_view *name)
{
    struct cfr_view text;

    while (rest->n != 0 && cut_piece(rest, &text, name, NULL) == 0) {
        if (name->n != 0 && find_fact(*name) == NO_FACT)
            return true;
    }
    return false;
}

/* ---- values ---- */

static struct cfr_view write_fact(const struct cfr_format_input *in, enum fact fact, char number[CFR_TIME_RFC3339_MAX])
{
    const struct cfr_grant *g = in->grant;
    int64_t at_s = fact == ISSUED ? g->issued_s : g->expires_s;

    if (fact == CREDENTIAL)
        return cfr_view_of(in->credential);
    if (fact == IDENTITY)
        return cfr_view_of(g->identity);
    if (fact == GENERATION)
        (void)snprintf(number, CFR_TIME_RFC3339_MAX, "%" PRIu64, in->generation);
    else if (at_s == 0)
        return (struct cfr_view){NULL, 0};
    else if (fact == EXPIRES_AT)
        (void)snprintf(number, CFR_TIME_RFC3339_MAX, "%" PRId64, at_s);
    else
        (void)cfr_time_format(at_s, number);
    return cfr_view_of(number);
}

static int find_value(const struct cfr_format_input *in, struct cfr_view name, char number[CFR_TIME_RFC3339_MAX],
                      struct cfr_view *value, struct cfr_err *err)
{
    const struct cfr_grant_name *row = cfr_grant_find_name(name);
    enum fact fact = find_fact(name);
    char field[NAME_MAX_ + 1];
    int rc = check_name(name, err);

    if (rc != 0)
        return rc;
    if (fact != NO_FACT) {
        *value = write_fact(in, fact, number);
    } else {
        (void)snprintf(field, sizeof field, "%s%.*s", row->field != cfr_grant_public_name(row->field) ? "." : "",
                       (int)name.n, name.p);
        *value = cfr_format_get(in, field);
        /* The key of a Secret may be empty. */
        if (cfr_view_starts(name, CFR_FIELD_SECRET_PREFIX) && cfr_grant_has(in->grant, field))
            return 0;
    }
    if (value->n != 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "this credential has no value for %.*s", (int)name.n, name.p);
}

static bool is_unicode(struct cfr_view text)
{
    size_t n = 1;

    while (text.n != 0 && n != 0) {
        n = cfr_view_utf8_len(text);
        text = (struct cfr_view){text.p + n, text.n - n};
    }
    return n != 0;
}

/* The inside of a JSON string. */
static void write_escaped(struct cfr_writer *p, struct cfr_view value)
{
    struct cfr_secret quoted;
    struct cfr_writer w = {.secret = &quoted, .err = p->err, .rc = p->rc};

    cfr_secret_init(&quoted, CFR_FORMAT_OUTPUT_MAX);
    cfr_writer_string(&w, NULL, value.n != 0 ? value : cfr_view_of(""));
    p->rc = w.rc;
    if (w.rc == 0)
        cfr_writer_view(p, (struct cfr_view){quoted.p + 1, quoted.len - 2});
    cfr_secret_free(&quoted);
}

static void write_value(struct cfr_writer *p, const struct cfr_format_input *in, struct cfr_view name)
{
    char number[CFR_TIME_RFC3339_MAX];
    struct cfr_view value = {NULL, 0};

    if (p->rc == 0)
        p->rc = find_value(in, name, number, &value, p->err);
    if (p->rc != 0)
        return;
    if (in->values == CFR_FORMAT_VALUES_LINE && !cfr_view_is_text(value))
        p->rc = cfr_err_set(p->err, CFR_E_ANSWER,
                            "the value of %.*s is not one line of text; write `values: json` to have it escaped, or "
                            "`values: raw` for a file that may hold it as it is",
                            (int)name.n, name.p);
    else if (in->values == CFR_FORMAT_VALUES_JSON && !is_unicode(value))
        p->rc =
            cfr_err_set(p->err, CFR_E_ANSWER, "the value of %.*s is not text (UTF-8), so it cannot be written as JSON",
                        (int)name.n, name.p);
    else if (in->values == CFR_FORMAT_VALUES_JSON)
        write_escaped(p, value);
    else
        cfr_writer_view(p, value);
}

int cfr_format_template(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_view rest = cfr_view_of(in->template_text);
    struct cfr_writer p = {.secret = out, .err = err, .exact = true};
    struct cfr_view text;
    struct cfr_view name;

    if (!cfr_format_given(in->template_text))
        return cfr_err_set(err, CFR_E_CONFIG, "the format template needs `template`, the text with its fields");
    while (rest.n != 0 && p.rc == 0) {
        p.rc = cut_piece(&rest, &text, &name, err);
        if (p.rc == 0)
            write_text(&p, text);
        if (p.rc == 0 && name.n != 0)
            write_value(&p, in, name);
    }
    return p.rc;
}

int cfr_format_field(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    char number[CFR_TIME_RFC3339_MAX];
    struct cfr_view value;
    int rc;

    if (!cfr_format_given(in->field))
        return cfr_err_set(err, CFR_E_CONFIG, "the format field needs `field`, the name of one");
    rc = find_value(in, cfr_view_of(in->field), number, &value, err);
    return rc != 0 ? rc : cfr_secret_append(out, value, err);
}
