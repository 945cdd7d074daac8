/* SPDX-License-Identifier: MIT */
/* Check of the environment's proxy variables: what other programs take there and libcurl ignores. */
#include "agent/http/client.h"

#include "agent/loop/env.h"
#include "base/finding.h"
#include "base/view.h"

#include <string.h>

#define CHECK "machine.proxy"

static void check_url(const struct cfr_finding_sink *sink, const char *name, const char *value)
{
    static const char *const schemes[] = {"http", "https", "socks4", "socks4a", "socks5", "socks5h"};
    const char *end = strstr(value, "://");
    bool known = end == NULL;

    for (size_t i = 0; !known && i < sizeof schemes / sizeof schemes[0]; i++)
        known = cfr_view_is_nocase((struct cfr_view){value, (size_t)(end - value)}, schemes[i]);
    if (!known)
        cfr_finding_report(sink, CFR_FINDING_WARNING, CHECK, "write http://HOST:PORT, or socks5h://HOST:PORT",
                           "%s: a proxy must be http, https or socks", name);
}

/* One entry of a list of hosts that are reached without a proxy. */
static void check_entry(const struct cfr_finding_sink *sink, const char *name, struct cfr_view entry)
{
    const char *colon = entry.n != 0 ? memchr(entry.p, ':', entry.n) : NULL;
    const char *last = entry.n != 0 ? memrchr(entry.p, ':', entry.n) : NULL;
    const char *why = NULL;
    char shown[96];

    if (cfr_view_find(entry, "://") >= 0)
        why = "write the host, not a URL";
    else if (cfr_view_find(entry, "*") >= 0)
        why = "a `*` is known only as the whole list; for a domain write .DOMAIN";
    else if (colon != NULL && colon == last && entry.p[0] != '[')
        why = "write the host without a port";
    else if (cfr_view_find(entry, ";") >= 0)
        why = "separate the hosts with commas";
    if (why != NULL)
        cfr_finding_report(sink, CFR_FINDING_WARNING, CHECK, why, "%s: \"%s\" matches no host: %s", name,
                           cfr_view_show(entry, shown, sizeof shown), why);
}

static void check_list(const struct cfr_finding_sink *sink, const char *name, const char *value)
{
    while (*value != '\0' && strcmp(value, "*") != 0) {
        size_t n = strcspn(value, ", ");

        if (n != 0)
            check_entry(sink, name, (struct cfr_view){value, n});
        value += n;
        value += strspn(value, ", ");
    }
}

void cfr_http_check_proxy(const struct cfr_finding_sink *sink)
{
    static const char *const urls[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    const char *lower = cfr_env_get("no_proxy");
    const char *upper = cfr_env_get("NO_PROXY");
    size_t count = 0;

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        const char *value = cfr_env_get(urls[i]);

        if (value == NULL)
            continue;
        check_url(sink, urls[i], value);
        count += i != 0;
    }
    if (count == 0 && cfr_env_get("HTTP_PROXY") != NULL)
        cfr_finding_report(sink, CFR_FINDING_WARNING, CHECK, "write https_proxy",
                           "HTTP_PROXY has no effect: requests to clouds are https, so write https_proxy");
    if (count == 0)
        return;
    if (lower != NULL)
        check_list(sink, "no_proxy", lower);
    else if (upper != NULL)
        check_list(sink, "NO_PROXY", upper);
    if (lower != NULL && upper != NULL && strcmp(lower, upper) != 0)
        cfr_finding_report(sink, CFR_FINDING_WARNING, CHECK, "write the same into both",
                           "NO_PROXY differs from no_proxy, which is used: write the same into both");
}
