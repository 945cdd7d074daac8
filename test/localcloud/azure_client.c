/* SPDX-License-Identifier: MIT */
/* Entra ID: applications that prove themselves with a client secret. */
#include "azure.h"

#include "minted.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void lc_azure_owner(const char *tenant, const char *client_id, char *out, size_t room)
{
    (void)snprintf(out, room, "%s/%s", tenant, client_id);
    for (char *at = out; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
}

/* A new array of the secrets that prove the application now: those of the settings that Graph did not touch, and its
 * own. */
static json_t *secrets_of(struct lc_visit *visit, const struct lc_azure_ask *ask)
{
    struct lc_minted *minted = visit->cloud->minted;
    char owner[160];
    json_t *out = NULL;
    json_t *item = NULL;
    size_t index = 0;

    lc_azure_owner(json_string_value(json_object_get(ask->tenant, "id")), ask->client_id, owner, sizeof owner);
    out = lc_minted_usable(minted, owner);
    json_array_foreach(json_object_get(ask->application, "secrets"), index, item)
    {
        if (!lc_minted_knows(minted, owner, json_string_value(json_object_get(item, "id")))) {
            (void)json_array_append_new(out, json_deep_copy(item));
        }
    }
    return out;
}

int lc_azure_prove_secret(struct lc_visit *visit, struct lc_azure_ask *ask)
{
    json_t *secrets = secrets_of(visit, ask);
    json_t *item = NULL;
    size_t index = 0;
    bool expired = false;

    json_array_foreach(secrets, index, item)
    {
        json_t *end = json_object_get(item, "expires_at");
        if (!lc_same_text(json_string_value(json_object_get(item, "value")), ask->secret)) {
            continue;
        }
        if (end == NULL || json_number_value(end) > lc_time_now()) {
            ask->proved_by = "1";
        } else {
            expired = true;
        }
    }
    json_decref(secrets);
    if (ask->proved_by != NULL) {
        return 0;
    }
    if (expired) {
        return lc_azure_refuse(visit, 7000222,
                               "The provided client secret keys for app '%.100s' are expired. Visit the Azure portal "
                               "to create new keys for your app: https://aka.ms/NewClientSecret, or consider using "
                               "certificate credentials for added security: https://aka.ms/certCreds.",
                               ask->client_id);
    }
    return lc_azure_refuse(visit, 7000215,
                           "Invalid client secret provided. Ensure the secret being sent in the request is the client "
                           "secret value, not the client secret ID, for a secret added to app '%.100s'.",
                           ask->client_id);
}
