/* SPDX-License-Identifier: MIT */
/* HTTP request and reply as exchanges and rotations build and read them.
 *
 * Pure. The owner of a request frees it, also after a function that fills it failed; a reply borrows everything.
 * Errors: CFR_E_NOMEM, CFR_E_LIMIT, and CFR_E_INTERNAL for a header that cannot be. */
#ifndef CFR_WIRE_REQUEST_H
#define CFR_WIRE_REQUEST_H

#include "base/secret.h"
#include "base/str.h"

#define CFR_WIRE_HEADERS_MAX 8       /* with those that a signature adds */
#define CFR_WIRE_HEADER_MAX  1048640 /* of one: room for a token that is as large as a Secret of the cluster */

/* Zero-initialised is empty. */
struct cfr_wire_request {
    const char *method;                              /* literal */
    char *url;                                       /* heap */
    struct cfr_secret headers[CFR_WIRE_HEADERS_MAX]; /* "Name: value", each */
    size_t header_count;
    struct cfr_secret body;
    const char *ca_file;           /* borrowed from the configuration; NULL = that of ca_variable */
    const char *ca_variable;       /* literal: the environment variable that names the CA file where ca_file is NULL;
                                    * NULL, or not set = the system's CA */
    const char *server_name;       /* borrowed: the name in the server's certificate; NULL = the URL's host */
    struct cfr_view ca_pem;        /* borrowed: in place of ca_file, when not empty */
    const char *answer_header;     /* literal: the header of the answer that parse wants to see; NULL = none */
    struct cfr_secret client_cert; /* PEM chain, leaf first, to show in the TLS handshake; empty = none */
    struct cfr_secret client_key;  /* PEM */
    bool link_local; /* plain http to the addresses of AWS's container credentials is meant: 169.254.170.2,
                      * 169.254.170.23, [fd00:ec2::23] */
    bool plain_http; /* plain http to any host is meant: the configuration says so */
};

struct cfr_wire_reply {
    long status;
    struct cfr_view content_type;
    struct cfr_view body;
    struct cfr_view request_id; /* x-amzn-RequestId or its like; may be empty */
    struct cfr_view header;     /* the value of the request's answer_header; empty = the answer has none */
};

/* Moves the text of URL into the request. CFR_E_NOMEM if it is incomplete. */
int cfr_wire_request_url(struct cfr_wire_request *r, struct cfr_str *url, struct cfr_err *err);
/* Appends the header `NAME: VALUE`. CFR_E_INTERNAL if VALUE has a line break or a NUL, or there are too many. */
int cfr_wire_request_header(struct cfr_wire_request *r, const char *name, struct cfr_view value, struct cfr_err *err);
/* Wipes, frees and empties it. */
void cfr_wire_request_free(struct cfr_wire_request *r);

#endif
