/* SPDX-License-Identifier: MIT */
/* The state directory: certificate authorities and keys that outlive a restart, and ready.json. */
#include "state.h"

#include "crypto.h"
#include "token_key.h"
#include "volume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 65536 };

static int read_file(const char *dir, const char *name, struct lc_buf *out)
{
    char *path = lc_text_format("%s/%s", dir, name);
    int result = path == NULL ? -1 : lc_volume_get_file(path, MOST_BYTES, out, NULL);

    free(path);
    return result;
}

static int write_file(const char *dir, const char *name, mode_t mode, const void *bytes, size_t len,
                      struct lc_fail *fail)
{
    char *path = lc_text_format("%s/%s", dir, name);
    int result = path == NULL ? lc_fail_set(fail, "out of memory") : lc_volume_put_file(path, mode, bytes, len, fail);

    free(path);
    return result;
}

static int open_ca(const char *dir, struct lc_cert *ca, struct lc_fail *fail)
{
    struct lc_buf cert = {0};
    struct lc_buf key = {0};
    int result = 0;

    if (read_file(dir, "ca.pem", &cert) == 0 && read_file(dir, "ca.key", &key) == 0 &&
        lc_tls_matches(cert.at, key.at)) {
        *ca = (struct lc_cert){cert.at, key.at};
        return 0;
    }
    lc_buf_free(&cert);
    lc_buf_free(&key);
    result = lc_tls_ca("credfresh local cloud CA", ca, fail);
    return result != 0 || write_file(dir, "ca.key", 0600, ca->key_pem, strlen(ca->key_pem), fail) != 0 ||
                   write_file(dir, "ca.pem", 0644, ca->cert_pem, strlen(ca->cert_pem), fail) != 0
               ? -1
               : 0;
}

static int make_other_ca(const char *dir, struct lc_fail *fail)
{
    struct lc_cert other = {0};
    int result = lc_tls_ca("An unrelated CA", &other, fail);

    if (result == 0) {
        result = write_file(dir, "other-ca.pem", 0644, other.cert_pem, strlen(other.cert_pem), fail);
    }
    lc_tls_free(&other);
    return result;
}

static int open_signing_key(const char *dir, struct lc_key **key, struct lc_fail *fail)
{
    struct lc_buf pem = {0};

    if (read_file(dir, "issuer.key", &pem) == 0) {
        *key = lc_key_from_pem(pem.at, NULL);
    }
    lc_buf_free(&pem);
    if (*key == NULL) {
        *key = lc_key_generate(fail);
        if (*key == NULL ||
            write_file(dir, "issuer.key", 0600, (*key)->private_pem, strlen((*key)->private_pem), fail) != 0) {
            return -1;
        }
    }
    return 0;
}

static int open_session_key(const char *dir, unsigned char key[32], struct lc_fail *fail)
{
    struct lc_buf bytes = {0};
    bool good = read_file(dir, "session.key", &bytes) == 0 && bytes.len == 32;

    if (good) {
        memcpy(key, bytes.at, 32);
    }
    lc_buf_free(&bytes);
    if (good) {
        return 0;
    }
    return lc_random(key, 32) ? write_file(dir, "session.key", 0600, key, 32, fail)
                              : lc_fail_set(fail, "no random numbers");
}

static int open_token_key(const char *dir, char **pem, struct lc_fail *fail)
{
    struct lc_buf bytes = {0};
    struct lc_token_key *key = read_file(dir, "token.key", &bytes) == 0 ? lc_token_key_new(bytes.at, NULL) : NULL;
    bool good = key != NULL;

    lc_token_key_free(key);
    if (good) {
        *pem = bytes.at;
        return 0;
    }
    lc_buf_free(&bytes);
    *pem = lc_token_key_generate(fail);
    return *pem == NULL ? -1 : write_file(dir, "token.key", 0600, *pem, strlen(*pem), fail);
}

int lc_state_open(const char *dir, struct lc_state *out, struct lc_fail *fail)
{
    char *ready = lc_text_format("%s/ready.json", dir);

    *out = (struct lc_state){0};
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        free(ready);
        return lc_fail_set(fail, "--state %s cannot be made: %s", dir, strerror(errno));
    }
    if (ready == NULL || (unlink(ready) != 0 && errno != ENOENT)) {
        free(ready);
        return lc_fail_set(fail, "--state %s: an old ready.json cannot be removed: %s", dir, strerror(errno));
    }
    free(ready);
    return open_ca(dir, &out->ca, fail) != 0 || make_other_ca(dir, fail) != 0 ||
                   open_signing_key(dir, &out->signing_key, fail) != 0 ||
                   open_session_key(dir, out->session_key, fail) != 0 || open_token_key(dir, &out->token_key, fail) != 0
               ? -1
               : 0;
}

void lc_state_free(struct lc_state *state)
{
    lc_tls_free(&state->ca);
    lc_key_free(state->signing_key);
    free(state->token_key);
    *state = (struct lc_state){0};
}

void lc_state_close(const char *dir, struct lc_issuer *issuer)
{
    struct lc_buf pem = {0};
    char *ready = lc_text_format("%s/ready.json", dir);

    if (ready != NULL) {
        (void)unlink(ready);
        free(ready);
    }
    lc_issuer_export(issuer, &pem);
    if (pem.len > 0 && !pem.broken) {
        (void)write_file(dir, "issuer.key", 0600, pem.at, pem.len, NULL);
    }
    lc_buf_free(&pem);
}

int lc_state_write_ready(const char *dir, json_t *ready, struct lc_fail *fail)
{
    struct lc_buf text = {0};
    char *ca = lc_text_format("%s/ca.pem", dir);
    char *other = lc_text_format("%s/other-ca.pem", dir);
    int result = 0;

    (void)json_object_set_new(ready, "ca_file", json_string(ca));
    (void)json_object_set_new(ready, "other_ca_file", json_string(other));
    lc_json_print(ready, &text);
    result = text.broken || ca == NULL || other == NULL ? lc_fail_set(fail, "out of memory")
                                                        : write_file(dir, "ready.json", 0600, text.at, text.len, fail);
    lc_buf_free(&text);
    free(ca);
    free(other);
    return result;
}
