/* SPDX-License-Identifier: MIT */
/* Reading the values of a kubeconfig's mappings. */
#include "agent/kube/kubeconfig_parse_private.h"

#include "agent/kube/yaml_mask_private.h"
#include "base/base64.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int cfr_kube_refuse(const struct cfr_kube_reader *r, int line, const char *key, const char *fmt, ...)
{
    char where[256] = "";
    char what[384];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (r->context != NULL && r->kind != NULL)
        (void)snprintf(where, sizeof where, "context \"%.64s\", %s \"%.64s\": ", r->context, r->kind, r->name);
    else if (r->context != NULL)
        (void)snprintf(where, sizeof where, "context \"%.64s\": ", r->context);
    return cfr_err_set(r->err, CFR_E_CONFIG, "line %d: %s%s%s%s", line, where, key != NULL ? key : "",
                       key != NULL ? ": " : "", what);
}

int cfr_kube_no_memory(const struct cfr_kube_reader *r)
{
    return cfr_err_nomem(r->err);
}

bool cfr_kube_is(const struct cfr_kube_reader *r, const struct cfr_yaml_node *node, const char *text)
{
    struct cfr_view rest = node->text;
    struct cfr_view piece;
    size_t left = strlen(text);

    if (node->kind != CFR_YAML_SCALAR)
        return false;
    while (cfr_kube_yaml_mask_next(&rest, r->original, &piece)) {
        if (piece.n > left || memcmp(piece.p, text, piece.n) != 0)
            return false;
        text += piece.n;
        left -= piece.n;
    }
    return left == 0;
}

const struct cfr_yaml_node *cfr_kube_get(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map,
                                         const char *key)
{
    if (map == NULL || map->kind != CFR_YAML_MAP)
        return NULL;
    for (const struct cfr_yaml_node *k = map->child; k != NULL; k = k->next->next) {
        if (cfr_kube_is(r, k, key))
            return cfr_yaml_is_null(k->next) ? NULL : k->next;
    }
    return NULL;
}

int cfr_kube_collection(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key,
                        enum cfr_yaml_kind kind, const struct cfr_yaml_node **out)
{
    *out = cfr_kube_get(r, map, key);
    if (*out != NULL && (*out)->kind != kind)
        return cfr_kube_refuse(r, (*out)->line, key, kind == CFR_YAML_LIST ? "must be a list" : "must be a mapping");
    return 0;
}

int cfr_kube_text(const struct cfr_kube_reader *r, const struct cfr_yaml_node *node, const char *key,
                  struct cfr_secret *out)
{
    struct cfr_view rest = node->text;
    struct cfr_view piece;
    int rc = 0;

    if (node->kind != CFR_YAML_SCALAR)
        return cfr_kube_refuse(r, node->line, key, "must be text");
    while (rc == 0 && cfr_kube_yaml_mask_next(&rest, r->original, &piece))
        rc = cfr_secret_append(out, piece, r->err);
    return rc == CFR_E_LIMIT ? cfr_kube_refuse(r, node->line, key, "is longer than %zu bytes", out->limit) : rc;
}

/* True for one line without control characters, fit for a header, a path or an error text. */
static bool is_line(struct cfr_view text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
            return false;
    }
    return text.n != 0 && cfr_view_eq(cfr_view_trim(text), text);
}

int cfr_kube_secret(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key,
                    struct cfr_secret *out)
{
    const struct cfr_yaml_node *node = cfr_kube_get(r, map, key);
    size_t before = out->len;
    int rc;

    if (node == NULL || (node->kind == CFR_YAML_SCALAR && node->text.n == 0))
        return 0;
    rc = cfr_kube_text(r, node, key, out);
    if (rc == 0 && !is_line((struct cfr_view){out->p + before, out->len - before}))
        rc = cfr_kube_refuse(r, node->line, key, "must be one line of text, without blanks around it");
    return rc;
}

int cfr_kube_string(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key, char **out)
{
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, 65536);
    rc = cfr_kube_secret(r, map, key, &text);
    if (rc == 0 && text.len != 0) {
        *out = cfr_str_dup(cfr_secret_view(&text));
        if (*out == NULL)
            rc = cfr_kube_no_memory(r);
    }
    cfr_secret_free(&text);
    return rc;
}

char *cfr_kube_resolve(const struct cfr_kube_reader *r, const char *name)
{
    struct cfr_str s = {.limit = 131072};
    const char *slash = strrchr(r->path, '/');

    while (name[0] == '.' && name[1] == '/')
        name += 2;
    if (name[0] != '/' && slash != NULL)
        cfr_str_add(&s, (struct cfr_view){r->path, (size_t)(slash - r->path) + 1});
    cfr_str_addz(&s, name);
    if (s.failed)
        cfr_str_free(&s);
    return s.p;
}

int cfr_kube_path(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key, char **out)
{
    char *name = NULL;
    int rc = cfr_kube_string(r, map, key, &name);

    if (rc == 0 && name != NULL) {
        *out = cfr_kube_resolve(r, name);
        if (*out == NULL)
            rc = cfr_kube_no_memory(r);
    }
    free(name);
    return rc;
}

bool cfr_kube_is_bool(const struct cfr_kube_reader *r, const struct cfr_yaml_node *node, bool *out)
{
    static const char *const words[] = {"y",  "Y",  "yes",  "Yes",  "YES",  "n",     "N",     "no",
                                        "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE",
                                        "on", "On", "ON",   "off",  "Off",  "OFF"};

    for (size_t i = 0; !node->quoted && i < sizeof words / sizeof words[0]; i++) {
        if (cfr_kube_is(r, node, words[i])) {
            *out = strpbrk(words[i], "yYtT") != NULL || strcasecmp(words[i], "on") == 0;
            return true;
        }
    }
    return false;
}

int cfr_kube_bool(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key, bool *out)
{
    const struct cfr_yaml_node *node = cfr_kube_get(r, map, key);

    if (node == NULL)
        return 0;
    return cfr_kube_is_bool(r, node, out) ? 0 : cfr_kube_refuse(r, node->line, key, "must be true or false");
}

int cfr_kube_data(const struct cfr_kube_reader *r, const struct cfr_yaml_node *map, const char *key,
                  struct cfr_secret *out)
{
    const struct cfr_yaml_node *node = cfr_kube_get(r, map, key);
    struct cfr_secret text;
    size_t n = 0;
    int rc;

    if (node == NULL || (node->kind == CFR_YAML_SCALAR && node->text.n == 0))
        return 0;
    cfr_secret_init(&text, CFR_KUBE_VALUE_MAX);
    cfr_secret_init(out, CFR_KUBE_VALUE_MAX);
    rc = cfr_kube_text(r, node, key, &text);
    /* It may be folded over several lines. */
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] != ' ' && text.p[i] != '\t' && text.p[i] != '\r' && text.p[i] != '\n')
            text.p[n++] = text.p[i];
    }
    if (rc == 0) {
        rc = cfr_base64_decode((struct cfr_view){text.p, n}, out, NULL);
        if (rc != 0 && rc != CFR_E_NOMEM)
            rc = cfr_kube_refuse(r, node->line, key,
                                 cfr_view_find(cfr_secret_view(&text), "-----BEGIN") >= 0 ? "is PEM, not its base64"
                                                                                          : "is not base64");
        else if (rc != 0)
            rc = cfr_kube_no_memory(r);
        else if (cfr_view_find(cfr_secret_view(out), "-----BEGIN ") < 0)
            rc = cfr_kube_refuse(r, node->line, key, "is not the base64 of a text in PEM form");
    }
    cfr_secret_free(&text);
    return rc;
}
