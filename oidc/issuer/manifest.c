/* SPDX-License-Identifier: MIT */
/* Files and commands that tell the cluster and the clouds about an OIDC issuer. */
#include "oidc/issuer/manifest.h"

#include "base/writer.h"
#include "oidc/issuer/issuer_private.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 256
#define ACCOUNT_MAX    235 /* with a prefix and .json it is a file's name */
/* Between a namespace and a name, where / cannot be: neither may have one, so that no two accounts share a file. */
#define SEPARATOR    "_"
#define FILES_COMMON 5

/* ---- the inputs ---- */

/* True for what is one word in single quotes, and needs no escape in JSON. */
static bool is_quotable(const char *text)
{
    return text[0] != '\0' && strlen(text) <= 600 && cfr_view_printable(cfr_view_of(text)) &&
           strpbrk(text, "'\"\\ ,") == NULL;
}

static bool is_account(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    size_t space = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
    size_t name = text[space] == '/' ? strspn(text + space + 1, plain) : 0;

    return space != 0 && space <= 63 && name != 0 && text[space + 1] != '.' && strstr(text, "..") == NULL &&
           text[space + 1 + name] == '\0';
}

int cfr_oidc_manifest_check(const struct cfr_oidc_manifest_input *in, struct cfr_err *err)
{
    if (!is_quotable(in->issuer->url))
        return cfr_err_set(err, CFR_E_CONFIG, "the issuer's URL has a character that a command cannot have: %.200s",
                           in->issuer->url);
    if (in->audience != NULL && !is_quotable(in->audience))
        return cfr_err_set(err, CFR_E_CONFIG, "an audience is one word without quotes and commas, such as openshift");
    for (size_t i = 0; i < in->service_account_count; i++) {
        if (!is_account(in->service_accounts[i]))
            return cfr_err_set(err, CFR_E_CONFIG, "\"%.80s\" is not a service account: write NAMESPACE/NAME",
                               in->service_accounts[i]);
        if (strlen(in->service_accounts[i]) > ACCOUNT_MAX)
            return cfr_err_set(err, CFR_E_CONFIG, "\"%.80s...\" has more than %d characters: no file can have its name",
                               in->service_accounts[i], ACCOUNT_MAX);
    }
    return 0;
}

/* ---- the files ---- */

/* "NAMESPACE" and "NAME" of an account, separated by BETWEEN. */
static void add_account(struct cfr_str *out, const char *account, const char *between)
{
    size_t n = strcspn(account, "/");

    cfr_str_addf(out, "%.*s%s%s", (int)n, account, between, account + n + 1);
}

static void write_authentication(const struct cfr_oidc_manifest_input *in, struct cfr_str *out)
{
    cfr_str_addf(out,
                 "apiVersion: config.openshift.io/v1\nkind: Authentication\nmetadata:\n  name: cluster\nspec:\n"
                 "  serviceAccountIssuer: %s\n",
                 in->issuer->url);
}

/* ccoctl writes the same, with the audience openshift. */
static void write_aws(const struct cfr_oidc_manifest_input *in, struct cfr_str *out)
{
    struct cfr_writer w = {.str = out};

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "Url", cfr_view_of(in->issuer->url));
    cfr_writer_array(&w, "ClientIDList");
    if (in->audience != NULL && strcmp(in->audience, "sts.amazonaws.com") != 0)
        cfr_writer_string(&w, NULL, cfr_view_of(in->audience));
    cfr_writer_string(&w, NULL, cfr_view_of("sts.amazonaws.com"));
    cfr_writer_close(&w);
    if (in->thumbprint != NULL) {
        cfr_writer_array(&w, "ThumbprintList");
        cfr_writer_string(&w, NULL, cfr_view_of(in->thumbprint));
        cfr_writer_close(&w);
    }
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
}

static void write_gcp(const struct cfr_oidc_manifest_input *in, struct cfr_str *out)
{
    struct cfr_writer w = {.str = out};

    cfr_writer_object(&w, NULL);
    cfr_writer_object(&w, "oidc");
    cfr_writer_string(&w, "issuerUri", cfr_view_of(in->issuer->url));
    if (in->audience != NULL) {
        cfr_writer_array(&w, "allowedAudiences");
        cfr_writer_string(&w, NULL, cfr_view_of(in->audience));
        cfr_writer_close(&w);
    }
    cfr_writer_close(&w);
    cfr_writer_object(&w, "attributeMapping");
    cfr_writer_string(&w, "google.subject", cfr_view_of("assertion.sub"));
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
}

/* Without certificates, which Google refuses in a key set that is uploaded to a provider. */
static int write_keys(const struct cfr_oidc_manifest_input *in, struct cfr_str *out, struct cfr_err *err)
{
    const struct cfr_oidc_issuer_key *keys[2];
    size_t count = cfr_oidc_issuer_public_list(in->issuer, keys);
    int rc = 0;

    cfr_str_addz(out, "{\"keys\":[");
    for (size_t i = 0; rc == 0 && i < count; i++) {
        cfr_str_addz(out, i != 0 ? "," : "");
        rc = cfr_jwks_key(cfr_view_of(keys[i]->public_pem), (struct cfr_view){NULL, 0}, out, err);
    }
    cfr_str_addz(out, "]}\n");
    return rc;
}

static const char *azure_audience(const struct cfr_oidc_manifest_input *in)
{
    return in->audience != NULL ? in->audience : "api://AzureADTokenExchange";
}

static void write_azure(const struct cfr_oidc_manifest_input *in, const char *account, struct cfr_str *out)
{
    cfr_str_addz(out, "{\"name\":\"");
    add_account(out, account, SEPARATOR);
    cfr_str_addf(out, "\",\"issuer\":\"%s\",\"subject\":\"system:serviceaccount:", in->issuer->url);
    add_account(out, account, ":");
    cfr_str_addf(out, "\",\"audiences\":[\"%s\"]}\n", azure_audience(in));
}

static void write_aws_trust(const struct cfr_oidc_manifest_input *in, const char *account, struct cfr_str *out)
{
    const char *host = in->issuer->url + sizeof "https://" - 1;

    cfr_str_addf(
        out,
        "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{\"Federated\":"
        "\"arn:AWS_PARTITION:iam::AWS_ACCOUNT:oidc-provider/%s\"},\"Action\":\"sts:AssumeRoleWithWebIdentity\","
        "\"Condition\":{\"StringEquals\":{\"%s:sub\":\"system:serviceaccount:",
        host, host);
    add_account(out, account, ":");
    cfr_str_addf(out, "\",\"%s:aud\":\"%s\"}}}]}\n", host, in->audience != NULL ? in->audience : "sts.amazonaws.com");
}

/* ---- the commands ---- */

static void add_aws_commands(const struct cfr_oidc_manifest_input *in, struct cfr_str *out)
{
    const char *host = in->issuer->url + sizeof "https://" - 1;

    cfr_str_addz(out,
                 "aws)\n    aws iam create-open-id-connect-provider --cli-input-json file://aws-oidc-provider.json\n"
                 "    ;;\n");
    if (in->thumbprint != NULL)
        cfr_str_addf(out,
                     "aws-thumbprint)\n    : \"${AWS_ACCOUNT:?}\"\n"
                     "    aws iam update-open-id-connect-provider-thumbprint --open-id-connect-provider-arn \\\n"
                     "        \"arn:${AWS_PARTITION:-aws}:iam::$AWS_ACCOUNT:oidc-provider/\"'%s' \\\n"
                     "        --thumbprint-list %s\n    ;;\n",
                     host, in->thumbprint);
    if (in->service_account_count != 0)
        cfr_str_addz(
            out,
            "aws-trust)\n    : \"${AWS_ACCOUNT:?}\" \"${AWS_ROLE:?}\" \"${SERVICE_ACCOUNT:?NAMESPACE/NAME}\"\n"
            "    file=aws-trust-$(printf %s \"$SERVICE_ACCOUNT\" | tr / " SEPARATOR ").json\n"
            "    aws iam update-assume-role-policy --role-name \"$AWS_ROLE\" --policy-document \\\n"
            "        \"$(sed \"s/AWS_PARTITION/${AWS_PARTITION:-aws}/; s/AWS_ACCOUNT/$AWS_ACCOUNT/\" \"$file\")\"\n"
            "    ;;\n");
}

static void add_azure_commands(const struct cfr_oidc_manifest_input *in, struct cfr_str *out)
{
    if (in->service_account_count == 0)
        return;
    cfr_str_addz(out, "azure)\n    : \"${AZURE_RESOURCE_GROUP:?}\" \"${AZURE_IDENTITY:?}\"\n");
    for (size_t i = 0; i < in->service_account_count; i++) {
        cfr_str_addz(out, "    az identity federated-credential create --resource-group \"$AZURE_RESOURCE_GROUP\" \\\n"
                          "        --identity-name \"$AZURE_IDENTITY\" --name '");
        add_account(out, in->service_accounts[i], SEPARATOR);
        cfr_str_addf(out, "' --issuer '%s' \\\n        --subject 'system:serviceaccount:", in->issuer->url);
        add_account(out, in->service_accounts[i], ":");
        cfr_str_addf(out, "' --audiences '%s'\n", azure_audience(in));
    }
    cfr_str_addz(out, "    ;;\nazure-app)\n    : \"${AZURE_APP:?}\"\n");
    for (size_t i = 0; i < in->service_account_count; i++) {
        cfr_str_addz(out, "    az ad app federated-credential create --id \"$AZURE_APP\" --parameters @azure-");
        add_account(out, in->service_accounts[i], SEPARATOR);
        cfr_str_addz(out, ".json\n");
    }
    cfr_str_addz(out, "    ;;\n");
}

#define GCP_PROVIDER                                                                                                   \
    "\"$GCP_PROVIDER\" \\\n        --project=\"$GCP_PROJECT\" --location=global "                                      \
    "--workload-identity-pool=\"$GCP_POOL\""

static void add_gcp_commands(const struct cfr_oidc_manifest_input *in, struct cfr_str *out)
{
    cfr_str_addz(out, "gcp)\n    : \"${GCP_PROJECT:?}\" \"${GCP_POOL:?}\" \"${GCP_PROVIDER:?}\"\n"
                      "    gcloud iam workload-identity-pools create \"$GCP_POOL\" --project=\"$GCP_PROJECT\" "
                      "--location=global\n"
                      "    gcloud iam workload-identity-pools providers create-oidc " GCP_PROVIDER);
    cfr_str_addf(out, " \\\n        --issuer-uri='%s' --attribute-mapping=google.subject=assertion.sub",
                 in->issuer->url);
    if (in->audience != NULL)
        cfr_str_addf(out, " \\\n        --allowed-audiences='%s'", in->audience);
    cfr_str_addz(out, "\n    ;;\ngcp-keys)\n    : \"${GCP_PROJECT:?}\" \"${GCP_POOL:?}\" \"${GCP_PROVIDER:?}\"\n"
                      "    gcloud iam workload-identity-pools providers update-oidc " GCP_PROVIDER
                      " \\\n        --jwk-json-path=keys.json\n    ;;\n");
    if (in->service_account_count == 0)
        return;
    cfr_str_addz(out, "gcp-bind)\n    : \"${GCP_PROJECT_NUMBER:?}\" \"${GCP_POOL:?}\" \"${GCP_SERVICE_ACCOUNT:?}\"\n"
                      "    pool=projects/$GCP_PROJECT_NUMBER/locations/global/workloadIdentityPools/$GCP_POOL\n");
    for (size_t i = 0; i < in->service_account_count; i++) {
        cfr_str_addz(out, "    gcloud iam service-accounts add-iam-policy-binding \"$GCP_SERVICE_ACCOUNT\" \\\n"
                          "        --role=roles/iam.workloadIdentityUser \\\n"
                          "        --member=\"principal://iam.googleapis.com/$pool/subject/system:serviceaccount:");
        add_account(out, in->service_accounts[i], ":");
        cfr_str_addz(out, "\"\n");
    }
    cfr_str_addz(out, "    ;;\n");
}

static void write_script(const struct cfr_oidc_manifest_input *in, struct cfr_str *out)
{
    cfr_str_addf(out,
                 "#!/bin/sh\n# Tells the cluster and the clouds about the issuer %s.\n"
                 "# Written by credfresh-oidc manifests. Usage: sh tell.sh PART, one of those below; each names the "
                 "variables\n# that it needs.\nset -eu\ncd \"$(dirname \"$0\")\"\ncase ${1-} in\n"
                 "cluster)\n    oc apply -f cluster-authentication-02-config.yaml\n    ;;\n",
                 in->issuer->url);
    add_aws_commands(in, out);
    add_azure_commands(in, out);
    add_gcp_commands(in, out);
    cfr_str_addz(out,
                 "*)\n    sed -n 's/^\\([a-z-]*\\))$/tell.sh \\1/p' \"$(basename \"$0\")\" >&2\n    exit 2\n    ;;\n"
                 "esac\n");
}

static void name_of_account(const char *prefix, const char *account, char name[NAME_MAX_BYTES])
{
    size_t n = strcspn(account, "/");

    (void)snprintf(name, NAME_MAX_BYTES, "%s-%.*s" SEPARATOR "%s.json", prefix, (int)n, account, account + n + 1);
}

bool cfr_oidc_manifest_write(const struct cfr_oidc_manifest_input *in, size_t n, char name[256], struct cfr_str *out,
                             unsigned *mode, int *rc, struct cfr_err *err)
{
    static const char *const common[FILES_COMMON] = {"cluster-authentication-02-config.yaml", "aws-oidc-provider.json",
                                                     "gcp-pool-provider.json", "keys.json", "tell.sh"};
    const char *account;

    *rc = 0;
    *mode = 0644;
    if (n >= FILES_COMMON + 2 * in->service_account_count)
        return false;
    if (n >= FILES_COMMON) {
        account = in->service_accounts[(n - FILES_COMMON) / 2];
        name_of_account((n - FILES_COMMON) % 2 == 0 ? "azure" : "aws-trust", account, name);
        if ((n - FILES_COMMON) % 2 == 0)
            write_azure(in, account, out);
        else
            write_aws_trust(in, account, out);
    } else {
        (void)snprintf(name, NAME_MAX_BYTES, "%s", common[n]);
        if (n == 0)
            write_authentication(in, out);
        else if (n == 1)
            write_aws(in, out);
        else if (n == 2)
            write_gcp(in, out);
        else if (n == 3)
            *rc = write_keys(in, out, err);
        else
            write_script(in, out);
    }
    if (*rc == 0 && out->failed)
        *rc = cfr_err_nomem(err);
    return true;
}
