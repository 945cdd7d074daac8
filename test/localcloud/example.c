/* SPDX-License-Identifier: MIT */
/* A configuration of credfresh for the built-in identities, to begin with. */
#include "example.h"

#include "volume.h"

#include <stdlib.h>
#include <string.h>

/* $DIR is the directory, anything else after $ a member of ready.json. */
static const char template[] =
    "# Written by credfresh-localcloud at each start; copy it before you change it.\n"
    "version: 1\n"
    "state_dir: \"$DIR/agent\"\n"
    "credentials:\n"
    "  - name: aws\n"
    "    token: {file: \"$DIR/volumes/demo/token\", audience: sts.amazonaws.com}\n"
    "    exchange:\n"
    "      aws:\n"
    "        role_arn: \"arn:aws:iam::123456789012:role/demo\"\n"
    "        region: us-east-1\n"
    "        endpoint: \"$sts_url\"\n"
    "        ca_file: \"$DIR/ca.pem\"\n"
    "    publish:\n"
    "      directory: \"$DIR/published/aws\"\n"
    "      files:\n"
    "        - {name: credentials, format: aws-credentials}\n"
    "  - name: gcp\n"
    "    token: {file: \"$DIR/volumes/gcp/token\"}\n"
    "    exchange:\n"
    "      gcp:\n"
    "        audience: "
    "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo\n"
    "        service_account: demo@demo-project.iam.gserviceaccount.com\n"
    "        sts_endpoint: \"$gcp_url/v1/token\"\n"
    "        iam_endpoint: \"$gcp_url\"\n"
    "        ca_file: \"$DIR/ca.pem\"\n"
    "    publish:\n"
    "      directory: \"$DIR/published/gcp\"\n"
    "      files:\n"
    "        - {name: access-token, format: gcp-access-token}\n"
    "  - name: azure\n"
    "    token: {file: \"$DIR/volumes/azure/token\", audience: \"api://AzureADTokenExchange\"}\n"
    "    exchange:\n"
    "      azure:\n"
    "        tenant_id: 11111111-2222-3333-4444-555555555555\n"
    "        client_id: 66666666-7777-8888-9999-aaaaaaaaaaaa\n"
    "        scopes: [\"https://management.azure.com/.default\"]\n"
    "        authority_host: \"$azure_url\"\n"
    "        ca_file: \"$DIR/ca.pem\"\n"
    "    publish:\n"
    "      directory: \"$DIR/published/azure\"\n"
    "      files:\n"
    "        - {name: token.json, format: azure-token-json}\n"
    "  - name: openstack\n"
    "    exchange:\n"
    "      openstack:\n"
    "        auth_url: \"$keystone_url\"\n"
    "        application_credential_id: demo-app-credential\n"
    "        application_credential_secret_file: \"$DIR/openstack-secret\"\n"
    "        ca_file: \"$DIR/ca.pem\"\n"
    "    publish:\n"
    "      directory: \"$DIR/published/openstack\"\n"
    "      files:\n"
    "        - {name: clouds.yaml, format: clouds-yaml}\n"
    "  - name: oauth\n"
    "    token: {file: \"$DIR/volumes/oauth/token\", audience: oauth}\n"
    "    exchange:\n"
    "      oauth:\n"
    "        token_url: \"$oauth_url/token\"\n"
    "        audience: [api]\n"
    "        ca_file: \"$DIR/ca.pem\"\n"
    "    publish:\n"
    "      directory: \"$DIR/published/oauth\"\n"
    "      files:\n"
    "        - {name: access-token, format: oauth-access-token}\n";

static const char secret[] = "demo-secret\n"; /* of demo-app-credential */

/* The absolute path of DIR as the inside of a double-quoted scalar, or NULL. */
static char *quoted_inside(const char *dir)
{
    char *path = realpath(dir, NULL);
    json_t *value = path == NULL ? NULL : json_string(path);
    char *quoted = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY);

    json_decref(value);
    free(path);
    if (quoted != NULL) {
        size_t len = strlen(quoted);
        memmove(quoted, quoted + 1, len - 2);
        quoted[len - 2] = '\0';
    }
    return quoted;
}

static void fill_in(struct lc_buf *out, const char *dir, json_t *ready)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    const char *at = template;

    for (const char *mark = strchr(at, '$'); mark != NULL; mark = strchr(at, '$')) {
        char name[32] = "";
        size_t len = strspn(mark + 1, letters);
        const char *value = NULL;

        lc_buf_add(out, at, (size_t)(mark - at));
        memcpy(name, mark + 1, len < sizeof name ? len : 0);
        value = strcmp(name, "DIR") == 0 ? dir : json_string_value(json_object_get(ready, name));
        lc_buf_text(out, value == NULL ? "" : value);
        at = mark + 1 + len;
    }
    lc_buf_text(out, at);
}

int lc_example_write(const char *dir, json_t *ready, struct lc_fail *fail)
{
    struct lc_buf text = {0};
    char *inside = quoted_inside(dir);
    char *path = lc_text_format("%s/credfresh.yaml", dir);
    char *secret_path = lc_text_format("%s/openstack-secret", dir);
    int result = -1;

    if (inside == NULL) {
        (void)lc_fail_set(fail, "--state %s: cannot be named in credfresh.yaml: use a path in UTF-8", dir);
    } else if (path == NULL || secret_path == NULL) {
        (void)lc_fail_set(fail, "out of memory");
    } else {
        fill_in(&text, inside, ready);
        result = text.broken ? lc_fail_set(fail, "out of memory")
                 : lc_volume_put_file(secret_path, 0600, secret, strlen(secret), fail) != 0
                     ? -1
                     : lc_volume_put_file(path, 0600, text.at, text.len, fail);
    }
    lc_buf_free(&text);
    free(inside);
    free(path);
    free(secret_path);
    return result;
}
