/* SPDX-License-Identifier: MIT */
/* Finding the CA certificates of the system, and changes of CA files. */
#include "agent/http/ca_file_private.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct cfr_http_trust_file {
    char *path;
    struct stat seen;
};

static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, distroless images */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Red Hat */
    "/etc/ssl/ca-bundle.pem",                            /* SUSE */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Red Hat, without the compatibility link */
    "/etc/ssl/cert.pem",
};

const char *cfr_http_trust_system(void)
{
    const char *own = getenv("SSL_CERT_FILE");

    if (own != NULL && own[0] != '\0')
        return own;
    for (size_t i = 0; i < sizeof bundles / sizeof bundles[0]; i++) {
        if (access(bundles[i], R_OK) == 0)
            return bundles[i];
    }
    return NULL;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int add_file(struct cfr_http_trust *t, const char *path, const struct stat *now, struct cfr_err *err)
{
    struct cfr_http_trust_file *files = realloc(t->files, (t->count + 1) * sizeof *files);

    if (files == NULL)
        return cfr_err_nomem(err);
    t->files = files;
    files[t->count] = (struct cfr_http_trust_file){cfr_str_dup(cfr_view_of(path)), *now};
    if (files[t->count].path == NULL)
        return cfr_err_nomem(err);
    t->count++;
    return 0;
}

int cfr_http_trust_check(struct cfr_http_trust *t, const char *path, bool *changed, struct cfr_err *err)
{
    struct stat now;

    *changed = false;
    if (stat(path, &now) != 0)
        return cfr_err_sys(err, errno, "cannot read the CA certificates in %s", path);
    for (size_t i = 0; i < t->count; i++) {
        if (!cfr_view_is(cfr_view_of(path), t->files[i].path))
            continue;
        *changed = !is_same_file(&t->files[i].seen, &now);
        t->files[i].seen = now;
        return 0;
    }
    return add_file(t, path, &now, err);
}

void cfr_http_trust_free(struct cfr_http_trust *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->files[i].path);
    free(t->files);
    *t = (struct cfr_http_trust){0};
}
