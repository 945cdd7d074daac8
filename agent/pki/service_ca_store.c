/* SPDX-License-Identifier: MIT */
/* Service CA on disk. */
#include "agent/pki/service_ca_store_private.h"

#include "agent/pki/service_ca.h"
#include "agent/loop/clock.h"
#include "agent/loop/slow_state.h"
#include "base/log.h"
#include "files/single.h"
#include "files/state.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define DOCUMENT  "authority"
#define FILE_NAME DOCUMENT ".json"
#define SILENT_MS 10000

void cfr_service_ca_store_close(struct cfr_service_ca_store *s)
{
    cfr_slow_write_close(&s->writing);
    if (s->fd >= 0)
        (void)close(s->fd);
    if (s->lock_fd >= 0)
        (void)close(s->lock_fd);
    *s = (struct cfr_service_ca_store){
        .fd = -1, .lock_fd = -1, .silent_boot_ms = s->silent_boot_ms, .patience_ms = s->patience_ms};
}

/* By its path, because the open directory may have been moved away. */
static bool is_unchanged(const struct cfr_service_ca_store *s, const char *directory)
{
    struct cfr_file_fingerprint now;
    char path[PATH_MAX];

    return s->fd >= 0 && (size_t)snprintf(path, sizeof path, "%s/" FILE_NAME, directory) < sizeof path &&
           cfr_single_fingerprint(path, &now, NULL) == 0 && now.inode == s->file.inode && now.size == s->file.size &&
           now.mtime_ns == s->file.mtime_ns;
}

static int read_document(struct cfr_service_ca_store *s, const char *directory, struct cfr_ca *out, struct cfr_err *err)
{
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, CFR_CA_STORE_MAX);
    rc = cfr_file_fingerprint(s->fd, FILE_NAME, &s->file, err);
    if (rc == 0)
        rc = cfr_state_load(s->fd, DOCUMENT, &text, err);
    if (rc == 0)
        rc = cfr_ca_load(cfr_secret_view(&text), out, err);
    cfr_secret_free(&text);
    if (rc == 0)
        return 0;
    s->file = (struct cfr_file_fingerprint){0}; /* to be read again */
    return cfr_err_prefix(err, "%s/" FILE_NAME, directory);
}

static bool is_writing(const struct cfr_service_ca_store *s)
{
    return s->writing.since_boot_ms != 0;
}

bool cfr_service_ca_store_is_waiting(const struct cfr_service_ca_store *s)
{
    return is_writing(s) || s->silent_boot_ms != 0;
}

/* A disk that is busy is no error yet. */
static int wait_for_answer(struct cfr_service_ca_store *s, int rc)
{
    int64_t now_ms = cfr_clock_now().boot_ms;

    if (rc != CFR_E_TIMEOUT)
        return rc;
    if (s->silent_boot_ms == 0)
        s->silent_boot_ms = now_ms;
    return now_ms - s->silent_boot_ms < SILENT_MS ? CFR_SERVICE_CA_LATER : rc;
}

int cfr_service_ca_store_follow(struct cfr_service_ca_store *s, const char *directory, struct cfr_ca *a,
                                struct cfr_err *err)
{
    struct cfr_ca found = {.number = 0};
    int rc;

    if (a->count != 0 && is_writing(s))
        return cfr_service_ca_store_write(s, directory, a, err);
    rc = s->patience_ms == 0 ? cfr_slow_state_answers(directory, err) : 0;
    if (rc != 0)
        return wait_for_answer(s, rc);
    if (is_unchanged(s, directory))
        return 0;
    cfr_service_ca_store_close(s);
    s->fd = cfr_slow_state_open(directory, s->patience_ms, &s->lock_fd, err);
    if (s->fd < 0)
        return wait_for_answer(s, s->fd);
    s->silent_boot_ms = 0;
    rc = read_document(s, directory, &found, err);
    if (rc == CFR_E_MISSING && a->count != 0) {
        cfr_log(CFR_LOG_WARN, "service-ca", NULL, "%s/" FILE_NAME " was removed, and is written again", directory);
        return cfr_service_ca_store_write(s, directory, a, err);
    }
    if (rc == 0 && a->count != 0)
        cfr_log(CFR_LOG_WARN, "service-ca", NULL,
                "%s/" FILE_NAME " was replaced: it holds CA %" PRIu64 ", and held CA %" PRIu64, directory, found.number,
                a->number);
    if (rc == 0)
        cfr_ca_move(a, &found);
    return rc;
}

int cfr_service_ca_store_write(struct cfr_service_ca_store *s, const char *directory, const struct cfr_ca *a,
                               struct cfr_err *err)
{
    struct cfr_secret text;
    int rc;

    cfr_secret_init(&text, CFR_CA_STORE_MAX);
    rc = cfr_ca_store(a, &text, err);
    if (rc == 0)
        rc = cfr_slow_write(&s->writing, s->fd, cfr_state_save, DOCUMENT, cfr_secret_view(&text), err);
    if (rc == 0)
        rc = cfr_file_fingerprint(s->fd, FILE_NAME, &s->file, err);
    cfr_secret_free(&text);
    if (rc == CFR_SLOW_WRITE_UNDER_WAY)
        return CFR_SERVICE_CA_LATER;
    return rc != 0 ? cfr_err_prefix(err, "cannot keep the CA in %s", directory) : 0;
}
