/* SPDX-License-Identifier: MIT */
/* Any text as what a cloud grants, written in a format: the first byte chooses that, the second its variants,
 * and the rest are values, each ended by a NUL. What is written can be read, and no value makes a line of its
 * own. */
#include "fuzz.h"

#include "base/json.h"
#include "base/yaml.h"
#include "files/format/format.h"

#include <string.h>

#define VALUES_MAX 4

struct values {
    char *text; /* all of them, each ended by a NUL */
    const char *value[VALUES_MAX];
    size_t count;
};

static const char *const fields[] = {
    CFR_FIELD_TOKEN,
    CFR_FIELD_AWS_ACCESS_KEY_ID,
    CFR_FIELD_AWS_SECRET_ACCESS_KEY,
    CFR_FIELD_AWS_SESSION_TOKEN,
    CFR_FIELD_AWS_REGION,
    CFR_FIELD_GCP_ACCESS_TOKEN,
    CFR_FIELD_GCP_ID_TOKEN,
    CFR_FIELD_AZURE_ACCESS_TOKEN,
    CFR_FIELD_AZURE_TENANT_ID,
    CFR_FIELD_AZURE_CLIENT_ID,
    CFR_FIELD_AZURE_SCOPE,
    CFR_FIELD_AZURE_AUTHORITY_HOST,
    CFR_FIELD_OPENSTACK_TOKEN,
    CFR_FIELD_OPENSTACK_AUTH_URL,
    CFR_FIELD_OPENSTACK_USER_ID,
    CFR_FIELD_OPENSTACK_PROJECT_ID,
    CFR_FIELD_OPENSTACK_REGION_NAME,
    CFR_FIELD_OAUTH_ACCESS_TOKEN,
};
/* Of which a cloud's client needs one or the other. */
static const char *const kinds[] = {
    CFR_FIELD_OPENSTACK_PASSWORD,
    CFR_FIELD_OPENSTACK_APPLICATION_CREDENTIAL_SECRET,
    CFR_FIELD_OPENSTACK_IDENTITY_PROVIDER,
    CFR_FIELD_AZURE_CLIENT_SECRET,
};

static void split(const uint8_t *data, size_t size, struct values *v)
{
    const char *at;

    v->text = calloc(size + 1, 1);
    CFR_FUZZ_MUST(v->text != NULL);
    if (size != 0)
        memcpy(v->text, data, size);
    at = v->text;
    do {
        v->value[v->count++] = at;
        at += strlen(at) + 1;
    } while (v->count < VALUES_MAX && at < v->text + size);
}

static void fill(struct cfr_grant *g, const struct values *v, const char *kind)
{
    size_t i = 0;

    for (; i < sizeof fields / sizeof fields[0]; i++)
        CFR_FUZZ_MUST(cfr_grant_set(g, fields[i], cfr_view_of(v->value[i % v->count]), NULL) == 0);
    CFR_FUZZ_MUST(cfr_grant_set(g, kind, cfr_view_of(v->value[i % v->count]), NULL) == 0);
    CFR_FUZZ_MUST(cfr_grant_set_identity(g, cfr_view_of("a \"name\""), NULL) == 0);
    g->expires_s = 1767326645;
}

static void check_json(struct cfr_view text)
{
    struct cfr_json *doc = NULL;

    CFR_FUZZ_MUST(cfr_json_parse(text, &doc, NULL) == 0 && cfr_json_is_object(doc));
    cfr_json_free(doc);
}

static void check_yaml(struct cfr_view text)
{
    struct cfr_yaml *doc = NULL;
    int line = 0;

    CFR_FUZZ_MUST(cfr_yaml_parse(text, &doc, &line, NULL) == 0);
    cfr_yaml_free(doc);
}

static size_t count_lines(struct cfr_view text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n' ? 1 : 0;
    return n;
}

/* As many lines as harmless values make. */
static void check_lines(const struct cfr_format *f, const struct cfr_format_input *in, const struct values *v,
                        struct cfr_view text)
{
    struct values harmless = {.count = v->count};
    struct cfr_format_input other = *in;
    struct cfr_grant grant = {0};
    struct cfr_secret out;

    for (size_t i = 0; i < v->count; i++)
        harmless.value[i] = v->value[i][0] != '\0' ? "x" : "";
    fill(&grant, &harmless, in->grant->fields[in->grant->field_count - 1].name);
    other.grant = &grant;
    cfr_secret_init(&out, CFR_FORMAT_OUTPUT_MAX);
    CFR_FUZZ_MUST(f->render(&other, &out, NULL) == 0);
    CFR_FUZZ_MUST(count_lines(cfr_secret_view(&out)) == count_lines(text) && text.p[text.n - 1] == '\n');
    cfr_secret_free(&out);
    cfr_grant_free(&grant);
}

static void check(const struct cfr_format *f, const struct cfr_format_input *in, const struct values *v,
                  struct cfr_view text)
{
    static const char *const json[] = {"json",           "kubeconfig",           "azure-token-json",
                                       "gcp-token-json", "gcp-external-account", "aws-credential-process"};
    static const char *const lines[] = {"aws-credentials", "aws-config", "env", "azure-env", "clouds-conf"};

    for (size_t i = 0; i < sizeof json / sizeof json[0]; i++) {
        if (strcmp(f->name, json[i]) == 0)
            check_json(text);
    }
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strcmp(f->name, lines[i]) == 0)
            check_lines(f, in, v, text);
    }
    if (strcmp(f->name, "template") == 0 && in->template_text != v->value[0]) {
        if (in->values == CFR_FORMAT_VALUES_JSON)
            check_json(text);
        else
            check_lines(f, in, v, text);
    }
    if (strcmp(f->name, "clouds-yaml") == 0)
        check_yaml(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cfr_format_gcp gcp = {.audience = "//iam.googleapis.com/projects/1",
                                              .subject_token_type = "urn:ietf:params:oauth:token-type:jwt",
                                              .token_url = "https://sts.googleapis.com/v1/token"};
    struct cfr_format_input in = {.credential = "registry",
                                  .generation = 1,
                                  .role_arn = "arn:aws:iam::1:role/a",
                                  .key = "k",
                                  .gcp = &gcp,
                                  .field = "token",
                                  .server = "https://api.example.com"};
    struct cfr_grant grant = {0};
    struct values v = {.count = 0};
    struct cfr_secret out;
    struct cfr_err err = {0};
    const struct cfr_format *f;
    size_t formats = 0;
    int rc;

    if (size < 2)
        return 0;
    cfr_json_setup();
    while (cfr_formats[formats].name != NULL)
        formats++;
    f = &cfr_formats[data[0] % formats];
    split(data + 2, size - 2, &v);
    fill(&grant, &v, kinds[data[1] & 3]);
    in.grant = &grant;
    in.token_path = (data[1] & 4) != 0 ? "/run/token" : NULL;
    in.command = "/usr/bin/credfresh get a";
    in.token_only = (data[1] & 8) != 0;
    in.section_header = (data[1] & 16) != 0;
    in.values = (data[1] & 32) != 0 ? CFR_FORMAT_VALUES_JSON : CFR_FORMAT_VALUES_LINE;
    /* The template itself may be any text, too; that is not looked at afterwards. */
    in.template_text = (data[1] & 64) != 0 ? v.value[0] : "{\"a\": \"${token}\",\n\"b\": \"${aws_region}\"}\n";
    cfr_secret_init(&out, CFR_FORMAT_OUTPUT_MAX);
    rc = f->render(&in, &out, &err);
    if (rc == 0)
        check(f, &in, &v, cfr_secret_view(&out));
    else
        CFR_FUZZ_MUST(err.code == rc && (rc == CFR_E_CONFIG || rc == CFR_E_ANSWER) && err.text[0] != '\0');
    cfr_secret_free(&out);
    cfr_grant_free(&grant);
    free(v.text);
    return 0;
}
