/* SPDX-License-Identifier: MIT */
/* List of the mistakes in a configuration. */
#include "agent/bind/diagnostics.h"

#include <stdio.h>
#include <string.h>

#define PATH_SHOWN_MAX 200
#define KEY_MAX        63
#define KEY_CHARS      "abcdefghijklmnopqrstuvwxyz0123456789_."

void cfr_config_diagnostics_add(struct cfr_config_diagnostics *p, int line, const char *fmt, ...)
{
    struct cfr_config_diagnostic *item;
    va_list ap;

    if (p->count++ >= CFR_CONFIG_DIAGNOSTICS_MAX)
        return;
    item = &p->items[p->count - 1];
    item->line = line;
    va_start(ap, fmt);
    (void)vsnprintf(item->text, sizeof item->text, fmt, ap);
    va_end(ap);
    /* It may repeat what the file holds. */
    (void)cfr_view_show(cfr_view_of(item->text), item->text, sizeof item->text);
}

/* Sets *LINE to that of KEY in the mapping below NODE that begins on line FROM. */
static bool find_key_line(const struct cfr_yaml_node *node, int from, const char *key, int *line)
{
    if (node->kind == CFR_YAML_MAP && node->line == from && cfr_yaml_get(node, key, line) != NULL)
        return true;
    if (node->kind == CFR_YAML_SCALAR)
        return false;
    for (const struct cfr_yaml_node *child = node->child; child != NULL; child = child->next) {
        if (find_key_line(child, from, key, line))
            return true;
    }
    return false;
}

/* "a.b: c: ..." names a, b and c; the last that is there counts. */
static void locate(struct cfr_config_diagnostic *item, const struct cfr_yaml_node *root)
{
    const char *text = item->text;
    int from = item->line;
    const char *end;

    while ((end = strstr(text, ": ")) != NULL) {
        size_t n = (size_t)(end - text);
        const char *dot = memrchr(text, '.', n);
        const char *last = dot != NULL ? dot + 1 : text;
        char key[KEY_MAX + 1];

        if (strspn(text, KEY_CHARS) == n && (size_t)(end - last) < sizeof key) {
            (void)snprintf(key, sizeof key, "%.*s", (int)(end - last), last);
            (void)find_key_line(root, from, key, &item->line);
        } else if (text != item->text) {
            return;
        }
        text = end + 2;
    }
}

void cfr_config_diagnostics_locate(struct cfr_config_diagnostics *p, const struct cfr_yaml_node *root)
{
    for (size_t i = 0; i < p->count && i < CFR_CONFIG_DIAGNOSTICS_MAX; i++) {
        if (p->items[i].line != 0)
            locate(&p->items[i], root);
    }
}

/* Stable, in place, and for at most CFR_CONFIG_DIAGNOSTICS_MAX items. */
static void sort(struct cfr_config_diagnostics *p, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t j = i; j > 0 && p->items[j - 1].line > p->items[j].line; j--) {
            struct cfr_config_diagnostic swap = p->items[j];

            p->items[j] = p->items[j - 1];
            p->items[j - 1] = swap;
        }
    }
}

static void set_first(const struct cfr_config_diagnostic *item, const char *path, struct cfr_err *err)
{
    size_t n = strlen(path);
    bool cut = n > PATH_SHOWN_MAX;
    const char *end = cut ? path + (n - PATH_SHOWN_MAX) : path;

    if (item->line != 0)
        (void)cfr_err_set(err, CFR_E_CONFIG, "%s%s:%d: %s", cut ? "..." : "", end, item->line, item->text);
    else
        (void)cfr_err_set(err, CFR_E_CONFIG, "%s%s: %s", cut ? "..." : "", end, item->text);
}

int cfr_config_diagnostics_report(struct cfr_config_diagnostics *p, const char *path, struct cfr_str *all,
                                  struct cfr_err *err)
{
    size_t n = p->count < CFR_CONFIG_DIAGNOSTICS_MAX ? p->count : CFR_CONFIG_DIAGNOSTICS_MAX;

    if (p->nomem)
        return cfr_err_nomem(err);
    if (n == 0)
        return 0;
    sort(p, n);
    set_first(&p->items[0], path, err);
    for (size_t i = 0; i < n && all != NULL; i++) {
        if (p->items[i].line != 0)
            cfr_str_addf(all, "%s:%d: %s\n", path, p->items[i].line, p->items[i].text);
        else
            cfr_str_addf(all, "%s: %s\n", path, p->items[i].text);
    }
    if (p->count > n && all != NULL)
        cfr_str_addf(all, "%s: %zu more; fix these first\n", path, p->count - n);
    return CFR_E_CONFIG;
}
