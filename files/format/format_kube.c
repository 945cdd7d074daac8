/* SPDX-License-Identifier: MIT */
/* Output formats for clients of a Kubernetes API server: the files of a pod's kube-api-access volume next to its token,
 * and a kubeconfig. */
#include "files/format/format_private.h"

#include "base/base64.h"

static int whole(const struct cfr_format_input *in, const char *format, const char *field, struct cfr_secret *out,
                 struct cfr_err *err)
{
    struct cfr_view value = cfr_format_get(in, field);

    if (value.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "the format %s needs %s, which this credential does not have", format,
                           cfr_grant_public_name(field));
    return cfr_secret_append(out, value, err);
}

int cfr_format_kube_ca(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    return whole(in, "ca.crt", CFR_FIELD_KUBERNETES_CA, out, err);
}

int cfr_format_kube_namespace(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    return whole(in, "namespace", CFR_FIELD_KUBERNETES_NAMESPACE, out, err);
}

static void write_ca(struct cfr_writer *p, struct cfr_view ca)
{
    struct cfr_secret text;

    if (ca.n == 0 || p->rc != 0)
        return;
    cfr_secret_init(&text, CFR_FORMAT_OUTPUT_MAX);
    p->rc = cfr_base64_encode(ca, &text, p->err);
    cfr_writer_string(p, "certificate-authority-data", cfr_secret_view(&text));
    cfr_secret_free(&text);
}

/* JSON, which is YAML as well, so that no value can be read in two ways. */
int cfr_format_kubeconfig(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_view server =
        cfr_format_given(in->server) ? cfr_view_of(in->server) : cfr_format_get(in, CFR_FIELD_KUBERNETES_SERVER);
    struct cfr_view name = cfr_view_of(in->credential);
    struct cfr_writer p = {.secret = out, .err = err, .rc = cfr_format_need(in, "kubeconfig", CFR_FIELD_TOKEN, err)};

    if (p.rc == 0 && server.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the format kubeconfig needs the API server's URL: request the token from it, or write "
                           "`server`");
    cfr_writer_object(&p, NULL);
    cfr_writer_string(&p, "apiVersion", cfr_view_of("v1"));
    cfr_writer_string(&p, "kind", cfr_view_of("Config"));
    cfr_writer_array(&p, "clusters");
    cfr_writer_object(&p, NULL);
    cfr_writer_string(&p, "name", name);
    cfr_writer_object(&p, "cluster");
    cfr_writer_string(&p, "server", server);
    write_ca(&p, cfr_format_get(in, CFR_FIELD_KUBERNETES_CA));
    cfr_writer_close(&p);
    cfr_writer_close(&p);
    cfr_writer_close(&p);
    cfr_writer_array(&p, "users");
    cfr_writer_object(&p, NULL);
    cfr_writer_string(&p, "name", name);
    cfr_writer_object(&p, "user");
    if (cfr_format_given(in->token_path))
        cfr_writer_string(&p, "tokenFile", cfr_view_of(in->token_path));
    else
        cfr_writer_string(&p, "token", cfr_format_get(in, CFR_FIELD_TOKEN));
    cfr_writer_close(&p);
    cfr_writer_close(&p);
    cfr_writer_close(&p);
    cfr_writer_array(&p, "contexts");
    cfr_writer_object(&p, NULL);
    cfr_writer_string(&p, "name", name);
    cfr_writer_object(&p, "context");
    cfr_writer_string(&p, "cluster", name);
    cfr_writer_string(&p, "user", name);
    cfr_writer_optional(&p, "namespace", cfr_format_get(in, CFR_FIELD_KUBERNETES_NAMESPACE));
    cfr_writer_close(&p);
    cfr_writer_close(&p);
    cfr_writer_close(&p);
    cfr_writer_string(&p, "current-context", name);
    cfr_writer_close(&p);
    cfr_writer_text(&p, "\n");
    return p.rc;
}
