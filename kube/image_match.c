/* SPDX-License-Identifier: MIT */
/* Patterns of image names. */
#include "kube/image_match_private.h"

#include <string.h>

#define PATTERN_MAX 1024

/* HOST[:PORT][/PATH]. An IPv6 address keeps its brackets. */
struct reference {
    struct cfr_view host;
    struct cfr_view port;
    struct cfr_view path; /* with its first slash */
    bool has_port;
};

static bool holds_only(struct cfr_view text, const char *others)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!cfr_view_is_alnum(text.p[i]) && (text.p[i] == '\0' || strchr(others, text.p[i]) == NULL))
            return false;
    }
    return true;
}

static struct reference split_reference(struct cfr_view text)
{
    const char *slash = text.n != 0 ? memchr(text.p, '/', text.n) : NULL;
    struct cfr_view before = {text.p, slash != NULL ? (size_t)(slash - text.p) : text.n};
    const char *colon = before.n != 0 ? memrchr(before.p, ':', before.n) : NULL;
    const char *bracket = before.n != 0 ? memrchr(before.p, ']', before.n) : NULL;
    struct reference p = {.host = before, .path = {slash, text.n - before.n}};

    if (colon != NULL && (bracket == NULL || colon > bracket)) {
        p.has_port = true;
        p.host.n = (size_t)(colon - before.p);
        p.port = (struct cfr_view){colon + 1, before.n - p.host.n - 1};
    }
    return p;
}

static bool is_port(struct cfr_view port)
{
    int64_t n;

    return port.n != 0 && port.n <= 5 && port.p[0] >= '0' && port.p[0] <= '9' && cfr_view_int(port, &n) && n >= 1 &&
           n <= 65535;
}

static bool is_ipv6(struct cfr_view host)
{
    struct cfr_view inner;

    if (host.n < 4 || host.p[0] != '[' || host.p[host.n - 1] != ']')
        return false;
    inner = (struct cfr_view){host.p + 1, host.n - 2};
    return holds_only(inner, ":.") && cfr_view_find(inner, ":") >= 0;
}

/* Names with at least one character between the dots. */
static bool is_name(struct cfr_view host)
{
    for (size_t i = 0; i < host.n; i++) {
        if (host.p[i] == '.' && (i == 0 || i + 1 == host.n || host.p[i + 1] == '.'))
            return false;
    }
    return host.n != 0 && holds_only(host, "-_.*");
}

static int check_reference(const struct reference *p, struct cfr_err *err)
{
    if (p->host.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "it has no host");
    if (p->has_port && !is_port(p->port))
        return cfr_err_set(err, CFR_E_CONFIG, "its port must be a number from 1 to 65535");
    if (p->host.p[0] == '[' && !p->has_port)
        return cfr_err_set(err, CFR_E_CONFIG, "the kubelet takes an IPv6 address only with a port, as in [::1]:5000");
    if (p->host.p[0] == '[' ? !is_ipv6(p->host) : !is_name(p->host))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "its host may have letters, digits, `-`, `_`, single dots between parts, and `*`");
    if (p->path.n != 0 && memchr(p->path.p, '*', p->path.n) != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "an asterisk is allowed in the host only, not in the path");
    if (!holds_only(p->path, "/-._~:+"))
        return cfr_err_set(err, CFR_E_CONFIG, "its path holds a character that no image name has");
    return 0;
}

static int check_pattern(struct cfr_view pattern, struct reference *out, struct cfr_err *err)
{
    if (pattern.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "it is empty");
    if (pattern.n > PATTERN_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "it is longer than %d characters", PATTERN_MAX);
    if (cfr_view_find(pattern, "://") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG, "leave out everything before the host: write registry.example.net");
    *out = split_reference(pattern);
    return check_reference(out, err);
}

int cfr_k8s_image_match_check(const char *pattern, struct cfr_err *err)
{
    struct reference p = {.has_port = false};

    return check_pattern(cfr_view_of(pattern), &p, err);
}

/* Matches one part of the host; linear, because it only ever backtracks to the last asterisk. */
static bool part_matches(struct cfr_view glob, struct cfr_view text)
{
    size_t g = 0;
    size_t t = 0;
    size_t star = SIZE_MAX;
    size_t mark = 0;

    while (t < text.n) {
        if (g < glob.n && glob.p[g] == '*') {
            star = g++;
            mark = t;
        } else if (g < glob.n && glob.p[g] == text.p[t]) {
            g++;
            t++;
        } else if (star != SIZE_MAX) {
            g = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (g < glob.n && glob.p[g] == '*')
        g++;
    return g == glob.n;
}

/* Cuts the part before the next dot off REST. False when there is none left. */
static bool next_part(struct cfr_view *rest, struct cfr_view *part)
{
    const char *dot;

    if (rest->p == NULL)
        return false;
    dot = rest->n != 0 ? memchr(rest->p, '.', rest->n) : NULL;
    *part = (struct cfr_view){rest->p, dot != NULL ? (size_t)(dot - rest->p) : rest->n};
    *rest = dot != NULL ? (struct cfr_view){dot + 1, rest->n - part->n - 1} : (struct cfr_view){NULL, 0};
    return true;
}

/* The kubelet compares the text between the brackets, if a port follows. */
static struct cfr_view strip_brackets(const struct reference *p)
{
    struct cfr_view host = p->host;

    if (p->has_port && host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        host = (struct cfr_view){host.p + 1, host.n - 2};
    return host;
}

static bool host_matches(struct cfr_view glob, struct cfr_view host)
{
    struct cfr_view g = {NULL, 0};
    struct cfr_view h;

    for (;;) {
        bool more = next_part(&glob, &g);

        if (next_part(&host, &h) != more)
            return false;
        if (!more)
            return true;
        if (!part_matches(g, h))
            return false;
    }
}

/* True if the registry of IMAGE is PATTERN's; the paths are those of *P and *TARGET. */
static bool registry_matches(const char *pattern, struct cfr_view image, struct reference *p, struct reference *target)
{
    *target = split_reference(image);
    if (check_pattern(cfr_view_of(pattern), p, NULL) != 0)
        return false;
    /* A user before the host, a query or an escape would be read otherwise by the kubelet; no image has them.
     */
    if (target->host.n == 0 || memchr(target->host.p, '@', target->host.n) != NULL ||
        !holds_only(target->path, "/-._~:+@") || !holds_only(target->host, "-_.[]:"))
        return false;
    if (p->has_port != target->has_port || !cfr_view_eq(p->port, target->port))
        return false;
    return host_matches(strip_brackets(p), strip_brackets(target));
}

bool cfr_k8s_image_match(const char *pattern, struct cfr_view image)
{
    struct reference p = {.has_port = false};
    struct reference target;

    return registry_matches(pattern, image, &p, &target) && target.path.n >= p.path.n &&
           (p.path.n == 0 || memcmp(target.path.p, p.path.p, p.path.n) == 0);
}

bool cfr_k8s_image_match_by_path(const char *pattern, struct cfr_view image)
{
    struct reference p = {.has_port = false};
    struct reference target;

    return registry_matches(pattern, image, &p, &target) && p.path.n > 1;
}

static bool has_capital(struct cfr_view text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] >= 'A' && text.p[i] <= 'Z')
            return true;
    }
    return false;
}

struct cfr_view cfr_k8s_image_match_registry(struct cfr_view image)
{
    const char *slash = image.n != 0 ? memchr(image.p, '/', image.n) : NULL;
    struct cfr_view first = {image.p, slash != NULL ? (size_t)(slash - image.p) : 0};

    if (first.n == 0 || (cfr_view_find(first, ".") < 0 && cfr_view_find(first, ":") < 0 &&
                         !cfr_view_is(first, "localhost") && !has_capital(first)))
        return cfr_view_of("docker.io");
    return first;
}
