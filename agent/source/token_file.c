/* SPDX-License-Identifier: MIT */
/* Token file: read, decoded, and checked. */
#include "agent/source/inputs_private.h"
#include "agent/source/token_place_private.h"

#include "agent/loop/slow_file.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/time.h"
#include "token/claims.h"

#include <stdlib.h>
#include <string.h>

#define LAST_USE_MS 60000
#define KNOWN_MAX   8    /* tokens; credentials of one workload share theirs */
#define SKEW_MS     5000 /* a difference that the server's `Date`, in whole seconds, and the network can explain */

/* A decoded token, found by its header and claims. Without the signature they are no secret. */
struct known {
    char *text;
    size_t n;
    uint64_t mark;
    struct cfr_claims claims;
};

/* Tokens that were decoded last: a thousand credentials may read the same file in a row, twice each. */
static struct {
    struct known tokens[KNOWN_MAX];
    size_t next;
} cache;

static struct cfr_view without_signature(struct cfr_view token)
{
    const char *end = memrchr(token.p, '.', token.n);

    return (struct cfr_view){token.p, end != NULL ? (size_t)(end - token.p) : token.n};
}

static const struct known *find_known(struct cfr_view text)
{
    for (size_t i = 0; i < KNOWN_MAX; i++) {
        const struct known *k = &cache.tokens[i];

        if (k->text != NULL && k->n == text.n && memcmp(k->text, text.p, text.n) == 0)
            return k;
    }
    return NULL;
}

static void drop_known(struct known *k)
{
    if (k->text != NULL)
        cfr_claims_free(&k->claims);
    free(k->text);
    *k = (struct known){.text = NULL};
}

/* NULL with ERR if it is no token. */
static const struct known *learn(struct cfr_view token, struct cfr_err *err)
{
    struct cfr_view text = without_signature(token);
    const struct known *seen = find_known(text);
    struct known *k = &cache.tokens[cache.next];
    struct cfr_claims claims;
    char *copy;

    if (seen != NULL) {
        size_t dot = text.n + 1;

        return cfr_claims_check_signature((struct cfr_view){token.p + dot, token.n - dot}, err) == 0 ? seen : NULL;
    }
    if (cfr_claims_decode(token, &claims, err) != 0)
        return NULL;
    copy = cfr_str_dup(text);
    if (copy == NULL) {
        cfr_claims_free(&claims);
        (void)cfr_err_nomem(err);
        return NULL;
    }
    drop_known(k);
    *k = (struct known){copy, text.n, cfr_hash_add(CFR_HASH_START, text.p, text.n), claims};
    cache.next = (cache.next + 1) % KNOWN_MAX;
    return k;
}

void cfr_source_token_file_forget(void)
{
    for (size_t i = 0; i < KNOWN_MAX; i++)
        drop_known(&cache.tokens[i]);
}

static int check_times(const struct cfr_config_token *config, const struct cfr_source_time *now,
                       const struct cfr_claims *claims, int64_t *wait_ms, struct cfr_err *err)
{
    int64_t expires_s = cfr_claims_expires(claims);
    int64_t starts_s = claims->nbf > claims->iat ? claims->nbf : claims->iat;
    char when[CFR_TIME_RFC3339_MAX];

    /* Instants and not durations, so that the same error has the same text at every check. */
    if (now->earliest_ms >= expires_s * 1000)
        return cfr_err_set(err, CFR_E_TOKEN_EXPIRED,
                           "the token in %s expired at %s and was not replaced: look at the kubelet, or at what else "
                           "writes this file, and at this machine's clock",
                           config->file, cfr_time_format(expires_s, when));
    if (starts_s * 1000 - SKEW_MS > now->latest_ms) {
        *wait_ms = starts_s * 1000 - now->latest_ms;
        return cfr_err_set(err, CFR_E_TOKEN,
                           "the token in %s is not valid before %s, also by the server's clock: check the clock of the "
                           "API server that issued it",
                           config->file, cfr_time_format(starts_s, when));
    }
    return 0;
}

static int check_audience(const struct cfr_config_token *config, const struct cfr_claims *claims, struct cfr_err *err)
{
    if (config->audience != NULL && !cfr_claims_has_audience(claims, config->audience)) {
        struct cfr_view has = cfr_claims_audience(claims, 0);

        return cfr_err_set(err, CFR_E_TOKEN,
                           "the token in %s is for the audience \"%.*s\", not \"%s\": set the projected volume's "
                           "audience, or this one's",
                           config->file, (int)(has.n < 128 ? has.n : 128), has.n != 0 ? has.p : "", config->audience);
    }
    return 0;
}

/* A Secret could otherwise have a token that opens the cluster sent to where its author reads it. */
static int check_foreign(const struct cfr_config_token *config, const struct cfr_claims *claims, struct cfr_err *err)
{
    struct cfr_view has = cfr_claims_audience(claims, 0);

    if (!cfr_claims_is_for_api_server(claims))
        return 0;
    return cfr_err_set(err, CFR_E_TOKEN,
                       "the token in %s is for the Kubernetes API server (audience \"%.*s\"), and a Secret names no "
                       "such token: mount one with the cloud's audience, or name the file in `token: {file: ...}`",
                       config->file, (int)(has.n < 128 ? has.n : 128), has.n != 0 ? has.p : "");
}

/* FOREIGN: a Secret names the file. */
static int decode(const struct cfr_config_token *config, bool foreign, const struct cfr_source_time *now,
                  struct cfr_source_token_file *out, int64_t *wait_ms, struct cfr_err *err)
{
    struct cfr_view token = cfr_secret_view(&out->token);
    const struct known *k = learn(token, err);
    int rc;

    if (k == NULL)
        return cfr_err_prefix(err, "the token in %s", config->file);
    out->issued_s = k->claims.iat;
    out->expires_s = cfr_claims_expires(&k->claims);
    /* A token that was read half written has the header and the claims of the whole one. */
    out->mark = cfr_hash_add(k->mark, token.p + k->n, token.n - k->n);
    rc = foreign ? check_foreign(config, &k->claims, err) : 0;
    if (rc == 0)
        rc = check_times(config, now, &k->claims, wait_ms, err);
    if (rc == 0)
        rc = check_audience(config, &k->claims, err);
    if (rc == 0) {
        out->subject = cfr_str_dup(k->claims.sub);
        if (out->subject == NULL)
            rc = cfr_err_nomem(err);
    }
    return rc;
}

/* Some writers wrap the token in a JSON object. */
static int read_field(const struct cfr_config_token *config, struct cfr_view text, struct cfr_secret *token,
                      struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    struct cfr_view value = {NULL, 0};
    int rc = cfr_json_parse(text, &doc, err);

    if (rc == CFR_E_ANSWER && cfr_view_mistake(text, CFR_FORM_JSON) != NULL)
        rc = cfr_err_set(err, CFR_E_TOKEN, "the token file %s is not JSON, but %s; `json_field` is for JSON",
                         config->file, cfr_view_mistake(text, CFR_FORM_JSON));
    else if (rc == CFR_E_ANSWER)
        rc = cfr_err_set(err, CFR_E_TOKEN, "the token file %s is not JSON (is it only half written?)", config->file);
    if (rc == 0 && (!cfr_json_string(cfr_json_get(doc, config->json_field), &value) || cfr_view_trim(value).n == 0))
        rc = cfr_err_set(err, CFR_E_TOKEN, "the token file %s has no text in the member %s", config->file,
                         config->json_field);
    if (rc == 0)
        rc = cfr_secret_append(token, cfr_view_trim(value), err);
    cfr_json_free(doc);
    return rc;
}

static int read_bytes(const char *path, const char *directory, struct cfr_secret *out, struct cfr_err *err)
{
    const struct cfr_slow_read below = {cfr_source_token_place_read, path, directory};
    int rc = directory != NULL ? cfr_source_token_place_check(directory, path, err) : 0;

    if (rc == 0)
        rc = directory != NULL ? cfr_slow_file_read_by(&below, out, NULL, err)
                               : cfr_slow_file_read(path, out, NULL, err);

    if (rc == CFR_E_MISSING)
        return cfr_err_set(err, CFR_E_MISSING, "waiting for the token file %s, which does not exist yet", path);
    return rc == 0 ? 0 : cfr_err_prefix(err, "cannot read the token file %s", path);
}

int cfr_source_token_file_read(const struct cfr_config_token *config, const char *directory,
                               const struct cfr_source_time *now, struct cfr_source_token_file *out, int64_t *wait_ms,
                               struct cfr_err *err)
{
    struct cfr_secret raw;
    struct cfr_view trimmed;
    int rc;

    *wait_ms = -1;
    *out = (struct cfr_source_token_file){.subject = NULL};
    cfr_secret_init(&raw, CFR_TOKEN_MAX);
    cfr_secret_init(&out->token, CFR_TOKEN_MAX);
    rc = read_bytes(config->file, directory, &raw, err);
    trimmed = cfr_view_trim(cfr_secret_view(&raw));
    if (rc == 0 && trimmed.n == 0)
        rc = cfr_err_set(err, CFR_E_TOKEN, "the token file %s is empty", config->file);
    if (rc == 0)
        rc = config->json_field != NULL ? read_field(config, trimmed, &out->token, err)
                                        : cfr_secret_append(&out->token, trimmed, err);
    cfr_secret_free(&raw);
    if (rc == 0)
        rc = decode(config, directory != NULL, now, out, wait_ms, err);
    if (rc != 0) {
        int64_t issued_s = out->issued_s;
        int64_t expires_s = out->expires_s;

        cfr_source_token_file_free(out);
        /* The times of a token that is refused are still worth showing. */
        out->issued_s = issued_s;
        out->expires_s = expires_s;
    }
    return rc;
}

void cfr_source_token_file_free(struct cfr_source_token_file *t)
{
    cfr_secret_free(&t->token);
    free(t->subject);
    *t = (struct cfr_source_token_file){.subject = NULL};
}

int64_t cfr_source_token_file_overdue_ms(int64_t issued_s, int64_t expires_s)
{
    int64_t life_ms = (expires_s - issued_s) * 1000;
    int64_t day_ms = INT64_C(24) * 3600 * 1000;
    int64_t slack_ms = life_ms * 15 / 100;
    int64_t age_ms = life_ms * 8 / 10;

    if (expires_s == 0)
        return INT64_MAX;
    if (age_ms > day_ms)
        age_ms = day_ms;
    /* The kubelet looks at a pod every 60 to 90 s. */
    if (slack_ms > 120000)
        slack_ms = 120000;
    return issued_s * 1000 + age_ms + slack_ms;
}

int64_t cfr_source_token_file_last_use_ms(int64_t issued_s, int64_t expires_s)
{
    int64_t before_ms = (expires_s - issued_s) * 1000 / 20;

    return expires_s * 1000 - (before_ms < LAST_USE_MS ? before_ms : LAST_USE_MS);
}
