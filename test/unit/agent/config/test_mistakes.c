/* SPDX-License-Identifier: MIT */
/* Mistakes in a configuration: of the whole file, of its keys and of their values. */
#include "agent/config/config_private.h"

#include "config_text.h"

/* Lines 1 to 4 and 5. */
#define HEAD  "version: 1\ncredentials:\n  - name: a\n    token: {file: /t/token}\n"
#define PUB   "    publish: {directory: /d, files: [{name: t, format: token}]}\n"
#define ROLE  "role_arn: \"arn:aws:iam::123456789012:role/registry\""
#define FILES "    publish: {directory: /d, files: [{name: t, format: token, "
#define HOOK  HEAD PUB "    reload:\n      - "

static void whole_files_that_are_no_configuration(void **state)
{
    static const struct refusal cases[] = {
        {"", "f:1: the file is empty; begin with `version: 1`\n"},
        {"# only a comment\n", "f:1: the file is empty; begin with `version: 1`\n"},
        {"---\n", "f:1: the file is empty; begin with `version: 1`\n"},
        {"~\n", "f:1: the file is empty; begin with `version: 1`\n"},
        {"hello\n", "f:1: expected a mapping, got text; begin with `version: 1`\n"},
        {"- a\n- b\n", "f:1: expected a mapping, got a list; begin with `version: 1`\n"},
        {HEAD PUB "---\nversion: 1\n", "f:6: a second document begins here; keep one, and remove this `---`\n"},
        {HEAD PUB "---\n", "f:6: a second document begins here; keep one, and remove this `---`\n"},
        {"version: 1\n# caf\xe9\n", "f:2: not UTF-8; save the file in that encoding\n"},
        {"\xff\xfev\n", "f:1: not YAML, but text in UTF-16 (save it as UTF-8)\n"},
        {"-----BEGIN CERTIFICATE-----\nMII\n", "f:1: not YAML, but a certificate in PEM form\n"},
        {"version: 1\n# bell \x07\n", "f:2: control characters are not allowed; remove the character\n"},
        {"version: 1\ncredentials:\n\t- name: a\n", "f:3: a tab indents this line; write spaces\n"},
        {"version: 1\nlog:\n  level: info\n \tformat: text\n", "f:4: a tab indents this line; write spaces\n"},
        {"version: 1\nlog: {level: info\n", "f:3: expected `,` or `}` here, for the `{` on line 2\n"},
        {"version: 1\n log: x\n",
         "f:2: `log` stands further right than `version` on line 1; indent it to the same column\n"},
        {"version: 1\nlisten: @a\n", "f:2: a value cannot begin with this character; put it in quotes\n"},
        {"version: 1\nlisten: \"a\n",
         "f:2: the quotation mark on this line has no counterpart up to the end of the file; add it\n"},
        {"%TAG ! x:\n---\nversion: 1\n", "f:1: %TAG directives are not supported; remove it\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
    refused(LITERAL("version: 1\n\0\n"), "f:2: control characters are not allowed; remove the character\n");
    refused((struct cfr_view){NULL, 0}, "f:1: the file is empty; begin with `version: 1`\n");
}

static void what_makes_yaml_surprising_is_refused(void **state)
{
    static const struct refusal cases[] = {
        {"version: &a 1\n", "f:1: anchors (&) are not supported; write the value out\n"},
        {"x: &a {b: c}\n", "f:1: anchors (&) are not supported; write the value out\n"},
        {"version: 1\nlisten: *a\n",
         "f:2: aliases (*) are not supported; write the value out, or in quotes if it begins with *\n"},
        {"version: !!int 1\n", "f:1: tags (!) are not supported; put text that begins with ! in quotes\n"},
        {"version: 1\nlisten: !env X\n", "f:2: tags (!) are not supported; put text that begins with ! in quotes\n"},
        {"version: 1\ncredentials: !!seq []\n",
         "f:2: tags (!) are not supported; put text that begins with ! in quotes\n"},
        {"<<: {version: 1}\n" HEAD PUB, "f:1: merge keys (<<) are not supported; write the keys out\n"},
        {HEAD PUB "? [x]\n: y\n", "f:6: a key must be text, not a list\n"},
        {"[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]\n", "f:1: nested too deeply; no key of credfresh is at such a depth\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

static void keys(void **state)
{
    static const struct refusal cases[] = {
        {"state-dir: /x\n" HEAD PUB, "f:1: unknown key state-dir; did you mean state_dir?\n"},
        {HEAD PUB "    reloads: []\n", "f:6: credential a: unknown key reloads; did you mean reload?\n"},
        {HEAD PUB "    colour: red\n",
         "f:6: credential a: unknown key colour; this credential has: name, "
         "required, token, secret, exchange, certificate, ca_bundle, mint, publish, allow, reload, "
         "acknowledge, keep_previous\n"},
        {HEAD PUB "    \"a\\nb\": red\n",
         "f:6: credential a: unknown key (not printable); this credential has: name, required, token, "
         "secret, exchange, certificate, ca_bundle, mint, publish, allow, reload, acknowledge, "
         "keep_previous\n"},
        {HEAD "    exchange: {aws: {" ROLE ", serial_number: x, region: eu-west-1}}\n" PUB,
         "f:5: credential a: exchange.aws.serial_number: was removed: an unattended agent has no MFA device; use a "
         "role "
         "that trusts the token, or keys of a user whose policies require no MFA\n"},
        {HEAD "    exchange: {aws: {" ROLE ", sts_regional_endpoints: regional, region: eu-west-1, accept: xml}}\n" PUB,
         "f:5: credential a: exchange.aws.sts_regional_endpoints: was removed: the STS of `region` is always called; "
         "remove the key, and for the global host set `endpoint`\nf:5: credential a: exchange.aws.accept: was "
         "removed: AWS answers in XML; remove the key\n"},
        {HEAD "    exchange: {aws: {" ROLE ", then_assume: [{" ROLE ", provided_contexts: []}]}}\n" PUB,
         "f:5: credential a: exchange.aws.then_assume.provided_contexts: was removed: an unattended agent has no "
         "assertion about a user; remove the key, and allow the role itself what it needs\n"},
        {HEAD "    publsh: {}\n", "f:5: credential a: unknown key publsh; did you mean publish?\n"},
        {HEAD PUB "    name: b\n", "f:6: credential a: name: is given twice, first on line 3; remove one\n"},
        {HEAD PUB "version: 1\n", "f:6: version: is given twice, first on line 1; remove one\n"},
        {HEAD PUB "    reload:\n", "f:6: credential a: reload: has no value; write one, or leave the key out\n"},
        {HEAD PUB "    required: ~\n", "f:6: credential a: required: has no value; write one, or leave the key out\n"},
        {HEAD PUB "    keep_previous: null\n",
         "f:6: credential a: keep_previous: has no value; write one, or leave the key out\n"},
        {"credentials:\n  - name: a\n    token: {file: /t}\n    publish: {file: {path: /d, format: json}}\n",
         "f:1: version: is missing; the file must begin with `version: 1`\n"},
        {"version: 1\n", "f:1: credentials: is missing; this configuration needs it\n"},
        {"version: 1\ncredentials: []\n", "f:2: credentials: is empty; write at least 1\n"},
        {"version: 2\ncredentials: []\n",
         "f:1: version: must be 1, got 2\nf:2: credentials: is empty; write at least 1\n"},
        {"version: one\ncredentials: []\n",
         "f:1: version: must be 1, got \"one\"\nf:2: credentials: is empty; write at least 1\n"},
        {"version: \"1\"\n"
         "credentials: {}\n",
         "f:1: version: \"1\" is text because of its quotes; write 1 without them\n"
         "f:2: credentials: expected a list, got a mapping; write each item after a dash\n"},
        {"version: 1\ncredentials:\n  - {}\n  - x\n",
         "f:3: credential number 1: name: is missing; this credential needs it\nf:3: credential without name: publish: "
         "is missing; this credential needs it, because no endpoint serves it and it has no `allow`\nf:4: credential "
         "number 2: each item must be a mapping, not text; write `- name: ...`\n"},
        {"version: 1\ncredentials:\n  - token: /t/token\n    name: a\n" PUB,
         "f:3: credential a: token: expected a mapping, got text; write `file: ...` below it, "
         "indented\n"},
        {"version: 1\ncredentials:\n  - name: [a]\n    token: {file: {a: b}}\n" PUB,
         "f:3: credential number 1: name: expected a single value, got a list\n"
         "f:4: credential number 1: token.file: expected a single value, got a mapping\n"},
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
         "f:3: credential a12345678901234567890123456789012345678901234567890123456789012: name: is longer than 63 "
         "characters\n"},
        {HEAD PUB "  - name: a\n    token: {file: /t}\n    publish: {file: {path: /e, format: token}}\n",
         "f:6: credential a: name: another credential has it, on line 3; rename one of them\n"},
        {"version: 1\ncredentials:\n  - name: a-\n    token: {file: /t}\n" PUB
         "    reload: [{exec: [/x]}, {rollout: {kind: Deployment, name: web}}]\n",
         "f:3: credential a-: name: ends with \"-\", with which the annotation of the hook `rollout` cannot end; use a "
         "letter or a digit there, or remove the hook\n"},
    };
    static const char end[] =
        "version: 1\ncredentials:\n  - name: a-\n    token: {file: /t}\n" PUB "    reload: [{exec: [/x]}]\n";

    (void)state;
    all_refused(cases, COUNT(cases));
    cfr_config_free(parse(end));
}

static void scalars(void **state)
{
    static const struct refusal cases[] = {
        {HEAD PUB "    required: yes\n", "f:6: credential a: required: yes is neither true nor false; write true\n"},
        {HEAD PUB "    required: \"true\"\n",
         "f:6: credential a: required: true is neither true nor false; write true without quotes\n"},
        {"max_concurrent_exchanges: ten\n" HEAD PUB,
         "f:1: max_concurrent_exchanges: must be an integer in decimal digits, got \"ten\"\n"},
        {"max_concurrent_exchanges: 0\n" HEAD PUB,
         "f:1: max_concurrent_exchanges: 0 is out of range; write a number from 1 to 1024\n"},
        {"keep_previous: 10\n" HEAD PUB, "f:1: keep_previous: 10 has no unit; write 10s if seconds are meant\n"},
        {"keep_previous: 8d\n" HEAD PUB, "f:1: keep_previous: 8d is out of range; write a duration from 0s to 7d\n"},
        {HEAD PUB "    keep_previous: a while\n",
         "f:6: credential a: keep_previous: a while is not a duration; write whole numbers with the units d, h, m, s "
         "or ms, such as 90s or 1h30m\n"},
        {HEAD FILES "mode: 0640}]}\n",
         "f:5: credential a: publish.files.mode: write the mode in quotes: \"0640\" (YAML reads 0640 as a number)\n"},
        {HEAD FILES "mode: 416}]}\n",
         "f:5: credential a: publish.files.mode: write the mode in quotes: \"0640\" (416 is its decimal value)\n"},
        {HEAD FILES "mode: \"4755\"}]}\n",
         "f:5: credential a: publish.files.mode: \"4755\" has more than permission bits; write \"0755\"\n"},
        {HEAD FILES "mode: \"0666\"}]}\n",
         "f:5: credential a: publish.files.mode: \"0666\" is world-writable; write \"0664\"\n"},
        {HEAD "    publish: {directory: /d, files: [{name: t, format: tokn}]}\n",
         "f:5: credential a: publish.files.format: tokn is not a valid value; did you mean token?\n"},
        {HEAD "    publish: {directory: /d, files: [{name: t, format: xml}]}\n",
         "f:5: credential a: publish.files.format: xml is not a valid value; write one of: aws-credentials, "
         "aws-config, aws-credential-process, azure-token-json, azure-env, gcp-external-account, gcp-access-token, "
         "gcp-token-json, gcp-service-account-key, clouds-yaml, clouds-conf, openstack-token, docker-config, "
         "oauth-access-token, token, env, json, secret-key, field, template, ca.crt, namespace, kubeconfig, "
         "certificate, private-key, ca-bundle\n"},
        {"log: {level: warning}\n" HEAD PUB, "f:1: log.level: warning is not a valid value; did you mean warn?\n"},
        {HOOK "signal: {pid_file: /p, signal: SIGHUP}\n",
         "f:7: credential a: reload.signal.signal: SIGHUP is not a valid value; did you mean HUP?\n"},
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
        (void)snprintf(lines, sizeof lines,
                       "f:1: listen: %s is not an address with a port; write one such as \"127.0.0.1:9464\", "
                       "\"[::1]:9464\" or \":9464\" for all addresses\n",
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
    assert_int_equal(cfr_config_parse("f", cfr_view_of(no_region), no_env, &config, &all, &err), CFR_E_CONFIG);
    assert_contains(all.p, "f:7: credential a: exchange.aws: ");
    assert_contains(all.p, "region");
    cfr_str_free(&all);
    cfr_config_free(parse_with(region_env, no_region));
    refused(LITERAL(HEAD "    exchange: {}\n" PUB),
            "f:5: credential a: exchange: names no provider; write one such as `aws:` with its keys below it, or "
            "remove `exchange` to publish the token itself\n");
    refused(LITERAL(HEAD "    exchange: {asw: {}}\n" PUB),
            "f:5: credential a: exchange: unknown key asw; did you mean aws?\n");
    refused(LITERAL(HEAD "    exchange:\n      aws: {" ROLE "}\n      gcp: {}\n" PUB),
            "f:7: credential a: exchange.gcp: cannot be combined with aws, on line 6; keep one of the two\n");
    refused(LITERAL(HEAD "    exchange: {provider: {}}\n" PUB),
            "f:5: credential a: exchange: unknown key provider; this exchange has: aws, aws_container, gcp, azure, "
            "openstack, oauth\n");
    refused(LITERAL(HEAD "    exchange: {aws: {role_arn: x}}\n" PUB),
            "f:5: credential a: exchange.aws.role_arn: it must be the ARN of a role, such as "
            "\"arn:aws:iam::123456789012:role/NAME\"\n");
    refused(LITERAL(HEAD "    exchange:\n      aws:\n        " ROLE
                         "\n        region: us-east-1\n        then_assume:\n"
                         "          - {" ROLE ", tags: {a: b, a: c}}\n" PUB),
            "f:10: credential a: exchange.aws.then_assume.tags: a occurs twice; remove one\n");
}

/* What stands in the file is repeated, but cannot pass for a line of ours or command a terminal. */
static void texts_from_the_file_are_defused(void **state)
{
    (void)state;
    refused(LITERAL(HOOK "exec: [\"x\\nf:1: fine\\e[31m\\u009b1m\"]\n"),
            "f:7: credential a: reload.exec: x?f:1: fine?[31m??1m must be an absolute path, because there is no shell "
            "and no PATH\n");
    refused(LITERAL(HEAD "    publish:\n"
                         "      - {file: {path: \"/\xc3\xa9\", format: token}}\n"
                         "      - {file: {path: \"/\xc3\xa9\", format: token}}\n"),
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
            "f:4: credential a: publish.file.path: must be an absolute path, which begins with /\nf:4: credential a: "
            "publish.file.format: y is not a valid value; write one of: aws-credentials, aws-config, "
            "aws-credential-process, azure-token-json, azure-env, gcp-external-account, gcp-access-token, "
            "gcp-token-json, gcp-service-account-key, clouds-yaml, clouds-conf, openstack-token, docker-config, "
            "oauth-access-token, token, env, json, secret-key, field, template, ca.crt, namespace, kubeconfig, "
            "certificate, private-key, ca-bundle\nf:5: credential a: token.file: must be an absolute path, which "
            "begins with /\nf:6: unknown key listne; did you mean listen?\n");
    cfr_str_addz(&text, HEAD PUB);
    for (int i = 0; i < 25; i++)
        cfr_str_addf(&text, "    key%d: x\n", i);
    assert_int_equal(cfr_config_parse("f", cfr_str_view(&text), no_env, &config, &all, &err), CFR_E_CONFIG);
    rest = cfr_str_view(&all);
    while (cfr_view_line(&rest, &line))
        n++;
    assert_int_equal(n, 21);
    assert_contains(all.p, "f: 5 more; fix these first\n");
    cfr_str_free(&text);
    cfr_str_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files_that_are_no_configuration),
        cmocka_unit_test(what_makes_yaml_surprising_is_refused),
        cmocka_unit_test(keys),
        cmocka_unit_test(names),
        cmocka_unit_test(scalars),
        cmocka_unit_test(sockets_and_addresses),
        cmocka_unit_test(the_provider_is_asked),
        cmocka_unit_test(texts_from_the_file_are_defused),
        cmocka_unit_test(errors_are_collected_in_order_up_to_a_number),
    };

    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
