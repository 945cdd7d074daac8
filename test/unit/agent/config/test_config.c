/* SPDX-License-Identifier: MIT */
/* The configuration: what is read, and what counts as a change. */
#include "agent/config/config_private.h"

#include "agent/config/kinds.h"
#include "config_text.h"

#include "base/log.h"
#include "files/format/format.h"
#include "sts/aws/aws.h"

#include <signal.h>

/* Lines 1 to 4 and 5. */
#define HEAD  "version: 1\ncredentials:\n  - name: a\n    token: {file: /t/token}\n"
#define PUB   "    publish: {directory: /d, files: [{name: t, format: token}]}\n"
#define ROLE  "role_arn: \"arn:aws:iam::123456789012:role/registry\""
#define AWS   "    exchange: {aws: {" ROLE ", region: us-east-1}}\n"
#define FILES "    publish: {directory: /d, files: [{name: t, format: token, "
#define HOOK  HEAD PUB "    reload:\n      - "

static const char full[] = "# everything\n"
                           "version: 1\n"
                           "state_dir: /run/credfresh-test\n"
                           "control_socket: /run/other.sock\n"
                           "listen: \"[::1]:9464\"\n"
                           "log: {level: debug, format: json}\n"
                           "max_concurrent_exchanges: 3\n"
                           "keep_previous: 5m\n"
                           "credentials:\n"
                           "  - name: image-registry\n"
                           "    required: false\n"
                           "    keep_previous: 0s\n"
                           "    token:\n"
                           "      file: /var/run/secrets/openshift/serviceaccount/token\n"
                           "      audience: sts.amazonaws.com\n"
                           "    exchange:\n"
                           "      aws:\n"
                           "        " ROLE "\n"
                           "        region: us-east-1\n"
                           "        duration: 2h\n"
                           "        then_assume:\n"
                           "          - role_arn: \"arn:aws:iam::210987654321:role/deploy\"\n"
                           "            external_id: 12345\n"
                           "            tags: {team: storage, empty: \"\"}\n"
                           "    publish:\n"
                           "      - directory: /run/credentials/image-registry\n"
                           "        directory_mode: \"0750\"\n"
                           "        owner: root\n"
                           "        group: \"0\"\n"
                           "        files:\n"
                           "          - {name: credentials, format: aws-credentials, mode: \"0640\", profile: app}\n"
                           "          - {name: token, format: token}\n"
                           "          - name: config\n"
                           "            format: aws-config\n"
                           "            role_arn: \"arn:aws:iam::123456789012:role/registry\"\n"
                           "            token_path: /run/credentials/image-registry/token\n"
                           "            session_name: app\n"
                           "            region: eu-west-1\n"
                           "      - file: {path: /etc/app/creds.json, format: json, in_place: true, group: app}\n"
                           "      - profile: {path: /root/.aws/credentials, name: registry}\n"
                           "      - profile: {path: /root/.aws/credentials}\n"
                           "    reload:\n"
                           "      - signal: {pid_file: /run/registry.pid, signal: USR1}\n"
                           "      - signal: {executable: registry}\n"
                           "        on_first: skip\n"
                           "      - exec: [/usr/bin/registry, reload, \"\"]\n"
                           "        timeout: 250ms\n"
                           "      - http:\n"
                           "          url: https://registry.example:5000/-/reload?x=a@b\n"
                           "          method: PUT\n"
                           "          expect: 204\n"
                           "          ca_file: /etc/ssl/registry.pem\n"
                           "  - name: plain\n"
                           "    token: {file: /var/run/secrets/openshift/serviceaccount/token}\n"
                           "    publish: {file: {path: /run/plain, format: env}}\n";

static void check_targets(const struct cfr_config_credential *c)
{
    struct cfr_config_target_use use;
    const void *config;
    const struct cfr_config_publish *p = c->publish.items;
    const struct cfr_config_file *f;

    assert_int_equal(c->publish.count, 4);
    assert_string_equal(p[0].directory, "/run/credentials/image-registry");
    assert_int_equal(p[0].directory_mode, 0750);
    assert_string_equal(p[0].owner, "root");
    assert_string_equal(p[0].group, "0");
    assert_int_equal(p[0].node.line, 26);
    assert_int_equal(p[0].files.count, 3);
    f = p[0].files.items;
    assert_string_equal(f[0].name, "credentials");
    assert_string_equal(cfr_formats[f[0].format].name, "aws-credentials");
    assert_string_equal(f[0].profile, "app");
    assert_int_equal(f[0].mode, 0640);
    assert_int_equal(f[1].mode, 0600);
    assert_null(f[1].profile);
    assert_string_equal(f[2].token_path, "/run/credentials/image-registry/token");
    assert_int_equal(f[2].node.line, 33);
    assert_string_equal(p[1].file->path, "/etc/app/creds.json");
    assert_true(p[1].file->in_place);
    assert_null(p[1].directory);
    assert_null(cfr_config_target_kind(&p[1], &config));
    cfr_config_target_kind(&p[2], &config)->describe(config, &use);
    assert_string_equal(use.section, "registry");
    cfr_config_target_kind(&p[3], &config)->describe(config, &use);
    assert_string_equal(use.section, "default");
    assert_string_equal(cfr_formats[use.format].name, "aws-credentials");
}

/* What is below the key of its kind is tried by unit_agent_hook_config. */
static void check_hooks(const struct cfr_config_credential *c)
{
    const struct cfr_config_hook *h = c->reload.items;
    const void *config;

    assert_int_equal(c->reload.count, 4);
    assert_string_equal(cfr_config_hook_kind(&h[0], &config)->variant.key, "signal");
    assert_non_null(config);
    assert_int_equal(h[0].timeout_ms, 30000);
    assert_int_equal(h[0].on_first, CFR_ON_FIRST_RUN);
    assert_int_equal(h[1].on_first, CFR_ON_FIRST_SKIP);
    assert_string_equal(cfr_config_hook_kind(&h[2], &config)->variant.key, "exec");
    assert_int_equal(h[2].timeout_ms, 250);
    assert_string_equal(cfr_config_hook_kind(&h[3], &config)->variant.key, "http");
}

static void everything_is_read(void **state)
{
    struct cfr_config *config = parse(full);
    const struct cfr_config_credential *c = cfr_config_at(config, 0);
    const struct cfr_aws_step *step;
    const void *provider_config;
    const struct cfr_aws *aws;

    (void)state;
    assert_int_equal(config->version, 1);
    assert_string_equal(config->state_dir, "/run/credfresh-test");
    assert_string_equal(config->control_socket, "/run/other.sock");
    assert_string_equal(config->listen, "[::1]:9464");
    assert_int_equal(config->log->level, CFR_LOG_DEBUG);
    assert_int_equal(config->log->format, CFR_LOG_JSON);
    assert_int_equal(config->max_concurrent_exchanges, 3);
    assert_int_equal(config->keep_previous_ms, 300000);
    assert_int_equal(config->credentials.count, 2);
    assert_string_equal(c->name, "image-registry");
    assert_int_equal(c->node.line, 10);
    assert_false(c->required);
    assert_int_equal(c->keep_previous_ms, 0);
    assert_string_equal(c->token->audience, "sts.amazonaws.com");
    assert_string_equal(cfr_config_provider(c, &provider_config)->name, "aws");
    aws = provider_config;
    assert_int_equal(aws->duration_ms, 7200000);
    assert_true(aws->then_assume.count > 0);
    step = aws->then_assume.items;
    assert_string_equal(step->external_id, "12345");
    assert_int_equal(step->tags.count, 2);
    assert_string_equal(step->tags.items[1].key, "empty");
    assert_string_equal(step->tags.items[1].value, "");
    check_targets(c);
    check_hooks(c);
    assert_ptr_equal(cfr_config_find(config, "plain"), cfr_config_at(config, 1));
    assert_null(cfr_config_find(config, "plai"));
    assert_null(cfr_config_at(config, 2));
    cfr_config_free(config);
}

static void defaults(void **state)
{
    struct cfr_config *config = parse(HEAD PUB);
    const struct cfr_config_credential *c = cfr_config_at(config, 0);
    const struct cfr_config_publish *p = c->publish.items;
    const void *provider_config = config;

    (void)state;
    assert_string_equal(config->state_dir, "/run/credfresh");
    assert_string_equal(config->control_socket, "/run/credfresh/control.sock");
    assert_null(config->listen);
    assert_int_equal(config->log->level, CFR_LOG_INFO);
    assert_int_equal(config->log->format, CFR_LOG_TEXT);
    assert_int_equal(config->max_concurrent_exchanges, 16);
    assert_int_equal(config->keep_previous_ms, 600000);
    assert_true(c->required);
    assert_int_equal(c->keep_previous_ms, -1);
    assert_null(c->exchange);
    assert_null(cfr_config_provider(c, &provider_config));
    assert_null(provider_config);
    assert_int_equal(p->directory_mode, 0755);
    assert_int_equal(((const struct cfr_config_file *)p->files.items)->mode, 0600);
    assert_int_equal(c->reload.count, 0);
    cfr_config_free(config);
    cfr_config_free(NULL);
}

static void json_is_yaml(void **state)
{
    struct cfr_config *config = parse("{\n\t\"version\": 1, \"credentials\": [\n\t\t{\"name\": \"a\", \"token\": "
                                      "{\"file\": \"/t/token\"},\n\t\t\"publish\": [{\"file\": {\"path\": "
                                      "\"/\\u0064\", \"format\": \"token\", \"mode\": \"0644\"}}]}\n\t]\n}\n");
    const struct cfr_config_publish *p = cfr_config_at(config, 0)->publish.items;

    (void)state;
    assert_string_equal(p->file->path, "/d");
    assert_int_equal(p->file->mode, 0644);
    assert_int_equal(p->file->node.line, 4);
    cfr_config_free(config);
}

static void harmless_variety_is_accepted(void **state)
{
    static const char *const texts[] = {
        "\xef\xbb\xbf" HEAD PUB,
        "%YAML 1.1\n---\n" HEAD PUB "...\n",
        "--- # start\n" HEAD PUB,
        "version: 1\r\ncredentials:\r\n- name: a\r\n  token: {file: /t}\r\n  publish: {file: {path: /d, "
        "format: json}}\r\n",
        "listen: \":0\"\n" HEAD PUB,
        "listen: 0.0.0.0:65535\n" HEAD PUB,
        HOOK "http: {url: \"http://127.9.8.7:1/\"}\n",
        HOOK "http: {url: \"http://[::1]:9/x?y\"}\n",
        HOOK "http: {url: \"https://[fd00::1]/\"}\n",
        HOOK "http: {url: \"https://a.example\"}\n",
        HOOK "exec: [\"/bin/a b\"]\n        timeout: 10m\n",
        HOOK "signal: {executable: /usr/sbin/nginx, signal: RTMIN}\n",
        "keep_previous: 7d\n" HEAD PUB,
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        cfr_config_free(parse(texts[i]));
}

static void digests(void **state)
{
    static const char base[] = HEAD AWS PUB "    reload: [{exec: [/x, \"y\"]}]\n";
    static const struct {
        const char *text;
        bool same;
        bool same_material;
    } cases[] = {
        /* other writing, order, comments and explicit defaults */
        {"credentials:\n- # x\n  reload:\n  - on_first: run\n    exec:\n    - /x\n    - y\n  publish:\n    - "
         "files:\n"
         "      - format: token\n        name: \"t\"\n        mode: \"600\"\n      directory: /d\n  "
         "exchange: {aws: "
         "{fips: environment, region: 'us-east-1', " ROLE "}}\n  token: {\"file\": /t/token}\n  name: a\nversion: 1\n",
         true, true},
        {HEAD AWS PUB "    reload: [{exec: [/x, \"z\"]}]\n", false, true},
        {HEAD AWS PUB, false, true},
        {HEAD AWS PUB "    reload: [{exec: [/x, \"y\"]}]\n    required: false\n", true, true},
        {HEAD AWS PUB "    reload: [{exec: [/x, \"y\"]}]\n    keep_previous: 1m\n", true, true},
        {HEAD PUB "    reload: [{exec: [/x, \"y\"]}]\n", false, false},
        {HEAD AWS FILES "mode: \"0640\"}]}\n    reload: [{exec: [/x, \"y\"]}]\n", false, false},
        {HEAD AWS "    publish: {file: {path: /d, format: token}}\n    reload: [{exec: [/x, \"y\"]}]\n", false, false},
    };
    struct cfr_config *first = parse(base);
    const struct cfr_config_credential *a = cfr_config_at(first, 0);

    (void)state;
    assert_int_not_equal(a->digest, a->digest_material);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_config *other = parse(cases[i].text);
        const struct cfr_config_credential *b = cfr_config_at(other, 0);

        if ((a->digest == b->digest) != cases[i].same ||
            (a->digest_material == b->digest_material) != cases[i].same_material)
            fail_msg("case %zu", i);
        cfr_config_free(other);
    }
    cfr_config_free(first);
}

static void tags_in_another_order_are_the_same(void **state)
{
    static const char *const texts[] = {
        HEAD "    exchange: {aws: {" ROLE ", region: us-east-1, then_assume: [{" ROLE ", tags: {a: b, c: d}}]}}\n" PUB,
        HEAD "    exchange: {aws: {" ROLE ", region: us-east-1, then_assume: [{" ROLE ", tags: {c: d, a: b}}]}}\n" PUB,
        HEAD "    exchange: {aws: {" ROLE ", region: us-east-1, then_assume: [{" ROLE ", tags: {c: b, a: d}}]}}\n" PUB,
    };
    uint64_t digest[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct cfr_config *config = parse(texts[i]);

        digest[i] = cfr_config_at(config, 0)->digest;
        cfr_config_free(config);
    }
    assert_true(digest[0] == digest[1]);
    assert_true(digest[0] != digest[2]);
}

static void many_credentials(void **state)
{
    struct cfr_str text = {.limit = 4194304};
    struct cfr_config *config;

    (void)state;
    cfr_str_addz(&text, "version: 1\ncredentials:\n");
    for (int i = 0; i < 5000; i++)
        cfr_str_addf(&text,
                     "- {name: c%d, token: {file: /t/token}, publish: {directory: /run/c/%d, files: [{name: t, "
                     "format: token}]}}\n",
                     i, i);
    config = parse(text.p);
    assert_int_equal(config->credentials.count, 5000);
    assert_string_equal(cfr_config_at(config, 4999)->name, "c4999");
    cfr_config_free(config);
    cfr_str_free(&text);
}

/* A key has the same digest as a field of its mapping and as a registered row, so that moving it into a row does not
 * look like a change of what is recorded on disk. */
struct inner {
    struct cfr_node node;
    char *text;
};

struct as_fields {
    struct cfr_node node;
    struct inner *map;
    char *text;
};

struct as_rows {
    struct cfr_node node;
    struct cfr_list kind;
};

static const struct cfr_field inner_fields[] = {
    {.key = "text", .type = CFR_FIELD_STRING, .offset = offsetof(struct inner, text)}, {.key = NULL}};
static const struct cfr_table inner_table = {.name = "x", .size = sizeof(struct inner), .fields = inner_fields};

static struct cfr_variant row_at(size_t index)
{
    return index < 2
               ? (struct cfr_variant){.key = index == 0 ? "map" : "text", .table = &inner_table, .flat = index == 1}
               : (struct cfr_variant){.key = NULL};
}

static void a_row_has_the_digest_of_a_field(void **state)
{
    static const struct cfr_field fields[] = {
        {.key = "map", .type = CFR_FIELD_MAP, .offset = offsetof(struct as_fields, map), .table = &inner_table},
        {.key = "text", .type = CFR_FIELD_STRING, .offset = offsetof(struct as_fields, text)},
        {.key = NULL}};
    static const struct cfr_field any_of[] = {
        {.key = "kind", .type = CFR_FIELD_ANY_OF, .offset = offsetof(struct as_rows, kind), .variant = row_at},
        {.key = NULL}};
    static const struct cfr_table of_fields = {.name = "x", .size = sizeof(struct as_fields), .fields = fields};
    static const struct cfr_table of_rows = {.name = "x", .size = sizeof(struct as_rows), .fields = any_of};
    char word[] = "word";
    struct inner with = {.text = word};
    uint64_t seen[4];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct as_fields a = {.map = (i & 1) != 0 ? &with : NULL, .text = (i & 2) != 0 ? word : NULL};
        struct cfr_one_of items[2] = {{{.key = NULL}, NULL, 0}};
        struct as_rows b = {.kind = {items, 0}};

        /* In the order in which they might have been written. */
        if ((i & 2) != 0)
            items[b.kind.count++] = (struct cfr_one_of){row_at(1), &with, 1};
        if ((i & 1) != 0)
            items[b.kind.count++] = (struct cfr_one_of){row_at(0), &with, 1};
        seen[i] = cfr_config_digest(&of_rows, &b, 0);
        assert_true(seen[i] == cfr_config_digest(&of_fields, &a, 0));
        for (unsigned k = 0; k < i; k++)
            assert_true(seen[k] != seen[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(defaults),
        cmocka_unit_test(json_is_yaml),
        cmocka_unit_test(harmless_variety_is_accepted),
        cmocka_unit_test(digests),
        cmocka_unit_test(tags_in_another_order_are_the_same),
        cmocka_unit_test(a_row_has_the_digest_of_a_field),
        cmocka_unit_test(many_credentials),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
