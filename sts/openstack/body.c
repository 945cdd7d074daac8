/* SPDX-License-Identifier: MIT */
/* The body of a request for a Keystone token. */
#include "sts/openstack/openstack_private.h"

#include <string.h>

/* A document being written: the first error stays, and what follows it does nothing. */
struct writer {
    struct cfr_secret *out;
    struct cfr_err *err;
    int rc;
};

static void text(struct writer *w, const char *literal)
{
    if (w->rc == 0)
        w->rc = cfr_secret_append_str(w->out, literal, w->err);
}

static void string(struct writer *w, struct cfr_view value)
{
    if (w->rc == 0)
        w->rc = cfr_secret_append_json(w->out, value, w->err);
}

/* `"KEY":"VALUE"` */
static void member(struct writer *w, const char *key, const char *value)
{
    string(w, cfr_view_of(key));
    text(w, ":");
    string(w, cfr_view_of(value));
}

/* The members by which something is known: its id, or its name and the domain of the name. */
static void named(struct writer *w, const char *id, const char *name, const char *domain_id, const char *domain_name)
{
    member(w, id != NULL ? "id" : "name", id != NULL ? id : name);
    if (id == NULL && (domain_id != NULL || domain_name != NULL)) {
        text(w, ",\"domain\":{");
        named(w, domain_id, domain_name, NULL, NULL);
        text(w, "}");
    }
}

/* Left open for more members. */
static void user(struct writer *w, const struct cfr_openstack *c)
{
    text(w, "\"user\":{");
    named(w, c->user_id, c->username, c->user_domain_id, c->user_domain_name);
}

static void scope(struct writer *w, const struct cfr_openstack *c)
{
    text(w, ",\"scope\":{");
    if (c->system_scope != CFR_OPENSTACK_SYSTEM_NONE) {
        text(w, "\"system\":{\"all\":true}");
    } else if (c->domain_id != NULL || c->domain_name != NULL) {
        text(w, "\"domain\":{");
        named(w, c->domain_id, c->domain_name, NULL, NULL);
        text(w, "}");
    } else {
        text(w, "\"project\":{");
        named(w, c->project_id, c->project_name, c->project_domain_id, c->project_domain_name);
        text(w, "}");
    }
    text(w, "}");
}

/* What an editor or a wrong file would leave in a secret is told here: Keystone would only say that it is
 * wrong. */
static int secret_of(const struct cfr_sts_input *in, const char *key, struct cfr_view *out, struct cfr_err *err)
{
    struct cfr_view rest = cfr_sts_input_content(in, key);

    *out = rest;
    if (rest.n == 0)
        return cfr_err_set(err, CFR_E_MISSING, "%s: it is empty; it must hold the secret", key);
    while (rest.n != 0) {
        size_t n = cfr_view_utf8_len(rest);

        if (n == 0 || (unsigned char)rest.p[0] < 0x20 || rest.p[0] == 0x7f)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: it holds more than one line, or what is no text (UTF-8); it must hold the secret "
                               "alone",
                               key);
        rest.p += n;
        rest.n -= n;
    }
    return 0;
}

static void application_credential(struct writer *w, const struct cfr_openstack *c, struct cfr_view secret)
{
    text(w, "\"application_credential\"],\"application_credential\":{");
    if (c->application_credential_id != NULL) {
        member(w, "id", c->application_credential_id);
    } else {
        member(w, "name", c->application_credential_name);
        text(w, ",");
        user(w, c);
        text(w, "}");
    }
    text(w, ",\"secret\":");
    string(w, secret);
    text(w, "}}");
}

static void password(struct writer *w, const struct cfr_openstack *c, struct cfr_view secret)
{
    text(w, "\"password\"],\"password\":{");
    user(w, c);
    text(w, ",\"password\":");
    string(w, secret);
    text(w, "}}}");
    scope(w, c);
}

static void token(struct writer *w, const struct cfr_openstack *c, struct cfr_view unscoped)
{
    text(w, "\"token\"],\"token\":{\"id\":");
    string(w, unscoped);
    text(w, "}}");
    scope(w, c);
}

int cfr_openstack_body(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_secret *body,
                       struct cfr_err *err)
{
    const struct cfr_openstack *c = x->config;
    enum cfr_openstack_way way = cfr_openstack_way_of(c);
    struct cfr_view secret = cfr_grant_get(&x->grant, CFR_FIELD_OPENSTACK_TOKEN);
    struct writer w = {body, err, 0};

    if (way == CFR_OPENSTACK_APPLICATION_CREDENTIAL)
        w.rc = secret_of(in, CFR_OPENSTACK_SECRET_KEY, &secret, err);
    else if (way == CFR_OPENSTACK_PASSWORD)
        w.rc = secret_of(in, CFR_OPENSTACK_PASSWORD_KEY, &secret, err);
    else if (secret.n == 0)
        w.rc = cfr_err_set(err, CFR_E_INTERNAL, "there is no unscoped token to show");
    text(&w, "{\"auth\":{\"identity\":{\"methods\":[");
    if (way == CFR_OPENSTACK_APPLICATION_CREDENTIAL)
        application_credential(&w, c, secret);
    else if (way == CFR_OPENSTACK_PASSWORD)
        password(&w, c, secret);
    else
        token(&w, c, secret);
    text(&w, "}}");
    return w.rc;
}
