/* SPDX-License-Identifier: MIT */
/* The body of a request for a Keystone token. */
#include "sts/openstack/openstack_private.h"

#include "base/writer.h"

/* The member KEY by which something is known: its id, or its name and the domain of the name. Left open. */
static void open_named(struct cfr_writer *w, const char *key, const char *id, const char *name, const char *domain_id,
                       const char *domain_name)
{
    cfr_writer_object(w, key);
    cfr_writer_string(w, id != NULL ? "id" : "name", cfr_view_of(id != NULL ? id : name));
    if (id == NULL && (domain_id != NULL || domain_name != NULL)) {
        open_named(w, "domain", domain_id, domain_name, NULL, NULL);
        cfr_writer_close(w);
    }
}

static void open_user(struct cfr_writer *w, const struct cfr_openstack *c)
{
    open_named(w, "user", c->user_id, c->username, c->user_domain_id, c->user_domain_name);
}

static void write_scope(struct cfr_writer *w, const struct cfr_openstack *c)
{
    cfr_writer_object(w, "scope");
    if (c->system_scope != CFR_OPENSTACK_SYSTEM_NONE) {
        cfr_writer_object(w, "system");
        cfr_writer_bool(w, "all", true);
    } else if (c->domain_id != NULL || c->domain_name != NULL) {
        open_named(w, "domain", c->domain_id, c->domain_name, NULL, NULL);
    } else {
        open_named(w, "project", c->project_id, c->project_name, c->project_domain_id, c->project_domain_name);
    }
    cfr_writer_close(w);
    cfr_writer_close(w);
}

/* Refuses what an editor or a wrong file leaves in a secret: Keystone would only report that the secret is wrong. */
static int read_secret(const struct cfr_sts_input *in, const char *key, struct cfr_view *out, struct cfr_err *err)
{
    struct cfr_view rest = cfr_sts_input_content(in, key);

    *out = rest;
    if (rest.n == 0)
        return cfr_err_set(err, CFR_E_MISSING, "%s: it is empty; it must hold the secret", key);
    while (rest.n != 0) {
        size_t n = cfr_view_utf8_len(rest);

        if (n == 0 || (unsigned char)rest.p[0] < 0x20 || rest.p[0] == 0x7f)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "%s: it holds more than one line, or is not text (UTF-8); it must hold only the secret",
                               key);
        rest.p += n;
        rest.n -= n;
    }
    return 0;
}

static void write_identity(struct cfr_writer *w, const struct cfr_openstack *c, enum cfr_openstack_way way,
                           struct cfr_view secret)
{
    static const char *const methods[] = {
        [CFR_OPENSTACK_NO_WAY] = "token",
        [CFR_OPENSTACK_APPLICATION_CREDENTIAL] = "application_credential",
        [CFR_OPENSTACK_PASSWORD] = "password",
        [CFR_OPENSTACK_FEDERATION] = "token",
    };

    cfr_writer_array(w, "methods");
    cfr_writer_string(w, NULL, cfr_view_of(methods[way]));
    cfr_writer_close(w);
    cfr_writer_object(w, methods[way]);
    if (way == CFR_OPENSTACK_PASSWORD) {
        open_user(w, c);
        cfr_writer_string(w, "password", secret);
        cfr_writer_close(w);
    } else if (way != CFR_OPENSTACK_APPLICATION_CREDENTIAL) {
        cfr_writer_string(w, "id", secret);
    } else if (c->application_credential_id != NULL) {
        cfr_writer_string(w, "id", cfr_view_of(c->application_credential_id));
        cfr_writer_string(w, "secret", secret);
    } else {
        cfr_writer_string(w, "name", cfr_view_of(c->application_credential_name));
        open_user(w, c);
        cfr_writer_close(w);
        cfr_writer_string(w, "secret", secret);
    }
    cfr_writer_close(w);
}

int cfr_openstack_body(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_secret *body,
                       struct cfr_err *err)
{
    const struct cfr_openstack *c = x->config;
    enum cfr_openstack_way way = cfr_openstack_way_of(c);
    struct cfr_view secret = cfr_grant_get(&x->grant, CFR_FIELD_OPENSTACK_TOKEN);
    struct cfr_writer w = {.secret = body, .err = err};

    if (way == CFR_OPENSTACK_APPLICATION_CREDENTIAL)
        w.rc = read_secret(in, CFR_OPENSTACK_SECRET_KEY, &secret, err);
    else if (way == CFR_OPENSTACK_PASSWORD)
        w.rc = read_secret(in, CFR_OPENSTACK_PASSWORD_KEY, &secret, err);
    else if (secret.n == 0)
        w.rc = cfr_err_set(err, CFR_E_INTERNAL, "no unscoped token");
    cfr_writer_object(&w, NULL);
    cfr_writer_object(&w, "auth");
    cfr_writer_object(&w, "identity");
    write_identity(&w, c, way, secret);
    cfr_writer_close(&w);
    if (way != CFR_OPENSTACK_APPLICATION_CREDENTIAL)
        write_scope(&w, c);
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    return w.rc;
}
