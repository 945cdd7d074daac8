/* SPDX-License-Identifier: MIT */
/* What the recognisers of mounted Secrets share; private to sts/mounted*.c. */
#ifndef CFR_STS_MOUNTED_MOUNTED_PRIVATE_H
#define CFR_STS_MOUNTED_MOUNTED_PRIVATE_H

#include "base/yaml.h"
#include "sts/mounted/mounted.h"

/* A Secret that is being read. */
struct cfr_mounted_case {
    const struct cfr_mounted_key *keys;
    size_t count;
    const struct cfr_mounted_options *options;
    struct cfr_mounted *out;
    struct cfr_err *err;
};

/* The trimmed value of a key; p == NULL if there is none of that name. */
struct cfr_view cfr_mounted_get(const struct cfr_mounted_case *c, const char *name);
/* The trimmed value of a key that must be there, whatever it is. CFR_E_MISSING. */
int cfr_mounted_await(const struct cfr_mounted_case *c, const char *name, struct cfr_view *out);
/* As cfr_mounted_await, of printable ASCII. CFR_E_CONFIG. */
int cfr_mounted_need(const struct cfr_mounted_case *c, const char *name, struct cfr_view *out);
/* Reads TEXT, the value of KEY, as YAML. CFR_E_CONFIG. The caller frees *OUT. */
int cfr_mounted_yaml(const struct cfr_mounted_case *c, const char *key, struct cfr_view text, struct cfr_yaml **out);
/* Sets the note, if there is none yet. */
void cfr_mounted_note(const struct cfr_mounted_case *c, const char *note);
/* Adds WORD to what was taken from the Secret. */
void cfr_mounted_taken(const struct cfr_mounted_case *c, const char *word);
/* Takes PATH, the value of KEY, as the path of the token: it must be absolute. */
int cfr_mounted_token(const struct cfr_mounted_case *c, const char *key, struct cfr_view path);
/* Begins the exchange by PROVIDER: its configuration as `exchange:` has it, else defaults. CFR_E_CONFIG if
 * that names another provider. */
int cfr_mounted_exchange(const struct cfr_mounted_case *c, const struct cfr_sts_provider *provider);
/* Sets the text KEY of the exchange's configuration, unless it is set or VALUE is empty, by the rules of its
 * table. CFR_E_CONFIG. */
int cfr_mounted_fill(const struct cfr_mounted_case *c, const char *key, struct cfr_view value);
/* Hands VALUE (of a key, or in out->own) to the provider as the content KEY, and sets the configuration's
 * field of that name, which says that there is one. Nothing happens where the configuration names a file of
 * its own. */
int cfr_mounted_content(const struct cfr_mounted_case *c, const char *key, struct cfr_view value);

/* Hands the keys that are facts of the Secret's kind to the grant. CFR_E_CONFIG. */
int cfr_mounted_facts(const struct cfr_mounted_case *c);

/* Takes the certificates in PEM, the value of KEY, which are copied one by one. CFR_E_CONFIG: there is none, or
 * something other than certificates. */
int cfr_mounted_ca(const struct cfr_mounted_case *c, const char *key, struct cfr_view pem);

typedef int cfr_mounted_fn(const struct cfr_mounted_case *c);

cfr_mounted_fn cfr_mounted_aws;       /* sts/mounted/aws.c */
cfr_mounted_fn cfr_mounted_azure;     /* sts/mounted/azure.c */
cfr_mounted_fn cfr_mounted_gcp;       /* sts/mounted/gcp.c */
cfr_mounted_fn cfr_mounted_openstack; /* sts/mounted/openstack.c */
/* sts/mounted/plain.c: checked and passed on */
cfr_mounted_fn cfr_mounted_kubevirt;
cfr_mounted_fn cfr_mounted_ovirt;
cfr_mounted_fn cfr_mounted_vsphere;
cfr_mounted_fn cfr_mounted_nutanix;
cfr_mounted_fn cfr_mounted_ibmcloud;

#endif
