/* SPDX-License-Identifier: MIT */
/* Rules across the fields of what is served on local addresses. */
#include "agent/config/validate_private.h"

#include "agent/config/config.h"
#include "base/str.h"
#include "wire/cidr.h"

#include <arpa/inet.h>
#include <string.h>

/* An address that other machines cannot reach: loopback, or one of those that the SDKs take credentials from. */
static bool is_local(const char *host, int family)
{
    static const char *const known[] = {"::1",          "169.254.170.2",   "169.254.170.23",
                                        "fd00:ec2::23", "169.254.169.254", "fd00:ec2::254"};

    if (family == AF_INET && strncmp(host, "127.", 4) == 0)
        return true;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(host, known[i]) == 0)
            return true;
    }
    return false;
}

static int check_port(const char *text, struct cfr_err *err)
{
    int64_t port;

    if (strspn(text, "0123456789") == strlen(text) && text[0] != '0' && cfr_view_int(cfr_view_of(text), &port) &&
        port <= 65535)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "listen: \"%.16s\" is not a port that clients can connect to; write one from 1 to 65535", text);
}

/* In the one spelling that inet_ntop gives it, so that two endpoints with one address are seen to have one. */
static int check_listen(const char *listen, struct cfr_err *err)
{
    const char *colon = strrchr(listen, ':');
    bool six = listen[0] == '[';
    char host[INET6_ADDRSTRLEN] = "";
    char again[INET6_ADDRSTRLEN] = "";
    unsigned char address[sizeof(struct in6_addr)];
    int family = six ? AF_INET6 : AF_INET;
    size_t n = colon != NULL ? (size_t)(colon - listen) : 0;

    if (colon == NULL || n < 2 || (six && colon[-1] != ']') || n - (six ? 2 : 0) >= sizeof host)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "listen: %.64s is not an address with a port; write one such as \"127.0.0.1:9911\" or \"[::1]:9911\"",
            listen);
    memcpy(host, listen + (six ? 1 : 0), n - (six ? 2 : 0));
    if (inet_pton(family, host, address) != 1 || inet_ntop(family, address, again, sizeof again) == NULL)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "listen: %.64s is not a literal address; write one such as \"127.0.0.1:9911\" or \"[::1]:9911\"", listen);
    if (!is_local(again, family))
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "listen: %s may be reached by other machines, which must never get credentials; write 127.0.0.1, [::1] "
            "or one of 169.254.170.2, 169.254.170.23, [fd00:ec2::23], 169.254.169.254, [fd00:ec2::254]",
            again);
    if (strcmp(host, again) != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "listen: %s is written %s%s%s in short; write that", host, six ? "[" : "",
                           again, six ? "]" : "");
    return check_port(colon + 1, err);
}

/* Other machines are served only where they show a secret. */
static int check_from(const struct cfr_config_endpoint *e, struct cfr_err *err)
{
    const struct cfr_sdk_shape *shape;
    struct cfr_cidr network;
    void *config;
    int rc;

    for (size_t i = 0; i < e->from.count; i++) {
        rc = cfr_cidr_parse(e->from.items[i], &network, err);
        if (rc != 0)
            return cfr_err_prefix(err, "from: \"%.64s\"", e->from.items[i]);
    }
    for (size_t i = 0; e->from.count != 0 && (shape = cfr_config_shape_at(e, i, &config)) != NULL; i++) {
        if (shape->client_secret == NULL || shape->client_secret(config) == NULL)
            return cfr_err_set(
                err, CFR_E_CONFIG,
                "from: clients of `%s` show no secret, so every process of these networks would have the "
                "credentials; remove `from`, or serve `aws_container` or `azure_app_service` here and `%s` "
                "at another address without `from`",
                shape->name, shape->name);
    }
    return 0;
}

int cfr_config_rules_endpoint(const void *node, struct cfr_err *err)
{
    const struct cfr_config_endpoint *e = node;
    struct cfr_str keys = {.limit = 256};
    struct cfr_variant v;
    int rc;

    if (e->shapes.count != 0) {
        rc = check_listen(e->listen, err);
        return rc != 0 ? rc : check_from(e, err);
    }
    for (size_t i = 0; (v = cfr_sdk_shape_variant(i)).key != NULL; i++)
        cfr_str_addf(&keys, "%s`%s`", i != 0 ? ", " : "", v.key);
    rc =
        cfr_err_set(err, CFR_E_CONFIG, "serves nothing; write one or more of %s", keys.p != NULL ? keys.p : "its keys");
    cfr_str_free(&keys);
    return rc;
}
