/* SPDX-License-Identifier: MIT */
/* Servers that an exchange talks to, found by building its requests without sending them. */
#ifndef CFR_AGENT_DOCTOR_HOSTS_PRIVATE_H
#define CFR_AGENT_DOCTOR_HOSTS_PRIVATE_H

#include "agent/doctor/doctor_private.h"
#include "agent/http/probe.h"

struct cfr_doctor_host {
    char *url;               /* heap; of the first request there */
    const char *ca_file;     /* borrowed; NULL = the system's */
    struct cfr_view ca_pem;  /* borrowed; in place of ca_file, when not empty */
    const char *server_name; /* borrowed; NULL = that of the URL */
    bool link_local;
    bool plain_http;
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
/* True if the environment names any proxy for https. */
bool cfr_doctor_hosts_may_proxy(void);
/* The proxy of the environment variable VARIABLE for people: "HOST:PORT, by VARIABLE", without user and password. */
void cfr_doctor_hosts_show_proxy(const char *variable, char out[CFR_HTTP_PROBE_TEXT]);

#endif
