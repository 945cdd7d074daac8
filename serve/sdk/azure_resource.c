/* SPDX-License-Identifier: MIT */
/* Resources and the tokens for them. */
#include "serve/sdk/azure_resource_private.h"

#include <string.h>

#define DEFAULT_SUFFIX "/.default"

static struct cfr_view without(struct cfr_view text, const char *end)
{
    size_t n = strlen(end);

    if (text.n > n && cfr_view_is((struct cfr_view){text.p + text.n - n, n}, end))
        text.n -= n;
    return text;
}

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* As URIs are compared: without case up to the end of the authority; what is no URI is a GUID. */
static bool same_uri(struct cfr_view a, struct cfr_view b)
{
    ptrdiff_t scheme = cfr_view_find(a, "://");
    const char *slash = scheme >= 0 ? memchr(a.p + scheme + 3, '/', a.n - (size_t)scheme - 3) : NULL;
    size_t end = slash != NULL ? (size_t)(slash - a.p) : a.n;

    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (i < end ? lower(a.p[i]) != lower(b.p[i]) : a.p[i] != b.p[i])
            return false;
    }
    return true;
}

/* The token that field INDEX holds and the resource it is for; false if the field is no token. */
static bool token_at(const struct cfr_grant *g, size_t index, struct cfr_view *resource, struct cfr_view *token)
{
    static const char prefix[] = CFR_FIELD_AZURE_ACCESS_TOKEN;
    const struct cfr_grant_field *f = &g->fields[index];
    struct cfr_view scope;

    if (strcmp(f->name, prefix) == 0)
        scope = cfr_grant_get(g, CFR_FIELD_AZURE_SCOPE);
    else if (strncmp(f->name, prefix, sizeof prefix - 1) == 0 && f->name[sizeof prefix - 1] == ':')
        scope = cfr_view_of(f->name + sizeof prefix);
    else
        return false;
    *resource = without(scope, DEFAULT_SUFFIX);
    *token = cfr_secret_view(&f->value);
    return resource->n != 0 && token->n != 0;
}

/* A token whose resource is WANTED to the letter, or, with LOOSE, but for a slash at the end. */
static bool find_token(const struct cfr_grant *g, struct cfr_view wanted, bool loose, struct cfr_view *token)
{
    struct cfr_view resource;

    if (loose)
        wanted = without(wanted, "/");
    for (size_t i = 0; i < g->field_count; i++) {
        if (token_at(g, i, &resource, token) && same_uri(loose ? without(resource, "/") : resource, wanted))
            return true;
    }
    return false;
}

bool cfr_sdk_azure_resource_token(const struct cfr_grant *g, struct cfr_view resource, struct cfr_view *token)
{
    struct cfr_view wanted = without(resource, DEFAULT_SUFFIX);

    return find_token(g, wanted, false, token) || find_token(g, wanted, true, token);
}

void cfr_sdk_azure_resource_list(const struct cfr_grant *g, const char *before, struct cfr_str *out)
{
    struct cfr_view resource, token;

    for (size_t i = 0; i < g->field_count; i++) {
        if (!token_at(g, i, &resource, &token))
            continue;
        cfr_str_addz(out, before);
        cfr_str_add(out, resource);
        before = ", ";
    }
}
