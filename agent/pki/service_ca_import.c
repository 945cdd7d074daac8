/* SPDX-License-Identifier: MIT */
/* The files of a CA that is taken over. */
#include "agent/pki/service_ca_import_private.h"

#include "files/file.h"
#include "pki/ca_import.h"

#include <string.h>

/* By the place of what is wrong: a mistake in one file has nothing to do with the other. */
static int read_files(const struct cfr_config_ca_import *c, struct cfr_secret *certificate, struct cfr_secret *key,
                      struct cfr_err *err)
{
    int rc = cfr_file_read(c->certificate, certificate, err);

    return rc != 0 ? rc : cfr_file_read(c->key, key, err);
}

int cfr_service_ca_import(const struct cfr_config_service_ca *config, int64_t now_s, struct cfr_ca *a,
                          struct cfr_err *err)
{
    const struct cfr_config_ca_import *c = config->import;
    struct cfr_secret certificate;
    struct cfr_secret key;
    int rc;

    cfr_secret_init(&certificate, CFR_CERT_PEM_MAX);
    cfr_secret_init(&key, CFR_KEY_PEM_MAX);
    rc = read_files(c, &certificate, &key, err);
    if (rc != 0)
        rc = cfr_err_prefix(err, "the CA to take over");
    else if ((rc = cfr_ca_import(a, cfr_secret_view(&certificate), cfr_secret_view(&key), (size_t)config->generations,
                                 now_s, err)) != 0)
        rc = cfr_err_prefix(err, "the CA to take over (%s, %s)", c->certificate, c->key);
    cfr_secret_free(&certificate);
    cfr_secret_free(&key);
    return rc;
}

bool cfr_service_ca_import_is_known(const struct cfr_config_service_ca *config, const struct cfr_ca *a)
{
    struct cfr_cert found = {.pem = NULL};
    struct cfr_secret text;
    bool known = false;

    cfr_secret_init(&text, CFR_CERT_PEM_MAX);
    if (cfr_file_read(config->import->certificate, &text, NULL) != 0 ||
        cfr_cert_read(cfr_secret_view(&text), &found, NULL) != 0)
        known = true; /* it is not needed any more */
    for (size_t i = 0; !known && i < a->count; i++)
        known = strcmp(a->generations[i].root.pem, found.pem) == 0;
    cfr_cert_free(&found);
    cfr_secret_free(&text);
    return known;
}
