/* SPDX-License-Identifier: MIT */
/* What the shapes share: the table of client secrets, texts of their configuration, variables. */
#include "serve/sdk/shape_private.h"

#include <stdio.h>
#include <string.h>

#define URL_MAX 512

/* ---- what clients must show ---- */

static int check_client_secret(const void *node, struct cfr_err *err)
{
    const struct cfr_sdk_client_secret *p = node;

    if (p->existing && (p->mode != -1 || p->owner != NULL || p->group != NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: is for a file that credfresh makes; leave it out with `existing`",
                           p->mode != -1      ? "mode"
                           : p->owner != NULL ? "owner"
                                              : "group");
    return 0;
}

#define AT(member) offsetof(struct cfr_sdk_client_secret, member)
static const struct cfr_field proof_fields[] = {
    {FIELD(file, STRING), .flags = CFR_FIELD_REQUIRED | CFR_FIELD_PATH,
     .doc = CFR_DOC("The file. It is created with random content if it does not exist, and survives "
                    "restarts.")},
    {FIELD(mode, MODE), .doc = CFR_DOC("Its permission bits, octal and in quotes. Default: \"0600\".")},
    {FIELD(owner, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("User name or number that owns it. Default: the user that credfresh runs as.")},
    {FIELD(group, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("Group name or number that owns it. Default: the group that credfresh runs as.")},
    {FIELD(existing, BOOL), .fallback = "false",
     .doc = CFR_DOC("Another program writes the file (a service-account token, a Secret of the cluster): "
                    "credfresh only reads it, again after each change.")},
    {.key = NULL},
};
#undef AT

const struct cfr_table cfr_sdk_client_secret_table = {
    .name = "file of what a client must show",
    .size = sizeof(struct cfr_sdk_client_secret),
    .fields = proof_fields,
    .check = check_client_secret,
    .doc = CFR_DOC("A file with the secret that a client must send. Any process that can read it can "
                   "get the credential."),
};

/* ---- shared by the shapes ---- */

bool cfr_sdk_shape_names(const char *configured, const char *credential)
{
    return configured != NULL && strcmp(configured, credential) == 0;
}

bool cfr_sdk_shape_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

bool cfr_sdk_shape_is_plain(const char *text, const char *more)
{
    for (; *text != '\0'; text++) {
        if (!cfr_view_is_alnum(*text) && strchr(more, *text) == NULL)
            return false;
    }
    return true;
}

int cfr_sdk_shape_set_url(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *listen,
                          const char *path, struct cfr_err *err)
{
    char url[URL_MAX];

    (void)snprintf(url, sizeof url, "http://%s%s", listen, path);
    return cfr_sdk_env_set(e, way, name, url, err);
}

int cfr_sdk_shape_note_second(struct cfr_sdk_env *e, const char *listen, const char *path, struct cfr_err *err)
{
    return cfr_sdk_env_note(e, err, "http://%s%s serves it as well", listen, path);
}
