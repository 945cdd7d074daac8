/* SPDX-License-Identifier: MIT */
/* Mistakes in the configuration of targets and of notifications. */
#include "agent/config/config_private.h"

#include "config_text.h"

/* Lines 1 to 4 and 5. */
#define HEAD  "version: 1\ncredentials:\n  - name: a\n    token: {file: /t/token}\n"
#define PUB   "    publish: {directory: /d, files: [{name: t, format: token}]}\n"
#define ROLE  "role_arn: \"arn:aws:iam::123456789012:role/registry\""
#define AWS   "    exchange: {aws: {" ROLE ", region: us-east-1}}\n"
#define FILES "    publish: {directory: /d, files: [{name: t, format: token, "
#define AZURE                                                                                                          \
    HEAD "    exchange: {azure: {tenant_id: 11111111-2222-3333-4444-555555555555, client_id: "                         \
         "66666666-7777-8888-9999-aaaaaaaaaaaa, scopes: [\"https://vault.azure.net/.default\"]}}\n    publish: "
#define HOOK HEAD PUB "    reload:\n      - "

static void files_and_directories(void **state)
{
    static const struct refusal cases[] = {
        {HEAD "    publish: {directory: /d, files: [{name: a/b, format: token}, {name: .., format: token}]}\n",
         "f:5: credential a: publish.files.name: is not a file name; write one name without /\nf:5: credential a: "
         "publish.files.name: cannot be a file name here; do not begin it with ..\n"},
        {HEAD "    publish: {directory: /d, files: [{name: ..data, format: token}]}\n",
         "f:5: credential a: publish.files.name: cannot be a file name here; do not begin it with "
         "..\n"},
        {HEAD "    publish:\n      directory: /d\n      files:\n        - {name: t, format: token}\n        "
              "- {name: t, "
              "format: json}\n",
         "f:7: credential a: publish.files: two are named t, on lines 8 and 9; rename one of them\n"},
        {HEAD "    publish: {directory: d, files: [{name: t, format: token}]}\n",
         "f:5: credential a: publish.directory: must be an absolute path, which begins with /\n"},
        {HEAD "    publish: {directory: /d/, files: [{name: t, format: token}]}\n",
         "f:5: credential a: publish.directory: has an empty component; write it without the slash at "
         "its end\n"},
        {HEAD "    publish: {directory: /d}\n",
         "f:5: credential a: publish.directory: needs `files`, such as - {name: token, format: token}\n"},
        {HEAD "    publish: {directory: /d, files: []}\n",
         "f:5: credential a: publish.files: is empty; write at least 1\n"},
        {HEAD "    publish: {files: [{name: t, format: token}]}\n",
         "f:5: credential a: publish.files: needs `directory`, where they are published\n"},
        {HEAD "    publish: {}\n", "f:5: credential a: publish: does not say where to publish; write one of "
                                   "`directory`, `file`, `profile`, `secret` or `configmap`\n"},
        {HEAD "    publish: []\n", "f:5: credential a: publish: is empty; write at least 1\n"},
        {HEAD "    publish: /d\n",
         "f:5: credential a: publish: expected a list, got text; write each item after a dash\n"},
        {HEAD "    publish: {file: {path: /e, format: token}, profile: {path: /p}}\n",
         "f:5: credential a: publish: has more than one of `directory`, `file`, `profile`, `secret` and `configmap`; "
         "write a list "
         "with one in "
         "each item\n"
         "f:5: credential a: publish.profile.format: aws-credentials needs aws_access_key_id, which this credential "
         "does "
         "not have; add an `exchange:` that gives it, or write format token\n"},
        {HEAD "    publish: {file: {path: /e, format: token}, owner: app}\n",
         "f:5: credential a: publish.owner: belongs to `directory`; write it in the file\n"},
        {HEAD "    publish: {file: {path: /e, format: token}, directory_mode: \"0755\"}\n",
         "f:5: credential a: publish.directory_mode: belongs to `directory`; write `mode` in the file\n"},
        {HEAD "    publish: {file: {path: /e, format: token, name: t}}\n",
         "f:5: credential a: publish.file: unknown key name; this single file has: path, format, mode, "
         "owner, group, profile, role_arn, session_name, token_path, region, key, scope, cloud, cacert, "
         "clouds_auth, sts_regional_endpoints, field, template, values, server, command, in_place\n"},
        {HEAD "    publish: {directory: /d, files: [{name: t}]}\n",
         "f:5: credential a: publish.files.format: is missing; this file of a directory needs it\n"},
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
        {HEAD FILES "command: /bin/x}]}\n", "f:5: credential a: publish.files.command: has no effect with format "
                                            "token, only with: aws-config; remove it\n"},
        {HEAD FILES "region: x}]}\n", "f:5: credential a: publish.files.region: has no effect with format token, only "
                                      "with: aws-config clouds-yaml clouds-conf env; remove it\n"},
        {HEAD AWS "    publish: {profile: {path: /p, token_path: /t}}\n",
         "f:6: credential a: publish.profile.token_path: has no effect with format aws-credentials, only with: "
         "aws-config; remove it\n"},
        {HEAD FILES "cacert: /ca, key: k}]}\n",
         "f:5: credential a: publish.files.key: has no effect with format token, only with: secret-key; remove it\n"},
        {HEAD AWS "    publish: {profile: {path: /p, format: json}}\n",
         "f:6: credential a: publish.profile.format: json cannot be merged into a file as a profile; write "
         "aws-credentials or aws-config\n"},
        {HEAD AWS "    publish: {profile: {path: /p, name: \"a]b\"}}\n",
         "f:6: credential a: publish.profile.name: \"a]b\" is not a profile name that all SDKs take: use 1 "
         "to 64 "
         "letters, digits and `_.-/%@:+`, and not DEFAULT\n"},
        {HEAD "    publish: {profile: {path: /p, format: aws-config}}\n",
         "f:5: credential a: publish.profile.format: aws-config needs `role_arn` and `token_path`, or "
         "`command`\n"},
        {HEAD "    publish: {profile: {path: /p, format: aws-config, role_arn: r}}\n",
         "f:5: credential a: publish.profile.role_arn: needs token_path, where the SDK finds the token\n"},
        {HEAD "    publish: {profile: {path: /p, format: aws-config, token_path: /t}}\n",
         "f:5: credential a: publish.profile.token_path: needs role_arn, the role that the SDK "
         "assumes\n"},
        {HEAD "    publish: {profile: {path: /p, format: aws-config, session_name: xx, command: /c}}\n",
         "f:5: credential a: publish.profile.session_name: needs role_arn and token_path\n"},
        {HEAD "    publish: {profile: {path: /p, format: aws-config, role_arn: r, token_path: /t, command: /c}}\n",
         "f:5: credential a: publish.profile.command: cannot be used with role_arn; keep one of the two\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

#define NEEDS       "f:5: credential a: publish.files.format: "
#define FIELD(rest) HEAD "    publish: {directory: /d, files: [{name: t, format: " rest "}]}\n"
#define MINTED(rest)                                                                                                   \
    "version: 1\nstate_dir: /var/lib/c\ncredentials:\n  - {name: b, secret: {directory: /s}}\n  - name: a\n"           \
    "    mint: {azure: {client_id: 99999999-8888-7777-6666-555555555555}, with: b}\n"                                  \
    "    publish: {directory: /d, files: [{name: t, format: " rest "}]}\n"
#define REQUESTED(rest)                                                                                                \
    "version: 1\ncredentials:\n  - name: a\n    token: {request: {service_account: s, audiences: [x]}}\n"              \
    "    publish: {directory: /d, files: [{name: t, format: " rest "}]}\n"
#define PASSED(rest)                                                                                                   \
    "version: 1\ncredentials:\n  - name: a\n    secret: {directory: /s, pass_on: true}\n"                              \
    "    publish: {directory: /d, files: [{name: t, format: " rest "}]}\n"

static void fields_and_templates(void **state)
{
    static const struct refusal cases[] = {
        {FIELD("field"), NEEDS "field needs `field`, which says which one\n"},
        {FIELD("template"), NEEDS "template needs `template`, the text with its fields\n"},
        {FIELD("field, field: tokn"),
         "f:5: credential a: publish.files.field: there is no field tokn; did you mean token?\n"},
        {FIELD("template, template: \"a\\n${tokn}\""),
         "f:5: credential a: publish.files.template: line 2 of it: there is no field tokn; did you mean token?\n"},
        {HEAD "    publish:\n      directory: /d\n      files:\n        - name: t\n          format: template\n"
              "          template: |\n            a\n            ${b",
         "f:10: credential a: publish.files.template: line 2 of it: a field begins with ${ and does not end with }; "
         "write $${ for the text ${ itself\n"},
        {FIELD("field, field: aws_access_key_id"),
         NEEDS "field needs aws_access_key_id, which this credential does not have; add an `exchange:` that gives it, "
               "or write format token\n"},
        {FIELD("template, template: \"${token} ${aws_region}\""),
         NEEDS "template needs aws_region, which this credential does not have; add an `exchange:` that gives it, or "
               "write format token\n"},
        {FIELD("token, values: raw"),
         "f:5: credential a: publish.files.values: has no effect with format token, only with: template; remove it\n"},
        {FIELD("token, server: x"), "f:5: credential a: publish.files.server: has no effect with format token, only "
                                    "with: kubeconfig; remove it\n"},
        {FIELD("ca.crt"), NEEDS "ca.crt needs kubernetes_ca, which only a token that is requested from the API server "
                                "brings; write `token.request`, without `file`\n"},
        {FIELD("kubeconfig"), NEEDS "kubeconfig needs the API server's URL; write `server`, or request the token from "
                                    "it\n"},
        {FIELD("kubeconfig, server: \"http://a.example\""),
         "f:5: credential a: publish.files.server: plain http is only for loopback (127.0.0.0/8, [::1], "
         "localhost), because secrets would cross the network in the clear; write https:// (with ca_file for a private "
         "CA)\n"},
        {MINTED("field, field: azure_access_token"),
         "f:7: credential a: publish.files.format: field needs azure_access_token, which a minted key does not have; "
         "write a format of its cloud\n"},
        {MINTED("azure-token-json"), "f:7: credential a: publish.files.format: azure-token-json needs "
                                     "azure_access_token, which a minted key does not have; write a format of its "
                                     "cloud\n"},
        {PASSED("field, field: aws_access_key_id"),
         NEEDS "field needs aws_access_key_id, and a Secret that is passed on has its own keys only; name one as "
               "secret:KEY, or remove `pass_on`\n"},
        {FIELD("field, field: \"secret:x\""), NEEDS "field needs a mounted Secret; write `secret:`, or another "
                                                    "format\n"},
        {HEAD "    publish: {profile: {path: /p, sts_regional_endpoints: regional}}\n",
         "f:5: credential a: publish.profile.sts_regional_endpoints: has no effect with format aws-credentials, only "
         "with: aws-config; remove it\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
    cfr_config_free(parse(FIELD("field, field: token")));
    cfr_config_free(parse(FIELD("template, template: \"no field at all\"")));
    cfr_config_free(parse(FIELD("kubeconfig, server: \"https://a.example\"")));
    cfr_config_free(parse(MINTED("field, field: azure_client_secret")));
    cfr_config_free(parse(REQUESTED("ca.crt")));
    cfr_config_free(parse(REQUESTED("namespace")));
    cfr_config_free(parse(REQUESTED("kubeconfig")));
    cfr_config_free(parse(PASSED("template, template: \"${secret:a} ${generation}\"")));
}

static void what_follows_from_fields(void **state)
{
    struct cfr_config *c = parse(REQUESTED("template, template: \"${kubernetes_server}\""));

    (void)state;
    assert_true(cfr_config_publishes_cluster(cfr_config_at(c, 0)));
    assert_false(cfr_config_publishes_token(cfr_config_at(c, 0)));
    cfr_config_free(c);
    c = parse(REQUESTED("field, field: token"));
    assert_false(cfr_config_publishes_cluster(cfr_config_at(c, 0)));
    assert_true(cfr_config_publishes_token(cfr_config_at(c, 0)));
    cfr_config_free(c);
    c = parse(REQUESTED("kubeconfig"));
    assert_true(cfr_config_publishes_cluster(cfr_config_at(c, 0)));
    assert_true(cfr_config_publishes_token(cfr_config_at(c, 0)));
    cfr_config_free(c);
}

#define TARGETS        HEAD "    publish:\n"
#define D(path)        "      - {directory: " path ", files: [{name: t, format: token}]}\n"
#define F(path)        "      - {file: {path: " path ", format: token}}\n"
#define P(path, name)  "      - {profile: {path: " path ", name: " name ", format: aws-config, command: /c}}\n"

#define S(name, space) "      - {secret: {name: " name ", namespace: " space ", keys: [{name: t, format: token}]}}\n"

static void paths_are_not_shared(void **state)
{
    static const struct refusal cases[] = {
        {TARGETS D("/d") D("/d"), "f:7: credential a: publish.directory: /d is also written by credential a "
                                  "(line 6); choose another path\n"},
        {TARGETS F("/x") F("/x"), "f:7: credential a: publish.file.path: /x is also written by credential a "
                                  "(line 6); choose another path\n"},
        {TARGETS F("/x") D("/x"), "f:7: credential a: publish.directory: /x is also written by credential a "
                                  "(line 6); choose another path\n"},
        {TARGETS F("/d/x/y") D("/d") F("/d-e") F("/d.e"), "f:6: credential a: publish.file.path: /d/x/y is in the "
                                                          "directory of credential a (line 7); choose another path\n"},
        {TARGETS D("/d/e") D("/d") D("/d/e/f"),
         "f:6: credential a: publish.directory: /d/e is in the directory of credential a (line 7); choose another "
         "path\nf:8: credential a: publish.directory: /d/e/f is in the directory of credential a (line 7); choose "
         "another path\n"},
        {TARGETS P("/p", "x") F("/p"), "f:7: credential a: publish.file.path: /p is also written by "
                                       "credential a (line 6); choose another path\n"},
        {TARGETS P("/p", "x") P("/p", "y") P("/p", "x"),
         "f:8: credential a: publish.profile.path: /p is also written by credential a (line 6); choose "
         "another path or "
         "another profile name\n"},
        {TARGETS D("/t"),
         "f:4: credential a: token.file: /t/token is in the directory of credential a (line 6); choose another path\n"},
        {TARGETS F("/t/token"), "f:6: credential a: publish.file.path: /t/token is the token file of "
                                "credential a (line 4); choose another "
                                "path\n"},
        {TARGETS D("/run/credfresh"), "f:6: credential a: publish.directory: /run/credfresh is state_dir of "
                                      "this configuration; choose another path\n"},
        {TARGETS F("/run/credfresh/control.sock"),
         "f:6: credential a: publish.file.path: /run/credfresh/control.sock is control_socket of this "
         "configuration; "
         "choose another path\n"},
        {TARGETS F("/x") "  - name: b\n    token: {file: /t/token}\n    publish: {file: {path: /x, format: env}}\n",
         "f:9: credential b: publish.file.path: /x is also written by credential a (line 6); choose another "
         "path\n"},
        {TARGETS S("s", "n") S("t", "n") S("s", "m") S("s", "n"),
         "f:9: credential a: publish.secret: s is also written on line 6; choose another name, or put the keys of both "
         "into one\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
    cfr_config_free(parse(TARGETS P("/p", "x") P("/p", "y") F("/p.lock2") D("/run/credfresh/a") D("/run/credfresh/b")));
}

#define FROM(x)  "version: 1\ncredentials:\n  - name: a\n    secret: {directory: /s" x "}\n    publish: "
#define NAMES(x) "{directory: /d, files: [{name: f, format: " x "}]}\n"
#define REFUSED(x, more)                                                                                               \
    "f:5: credential a: publish.files.format: " x                                                                      \
    " cannot be made of a Secret that is passed on as it is; write secret-key, template or json" more "\n"
#define PASS ", pass_on: true"
#define GCP(more)                                                                                                      \
    "    exchange: {gcp: {audience: //iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/"         \
    "providers/c" more "}}\n    publish: "

/* What the configuration alone tells is refused before anything runs. */
static void what_can_never_be_published(void **state)
{
    static const struct refusal cases[] = {
        {FROM(PASS) NAMES("aws-credentials"), REFUSED("aws-credentials", ", or remove `pass_on`")},
        {FROM(PASS) NAMES("azure-env"), REFUSED("azure-env", ", or remove `pass_on`")},
        {FROM(PASS) NAMES("gcp-external-account"), REFUSED("gcp-external-account", ", or remove `pass_on`")},
        {FROM(PASS) NAMES("clouds-yaml"), REFUSED("clouds-yaml", ", or remove `pass_on`")},
        {FROM(PASS) NAMES("token"), REFUSED("token", ", or remove `pass_on`")},
        {FROM(PASS) NAMES("env"), REFUSED("env", ", or remove `pass_on`")},
        {FROM(", kind: vsphere") NAMES("env"), REFUSED("env", "")},
        {FROM(", kind: aws") NAMES("secret-key"),
         "f:5: credential a: publish.files.format: secret-key needs a Secret that is passed on, and this one is "
         "exchanged; write another format, or `pass_on: true`\n"},
        {FROM(", kind: gcp") NAMES("aws-credentials"),
         "f:5: credential a: publish.files.format: aws-credentials needs aws_access_key_id, which this credential does "
         "not have; add an `exchange:` that gives it, or write format token\n"},
        {FROM(", kind: aws") "{directory: /d}\n",
         "f:5: credential a: publish.directory: needs `files`, because the mounted Secret is exchanged and has no keys "
         "to pass on; write them, or `pass_on: true`\n"},
        {FROM(", kind: azure") "{secret: {name: s}}\n",
         "f:5: credential a: publish.secret: needs `keys`, because the mounted Secret is exchanged and has no keys to "
         "pass on; write them, or `pass_on: true`\n"},
        {AZURE "{directory: /d, files: [{name: e, format: azure-env}]}\n",
         "f:6: credential a: publish.files.format: azure-env needs the path of a token; write `token_path`, where the "
         "consumer finds its own, or add a file with format token to the directory\n"},
        {AZURE "{file: {path: /e, format: azure-env}}\n",
         "f:6: credential a: publish.file.format: azure-env needs the path of a token; write `token_path`, where the "
         "consumer finds its own\n"},
        {AZURE "{secret: {name: s, keys: [{name: e, format: azure-env}, {name: t, format: token}]}}\n",
         "f:6: credential a: publish.secret.keys.format: azure-env needs the path of a token; write `token_path`, "
         "where "
         "the consumer finds its own\n"},
        {HEAD "    publish: {file: {path: /e, format: azure-env, token_path: /t/token}}\n",
         "f:5: credential a: publish.file.format: azure-env needs azure_client_id, which this credential does not "
         "have; "
         "add an `exchange:` that gives it, or write format token\n"},
        {FROM(", kind: aws") NAMES("docker-config"),
         "f:5: credential a: publish.files.format: docker-config needs registry_auths, which this credential does not "
         "have; add an `exchange:` that gives it, or write format token\n"},
        {HEAD AWS "    publish: " NAMES("docker-config"),
         "f:6: credential a: publish.files.format: docker-config needs registry_auths, which this credential does not "
         "have; name the registries in `exchange.aws.ecr`\n"},
        {AZURE NAMES("docker-config"),
         "f:6: credential a: publish.files.format: docker-config needs registry_auths, which this credential does not "
         "have; name the registries in `exchange.azure.acr`\n"},
        {HEAD GCP("") NAMES("docker-config"),
         "f:6: credential a: publish.files.format: docker-config needs registry_auths, which this credential does not "
         "have; name the registries in `exchange.gcp.artifact_registry`\n"},
        {HEAD AWS "    publish: " NAMES("certificate"),
         "f:6: credential a: publish.files.format: certificate needs service_certificate, which this credential does "
         "not have; it is issued by the service CA: write `certificate`, or another format\n"},
        /* The path of a token would not help. */
        {HEAD AWS "    publish: " NAMES("azure-env"),
         "f:6: credential a: publish.files.format: azure-env needs azure_client_id, which this credential does not "
         "have; add an `exchange:` that gives it, or write format token\n"},
    };
    static const char *const taken[] = {
        HEAD "    exchange: {aws: {" ROLE ", region: us-east-1, ecr: {registries: "
             "[123456789012.dkr.ecr.us-east-1.amazonaws.com]}}}\n    publish: " NAMES("docker-config"),
        HEAD GCP(", artifact_registry: [europe-docker.pkg.dev]") NAMES("docker-config"),
        FROM(PASS) NAMES("json"),
        FROM(PASS) NAMES("secret-key"),
        FROM(PASS) "{directory: /d}\n",
        FROM(PASS) "{file: {path: /c, format: aws-config, command: /bin/x}}\n",
        FROM(", kind: vsphere") NAMES("secret-key"),
        FROM("") NAMES("aws-credentials"),
        FROM("") NAMES("azure-env"),
        FROM("") "{directory: /d}\n",
        FROM(", kind: aws") NAMES("aws-credentials"),
        FROM(", kind: azure") NAMES("token"),
        FROM(", kind: azure") NAMES("azure-env"),
        AZURE "{file: {path: /e, format: azure-env, token_path: /t/token}}\n",
        AZURE "{directory: /d, files: [{name: e, format: azure-env}, {name: t, format: token}]}\n",
    };

    (void)state;
    all_refused(cases, COUNT(cases));
    for (size_t i = 0; i < COUNT(taken); i++)
        cfr_config_free(parse(taken[i]));
}

static void hooks(void **state)
{
    static const struct refusal cases[] = {
        {HOOK "{}\n", "f:7: credential a: reload: does nothing; write one of `signal`, `exec`, `http` or `rollout`\n"},
        {HOOK "{signal: {pid_file: /p}, exec: [/x]}\n",
         "f:7: credential a: reload: has more than one of `signal`, `exec`, `http` and `rollout`; write a separate "
         "item for each\n"},
        {HOOK "signal: HUP\n", "f:7: credential a: reload.signal: expected a mapping, got text; write "
                               "`pid_file: ...` below it, "
                               "indented\n"},
        {HOOK "signal: {signal: HUP}\n",
         "f:7: credential a: reload.signal: has no process; write `pid_file` or `executable`\n"},
        {HOOK "signal: {pid_file: /p, executable: x}\n",
         "f:7: credential a: reload.signal.executable: cannot be used with pid_file; keep one of the two\n"},
        {HOOK "signal: {executable: bin/x}\n", "f:7: credential a: reload.signal.executable: write an "
                                               "absolute path, or the bare name of the program without "
                                               "/\n"},
        {HOOK "exec: reload it\n",
         "f:7: credential a: reload.exec: expected a list, got text; write each item after a dash\n"},
        {HOOK "{exec: [/x], exec: [/y]}\n",
         "f:7: credential a: reload.exec: is given twice, first on line 7; remove one\n"},
        {HOOK "{exec: }\n", "f:7: credential a: reload.exec: has no value; write one, or leave the key out\n"},
        {HOOK "{http: {url: \"https://h/\"}, http: {url: \"https://h/\"}}\n",
         "f:7: credential a: reload.http: is given twice, first on line 7; remove one\n"},
        {HOOK "just text\n",
         "f:7: credential a: reload: each item must be a mapping, not text; write `- signal: ...`\n"},
        {HOOK "exec: [reload]\n",
         "f:7: credential a: reload.exec: reload must be an absolute path, because there is no shell and no PATH\n"},
        {HOOK "exec: []\n", "f:7: credential a: reload.exec: is empty; write at least 1\n"},
        {HOOK "exec: [/x, [y]]\n", "f:7: credential a: reload.exec: expected text in it, got a list\n"},
        {HOOK "exec: [/x, ~]\n",
         "f:7: credential a: reload.exec: an item has no value; write \"\" if empty text is meant\n"},
        {HOOK "exec: [/x, \"a\\0b\"]\n",
         "f:7: credential a: reload.exec: a text in it has a NUL character; remove it\n"},
        {HOOK "exec: [/x]\n        timeout: 50ms\n",
         "f:8: credential a: reload.timeout: 50ms is out of range; write a duration from 100ms to 10m\n"},
        {HOOK "exec: [/x]\n        timeout: 11m\n",
         "f:8: credential a: reload.timeout: 11m is out of range; write a duration from 100ms to 10m\n"},
        {HOOK "http: {method: POST}\n", "f:7: credential a: reload.http.url: is missing; this http request needs it\n"},
        {HOOK "http: {url: \"ftp://127.0.0.1\"}\n",
         "f:7: credential a: reload.http.url: it must be a URL that begins with https://\n"},
        {HOOK "http: {url: \"http://localhost:80/\"}\n",
         "f:7: credential a: reload.http.url: http:// goes to a literal loopback address only, and localhost is none; "
         "write https://, or http://127.0.0.1\n"},
        {HOOK "http: {url: \"http://127.0.0.1.example/\"}\n",
         "f:7: credential a: reload.http.url: plain http is only for loopback (127.0.0.0/8, [::1], localhost), because "
         "secrets would cross the network in the clear; write https:// (with ca_file for a private CA)\n"},
        {HOOK "http: {url: \"https://user:pw@host/\"}\n", "f:7: credential a: reload.http.url: it has a user or "
                                                          "password before the host; remove everything up to the @\n"},
        {HOOK "http: {url: \"https:///x\"}\n",
         "f:7: credential a: reload.http.url: it has no valid host name; write https://HOST or https://HOST:PORT\n"},
        {HOOK "http: {url: \"https://h:99999/\"}\n",
         "f:7: credential a: reload.http.url: its port must be a number from 1 to 65535\n"},
        {HOOK "http: {url: \"https://h/a b\"}\n",
         "f:7: credential a: reload.http.url: after the host it may only have a path that begins with / and a query, "
         "without blanks and with other special characters percent-encoded\n"},
        {HOOK "http: {url: \"https://h/#x\"}\n",
         "f:7: credential a: reload.http.url: it has a fragment; remove everything from the # on, it is never sent\n"},
        {HOOK "http: {url: \"http://127.0.0.1/\", ca_file: /x}\n",
         "f:7: credential a: reload.http.ca_file: has no effect with http://; remove it, or write https://\n"},
        {HOOK "http: {url: \"https://h/\", expect: 99}\n",
         "f:7: credential a: reload.http.expect: 99 is out of range; write a number from 200 to 599\n"},
    };

    (void)state;
    all_refused(cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_directories),
        cmocka_unit_test(formats),
        cmocka_unit_test(fields_and_templates),
        cmocka_unit_test(what_follows_from_fields),
        cmocka_unit_test(paths_are_not_shared),
        cmocka_unit_test(what_can_never_be_published),
        cmocka_unit_test(hooks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
