/* SPDX-License-Identifier: MIT */
/* The simulated kubelet: keeps a service-account token in each volume and renews it at 80 % of its lifetime. */
#include "kubelet.h"

#include "crypto.h"
#include "pause.h"
#include "volume.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_VOLUMES = 10000, JITTER_S = 10, DAY_S = 86400, LOOK_MS = 50 };

struct volume {
    char *name;
    char *dir;
    char *namespace_name;
    char *service_account;
    char *file;
    json_t *audience;
    mode_t mode;
    int64_t expiration_s;
    bool paused;
    int64_t issued_at_s;
    int64_t expires_at_s;
    double renew_at_s;
    unsigned long renewals;
};

struct lc_kubelet {
    char *dir;
    struct lc_issuer *issuer;
    double speed;
    pthread_mutex_t lock;
    struct volume **volumes;
    size_t count;
    pthread_t thread;
    bool running;
};

struct lc_kubelet *lc_kubelet_new(const char *dir, struct lc_issuer *issuer, double speed, struct lc_fail *fail)
{
    struct lc_kubelet *kubelet = calloc(1, sizeof *kubelet);

    if (kubelet == NULL || (kubelet->dir = strdup(dir)) == NULL) {
        free(kubelet);
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    if (mkdir(dir, 0755) != 0 && errno != EEXIST) {
        (void)lc_fail_set(fail, "%s cannot be made: %s", dir, strerror(errno));
        free(kubelet->dir);
        free(kubelet);
        return NULL;
    }
    kubelet->issuer = issuer;
    kubelet->speed = speed;
    (void)pthread_mutex_init(&kubelet->lock, NULL);
    return kubelet;
}

static void free_volume(struct volume *volume)
{
    if (volume == NULL) {
        return;
    }
    free(volume->name);
    free(volume->dir);
    free(volume->namespace_name);
    free(volume->service_account);
    free(volume->file);
    json_decref(volume->audience);
    free(volume);
}

void lc_kubelet_free(struct lc_kubelet *kubelet)
{
    if (kubelet == NULL) {
        return;
    }
    if (kubelet->running) {
        (void)pthread_join(kubelet->thread, NULL);
    }
    for (size_t i = 0; i < kubelet->count; i++) {
        free_volume(kubelet->volumes[i]);
    }
    free(kubelet->volumes);
    (void)pthread_mutex_destroy(&kubelet->lock);
    free(kubelet->dir);
    free(kubelet);
}

/* A name that is one path component and not one of the writer's own. */
static bool plain_name(const char *name)
{
    return *name != '\0' && strlen(name) <= 200 && lc_text_only(name, "-._") && name[0] != '.';
}

static int read_mode(const char *text, mode_t *mode)
{
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 8);

    if (strlen(text) != 4 || text[0] != '0' || *end != '\0' || value > 0777) {
        return -1;
    }
    *mode = (mode_t)value;
    return 0;
}

struct volume_text {
    const char *name;
    const char *namespace_name;
    const char *service_account;
    const char *audience;
    const char *file;
    const char *mode;
};

static int check_volume(const struct volume_text *text, const char *where, struct volume *volume, struct lc_fail *fail)
{
    if (!plain_name(text->name) || !plain_name(text->file)) {
        return lc_fail_set(fail,
                           "%s: \"name\" and \"file\" are file names of letters, digits, '-', '_' and '.', not "
                           "starting with '.'",
                           where);
    }
    if (!plain_name(text->namespace_name) || !plain_name(text->service_account)) {
        return lc_fail_set(fail, "%s: \"namespace\" and \"service_account\" must be Kubernetes names", where);
    }
    if (*text->audience == '\0') {
        return lc_fail_set(fail, "%s: \"audience\" must not be empty", where);
    }
    if (read_mode(text->mode, &volume->mode) != 0) {
        return lc_fail_set(fail, "%s: \"mode\" must be a string of four octal digits such as \"0644\"", where);
    }
    return 0;
}

static int read_volume(json_t *object, struct volume *volume, struct lc_fail *fail)
{
    static const char *const keys[] = {"name", "namespace", "service_account", "audience", "expiration_s",
                                       "file", "mode",      "paused",          NULL};
    struct volume_text text = {"demo", "default", "demo", "sts.amazonaws.com", "token", "0644"};
    const char *where = "volume";

    volume->expiration_s = 3600;
    if (lc_json_keys(object, where, keys, fail) != 0 || lc_json_text(object, where, "name", &text.name, fail) != 0 ||
        lc_json_text(object, where, "namespace", &text.namespace_name, fail) != 0 ||
        lc_json_text(object, where, "service_account", &text.service_account, fail) != 0 ||
        lc_json_text(object, where, "audience", &text.audience, fail) != 0 ||
        lc_json_text(object, where, "file", &text.file, fail) != 0 ||
        lc_json_text(object, where, "mode", &text.mode, fail) != 0 ||
        lc_json_bool(object, where, "paused", &volume->paused, fail) != 0 ||
        lc_json_integer(object, where, "expiration_s", 600, 4294967296, &volume->expiration_s, fail) != 0 ||
        check_volume(&text, where, volume, fail) != 0) {
        return -1;
    }
    volume->name = strdup(text.name);
    volume->namespace_name = strdup(text.namespace_name);
    volume->service_account = strdup(text.service_account);
    volume->file = strdup(text.file);
    volume->audience = json_pack("[s]", text.audience);
    if (volume->name == NULL || volume->namespace_name == NULL || volume->service_account == NULL ||
        volume->file == NULL || volume->audience == NULL) {
        return lc_fail_set(fail, "out of memory");
    }
    return 0;
}

/* The kubelet asks again past 80 % of the life or after a day, 0-10 s earlier by chance; all of it scaled. */
static int renew_locked(struct lc_kubelet *kubelet, struct volume *volume, struct lc_fail *fail)
{
    double now = lc_time_now();
    double life = (double)volume->expiration_s / kubelet->speed;
    double jitter = lc_random_unit() * (double)JITTER_S / kubelet->speed;
    double share = 0.8 * life;
    struct lc_token_request wanted = {.namespace_name = volume->namespace_name,
                                      .service_account = volume->service_account,
                                      .audience = volume->audience,
                                      .how = LC_JWT_RS256};
    char *token = NULL;
    bool changed = false;
    int result = -1;

    wanted.issued_at_s = (int64_t)now;
    wanted.expires_at_s = (int64_t)ceil(now + life);
    token = lc_issuer_mint(kubelet->issuer, &wanted, fail);
    if (token != NULL) {
        result = lc_volume_project(volume->dir, volume->file, volume->mode, token, strlen(token), &changed, fail);
    }
    free(token);
    if (result != 0) {
        volume->renew_at_s = now + 1;
        return -1;
    }
    volume->issued_at_s = wanted.issued_at_s;
    volume->expires_at_s = wanted.expires_at_s;
    volume->renew_at_s = now + fmin(share, (double)DAY_S / kubelet->speed) - fmin(jitter, share / 4);
    volume->renewals++;
    return 0;
}

static struct volume *find(struct lc_kubelet *kubelet, const char *name, struct lc_fail *fail)
{
    for (size_t i = 0; i < kubelet->count; i++) {
        if (strcmp(kubelet->volumes[i]->name, name) == 0) {
            return kubelet->volumes[i];
        }
    }
    (void)lc_fail_set(fail, "there is no volume \"%.80s\"", name);
    return NULL;
}

int lc_kubelet_add(struct lc_kubelet *kubelet, json_t *object, struct lc_fail *fail)
{
    struct volume *volume = calloc(1, sizeof *volume);
    struct volume **grown = NULL;
    int result = -1;

    if (volume == NULL || read_volume(object, volume, fail) != 0 ||
        (volume->dir = lc_text_format("%s/%s", kubelet->dir, volume->name)) == NULL) {
        free_volume(volume);
        return -1;
    }
    (void)pthread_mutex_lock(&kubelet->lock);
    if (find(kubelet, volume->name, NULL) != NULL || kubelet->count >= MOST_VOLUMES) {
        (void)lc_fail_set(fail, "volume \"%s\" occurs twice", volume->name);
    } else if ((grown = realloc(kubelet->volumes, (kubelet->count + 1) * sizeof(struct volume *))) != NULL) {
        kubelet->volumes = grown;
        result = renew_locked(kubelet, volume, fail);
        if (result == 0) {
            grown[kubelet->count++] = volume;
        }
    }
    (void)pthread_mutex_unlock(&kubelet->lock);
    if (result != 0) {
        free_volume(volume);
    }
    return result;
}

static void *run(void *argument)
{
    struct lc_kubelet *kubelet = argument;
    double wait_ms = 0;

    while (!lc_pause(wait_ms)) {
        double now = lc_time_now();
        (void)pthread_mutex_lock(&kubelet->lock);
        for (size_t i = 0; i < kubelet->count; i++) {
            struct volume *volume = kubelet->volumes[i];
            bool clock_went_back = now < (double)volume->issued_at_s - 1;
            if (!volume->paused && (now >= volume->renew_at_s || clock_went_back)) {
                (void)renew_locked(kubelet, volume, NULL);
            }
        }
        (void)pthread_mutex_unlock(&kubelet->lock);
        wait_ms = LOOK_MS;
    }
    return NULL;
}

int lc_kubelet_start(struct lc_kubelet *kubelet, struct lc_fail *fail)
{
    int error = pthread_create(&kubelet->thread, NULL, run, kubelet);

    kubelet->running = error == 0;
    return error == 0 ? 0 : lc_fail_set(fail, "no thread for the volumes: %s", strerror(error));
}

int lc_kubelet_renew(struct lc_kubelet *kubelet, const char *name, struct lc_fail *fail)
{
    struct volume *volume = NULL;
    int result = -1;

    (void)pthread_mutex_lock(&kubelet->lock);
    volume = find(kubelet, name, fail);
    if (volume != NULL) {
        result = renew_locked(kubelet, volume, fail);
    }
    (void)pthread_mutex_unlock(&kubelet->lock);
    return result;
}

int lc_kubelet_pause(struct lc_kubelet *kubelet, const char *name, bool paused, struct lc_fail *fail)
{
    struct volume *volume = NULL;

    (void)pthread_mutex_lock(&kubelet->lock);
    volume = find(kubelet, name, fail);
    if (volume != NULL) {
        volume->paused = paused;
    }
    (void)pthread_mutex_unlock(&kubelet->lock);
    return volume == NULL ? -1 : 0;
}

int lc_kubelet_write(struct lc_kubelet *kubelet, const char *name, const char *bytes, size_t len, struct lc_fail *fail)
{
    struct volume *volume = NULL;
    bool changed = false;
    int result = -1;

    (void)pthread_mutex_lock(&kubelet->lock);
    volume = find(kubelet, name, fail);
    if (volume != NULL) {
        result = lc_volume_project(volume->dir, volume->file, volume->mode, bytes, len, &changed, fail);
    }
    (void)pthread_mutex_unlock(&kubelet->lock);
    return result;
}

bool lc_kubelet_has(struct lc_kubelet *kubelet, const char *name)
{
    bool has = false;

    (void)pthread_mutex_lock(&kubelet->lock);
    has = find(kubelet, name, NULL) != NULL;
    (void)pthread_mutex_unlock(&kubelet->lock);
    return has;
}

json_t *lc_kubelet_report(struct lc_kubelet *kubelet)
{
    json_t *report = json_object();

    (void)pthread_mutex_lock(&kubelet->lock);
    for (size_t i = 0; i < kubelet->count; i++) {
        const struct volume *volume = kubelet->volumes[i];
        (void)json_object_set_new(
            report, volume->name,
            json_pack("{s:s,s:s,s:I,s:I,s:f,s:I,s:b}", "directory", volume->dir, "file", volume->file, "issued_at",
                      (json_int_t)volume->issued_at_s, "expires_at", (json_int_t)volume->expires_at_s, "renew_at",
                      volume->renew_at_s, "renewals", (json_int_t)volume->renewals, "paused", volume->paused ? 1 : 0));
    }
    (void)pthread_mutex_unlock(&kubelet->lock);
    return report;
}
