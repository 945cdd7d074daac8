/* SPDX-License-Identifier: MIT */
/* The configuration: what is read, and what every mistake is told. */
#include "unit.h"

#include "agent/config.h"
#include "base/log.h"
#include "files/format.h"
#include "sts/aws.h"

#include <signal.h>

/* Lines 1 to 4 and 5. */
#define HEAD  "version: 1\ncredentials:\n  - name: a\n    token: {file: /t/token}\n"
#define PUB   "    publish: {directory: /d, files: [{name: t, format: token}]}\n"
#define ROLE  "role_arn: \"arn:aws:iam::123456789012:role/registry\""
#define AWS   "    exchange: {aws: {" ROLE ", region: us-east-1}}\n"
#define FILES "    publish: {directory: /d, files: [{name: t, format: token, "
#define HOOK  HEAD PUB "    reload:\n      - "

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static struct cfr_config *parse_with(const char *(*env)(const char *), const char *text)
{
    struct cfr_config *config = NULL;
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};

    if (cfr_config_parse("f", cfr_view_of(text), env, &config, &all, &err) != 0)
        fail_msg("refused: %s\n%s", all.p, text);
    assert_non_null(config);
    assert_int_equal(all.len, 0);
    assert_int_equal(err.code, 0);
    cfr_str_free(&all);
    return config;
}

static struct cfr_config *parse(const char *text)
{
    return parse_with(no_env, text);
}

/* Every line that TEXT is told, which must begin with the one in ERR. */
static void refused(const struct cfr_view text, const char *lines)
{
    struct cfr_config *config = (struct cfr_config *)(void *)&config;
    struct cfr_str all = {.limit = 65536};
    struct cfr_err err = {0};
    int rc = cfr_config_parse("f", text, no_env, &config, &all, &err);

    assert_null(config);
    if (rc == 0 || all.p == NULL || strcmp(all.p, lines) != 0)
        fail_msg("%.*s\nis told:\n%s\nnot:\n%s", (int)text.n, text.p, all.p != NULL ? all.p : "(nothing)",
                 lines);
    assert_int_equal(rc, CFR_E_CONFIG);
    assert_int_equal(err.code, rc);
    assert_int_equal(strncmp(lines, err.text, strlen(err.text)), 0);
    assert_int_equal(lines[strlen(err.text)], '\n');
    cfr_str_free(&all);
    assert_int_equal(cfr_config_parse("f", text, no_env, &config, NULL, NULL), CFR_E_CONFIG);
}

struct refusal {
    const char *text;
    const char *lines;
};

static void all_refused(const struct refusal *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        refused(cfr_view_of(cases[i].text), cases[i].lines);
}

static const char full[] =
    "# everything\n"
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
    assert_string_equal(p[2].profile->name, "registry");
    assert_string_equal(p[3].profile->name, "default");
    assert_string_equal(cfr_formats[p[3].profile->format].name, "aws-credentials");
}

static void check_hooks(const struct cfr_config_credential *c)
{
    const struct cfr_config_hook *h = c->reload.items;

    assert_int_equal(c->reload.count, 4);
    assert_string_equal(h[0].signal->pid_file, "/run/registry.pid");
    assert_int_equal(cfr_config_signal_number(h[0].signal->signal), SIGUSR1);
    assert_int_equal(h[0].timeout_ms, 30000);
    assert_int_equal(h[0].on_first, CFR_ON_FIRST_RUN);
    assert_string_equal(h[1].signal->executable, "registry");
    assert_int_equal(cfr_config_signal_number(h[1].signal->signal), SIGHUP);
    assert_int_equal(h[1].on_first, CFR_ON_FIRST_SKIP);
    assert_int_equal(h[2].exec.count, 3);
    assert_string_equal(h[2].exec.items[0], "/usr/bin/registry");
    assert_string_equal(h[2].exec.items[2], "");
    assert_int_equal(h[2].timeout_ms, 250);
    assert_string_equal(h[3].http->url, "https://registry.example:5000/-/reload?x=a@b");
    assert_string_equal(cfr_config_methods[h[3].http->method], "PUT");
    assert_int_equal(h[3].http->expect, 204);
}

static void everything_is_read(void **state)
{
    struct cfr_config *config = parse(full);
    const struct cfr_config_credential *c = cfr_config_at(config, 0);
    const struct cfr_sts_aws_step *step;
    const void *provider_config;
    const struct cfr_sts_aws *aws;

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
    step = cfr_sts_aws_step_at(aws, 0);
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
    struct cfr_config *config =
        parse("{\n\t\"version\": 1, \"credentials\": [\n\t\t{\"name\": \"a\", \"token\": "
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

static void whole_files_that_are_no_configuration(void **state)
{
    static const struct refusal cases[] = {
        {"", "f:1: there is no configuration in it; begin with `version: 1`\n"},
        {"# only a comment\n", "f:1: there is no configuration in it; begin with `version: 1`\n"},
        {"---\n", "f:1: there is no configuration in it; begin with `version: 1`\n"},
        {"~\n", "f:1: there is no configuration in it; begin with `version: 1`\n"},
        {"hello\n", "f:1: a mapping is wanted here, not text; begin with `version: 1`\n"},
        {"- a\n- b\n", "f:1: a mapping is wanted here, not a list; begin with `version: 1`\n"},
        {HEAD PUB "---\nversion: 1\n",
         "f:6: a second document begins here; keep one, and remove this `---`\n"},
        {HEAD PUB "---\n", "f:6: a second document begins here; keep one, and remove this `---`\n"},
        {"version: 1\n# caf\xe9\n", "f:2: not UTF-8; save the file in that encoding\n"},
        {"\xff\xfev\n", "f:1: not UTF-8; save the file in that encoding\n"},
        {"version: 1\n# bell \x07\n", "f:2: control characters are not allowed; remove the character\n"},
        {"version: 1\ncredentials:\n\t- name: a\n", "f:3: a tab indents this line; write spaces\n"},
        {"version: 1\nlog:\n  level: info\n \tformat: text\n",
         "f:4: a tab indents this line; write spaces\n"},
        {"version: 1\nlog: {level: info\n", "f:3: not valid YAML: did not find expected ',' or '}' (while "
                                            "parsing a flow mapping that begins on line 2)\n"},
        {"version: 1\n log: x\n", "f:2: not valid YAML: mapping values are not allowed in this context\n"},
        {"version: 1\nlisten: @a\n", "f:2: not valid YAML: found character that cannot start any token\n"},
        {"version: 1\nlisten: \"a\n", "f:3: not valid YAML: found unexpected end of stream (while scanning a "
                                      "quoted scalar that begins on line 2)\n"},
        {"%TAG ! x:\n---\nversion: 1\n", "f:1: %TAG directives are not supported; remove it\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
    refused(LITERAL("version: 1\n\0\n"), "f:2: control characters are not allowed; remove the character\n");
    refused((struct cfr_view){NULL, 0}, "f:1: there is no configuration in it; begin with `version: 1`\n");
}

static void what_makes_yaml_surprising_is_refused(void **state)
{
    static const struct refusal cases[] = {
        {"version: &a 1\n", "f:1: anchors (&) are not supported; write the value out\n"},
        {"x: &a {b: c}\n", "f:1: anchors (&) are not supported; write the value out\n"},
        {"version: 1\nlisten: *a\n",
         "f:2: aliases (*) are not supported; write the value out, or in quotes if it begins with *\n"},
        {"version: !!int 1\n", "f:1: tags (!) are not supported; put text that begins with ! in quotes\n"},
        {"version: 1\nlisten: !env X\n",
         "f:2: tags (!) are not supported; put text that begins with ! in quotes\n"},
        {"version: 1\ncredentials: !!seq []\n",
         "f:2: tags (!) are not supported; put text that begins with ! in quotes\n"},
        {"<<: {version: 1}\n" HEAD PUB, "f:1: merge keys (<<) are not supported; write the keys out\n"},
        {HEAD PUB "? [x]\n: y\n", "f:6: a key must be text, not a list\n"},
        {"[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]\n",
         "f:1: nested too deeply; no key of credfresh is at such a depth\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void keys(void **state)
{
    static const struct refusal cases[] = {
        {"state-dir: /x\n" HEAD PUB, "f:1: unknown key state-dir; did you mean state_dir?\n"},
        {HEAD PUB "    reloads: []\n", "f:6: credential a: unknown key reloads; did you mean reload?\n"},
        {HEAD PUB "    colour: red\n", "f:6: credential a: unknown key colour; this credential has: name, "
                                       "required, token, secret, exchange, certificate, ca_bundle, mint, publish, allow, reload, "
                                       "acknowledge, keep_previous\n"},
        {HEAD PUB "    \"a\\nb\": red\n",
         "f:6: credential a: unknown key (not printable); this credential has: name, required, token, "
         "secret, exchange, certificate, ca_bundle, mint, publish, allow, reload, acknowledge, keep_previous\n"},
        {HEAD "    publsh: {}\n", "f:5: credential a: unknown key publsh; did you mean publish?\n"},
        {HEAD PUB "    name: b\n", "f:6: credential a: name: stands twice, first on line 3; remove one\n"},
        {HEAD PUB "version: 1\n", "f:6: version: stands twice, first on line 1; remove one\n"},
        {HEAD PUB "    reload:\n",
         "f:6: credential a: reload: has no value; write one, or leave the key out\n"},
        {HEAD PUB "    required: ~\n",
         "f:6: credential a: required: has no value; write one, or leave the key out\n"},
        {HEAD PUB "    keep_previous: null\n",
         "f:6: credential a: keep_previous: has no value; write one, or leave the key out\n"},
        {"credentials:\n  - name: a\n    token: {file: /t}\n    publish: {file: {path: /d, format: json}}\n",
         "f:1: version: is missing here; this configuration needs it\n"},
        {"version: 1\n", "f:1: credentials: is missing here; this configuration needs it\n"},
        {"version: 1\ncredentials: []\n", "f:2: credentials: is empty; write at least 1\n"},
        {"version: 2\ncredentials: []\n",
         "f:1: version: 2 is not possible here; write 1\nf:2: credentials: is empty; write at least 1\n"},
        {"version: \"1\"\n"
         "credentials: {}\n",
         "f:1: version: \"1\" is text because of its quotes; write 1 without them\n"
         "f:2: credentials: a list is wanted here, not a mapping; write each item after a dash\n"},
        {"version: 1\ncredentials:\n  - {}\n  - x\n",
         "f:3: credential number 1: name: is missing here; this credential needs it\n"
         "f:4: credential number 2: each item must be a mapping, not text; write `- name: ...`\n"},
        {"version: 1\ncredentials:\n  - token: /t/token\n    name: a\n" PUB,
         "f:3: credential a: token: a mapping is wanted here, not text; write `file: ...` below it, "
         "indented\n"},
        {"version: 1\ncredentials:\n  - name: [a]\n    token: {file: {a: b}}\n" PUB,
         "f:3: credential number 1: name: a single value is wanted here, not a list\n"
         "f:4: credential number 1: token.file: a single value is wanted here, not a mapping\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void names(void **state)
{
    static const struct refusal cases[] = {
        {"version: 1\ncredentials:\n  - name: a b\n    token: {file: /t}\n" PUB,
         "f:3: credential a b: name: has a character that names cannot have; use letters, digits, dot, dash "
         "and "
         "underscore\n"},
        {"version: 1\ncredentials:\n  - name: .a\n    token: {file: /t}\n" PUB,
         "f:3: credential .a: name: must begin with a letter or a digit\n"},
        {"version: 1\ncredentials:\n  - name: a/b\n    token: {file: /t}\n" PUB,
         "f:3: credential a/b: name: has a character that names cannot have; use letters, digits, dot, dash "
         "and "
         "underscore\n"},
        {"version: 1\ncredentials:\n  - name: \"\"\n    token: {file: /t}\n" PUB,
         "f:3: credential number 1: name: is empty; write a value, or leave the key out\n"},
        {"version: 1\ncredentials:\n  - name: "
         "a123456789012345678901234567890123456789012345678901234567890123\n    token: {file: /t}\n" PUB,
         "f:3: credential number 1: name: is longer than 63 characters\n"},
        {HEAD PUB "  - name: a\n    token: {file: /t}\n    publish: {file: {path: /e, format: token}}\n",
         "f:6: credential a: name: another credential has it, on line 3; rename one of them\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void scalars(void **state)
{
    static const struct refusal cases[] = {
        {HEAD PUB "    required: yes\n",
         "f:6: credential a: required: yes is neither true nor false; write true\n"},
        {HEAD PUB "    required: \"true\"\n",
         "f:6: credential a: required: true is neither true nor false; write true without quotes\n"},
        {"max_concurrent_exchanges: ten\n" HEAD PUB,
         "f:1: max_concurrent_exchanges: ten is no integer; write decimal digits only\n"},
        {"max_concurrent_exchanges: 0\n" HEAD PUB,
         "f:1: max_concurrent_exchanges: 0 is out of range; write a number from 1 to 1024\n"},
        {"keep_previous: 10\n" HEAD PUB,
         "f:1: keep_previous: 10 has no unit; write 10s if seconds are meant\n"},
        {"keep_previous: 8d\n" HEAD PUB,
         "f:1: keep_previous: 8d is out of range; write a duration from 0s to 7d\n"},
        {HEAD PUB "    keep_previous: a while\n", "f:6: credential a: keep_previous: a while is no duration; "
                                                  "write whole numbers with the units d, h, m, s or "
                                                  "ms, such as 90s or 1h30m\n"},
        {HEAD FILES "mode: 0640}]}\n", "f:5: credential a: publish.files.mode: 0640 is a number, and readers "
                                       "differ on which; write \"0640\" in "
                                       "quotes\n"},
        {HEAD FILES "mode: 416}]}\n",
         "f:5: credential a: publish.files.mode: 416 is a decimal number; write \"0640\" in quotes\n"},
        {HEAD FILES "mode: \"4755\"}]}\n",
         "f:5: credential a: publish.files.mode: \"4755\" has more than permission bits; write \"0755\"\n"},
        {HEAD FILES "mode: \"0666\"}]}\n",
         "f:5: credential a: publish.files.mode: \"0666\" lets everybody write; write \"0664\"\n"},
        {HEAD "    publish: {directory: /d, files: [{name: t, format: tokn}]}\n",
         "f:5: credential a: publish.files.format: tokn is not known here; did you mean token?\n"},
        {HEAD "    publish: {directory: /d, files: [{name: t, format: xml}]}\n",
         "f:5: credential a: publish.files.format: xml is not known here; write one of: aws-credentials, "
         "aws-config, aws-credential-process, azure-token-json, azure-env, gcp-external-account, "
         "gcp-access-token, gcp-token-json, gcp-service-account-key, clouds-yaml, clouds-conf, openstack-token, docker-config, "
         "oauth-access-token, token, env, json, secret-key, certificate, private-key, ca-bundle\n"},
        {"log: {level: warning}\n" HEAD PUB,
         "f:1: log.level: warning is not known here; did you mean warn?\n"},
        {HOOK "signal: {pid_file: /p, signal: SIGHUP}\n",
         "f:7: credential a: reload.signal.signal: SIGHUP is not known here; did you mean HUP?\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void files_and_directories(void **state)
{
    static const struct refusal cases[] = {
        {HEAD
         "    publish: {directory: /d, files: [{name: a/b, format: token}, {name: .., format: token}]}\n",
         "f:5: credential a: publish.files.name: a/b is no file name; write one name without /\n"
         "f:5: credential a: publish.files.name: .. cannot be a file name here; do not begin it with ..\n"},
        {HEAD "    publish: {directory: /d, files: [{name: ..data, format: token}]}\n",
         "f:5: credential a: publish.files.name: ..data cannot be a file name here; do not begin it with "
         "..\n"},
        {HEAD "    publish:\n      directory: /d\n      files:\n        - {name: t, format: token}\n        "
              "- {name: t, "
              "format: json}\n",
         "f:7: credential a: publish.files: two are named t, on lines 8 and 9; rename one of them\n"},
        {HEAD "    publish: {directory: d, files: [{name: t, format: token}]}\n",
         "f:5: credential a: publish.directory: d is no absolute path; write one that begins with /\n"},
        {HEAD "    publish: {directory: /d/, files: [{name: t, format: token}]}\n",
         "f:5: credential a: publish.directory: /d/ has an empty component; write it without the slash at "
         "its end\n"},
        {HEAD "    publish: {directory: /d}\n", "f:5: credential a: publish.directory: needs `files` beside "
                                                "it, such as - {name: token, format: token}\n"},
        {HEAD "    publish: {directory: /d, files: []}\n",
         "f:5: credential a: publish.files: is empty; write at least 1\n"},
        {HEAD "    publish: {files: [{name: t, format: token}]}\n",
         "f:5: credential a: publish.files: needs `directory` beside it, where they are published\n"},
        {HEAD "    publish: {}\n", "f:5: credential a: publish: says not where; write one of `directory`, "
                                   "`file`, `profile` or `secret`\n"},
        {HEAD "    publish: []\n", "f:5: credential a: publish: is empty; write at least 1\n"},
        {HEAD "    publish: /d\n",
         "f:5: credential a: publish: a list is wanted here, not text; write each item after a dash\n"},
        {HEAD "    publish: {file: {path: /e, format: token}, profile: {path: /p}}\n",
         "f:5: credential a: publish: has more than one of `directory`, `file`, `profile` and `secret`; "
         "write a list "
         "with one in "
         "each item\n"},
        {HEAD "    publish: {file: {path: /e, format: token}, owner: app}\n",
         "f:5: credential a: publish.owner: belongs to `directory`; write it in the file\n"},
        {HEAD "    publish: {file: {path: /e, format: token}, directory_mode: \"0755\"}\n",
         "f:5: credential a: publish.directory_mode: belongs to `directory`; write `mode` in the file\n"},
        {HEAD "    publish: {file: {path: /e, format: token, name: t}}\n",
         "f:5: credential a: publish.file: unknown key name; this single file has: path, format, mode, "
         "owner, group, profile, role_arn, session_name, token_path, region, key, scope, cloud, cacert, "
         "clouds_auth, command, in_place\n"},
        {HEAD "    publish: {directory: /d, files: [{name: t}]}\n",
         "f:5: credential a: publish.files.format: is missing here; this file of a directory needs it\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void formats(void **state)
{
    static const struct refusal cases[] = {
        {HEAD "    publish: {directory: /d, files: [{name: t, format: aws-credentials}]}\n",
         "f:5: credential a: publish.files.format: aws-credentials needs aws_access_key_id, which this "
         "credential does "
         "not have; add an `exchange:` that gives it, or write format token\n"},
        {HEAD "    publish:\n      - file: {path: /x, format: aws-credential-process}\n",
         "f:6: credential a: publish.file.format: aws-credential-process needs aws_access_key_id, which this "
         "credential "
         "does not have; add an `exchange:` that gives it, or write format token\n"},
        {HEAD "    publish:\n      profile:\n        path: /x\n",
         "f:7: credential a: publish.profile.format: aws-credentials needs aws_access_key_id, which this "
         "credential "
         "does not have; add an `exchange:` that gives it, or write format token\n"},
        {HEAD FILES "profile: x}]}\n",
         "f:5: credential a: publish.files.profile: format token has no profiles; remove it\n"},
        {HEAD FILES "command: /bin/x}]}\n", "f:5: credential a: publish.files.command: is of no use with "
                                            "format token, only with: aws-config; remove it\n"},
        {HEAD FILES "region: x}]}\n",
         "f:5: credential a: publish.files.region: is of no use with format "
         "token, only with: aws-config env clouds-yaml clouds-conf; remove it\n"},
        {HEAD AWS "    publish: {profile: {path: /p, format: json}}\n",
         "f:6: credential a: publish.profile.format: json cannot be merged into a file as a profile; write "
         "aws-credentials or aws-config\n"},
        {HEAD AWS "    publish: {profile: {path: /p, name: \"a]b\"}}\n",
         "f:6: credential a: publish.profile.name: \"a]b\" is not a profile name that all SDKs take: use 1 "
         "to 64 "
         "letters, digits, `_`, `.` and `-`, and not DEFAULT\n"},
        {HEAD "    publish: {profile: {path: /p, format: aws-config}}\n",
         "f:5: credential a: publish.profile.format: aws-config needs `role_arn` and `token_path` beside it, "
         "or "
         "`command`\n"},
        {HEAD "    publish: {profile: {path: /p, format: aws-config, role_arn: r}}\n",
         "f:5: credential a: publish.profile.role_arn: needs token_path beside it, where the SDK finds the "
         "token\n"},
        {HEAD "    publish: {profile: {path: /p, format: aws-config, token_path: /t}}\n",
         "f:5: credential a: publish.profile.token_path: needs role_arn beside it, the role that the SDK "
         "assumes\n"},
        {HEAD "    publish: {profile: {path: /p, format: aws-config, session_name: xx, command: /c}}\n",
         "f:5: credential a: publish.profile.session_name: needs role_arn and token_path beside it\n"},
        {HEAD
         "    publish: {profile: {path: /p, format: aws-config, role_arn: r, token_path: /t, command: /c}}\n",
         "f:5: credential a: publish.profile.command: cannot stand beside role_arn; keep one of the two\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

#define TARGETS       HEAD "    publish:\n"
#define D(path)       "      - {directory: " path ", files: [{name: t, format: token}]}\n"
#define F(path)       "      - {file: {path: " path ", format: token}}\n"
#define P(path, name) "      - {profile: {path: " path ", name: " name ", format: aws-config, command: /c}}\n"

#define S(name, space)                                                                                       \
    "      - {secret: {name: " name ", namespace: " space ", keys: [{name: t, format: token}]}}\n"

static void paths_are_not_shared(void **state)
{
    static const struct refusal cases[] = {
        {TARGETS D("/d") D("/d"), "f:7: credential a: publish.directory: /d is also written by credential a "
                                  "(line 6); choose another path\n"},
        {TARGETS F("/x") F("/x"), "f:7: credential a: publish.file.path: /x is also written by credential a "
                                  "(line 6); choose another path\n"},
        {TARGETS F("/x") D("/x"), "f:7: credential a: publish.directory: /x is also written by credential a "
                                  "(line 6); choose another path\n"},
        {TARGETS F("/d/x/y") D("/d") F("/d-e") F("/d.e"),
         "f:6: credential a: publish.file.path: /d/x/y lies in the directory of credential a (line 7); "
         "choose another "
         "path\n"},
        {TARGETS D("/d/e") D("/d") D("/d/e/f"), "f:6: credential a: publish.directory: /d/e lies in the "
                                                "directory of credential a (line 7); choose another "
                                                "path\n"
                                                "f:8: credential a: publish.directory: /d/e/f lies in the "
                                                "directory of credential a (line 7); choose another "
                                                "path\n"},
        {TARGETS P("/p", "x") F("/p"), "f:7: credential a: publish.file.path: /p is also written by "
                                       "credential a (line 6); choose another path\n"},
        {TARGETS P("/p", "x") P("/p", "y") P("/p", "x"),
         "f:8: credential a: publish.profile.path: /p is also written by credential a (line 6); choose "
         "another path or "
         "another profile name\n"},
        {TARGETS D("/t"), "f:4: credential a: token.file: /t/token lies in the directory of credential a "
                          "(line 6); choose another path\n"},
        {TARGETS F("/t/token"), "f:6: credential a: publish.file.path: /t/token is the token file of "
                                "credential a (line 4); choose another "
                                "path\n"},
        {TARGETS D("/run/credfresh"), "f:6: credential a: publish.directory: /run/credfresh is state_dir of "
                                      "this configuration; choose another path\n"},
        {TARGETS F("/run/credfresh/control.sock"),
         "f:6: credential a: publish.file.path: /run/credfresh/control.sock is control_socket of this "
         "configuration; "
         "choose another path\n"},
        {TARGETS F(
             "/x") "  - name: b\n    token: {file: /t/token}\n    publish: {file: {path: /x, format: env}}\n",
         "f:9: credential b: publish.file.path: /x is also written by credential a (line 6); choose another "
         "path\n"},
        {TARGETS S("s", "n") S("t", "n") S("s", "m") S("s", "n"),
         "f:9: credential a: publish.secret: s is also written on line 6; choose another name, or put the keys of both "
         "into one\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
    cfr_config_free(
        parse(TARGETS P("/p", "x") P("/p", "y") F("/p.lock2") D("/run/credfresh/a") D("/run/credfresh/b")));
}

static void hooks(void **state)
{
    static const struct refusal cases[] = {
        {HOOK "{}\n", "f:7: credential a: reload: does nothing; write one of `signal`, `exec` or `http`\n"},
        {HOOK "{signal: {pid_file: /p}, exec: [/x]}\n",
         "f:7: credential a: reload: has more than one of `signal`, `exec` and `http`; write an item of its "
         "own for "
         "each\n"},
        {HOOK "signal: HUP\n", "f:7: credential a: reload.signal: a mapping is wanted here, not text; write "
                               "`pid_file: ...` below it, "
                               "indented\n"},
        {HOOK "signal: {signal: HUP}\n",
         "f:7: credential a: reload.signal: says not to whom; write `pid_file` or `executable`\n"},
        {HOOK "signal: {pid_file: /p, executable: x}\n",
         "f:7: credential a: reload.signal.executable: cannot stand beside pid_file; keep one of the two\n"},
        {HOOK "signal: {executable: bin/x}\n", "f:7: credential a: reload.signal.executable: write an "
                                               "absolute path, or the bare name of the program without "
                                               "/\n"},
        {HOOK "exec: reload it\n",
         "f:7: credential a: reload.exec: a list is wanted here, not text; write each item after a dash\n"},
        {HOOK "exec: [reload]\n", "f:7: credential a: reload.exec: reload is no absolute path; there is no "
                                  "shell and no PATH, write one that "
                                  "begins with /\n"},
        {HOOK "exec: []\n", "f:7: credential a: reload.exec: is empty; write at least 1\n"},
        {HOOK "exec: [/x, [y]]\n", "f:7: credential a: reload.exec: text is wanted in it, not a list\n"},
        {HOOK "exec: [/x, ~]\n",
         "f:7: credential a: reload.exec: something in it has no value; write \"\" if empty text is meant\n"},
        {HOOK "exec: [/x, \"a\\0b\"]\n",
         "f:7: credential a: reload.exec: a text in it has a NUL character; remove it\n"},
        {HOOK "exec: [/x]\n        timeout: 50ms\n",
         "f:8: credential a: reload.timeout: 50ms is out of range; write a duration from 100ms to 10m\n"},
        {HOOK "exec: [/x]\n        timeout: 11m\n",
         "f:8: credential a: reload.timeout: 11m is out of range; write a duration from 100ms to 10m\n"},
        {HOOK "http: {method: POST}\n",
         "f:7: credential a: reload.http.url: is missing here; this http request needs it\n"},
        {HOOK "http: {url: \"ftp://127.0.0.1\"}\n",
         "f:7: credential a: reload.http.url: write one that begins with https:// or http://\n"},
        {HOOK "http: {url: \"http://localhost:80/\"}\n",
         "f:7: credential a: reload.http.url: http:// goes to a literal loopback address only, and localhost "
         "is none; "
         "write https://, or http://127.0.0.1\n"},
        {HOOK "http: {url: \"http://127.0.0.1.example/\"}\n",
         "f:7: credential a: reload.http.url: http:// goes to a literal loopback address only, and "
         "127.0.0.1.example is "
         "none; write https://, or http://127.0.0.1\n"},
        {HOOK "http: {url: \"https://user:pw@host/\"}\n",
         "f:7: credential a: reload.http.url: has a user or password in it (@); remove that\n"},
        {HOOK "http: {url: \"https:///x\"}\n",
         "f:7: credential a: reload.http.url: is no valid URL; write one such as "
         "\"http://127.0.0.1:9090/-/reload\"\n"},
        {HOOK "http: {url: \"https://h:99999/\"}\n",
         "f:7: credential a: reload.http.url: is no valid URL; write one such as "
         "\"http://127.0.0.1:9090/-/reload\"\n"},
        {HOOK "http: {url: \"https://h/a b\"}\n",
         "f:7: credential a: reload.http.url: is no valid URL; write one such as "
         "\"http://127.0.0.1:9090/-/reload\"\n"},
        {HOOK "http: {url: \"https://h/#x\"}\n",
         "f:7: credential a: reload.http.url: has a fragment (#), which is never sent; remove it\n"},
        {HOOK "http: {url: \"http://127.0.0.1/\", ca_file: /x}\n",
         "f:7: credential a: reload.http.ca_file: is of no use with http://; remove it, or write https://\n"},
        {HOOK "http: {url: \"https://h/\", expect: 99}\n",
         "f:7: credential a: reload.http.expect: 99 is out of range; write a number from 200 to 599\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void sockets_and_addresses(void **state)
{
    static const char *const bad[] = {
        "localhost:80",   "80",       "127.0.0.1",  "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[::1]80",
        "[127.0.0.1]:80", "1.2.3:80", "1.2.3.4:+8", "[::1:80"};
    static const char a100[] =
        "/a12345678/a12345678/a12345678/a12345678/a12345678/a12345678/a12345678/a12345678/a12345678"
        "/a12345678";
    char text[512];
    char lines[512];

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        (void)snprintf(text, sizeof text, "listen: \"%s\"\n" HEAD PUB, bad[i]);
        (void)snprintf(
            lines, sizeof lines,
            "f:1: listen: %s is no address and port; write one such as \"127.0.0.1:9464\", \"[::1]:9464\" or "
            "\":9464\" for all addresses\n",
            bad[i]);
        refused(cfr_view_of(text), lines);
    }
    (void)snprintf(text, sizeof text, "control_socket: %s/x123456\n" HEAD PUB, a100);
    refused(cfr_view_of(text), "f:1: control_socket: is longer than 107 characters\n");
    (void)snprintf(text, sizeof text, "control_socket: %s/x12345\n" HEAD PUB, a100);
    cfr_config_free(parse(text));
    (void)snprintf(text, sizeof text, "state_dir: %s\n" HEAD PUB, a100);
    refused(cfr_view_of(text),
            "f:1: control_socket: by default it is control.sock in state_dir, which is longer than the "
            "107 bytes that a socket can have; write a shorter path\n");
    (void)snprintf(text, sizeof text, "state_dir: %s\ncontrol_socket: /s\n" HEAD PUB, a100);
    cfr_config_free(parse(text));
}

static const char *region_env(const char *name)
{
    return strcmp(name, "AWS_REGION") == 0 ? "eu-central-1" : NULL;
}

static void the_provider_is_asked(void **state)
{
    static const char no_region[] = HEAD "    exchange:\n      aws:\n        " ROLE "\n" PUB;
    struct cfr_config *config = NULL;
    struct cfr_str all = {.limit = 4096};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_config_parse("f", cfr_view_of(no_region), no_env, &config, &all, &err),
                     CFR_E_CONFIG);
    assert_contains(all.p, "f:7: credential a: exchange.aws: ");
    assert_contains(all.p, "region");
    cfr_str_free(&all);
    cfr_config_free(parse_with(region_env, no_region));
    refused(LITERAL(HEAD "    exchange: {}\n" PUB),
            "f:5: credential a: exchange: names no provider; write one such as `aws:` with its keys below "
            "it, or leave `exchange` out to publish the token itself\n");
    refused(LITERAL(HEAD "    exchange: {asw: {}}\n" PUB),
            "f:5: credential a: exchange: unknown key asw; did you mean aws?\n");
    refused(LITERAL(HEAD "    exchange: {aws: {role_arn: x}}\n" PUB),
            "f:5: credential a: exchange.aws.role_arn: is shorter than 20 characters\n");
    refused(LITERAL(HEAD "    exchange:\n      aws:\n        " ROLE
                         "\n        region: us-east-1\n        then_assume:\n"
                         "          - {" ROLE ", tags: {a: b, a: c}}\n" PUB),
            "f:10: credential a: exchange.aws.then_assume.tags: a stands twice in it; remove one\n");
}

/* What stands in the file is repeated, but cannot pass for a line of ours or command a terminal. */
static void texts_from_the_file_are_defused(void **state)
{
    (void)state;
    refused(LITERAL(HOOK "exec: [\"x\\nf:1: fine\\e[31m\\u009b1m\"]\n"),
            "f:7: credential a: reload.exec: x?f:1: fine?[31m??1m is no absolute path; there is no shell and "
            "no PATH, "
            "write one that begins with /\n");
    refused(LITERAL(TARGETS F("\"/\xc3\xa9\"") F("\"/\xc3\xa9\"")),
            "f:7: credential a: publish.file.path: /\xc3\xa9 is also written by credential a (line 6); "
            "choose another "
            "path\n");
}

static void errors_are_collected_in_order_up_to_a_number(void **state)
{
    struct cfr_str text = {.limit = 4096};
    struct cfr_str all = {.limit = 65536};
    struct cfr_config *config = NULL;
    struct cfr_err err = {0};
    struct cfr_view rest;
    struct cfr_view line;
    size_t n = 0;

    (void)state;
    refused(LITERAL("version: 1\ncredentials:\n  - name: a\n    publish: {file: {path: x, format: y}}\n"
                    "    token: {file: t}\nlistne: x\n"),
            "f:4: credential a: publish.file.path: x is no absolute path; write one that begins with /\nf:4: "
            "credential a: publish.file.format: y is not known here; write one of: aws-credentials, "
            "aws-config, aws-credential-process, azure-token-json, azure-env, gcp-external-account, "
            "gcp-access-token, gcp-token-json, gcp-service-account-key, clouds-yaml, clouds-conf, openstack-token, docker-config, "
            "oauth-access-token, token, env, json, secret-key, certificate, private-key, ca-bundle\nf:5: credential a: "
            "token.file: t is no absolute path; write one that begins with /\nf:6: unknown key listne; did you mean listen?\n");
    cfr_str_addz(&text, HEAD PUB);
    for (int i = 0; i < 25; i++)
        cfr_str_addf(&text, "    key%d: x\n", i);
    assert_int_equal(cfr_config_parse("f", cfr_str_view(&text), no_env, &config, &all, &err), CFR_E_CONFIG);
    rest = cfr_str_view(&all);
    while (cfr_view_line(&rest, &line))
        n++;
    assert_int_equal(n, 21);
    assert_contains(all.p, "f: 5 more; mend these first\n");
    cfr_str_free(&text);
    cfr_str_free(&all);
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
         "{duration: 60m, region: 'us-east-1', " ROLE
         "}}\n  token: {\"file\": /t/token}\n  name: a\nversion: 1\n",
         true, true},
        {HEAD AWS PUB "    reload: [{exec: [/x, \"z\"]}]\n", false, true},
        {HEAD AWS PUB, false, true},
        {HEAD AWS PUB "    reload: [{exec: [/x, \"y\"]}]\n    required: false\n", true, true},
        {HEAD AWS PUB "    reload: [{exec: [/x, \"y\"]}]\n    keep_previous: 1m\n", true, true},
        {HEAD PUB "    reload: [{exec: [/x, \"y\"]}]\n", false, false},
        {HEAD AWS FILES "mode: \"0640\"}]}\n    reload: [{exec: [/x, \"y\"]}]\n", false, false},
        {HEAD AWS "    publish: {file: {path: /d, format: token}}\n    reload: [{exec: [/x, \"y\"]}]\n",
         false, false},
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
        HEAD "    exchange: {aws: {" ROLE ", region: us-east-1, then_assume: [{" ROLE
             ", tags: {a: b, c: d}}]}}\n" PUB,
        HEAD "    exchange: {aws: {" ROLE ", region: us-east-1, then_assume: [{" ROLE
             ", tags: {c: d, a: b}}]}}\n" PUB,
        HEAD "    exchange: {aws: {" ROLE ", region: us-east-1, then_assume: [{" ROLE
             ", tags: {c: b, a: d}}]}}\n" PUB,
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

static void signals(void **state)
{
    (void)state;
    for (int i = 0; cfr_config_signals[i] != NULL; i++)
        assert_true(cfr_config_signal_number(i) > 0);
    assert_string_equal(cfr_config_signals[0], "HUP");
    assert_int_equal(cfr_config_signal_number(0), SIGHUP);
    assert_int_equal(cfr_config_signal_number(-1), 0);
    assert_int_equal(cfr_config_signal_number(100), 0);
}

static void many_credentials(void **state)
{
    struct cfr_str text = {.limit = 4194304};
    struct cfr_config *config;

    (void)state;
    cfr_str_addz(&text, "version: 1\ncredentials:\n");
    for (int i = 0; i < 5000; i++)
        cfr_str_addf(
            &text,
            "- {name: c%d, token: {file: /t/token}, publish: {directory: /run/c/%d, files: [{name: t, "
            "format: token}]}}\n",
            i, i);
    config = parse(text.p);
    assert_int_equal(config->credentials.count, 5000);
    assert_string_equal(cfr_config_at(config, 4999)->name, "c4999");
    cfr_config_free(config);
    cfr_str_free(&text);
}

/* A key that the parser takes and the page leaves out would be a key that nobody knows. */
static void check_page(const char *page, const struct cfr_table *table)
{
    for (const struct cfr_field *f = table->fields; f->key != NULL; f++) {
        char row[128];

        (void)snprintf(row, sizeof row, "\n| `%s` | ", f->key);
        assert_contains(page, row);
        assert_true(f->doc != NULL && f->doc[0] != '\0' && f->doc[strlen(f->doc) - 1] == '.');
        assert_contains(page, f->doc);
        if (f->table != NULL)
            check_page(page, f->table);
    }
}

static void the_reference_has_every_key_and_format(void **state)
{
    struct cfr_str page = {.limit = 262144};
    struct cfr_view rest;
    struct cfr_view line;

    (void)state;
    cfr_config_reference(&page);
    assert_false(page.failed);
    check_page(page.p, &cfr_config_table);
    for (const struct cfr_format *f = cfr_formats; f->name != NULL; f++)
        assert_contains(page.p, f->doc);
    assert_contains(page.p, "\n## `credentials[].exchange.aws.then_assume[]`\n");
    assert_contains(page.p, "| `mode` | mode | `\"0600\"` | ");
    assert_contains(page.p, "| `version` | integer, 1 | **required** | ");
    rest = cfr_str_view(&page);
    while (cfr_view_line(&rest, &line)) {
        size_t bars = 0;

        for (size_t i = 0; i < line.n; i++)
            bars += line.p[i] == '|' && (i == 0 || line.p[i - 1] != '\\') ? 1 : 0;
        assert_true(bars == 0 || bars == 5);
    }
    cfr_str_free(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(defaults),
        cmocka_unit_test(json_is_yaml),
        cmocka_unit_test(harmless_variety_is_accepted),
        cmocka_unit_test(whole_files_that_are_no_configuration),
        cmocka_unit_test(what_makes_yaml_surprising_is_refused),
        cmocka_unit_test(keys),
        cmocka_unit_test(names),
        cmocka_unit_test(scalars),
        cmocka_unit_test(files_and_directories),
        cmocka_unit_test(formats),
        cmocka_unit_test(paths_are_not_shared),
        cmocka_unit_test(hooks),
        cmocka_unit_test(sockets_and_addresses),
        cmocka_unit_test(the_provider_is_asked),
        cmocka_unit_test(texts_from_the_file_are_defused),
        cmocka_unit_test(errors_are_collected_in_order_up_to_a_number),
        cmocka_unit_test(digests),
        cmocka_unit_test(tags_in_another_order_are_the_same),
        cmocka_unit_test(signals),
        cmocka_unit_test(many_credentials),
        cmocka_unit_test(the_reference_has_every_key_and_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
