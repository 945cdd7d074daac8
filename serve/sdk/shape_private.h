/* SPDX-License-Identifier: MIT */
/* The rows of the shapes, and what their files share. */
#ifndef CFR_SERVE_SDK_SHAPE_PRIVATE_H
#define CFR_SERVE_SDK_SHAPE_PRIVATE_H

#include "serve/sdk/endpoint_private.h"
#include "serve/sdk/env.h"
#include "serve/sdk/shape.h"

/* 200 with the keys; 401 or 403 without the right Authorization; 503 with Retry-After while there are none. */
extern const struct cfr_sdk_shape cfr_sdk_aws_container_shape;
/* Takes all below /latest. A session token is had by PUT, and is good for this credential until its time is over or
 * this run of the agent ends; without one everything is a 401. */
extern const struct cfr_sdk_shape cfr_sdk_ec2_imds_shape;
/* Takes "/" too, which its clients probe. */
extern const struct cfr_sdk_shape cfr_sdk_gce_metadata_shape;
extern const struct cfr_sdk_shape cfr_sdk_azure_imds_shape;
extern const struct cfr_sdk_shape cfr_sdk_azure_app_service_shape;

extern const struct cfr_table cfr_sdk_client_secret_table;

/* How many items a list of a shape's configuration may have. */
#define CFR_SDK_SHAPE_LIST_MAX       64
#define CFR_SDK_SHAPE_DOC_CREDENTIAL "Which credential, by its name."

/* The head of a table's row. AT(member) is the member's offset; the key is its name. */
#define FIELD(member, kind) .key = #member, .type = CFR_FIELD_##kind, .offset = AT(member)

/* True if CONFIGURED names CREDENTIAL; it may be NULL. */
bool cfr_sdk_shape_names(const char *configured, const char *credential);
/* True for a text that is there and not empty. */
bool cfr_sdk_shape_given(const char *text);
/* True if TEXT has only letters, digits and characters of MORE: those that need no encoding in a URL. */
bool cfr_sdk_shape_is_plain(const char *text, const char *more);
/* Sets NAME to http://LISTEN and PATH. */
int cfr_sdk_shape_set_url(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *listen,
                          const char *path, struct cfr_err *err);
/* Notes that LISTEN (with PATH) serves the credential next to another endpoint. */
int cfr_sdk_shape_note_second(struct cfr_sdk_env *e, const char *listen, const char *path, struct cfr_err *err);

/* ---- the part of the list of variables that only shapes use ---- */

/* As cfr_sdk_env_set: the value is the content of the file PATH. */
int cfr_sdk_env_set_file(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *path,
                         struct cfr_err *err);

#endif
