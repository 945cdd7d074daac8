/* SPDX-License-Identifier: MIT */
/* Writer of JSON documents and plain lines. */
#include "base/writer.h"

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

static void write_escaped(struct cfr_writer *w, struct cfr_view text)
{
    if (w->rc != 0)
        return;
    if (text.p == NULL)
        cfr_writer_text(w, "null");
    else if (w->secret != NULL)
        w->rc = cfr_secret_append_json(w->secret, text, w->err);
    else
        cfr_str_add_json(w->str, text);
}

void cfr_writer_key(struct cfr_writer *w, const char *key)
{
    if (w->comma)
        cfr_writer_text(w, ",");
    if (key != NULL) {
        write_escaped(w, cfr_view_of(key));
        cfr_writer_text(w, ":");
    }
    w->comma = true;
}

static void open_container(struct cfr_writer *w, const char *key, bool array)
{
    cfr_writer_key(w, key);
    cfr_writer_text(w, array ? "[" : "{");
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
    cfr_writer_text(w, (w->arrays & 1) != 0 ? "]" : "}");
    w->arrays >>= 1;
    w->comma = true;
}

void cfr_writer_string(struct cfr_writer *w, const char *key, struct cfr_view value)
{
    cfr_writer_key(w, key);
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
    cfr_writer_key(w, key);
    cfr_writer_text(w, text);
}

void cfr_writer_count(struct cfr_writer *w, const char *key, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    cfr_writer_key(w, key);
    cfr_writer_text(w, text);
}

void cfr_writer_bool(struct cfr_writer *w, const char *key, bool value)
{
    cfr_writer_key(w, key);
    cfr_writer_text(w, value ? "true" : "false");
}
