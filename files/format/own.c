/* SPDX-License-Identifier: MIT */
/* Tells a file that credfresh can have written from one of another program, by its form and its keys. */
#include "files/format/format.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 64

/* True if KEY is one of the words of LIST. */
static bool is_listed(const char *list, struct cfr_view key)
{
    while (*list != '\0') {
        size_t n = strcspn(list, " ");

        if (n == key.n && memcmp(list, key.p, n) == 0)
            return true;
        list += n + strspn(list + n, " ");
    }
    return false;
}

/* As the format `env` writes the fields of a grant. */
static bool is_variable(struct cfr_view key)
{
    char name[WORD_MAX];

    if (key.n >= sizeof name)
        return false;
    for (size_t i = 0; i < key.n; i++)
        name[i] = (char)(key.p[i] >= 'A' && key.p[i] <= 'Z' ? key.p[i] - 'A' + 'a' : '?');
    for (size_t i = 0; i < key.n; i++)
        name[i] = key.p[i] == '_' || (key.p[i] >= '0' && key.p[i] <= '9') ? key.p[i] : name[i];
    return is_listed("aws_credential_expiration aws_default_region", (struct cfr_view){name, key.n}) ||
           cfr_grant_find_name((struct cfr_view){name, key.n}) != NULL;
}

static bool is_section(const struct cfr_format *format, const struct cfr_format_input *in, struct cfr_view line)
{
    char name[CFR_FORMAT_SECTION_MAX] = "Global";
    char head[CFR_FORMAT_SECTION_MAX + 2];

    if (format->profile && cfr_format_section(format, in->profile, name, NULL) != 0)
        return false;
    (void)snprintf(head, sizeof head, "[%s]", name);
    return cfr_view_is(line, head);
}

/* Ini files, variables, and YAML of one line for each key. credfresh writes one section or cloud, whose name is in
 * quotes, and no comments. */
static bool has_lines(const struct cfr_format *format, const struct cfr_format_input *in, const char *keys,
                      struct cfr_view there)
{
    bool named = false;
    struct cfr_view line;

    while (cfr_view_line(&there, &line)) {
        size_t n = 0;
        struct cfr_view key;

        line = cfr_view_trim(line);
        if (line.n == 0)
            continue;
        if (line.p[0] == '[' || line.p[0] == '"') {
            if (named || (line.p[0] == '[' && !is_section(format, in, line)))
                return false;
            named = true;
            continue;
        }
        while (n < line.n && line.p[n] != '=' && line.p[n] != ':')
            n++;
        key = cfr_view_trim((struct cfr_view){line.p, n});
        if (n == line.n || (keys[0] != '\0' ? !is_listed(keys, key) : !is_variable(key)))
            return false;
    }
    return true;
}

static bool has_members(const char *keys, const struct cfr_json *value)
{
    for (const struct cfr_json *m = cfr_json_first(value); m != NULL; m = cfr_json_next(m)) {
        if (cfr_json_is_object(value) && !is_listed(keys, cfr_json_key(m)))
            return false;
        if (!cfr_view_is(cfr_json_key(m), "fields") && !has_members(keys, m))
            return false;
    }
    return true;
}

static bool has_json(const char *keys, struct cfr_view there)
{
    struct cfr_json *doc = NULL;
    bool own = cfr_json_parse(there, &doc, NULL) == 0 && cfr_json_is_object(doc) && has_members(keys, doc);

    cfr_json_free(doc);
    return own;
}

/* Blocks of one LABEL, and nothing around them. */
static bool has_blocks(const char *label, struct cfr_view there)
{
    char begin[WORD_MAX];
    char end[WORD_MAX];
    struct cfr_view line;
    bool inside = false;

    (void)snprintf(begin, sizeof begin, "-----BEGIN %s-----", label);
    (void)snprintf(end, sizeof end, "-----END %s-----", label);
    while (cfr_view_line(&there, &line)) {
        line = cfr_view_trim(line);
        if (!inside && line.n != 0 && !cfr_view_is(line, begin))
            return false;
        inside = inside ? !cfr_view_is(line, end) : line.n != 0;
    }
    return !inside;
}

static bool is_word(struct cfr_view there)
{
    there = cfr_view_trim(there);
    return cfr_view_printable(there) && memchr(there.p, ' ', there.n) == NULL;
}

/* The text of TEMPLATE before its first field. */
static bool begins_as(const char *template_text, struct cfr_view there)
{
    size_t n = strcspn(template_text, "$");

    return there.n >= n && memcmp(there.p, template_text, n) == 0;
}

bool cfr_format_is_own(const struct cfr_format *format, const struct cfr_format_input *in, struct cfr_view there)
{
    const char *own = format->own != NULL ? format->own : "word";
    const char *keys = own + strcspn(own, " ");

    keys += strspn(keys, " ");
    if (cfr_view_trim(there).n == 0 || format->merge != NULL)
        return true;
    if (strncmp(own, "lines", 5) == 0)
        return has_lines(format, in, keys, there);
    if (strncmp(own, "json", 4) == 0)
        return has_json(keys, there);
    if (strncmp(own, "pem", 3) == 0)
        return has_blocks(keys, there);
    if (strcmp(own, "template") == 0)
        return begins_as(in->template_text != NULL ? in->template_text : "", there);
    return strcmp(own, "any") == 0 || is_word(there);
}
