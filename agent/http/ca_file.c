/* SPDX-License-Identifier: MIT */
/* Finding and reading the CA certificates of the system and of requests. */
#include "agent/http/ca_file_private.h"

#include "agent/http/client.h"
#include "agent/loop/slow_file.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct cfr_http_trust_file {
    char *path; /* NULL: out of date, and perhaps still in use */
    struct stat seen;
    int fd;                /* of the copy */
    struct cfr_view bytes; /* mapped where its path is of no use; else empty */
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

static int write_all(int fd, struct cfr_view bytes)
{
    while (bytes.n != 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno != EINTR)
            return -1;
        bytes.p += n > 0 ? n : 0;
        bytes.n -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int make_copy(struct cfr_view bytes, int *out, struct cfr_err *err)
{
    int fd = memfd_create("ca", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int rc = 0;

    if (fd < 0 || write_all(fd, bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
        rc = cfr_err_sys(err, errno, "cannot keep the CA certificates in memory");
    if (rc != 0 && fd >= 0)
        (void)close(fd);
    *out = fd;
    return rc;
}

/* NOW becomes its status, which is from before the read, so that a change in between is noticed the next time. *OUT
 * stays -1 if that is SEEN. */
static int read_copy(const char *path, const struct stat *seen, struct stat *now, int *out, struct cfr_err *err)
{
    struct cfr_secret bytes;
    int rc;

    *out = -1;
    if (seen != NULL && cfr_file_is_still(path, seen))
        return 0;
    if (seen != NULL && cfr_slow_file_status(path, now, NULL) == 0 && is_same_file(seen, now))
        return 0;
    cfr_secret_init(&bytes, CFR_HTTP_CA_FILE_MAX);
    rc = cfr_slow_file_read(path, &bytes, now, err);
    if (rc != 0 && err != NULL)
        (void)cfr_err_prefix(err, "cannot read the CA certificates");
    if (rc == 0 && (seen == NULL || !is_same_file(seen, now)))
        rc = make_copy(cfr_secret_view(&bytes), out, err);
    cfr_secret_free(&bytes);
    return rc;
}

static int add_file(struct cfr_http_trust *t, const char *path, const struct stat *now, int fd, struct cfr_err *err)
{
    struct cfr_http_trust_file *files = realloc(t->files, (t->count + 1) * sizeof *files);

    if (files == NULL)
        return cfr_err_nomem(err);
    t->files = files;
    files[t->count] = (struct cfr_http_trust_file){cfr_str_dup(cfr_view_of(path)), *now, fd, {NULL, 0}};
    if (files[t->count].path == NULL)
        return cfr_err_nomem(err);
    t->count++;
    return 0;
}

static size_t find_file(const struct cfr_http_trust *t, const char *path)
{
    size_t i = 0;

    while (i < t->count && (t->files[i].path == NULL || strcmp(path, t->files[i].path) != 0))
        i++;
    return i;
}

/* The copy stays open: its path must not become that of other bytes while a transfer has it. */
static void retire_file(struct cfr_http_trust_file *f)
{
    free(f->path);
    f->path = NULL;
}

static int fill_copy(struct cfr_http_trust_file *f, struct cfr_http_trust_copy *copy, struct cfr_err *err)
{
    struct stat st;
    void *p;

    (void)snprintf(copy->path, sizeof copy->path, "/proc/self/fd/%d", f->fd);
    if (access(copy->path, R_OK) == 0)
        return 0;
    copy->path[0] = '\0';
    if (f->bytes.p == NULL) {
        p = fstat(f->fd, &st) == 0 && st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, f->fd, 0)
                                                     : MAP_FAILED;
        if (p == MAP_FAILED)
            return cfr_err_set(err, CFR_E_TLS, "%s is empty, or cannot be kept in memory", f->path);
        f->bytes = (struct cfr_view){p, (size_t)st.st_size};
    }
    copy->bytes = f->bytes;
    return 0;
}

int cfr_http_trust_load(struct cfr_http_trust *t, const char *path, struct cfr_http_trust_copy *copy, bool *changed,
                        struct cfr_err *err)
{
    size_t i = find_file(t, path);
    struct stat now;
    int fd;
    int rc;

    *changed = false;
    rc = read_copy(path, i < t->count ? &t->files[i].seen : NULL, &now, &fd, err);
    if (rc != 0)
        return rc;
    if (fd >= 0) {
        rc = add_file(t, path, &now, fd, err);
        if (rc != 0) {
            (void)close(fd);
            return rc;
        }
        *changed = i + 1 < t->count;
        if (*changed)
            retire_file(&t->files[i]);
        i = t->count - 1;
    }
    return fill_copy(&t->files[i], copy, err);
}

static void close_copy(const struct cfr_http_trust_file *f)
{
    union {
        const char *in;
        void *out;
    } mapped = {f->bytes.p};

    if (mapped.in != NULL)
        (void)munmap(mapped.out, f->bytes.n);
    (void)close(f->fd);
}

void cfr_http_trust_close_retired(struct cfr_http_trust *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->count; i++) {
        if (t->files[i].path != NULL)
            t->files[kept++] = t->files[i];
        else
            close_copy(&t->files[i]);
    }
    t->count = kept;
}

void cfr_http_trust_free(struct cfr_http_trust *t)
{
    for (size_t i = 0; i < t->count; i++)
        retire_file(&t->files[i]);
    cfr_http_trust_close_retired(t);
    free(t->files);
    *t = (struct cfr_http_trust){0};
}
