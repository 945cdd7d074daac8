/* SPDX-License-Identifier: MIT */
/* One Azure credential for the tests: its names, its inputs, and an exchange that has arrived at a step. */
#ifndef CFR_TEST_AZURE_SAMPLE_H
#define CFR_TEST_AZURE_SAMPLE_H

#include "sts/azure/azure.h"

#include <string.h>

#define SAMPLE_TENANT  "72f988bf-86f1-41af-91ab-2d7cd011db47"
#define SAMPLE_CLIENT  "11111111-2222-3333-4444-555555555555"
#define SAMPLE_TOKEN   "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlc2lnbmF0dXJl"
#define SAMPLE_SUBJECT "system:serviceaccount:ns-a:sa-b"
#define SAMPLE_NOW_S   1767323045
#define SAMPLE_ARM     "https://management.azure.com/.default"
#define SAMPLE_VAULT   "https://vault.azure.net/.default"

/* The environment of a test: names and values in turn, up to a NULL. */
static const char *const *sample_environment;

static const char *sample_env(const char *name)
{
    for (const char *const *e = sample_environment; e != NULL && *e != NULL; e += 2) {
        if (strcmp(e[0], name) == 0)
            return e[1];
    }
    return NULL;
}

static const unsigned char sample_nonce[CFR_STS_NONCE_BYTES] = {
    0x3f, 0x25, 0x04, 0xe0, 0x4f, 0x89, 0x11, 0xd3, 0x9a, 0x0c, 0x03, 0x05, 0xe8, 0x2c, 0x33, 0x01};

static inline struct cfr_sts_input sample_input(void)
{
    return (struct cfr_sts_input){.credential = "registry",
                                  .token = cfr_view_of(SAMPLE_TOKEN),
                                  .subject = cfr_view_of(SAMPLE_SUBJECT),
                                  .now_s = SAMPLE_NOW_S,
                                  .nonce = sample_nonce,
                                  .env = sample_env};
}

#endif
