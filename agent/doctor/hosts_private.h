/* SPDX-License-Identifier: MIT */
/* Which servers an exchange talks to, found by building its requests without sending them. */
#ifndef CFR_AGENT_DOCTOR_HOSTS_PRIVATE_H
#define CFR_AGENT_DOCTOR_HOSTS_PRIVATE_H

#include "agent/doctor/doctor_private.h"
#include "agent/http/probe.h"

struct cfr_doctor_host {
    char *url;           /* heap; of the first request there */
    const char *ca_file; /* borrowed from the configuration; NULL = the system's */
    bool link_local;
    char name[CFR_HTTP_PROBE_TEXT];
    int port;
    bool tls;
};

struct cfr_doctor_hosts {
    struct cfr_doctor_host items[CFR_DOCTOR_HOSTS_MAX];
    size_t count;
    int error; /* why the first request cannot be built; 0 */
    struct cfr_err err;
};

/* The servers of C's exchange in the order in which they are asked, each once. Steps that depend on an
 * earlier answer's details may be missing. The caller frees OUT. */
void cfr_doctor_hosts_find(const struct cfr_doctor_case *c, struct cfr_doctor_hosts *out);
void cfr_doctor_hosts_free(struct cfr_doctor_hosts *h);
/* The proxy that the environment names for HOST ("NAME is HOST:PORT" without user and password), or NULL. */
const char *cfr_doctor_hosts_proxy(const struct cfr_doctor_host *host, char out[CFR_HTTP_PROBE_TEXT]);

#endif
