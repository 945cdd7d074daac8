/* SPDX-License-Identifier: MIT */
/* Entra ID: applications that prove themselves with a client secret. */
#include "azure.h"

#include <string.h>

int lc_azure_prove_secret(struct lc_visit *visit, struct lc_azure_ask *ask)
{
    json_t *item = NULL;
    size_t index = 0;
    bool expired = false;

    json_array_foreach(json_object_get(ask->application, "secrets"), index, item)
    {
        json_t *end = json_object_get(item, "expires_at");
        if (!lc_same_text(json_string_value(json_object_get(item, "value")), ask->secret)) {
            continue;
        }
        if (end == NULL || json_number_value(end) > lc_time_now()) {
            ask->proved_by = "1";
            return 0;
        }
        expired = true;
    }
    if (expired) {
        return lc_azure_refuse(
            visit, 7000222,
            "The provided client secret keys for app '%.100s' are expired. Visit the Azure portal "
            "to create new keys for your app: https://aka.ms/NewClientSecret, or consider using "
            "certificate credentials for added security: https://aka.ms/certCreds.",
            ask->client_id);
    }
    return lc_azure_refuse(
        visit, 7000215,
        "Invalid client secret provided. Ensure the secret being sent in the request is the client "
        "secret value, not the client secret ID, for a secret added to app '%.100s'.",
        ask->client_id);
}
