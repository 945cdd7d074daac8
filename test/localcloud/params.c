/* SPDX-License-Identifier: MIT */
/* Parameters of an AWS query-protocol request: a decoded form, and the rules a value must keep. */
#include "params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMS = 2000, MOST_MEMBERS = 1000 };

static bool add_pair(struct lc_params *out, const char *text, size_t len)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals == NULL ? len : (size_t)(equals - text);
    struct lc_param *grown = NULL;
    struct lc_param pair = {0};

    if (len == 0) {
        return true;
    }
    if (out->count >= MOST_PARAMS || memchr(text, '\0', len) != NULL) {
        return false;
    }
    if ((out->count & (out->count + 1)) == 0) { /* full at 0, 1, 3, 7, ... */
        grown = realloc(out->at, (2 * out->count + 1) * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        out->at = grown;
    }
    pair.name = strndup(text, name_len);
    pair.value = equals == NULL ? strdup("") : strndup(equals + 1, len - name_len - 1);
    if (pair.name == NULL || pair.value == NULL || !lc_text_unpercent(pair.name, true) ||
        !lc_text_unpercent(pair.value, true) || lc_text_points(pair.name) < 0 || lc_text_points(pair.value) < 0) {
        free(pair.name);
        free(pair.value);
        return false;
    }
    out->at[out->count++] = pair;
    return true;
}

bool lc_params_read(const char *text, size_t len, struct lc_params *out)
{
    *out = (struct lc_params){0};
    return lc_params_add(text, len, out);
}

bool lc_params_add(const char *text, size_t len, struct lc_params *out)
{
    const char *end = text + len;

    while (len > 0 && text <= end) {
        const char *stop = memchr(text, '&', (size_t)(end - text));
        if (stop == NULL) {
            stop = end;
        }
        if (!add_pair(out, text, (size_t)(stop - text))) {
            lc_params_free(out);
            return false;
        }
        text = stop + 1;
    }
    return true;
}

void lc_params_free(struct lc_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        free(params->at[i].name);
        free(params->at[i].value);
    }
    free(params->at);
    *params = (struct lc_params){0};
}

const char *lc_params_get(const struct lc_params *params, const char *name)
{
    for (size_t i = 0; i < params->count; i++) {
        if (strcmp(params->at[i].name, name) == 0) {
            return params->at[i].value;
        }
    }
    return NULL;
}

const char *lc_params_member(const struct lc_params *params, const char *list, unsigned n, const char *suffix)
{
    char name[128] = "";

    (void)snprintf(name, sizeof name, "%s.member.%u%s", list, n, suffix);
    return lc_params_get(params, name);
}

unsigned lc_params_members(const struct lc_params *params, const char *list, const char *suffix)
{
    unsigned count = 0;

    while (count < MOST_MEMBERS && lc_params_member(params, list, count + 1, suffix) != NULL) {
        count++;
    }
    return count;
}

void lc_checks_add(struct lc_checks *checks, const char *member, const char *value, const char *constraint)
{
    const char *quote = value == NULL ? "" : "'";

    lc_buf_format(&checks->text, "%sValue %s%.600s%s at '%s' failed to satisfy constraint: %s",
                  checks->count == 0 ? "" : "; ", quote, value == NULL ? "null" : value, quote, member, constraint);
    checks->count++;
}

static void add_limit(struct lc_checks *checks, const struct lc_rule *rule, const char *shown, const char *side,
                      long limit)
{
    char text[96] = "";

    (void)snprintf(text, sizeof text, "Member must have length %s than or equal to %ld", side, limit);
    lc_checks_add(checks, rule->member, shown, text);
}

void lc_checks_value(struct lc_checks *checks, const struct lc_rule *rule, const char *value)
{
    const char *shown = rule->secret ? "***" : value;
    long points = value == NULL ? 0 : lc_text_points(value);

    if (value == NULL) {
        if (rule->required) {
            lc_checks_add(checks, rule->member, NULL, "Member must not be null");
        }
        return;
    }
    if (points < rule->min) {
        add_limit(checks, rule, shown, "greater", rule->min);
    }
    if (rule->max > 0 && points > rule->max) {
        add_limit(checks, rule, shown, "less", rule->max);
    }
    if (rule->extra != NULL && !lc_text_only(value, rule->extra)) {
        char text[160] = "";
        (void)snprintf(text, sizeof text, "Member must satisfy regular expression pattern: %s", rule->pattern);
        lc_checks_add(checks, rule->member, shown, text);
    }
}

void lc_checks_params(struct lc_checks *checks, const struct lc_params *params, const struct lc_rule rules[],
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lc_checks_value(checks, &rules[i], lc_params_get(params, rules[i].param));
    }
}

char *lc_checks_message(const struct lc_checks *checks)
{
    return lc_text_format("%u validation error%s detected: %s", checks->count, checks->count == 1 ? "" : "s",
                          checks->text.at == NULL ? "" : checks->text.at);
}

void lc_checks_free(struct lc_checks *checks)
{
    lc_buf_free(&checks->text);
    checks->count = 0;
}
