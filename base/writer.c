/* SPDX-License-Identifier: MIT */
/* Writer of JSON documents and plain lines. */
#include "base/writer.h"

#include "base/view_private.h"

#include <inttypes.h>
#include <stdio.h>

void cfr_writer_view(struct cfr_writer *w, struct cfr_view text)
{
    if (w->rc != 0)
        return;
    if (w->secret != NULL)
        w->rc = cfr_secret_append(w->secret, text, w->err);
    else
        cfr_str_add(w->str, text);
}

void cfr_writer_text(struct cfr_writer *w, const char *text)
{
    cfr_writer_view(w, cfr_view_of(text));
}

/* Sets TO to TEXT with U+FFFD for each byte that is no UTF-8. */
static int replace_bytes(struct cfr_view text, struct cfr_secret *to, struct cfr_err *err)
{
    int rc = 0;

    while (rc == 0 && text.n != 0) {
        size_t n = cfr_view_utf8_prefix(text);

        rc = cfr_secret_append(to, (struct cfr_view){text.p, n}, err);
        if (rc == 0 && n < text.n) {
            rc = cfr_secret_append_str(to, "\xef\xbf\xbd", err);
            n++;
        }
        text = (struct cfr_view){text.p + n, text.n - n};
    }
    return rc;
}

static void write_escaped(struct cfr_writer *w, struct cfr_view text)
{
    struct cfr_secret valid;

    if (w->rc != 0)
        return;
    if (text.p == NULL) {
        cfr_writer_text(w, "null");
    } else if (w->str != NULL) {
        cfr_str_add_json(w->str, text);
    } else if (w->exact || cfr_view_is_utf8(text)) {
        w->rc = cfr_secret_append_json(w->secret, text, w->err);
    } else {
        cfr_secret_init(&valid, w->secret->limit);
        w->rc = replace_bytes(text, &valid, w->err);
        if (w->rc == 0)
            w->rc = cfr_secret_append_json(w->secret, cfr_secret_view(&valid), w->err);
        cfr_secret_free(&valid);
    }
}

static void write_char(struct cfr_writer *w, char c)
{
    cfr_writer_view(w, (struct cfr_view){&c, 1});
}

static void begin_value(struct cfr_writer *w)
{
    if (w->comma)
        write_char(w, ',');
    w->comma = true;
}

void cfr_writer_key(struct cfr_writer *w, struct cfr_view key)
{
    begin_value(w);
    write_escaped(w, key);
    write_char(w, ':');
    w->comma = false;
}

static void begin_member(struct cfr_writer *w, const char *key)
{
    if (key != NULL)
        cfr_writer_key(w, cfr_view_of(key));
    begin_value(w);
}

static void open_container(struct cfr_writer *w, const char *key, bool array)
{
    begin_member(w, key);
    write_char(w, array ? '[' : '{');
    w->arrays = w->arrays << 1 | (array ? 1 : 0);
    w->comma = false;
}

void cfr_writer_object(struct cfr_writer *w, const char *key)
{
    open_container(w, key, false);
}

void cfr_writer_array(struct cfr_writer *w, const char *key)
{
    open_container(w, key, true);
}

void cfr_writer_close(struct cfr_writer *w)
{
    write_char(w, (w->arrays & 1) != 0 ? ']' : '}');
    w->arrays >>= 1;
    w->comma = true;
}

void cfr_writer_string(struct cfr_writer *w, const char *key, struct cfr_view value)
{
    begin_member(w, key);
    write_escaped(w, value);
}

void cfr_writer_optional(struct cfr_writer *w, const char *key, struct cfr_view value)
{
    if (value.n != 0)
        cfr_writer_string(w, key, value);
}

void cfr_writer_number(struct cfr_writer *w, const char *key, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, value);
    begin_member(w, key);
    cfr_writer_text(w, text);
}

void cfr_writer_count(struct cfr_writer *w, const char *key, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    begin_member(w, key);
    cfr_writer_text(w, text);
}

void cfr_writer_bool(struct cfr_writer *w, const char *key, bool value)
{
    begin_member(w, key);
    cfr_writer_text(w, value ? "true" : "false");
}

void cfr_writer_raw(struct cfr_writer *w, const char *key, struct cfr_view value)
{
    begin_member(w, key);
    cfr_writer_view(w, value);
}
