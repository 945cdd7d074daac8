/* SPDX-License-Identifier: MIT */
/* The file of the key that signs session tokens. */
#include "agent/daemon/session_key_private.h"

#include "base/log.h"
#include "files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "_ec2-session-key" /* no credential has such a name */
#define MODE 0600

/* Reads the key into KEY. CFR_E_MISSING if there is none; other errors say why the file is not used. */
static int read_key(int state_fd, struct cfr_secret *key, struct cfr_err *err)
{
    struct stat st;
    int rc;

    if (fstatat(state_fd, NAME, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return cfr_err_sys(err, errno, "cannot look at " NAME " in state_dir");
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 07777) != MODE)
        return cfr_err_set(err, CFR_E_PERM, NAME " in state_dir is not a file of this user with mode 0600");
    rc = cfr_file_read_at(state_fd, NAME, key, err);
    if (rc == CFR_E_LIMIT || (rc == 0 && key->len != CFR_SDK_EC2_KEY_BYTES))
        rc = cfr_err_set(err, CFR_E_LIMIT, NAME " in state_dir does not have %d bytes", CFR_SDK_EC2_KEY_BYTES);
    return rc;
}

static int make_key(struct cfr_secret *key, struct cfr_err *err)
{
    char *to;

    cfr_secret_clear(key);
    to = cfr_secret_reserve(key, CFR_SDK_EC2_KEY_BYTES, err);
    if (to == NULL)
        return CFR_E_NOMEM;
    if (getrandom(to, CFR_SDK_EC2_KEY_BYTES, 0) != CFR_SDK_EC2_KEY_BYTES)
        return cfr_err_sys(err, errno, "cannot get random bytes for the endpoints");
    cfr_secret_grown(key, CFR_SDK_EC2_KEY_BYTES);
    return 0;
}

static int replace_file(int dir_fd, const char *name, struct cfr_view content, struct cfr_err *err)
{
    const struct cfr_file file = {name, content, MODE, CFR_FILE_KEEP_ID, CFR_FILE_KEEP_ID};

    return cfr_file_replace(dir_fd, &file, err);
}

void cfr_daemon_session_key_step(struct cfr_daemon_session_key *k, int state_fd)
{
    struct cfr_err err = {0};
    int rc;

    if (k->unsaved.len == 0)
        return;
    rc = cfr_slow_write(&k->writing, state_fd, replace_file, NAME, cfr_secret_view(&k->unsaved), &err);
    if (rc < 0)
        cfr_log(CFR_LOG_WARN, NULL, NULL,
                "cannot keep the key of session tokens in state_dir, so those of ec2_imds end with this run: %s",
                err.text);
    /* A disk that has not answered may still do. */
    if (rc == 0 || (rc < 0 && rc != CFR_E_TIMEOUT))
        cfr_secret_free(&k->unsaved);
}

void cfr_daemon_session_key_close(struct cfr_daemon_session_key *k)
{
    cfr_slow_write_close(&k->writing);
    cfr_secret_free(&k->unsaved);
    cfr_sdk_ec2_signer_close(k->signer);
    k->signer = NULL;
}

int cfr_daemon_session_key_open(struct cfr_daemon_session_key *k, int state_fd, struct cfr_err *err)
{
    struct cfr_secret key = {.limit = CFR_SDK_EC2_KEY_BYTES};
    struct cfr_err why = {0};
    bool fresh = read_key(state_fd, &key, &why) != 0;
    int rc = 0;

    if (fresh) {
        if (why.code != CFR_E_MISSING)
            cfr_log(CFR_LOG_WARN, NULL, NULL, "%s: a new key is made, and clients of ec2_imds need new session tokens",
                    why.text);
        rc = make_key(&key, err);
    }
    if (rc == 0)
        rc = cfr_sdk_ec2_signer_open(cfr_secret_view(&key), &k->signer, err);
    if (rc == 0 && fresh) {
        cfr_secret_move(&k->unsaved, &key);
        cfr_daemon_session_key_step(k, state_fd);
    }
    cfr_secret_free(&key);
    return rc;
}
