/* SPDX-License-Identifier: MIT */
/* Secrets as the OpenShift cloud credential operator and its like mount them: which cloud's they are, whether
 * they are long-lived keys or only name a token's file, and what exchange follows from them. Pure: keys in,
 * decision out. Source of the forms: the cloud credential operator's actuators and ccoctl.
 *
 * A Secret's author is trusted with the credential that it describes and with nothing else of this machine. So it
 * brings bytes, never paths but that of a token (whose place the caller checks); its hosts are the cloud's own, or get
 * only the Secret's own secret; and a host that it names is never one of plain http. What asks for more is refused with
 * the key of the configuration that says it instead. */
#ifndef CFR_STS_MOUNTED_MOUNTED_H
#define CFR_STS_MOUNTED_MOUNTED_H

#include "sts/core/provider.h"

#define CFR_MOUNTED_KEYS_MAX 64

enum cfr_mounted_kind {
    CFR_MOUNTED_UNKNOWN,
    CFR_MOUNTED_AWS,
    CFR_MOUNTED_AZURE,
    CFR_MOUNTED_GCP,
    CFR_MOUNTED_OPENSTACK,
    CFR_MOUNTED_KUBEVIRT,
    CFR_MOUNTED_OVIRT,
    CFR_MOUNTED_VSPHERE,
    CFR_MOUNTED_NUTANIX,
    CFR_MOUNTED_IBMCLOUD
};

/* "auto", "aws" ... "ibmcloud", in the order of the enum; NULL-terminated: the choices of `secret: kind:`. */
extern const char *const cfr_mounted_kinds[];

/* Whether what a Secret of this kind (enum cfr_mounted_kind) holds is exchanged, unless it is to be passed on. */
bool cfr_mounted_is_exchanged(int kind);

/* The kind (enum cfr_mounted_kind) whose Secrets alone bring the grant's FIELD, as a fact; CFR_MOUNTED_UNKNOWN: FIELD
 * is none. */
int cfr_mounted_kind_of_fact(const char *field);

/* One key of the Secret: a file of the volume. */
struct cfr_mounted_key {
    const char *name;
    struct cfr_view value;
};

/* A key that is no part of the exchange, and that its consumers want next to what it grants; VALUE is the key's. */
struct cfr_mounted_fact {
    const char *field; /* of the grant */
    struct cfr_view value;
};

#define CFR_MOUNTED_FACTS_MAX 4

/* The configuration that applies to it. */
struct cfr_mounted_options {
    int expect;                              /* enum cfr_mounted_kind; CFR_MOUNTED_UNKNOWN = whatever it is */
    bool pass_on;                            /* no exchange, whatever the cloud can do */
    const struct cfr_sts_provider *provider; /* of `exchange:`, or NULL; its settings win over the Secret's */
    const void *config;
    const char *directory; /* where the keys are files, for what consumers want as a path; NULL = nowhere */
};

/* The result. Zeroed, then filled; freed by cfr_mounted_free. */
struct cfr_mounted {
    enum cfr_mounted_kind kind;
    bool short_lived;  /* it holds no secret but the path of the token */
    char *token_file;  /* heap; of the short-lived form, else NULL */
    char *token_field; /* heap; that file is a JSON object, and this its member; NULL = the token alone */
    const struct cfr_sts_provider *provider; /* what exchanges it; NULL = it is passed on as it is */
    void *config; /* heap, the provider's struct, by the rules of its table; owned. Those that need the
                   * environment (provider->check) are left to the caller */
    struct cfr_sts_content contents[CFR_STS_CONTENTS_MAX]; /* views into the keys, or into OWN */
    size_t content_count;
    struct cfr_mounted_fact facts[CFR_MOUNTED_FACTS_MAX]; /* of a Secret that is exchanged */
    size_t fact_count;
    struct cfr_secret own; /* what had to be taken out of a key (an ini file, YAML, JSON) */
    struct cfr_secret ca; /* PEM: the CA certificates that it brings, in place of the ca_file of CONFIG; empty = none */
    char taken[256];      /* what was taken from it, for people: "role_arn, region"; empty = nothing */
    char note[256];       /* what an operator should know of it: a stale key next to a newer form; empty = nothing */
    const char *limit;    /* what the credential that it is exchanged for cannot do, unlike its own; NULL = nothing */
};

/* Determines the kind and the exchange. CFR_E_MISSING: a key of a known form that is not there yet, or empty (names
 * it); CFR_E_CONFIG: of no known form, not of the kind that was expected, keys of two kinds at once, or a value that
 * cannot be (which key, what is wrong, never the value of a secret). Of two forms of one kind the newer one, or the
 * plainer one, is followed, and the note says so. With pass_on a Secret of no known form and of two kinds is
 * good too, and of a known one only what its consumers cannot do without is asked for. The caller frees OUT
 * in every case. */
int cfr_mounted_read(const struct cfr_mounted_key *keys, size_t count, const struct cfr_mounted_options *options,
                     struct cfr_mounted *out, struct cfr_err *err);
void cfr_mounted_free(struct cfr_mounted *m);
/* Replaces the keys in ERR, an error of the exchange that M configures, by the Secret's where the value is the
 * Secret's, or is missing there. */
void cfr_mounted_name_keys(const struct cfr_mounted *m, struct cfr_err *err);

#endif
