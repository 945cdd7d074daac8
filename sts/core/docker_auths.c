/* SPDX-License-Identifier: MIT */
/* Logins to container registries. */
#include "sts/core/docker_auths.h"

#include "base/base64.h"
#include "base/str.h"
#include "base/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX 255 /* without the port */

/* Labels with a dot between them, each with hyphens only inside. */
static bool name_ok(struct cfr_view name)
{
    for (size_t i = 0; i < name.n; i++) {
        bool edge = i == 0 || i + 1 == name.n || name.p[i - 1] == '.' || name.p[i + 1] == '.';

        if (!cfr_view_is_alnum(name.p[i]) && (edge || (name.p[i] != '-' && name.p[i] != '.')))
            return false;
    }
    return name.n != 0 && name.n <= HOST_MAX;
}

static bool literal_ok(struct cfr_view inside)
{
    for (size_t i = 0; i < inside.n; i++) {
        if (inside.p[i] == '\0' || strchr("0123456789abcdefABCDEF:.", inside.p[i]) == NULL)
            return false;
    }
    return inside.n >= 2 && inside.n <= 45 && memchr(inside.p, ':', inside.n) != NULL;
}

static bool port_ok(struct cfr_view digits)
{
    int64_t port;

    return digits.n != 0 && digits.n <= 5 && digits.p[0] >= '1' && digits.p[0] <= '9' && cfr_view_int(digits, &port) &&
           port <= 65535;
}

bool cfr_docker_auths_host_ok(struct cfr_view host)
{
    const char *end = host.n != 0 && host.p[0] == '[' ? memchr(host.p, ']', host.n) : NULL;
    struct cfr_view name = {host.p, end != NULL ? (size_t)(end - host.p) + 1 : 0};
    bool port;

    while (name.n < host.n && host.p[name.n] != ':')
        name.n++;
    port = name.n < host.n;
    if (port && !port_ok((struct cfr_view){host.p + name.n + 1, host.n - name.n - 1}))
        return false;
    if (end != NULL)
        return end == name.p + name.n - 1 && literal_ok((struct cfr_view){name.p + 1, name.n - 2});
    /* Without a dot or a port it would be the first part of a name in the default registry. */
    return name_ok(name) && (port || memchr(name.p, '.', name.n) != NULL || cfr_view_is(name, "localhost"));
}

bool cfr_docker_auths_host_in(struct cfr_view host, const char *const *domains)
{
    const char *colon = host.n != 0 ? memchr(host.p, ':', host.n) : NULL;

    if (!cfr_docker_auths_host_ok(host))
        return false;
    host.n = colon != NULL ? (size_t)(colon - host.p) : host.n;
    for (; *domains != NULL; domains++) {
        size_t n = strlen(*domains);
        bool below = **domains == '.';

        if (host.n >= n && (below || host.n == n) && strncasecmp(host.p + (host.n - n), *domains, n) == 0)
            return true;
    }
    return false;
}

static int check(const char *host, struct cfr_view user, struct cfr_view password, struct cfr_err *err)
{
    if (!cfr_docker_auths_host_ok(cfr_view_of(host)))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "registries: \"%.80s\" is not a registry's host; write what precedes the first `/` of an image's name",
            host);
    if (user.n == 0 || memchr(user.p, ':', user.n) != NULL)
        return cfr_err_set(err, CFR_E_ANSWER, "the registry's user name is empty or holds a colon");
    return password.n != 0 ? 0 : cfr_err_set(err, CFR_E_ANSWER, "the registry's password is empty");
}

/* `"HOST":`, which a value cannot hold, because there the quotes are escaped. */
static int append_key(struct cfr_secret *to, const char *host, struct cfr_err *err)
{
    int rc = cfr_secret_append_json(to, cfr_view_of(host), err);

    return rc != 0 ? rc : cfr_secret_append_str(to, ":", err);
}

static int append_login(struct cfr_secret *to, struct cfr_view user, struct cfr_view password, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = to, .err = err, .exact = true};
    struct cfr_secret plain;
    struct cfr_secret encoded;
    struct cfr_writer p = {.secret = &plain, .err = err};

    cfr_secret_init(&plain, CFR_GRANT_VALUE_MAX);
    cfr_secret_init(&encoded, CFR_GRANT_VALUE_MAX);
    cfr_writer_view(&p, user);
    cfr_writer_text(&p, ":");
    cfr_writer_view(&p, password);
    w.rc = p.rc != 0 ? p.rc : cfr_base64_encode(cfr_secret_view(&plain), &encoded, err);
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "username", user);
    cfr_writer_string(&w, "password", password);
    cfr_writer_string(&w, "auth", cfr_secret_view(&encoded));
    cfr_writer_close(&w);
    cfr_secret_free(&plain);
    cfr_secret_free(&encoded);
    return w.rc;
}

static int append(struct cfr_secret *all, const char *host, struct cfr_view user, struct cfr_view password,
                  struct cfr_err *err)
{
    struct cfr_secret key;
    int rc;

    cfr_secret_init(&key, HOST_MAX + 16);
    rc = append_key(&key, host, err);
    if (rc == 0 && all->len != 0 && cfr_view_find(cfr_secret_view(all), key.p) >= 0)
        rc = cfr_err_set(err, CFR_E_CONFIG, "registries: %.80s occurs twice; each host can have only one login", host);
    if (rc == 0 && all->len != 0)
        rc = cfr_secret_append_str(all, ",", err);
    if (rc == 0)
        rc = cfr_secret_append(all, cfr_secret_view(&key), err);
    cfr_secret_free(&key);
    return rc != 0 ? rc : append_login(all, user, password, err);
}

int cfr_docker_auths_add(struct cfr_grant *g, const char *host, struct cfr_view user, struct cfr_view password,
                         struct cfr_err *err)
{
    struct cfr_secret all;
    int rc = check(host, user, password, err);

    cfr_secret_init(&all, CFR_GRANT_VALUE_MAX);
    if (rc == 0)
        rc = cfr_secret_append(&all, cfr_grant_get(g, CFR_FIELD_REGISTRY_AUTHS), err);
    if (rc == 0)
        rc = append(&all, host, user, password, err);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_REGISTRY_AUTHS, cfr_secret_view(&all), err);
    cfr_secret_free(&all);
    return rc;
}

/* The next JSON string in REST, without its quotes; REST is then what follows it. */
static bool next_string(struct cfr_view *rest, struct cfr_view *text)
{
    size_t start = 0;
    size_t end;

    while (start < rest->n && rest->p[start] != '"')
        start++;
    for (end = start + 1; end < rest->n && rest->p[end] != '"'; end++)
        end += rest->p[end] == '\\' ? 1 : 0;
    if (end >= rest->n)
        return false;
    *text = (struct cfr_view){rest->p + start + 1, end - start - 1};
    *rest = (struct cfr_view){rest->p + end + 1, rest->n - end - 1};
    return true;
}

bool cfr_docker_auths_next_secret(struct cfr_view *auths, struct cfr_view *secret)
{
    struct cfr_view key = {NULL, 0};
    struct cfr_view text;

    while (next_string(auths, &text)) {
        if (auths->n != 0 && auths->p[0] == ':') {
            key = text;
        } else if (cfr_view_is(key, "password") || cfr_view_is(key, "auth")) {
            *secret = text;
            return true;
        }
    }
    return false;
}

int cfr_docker_auths_default(struct cfr_strings *list, struct cfr_view host, const char *example, struct cfr_err *err)
{
    char **items;

    if (list->count != 0)
        return 0;
    items = calloc(1, sizeof *items);
    if (items != NULL)
        items[0] = cfr_str_dup(host.n != 0 ? host : cfr_view_of(example));
    if (items == NULL || items[0] == NULL) {
        free(items);
        return cfr_err_nomem(err);
    }
    free(list->items);
    list->items = items;
    list->count = 1;
    return 0;
}
