/* SPDX-License-Identifier: MIT */
/* What follows from the settings of an OpenStack exchange: its way of authentication, its URL, its steps. */
#include "sts/openstack/openstack_private.h"

const char *const cfr_openstack_interfaces[] = {"public", "internal", "admin", NULL};

int cfr_openstack_interface_of(struct cfr_view text)
{
    if (text.n > 3 && cfr_view_is_nocase((struct cfr_view){text.p + text.n - 3, 3}, "URL"))
        text.n -= 3;
    for (int i = 0; cfr_openstack_interfaces[i] != NULL; i++) {
        if (cfr_view_is_nocase(text, cfr_openstack_interfaces[i]))
            return i;
    }
    return -1;
}

enum cfr_openstack_way cfr_openstack_way_of(const struct cfr_openstack *c)
{
    bool application = c->application_credential_id != NULL || c->application_credential_name != NULL ||
                       c->application_credential_secret_file != NULL;
    bool federation = c->identity_provider != NULL || c->protocol != NULL;
    bool user = c->user_id != NULL || c->username != NULL;

    if ((application && federation) || (c->password_file != NULL && (application || federation)))
        return CFR_OPENSTACK_NO_WAY;
    if (application)
        return CFR_OPENSTACK_APPLICATION_CREDENTIAL;
    if (federation)
        return CFR_OPENSTACK_FEDERATION;
    return user || c->password_file != NULL ? CFR_OPENSTACK_PASSWORD : CFR_OPENSTACK_NO_WAY;
}

static bool ends(struct cfr_view text, const char *end)
{
    size_t n = cfr_view_of(end).n;

    return text.n >= n && cfr_view_is((struct cfr_view){text.p + text.n - n, n}, end);
}

int cfr_openstack_base(const struct cfr_openstack *c, struct cfr_url *url, struct cfr_view *base, struct cfr_err *err)
{
    struct cfr_view text = cfr_view_of(c->auth_url);
    int rc = cfr_url_parse(c->auth_url, url, err);

    if (rc != 0)
        return rc;
    if (cfr_view_find(url->path, "?") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG, "it has a query; leave out everything from the ? on");
    while (text.p[text.n - 1] == '/')
        text.n--;
    if (cfr_view_find(text, "/v3/") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG, "remove everything after /v3");
    if (ends(text, "/v2.0"))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "it names version 2.0 of the Identity API, which no longer exists; write /v3 instead");
    if (ends(text, "/v3"))
        text.n -= 3;
    *base = text;
    return 0;
}

bool cfr_openstack_presents_token(const struct cfr_sts_exchange *x)
{
    return cfr_openstack_way_of(x->config) == CFR_OPENSTACK_FEDERATION && x->step == 0;
}
