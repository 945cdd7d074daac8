/* SPDX-License-Identifier: MIT */
/* The certification authority as a JSON document. */
#include "pki/ca.h"

#include "pki/cert_private.h"
#include "pki/key.h"

#include "base/json.h"
#include "base/writer.h"

#include <stdlib.h>

#define VERSION 1

static void write_generation(struct cfr_writer *w, const struct cfr_ca_generation *g)
{
    cfr_writer_object(w, NULL);
    cfr_writer_string(w, "root", cfr_view_of(g->root.pem));
    cfr_writer_optional(w, "outgoing", cfr_view_of(g->outgoing.pem));
    cfr_writer_optional(w, "incoming", cfr_view_of(g->incoming.pem));
    cfr_writer_close(w);
}

int cfr_ca_store(const struct cfr_ca *a, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};

    cfr_writer_object(&w, NULL);
    cfr_writer_number(&w, "version", VERSION);
    cfr_writer_count(&w, "number", a->number);
    cfr_writer_number(&w, "made", a->made_s);
    cfr_writer_string(&w, "key", cfr_secret_view(&a->key));
    if (a->reason != NULL)
        cfr_writer_string(&w, "reason", cfr_view_of(a->reason));
    cfr_writer_array(&w, "reasons");
    for (size_t i = 0; i < a->reason_count; i++)
        cfr_writer_string(&w, NULL, cfr_view_of(a->reasons[i]));
    cfr_writer_close(&w);
    cfr_writer_array(&w, "generations");
    for (size_t i = 0; i < a->count; i++)
        write_generation(&w, &a->generations[i]);
    cfr_writer_close(&w);
    cfr_writer_close(&w);
    cfr_writer_text(&w, "\n");
    return w.rc;
}

int cfr_ca_copy(const struct cfr_ca *from, struct cfr_ca *to, struct cfr_err *err)
{
    struct cfr_secret all;
    int rc;

    cfr_secret_init(&all, CFR_CA_STORE_MAX);
    rc = cfr_ca_store(from, &all, err);
    if (rc == 0)
        rc = cfr_ca_load(cfr_secret_view(&all), to, err);
    cfr_secret_free(&all);
    return rc;
}

/* ---- reading ---- */

static int report_wrong(const char *key, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_CONFIG, "%s is missing or not what it should be", key);
}

/* A certificate that may be left out where NEEDED is false. */
static int read_cert(const struct cfr_json *from, const char *key, bool needed, struct cfr_cert *out,
                     struct cfr_err *err)
{
    struct cfr_view pem;

    if (!cfr_json_string(cfr_json_get(from, key), &pem))
        return needed ? report_wrong(key, err) : 0;
    return cfr_cert_read(pem, out, err) != 0 ? cfr_err_prefix(err, "%s", key) : 0;
}

static int read_generations(const struct cfr_json *list, struct cfr_ca *a, struct cfr_err *err)
{
    int rc = 0;

    if (cfr_json_count(list) == 0 || cfr_json_count(list) > CFR_CA_GENERATIONS_MAX)
        return report_wrong("generations", err);
    for (size_t i = 0; rc == 0 && i < cfr_json_count(list); i++) {
        struct cfr_ca_generation *g = &a->generations[a->count++];

        rc = read_cert(cfr_json_at(list, i), "root", true, &g->root, err);
        if (rc == 0)
            rc = read_cert(cfr_json_at(list, i), "outgoing", i != 0, &g->outgoing, err);
        if (rc == 0)
            rc = read_cert(cfr_json_at(list, i), "incoming", false, &g->incoming, err);
    }
    return rc;
}

static int read_text(const struct cfr_json *value, char **out, struct cfr_err *err)
{
    struct cfr_view v;

    if (!cfr_json_string(value, &v) || v.n > CFR_CA_REASON_MAX)
        return report_wrong("a reason", err);
    *out = cfr_str_dup(v);
    return *out != NULL ? 0 : cfr_err_nomem(err);
}

static int read_reasons(const struct cfr_json *doc, struct cfr_ca *a, struct cfr_err *err)
{
    const struct cfr_json *list = cfr_json_get(doc, "reasons");
    int rc = 0;

    if (cfr_json_count(list) > CFR_CA_REASONS_MAX)
        return report_wrong("reasons", err);
    if (cfr_json_get(doc, "reason") != NULL)
        rc = read_text(cfr_json_get(doc, "reason"), &a->reason, err);
    for (size_t i = 0; rc == 0 && i < cfr_json_count(list); i++)
        rc = read_text(cfr_json_at(list, i), &a->reasons[a->reason_count++], err);
    return rc;
}

static int read_head(const struct cfr_json *doc, struct cfr_ca *a, struct cfr_err *err)
{
    struct cfr_view key;
    int64_t version;
    int64_t number;

    if (!cfr_json_integer(cfr_json_get(doc, "version"), &version) || version != VERSION)
        return cfr_err_set(err, CFR_E_CONFIG, "it is not of version %d", VERSION);
    if (!cfr_json_integer(cfr_json_get(doc, "number"), &number) || number < 1)
        return report_wrong("number", err);
    if (!cfr_json_string(cfr_json_get(doc, "key"), &key))
        return report_wrong("key", err);
    a->number = (uint64_t)number;
    cfr_secret_init(&a->key, CFR_KEY_PEM_MAX);
    return cfr_key_private(key, &a->key, err) != 0 ? cfr_err_prefix(err, "key") : 0;
}

/* Stores of before it was written have CAs that begin when they were made. */
static int read_made_time(const struct cfr_json *doc, struct cfr_ca *a, struct cfr_err *err)
{
    const struct cfr_cert *newest = &a->generations[0].root;

    a->made_s = newest->begins_s + CFR_CERT_BACKDATE_S;
    if (cfr_json_get(doc, "made") != NULL && !cfr_json_integer(cfr_json_get(doc, "made"), &a->made_s))
        return report_wrong("made", err);
    return a->made_s >= newest->begins_s && a->made_s <= newest->ends_s ? 0 : report_wrong("made", err);
}

/* Checks that key, certificates and bridges belong together. */
static int check_signatures(struct cfr_ca *a, struct cfr_err *err)
{
    const struct cfr_cert *newest = &a->generations[0].root;
    int rc = cfr_cert_check_key(newest, cfr_secret_view(&a->key), err);

    for (size_t i = 0; rc == 0 && i < a->count; i++) {
        const struct cfr_ca_generation *g = &a->generations[i];

        rc = cfr_cert_verify(&g->root, &g->root, err);
        if (rc == 0 && i == 0 && g->outgoing.pem != NULL)
            rc = report_wrong("outgoing", err);
        if (rc == 0 && i != 0)
            rc = cfr_cert_same_key(&g->root, &g->outgoing) ? cfr_cert_verify(&g->outgoing, newest, err)
                                                           : report_wrong("outgoing", err);
        if (rc == 0 && g->incoming.pem != NULL && !cfr_cert_same_key(&g->root, &g->incoming))
            rc = report_wrong("incoming", err);
        if (rc == 0 && g->incoming.pem != NULL && i + 1 < a->count)
            rc = cfr_cert_verify(&g->incoming, &a->generations[i + 1].root, err);
        if (rc != 0)
            (void)cfr_err_prefix(err, "generation %zu", i);
    }
    return rc != 0 ? rc : cfr_cert_subject(newest, a->subject, sizeof a->subject, err);
}

int cfr_ca_load(struct cfr_view content, struct cfr_ca *a, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    int rc = cfr_json_parse(content, &doc, err);

    if (rc != 0 && rc != CFR_E_NOMEM)
        rc = cfr_err_set(err, CFR_E_CONFIG, "it is not a JSON document");
    *a = (struct cfr_ca){.number = 0};
    if (rc == 0)
        rc = read_head(doc, a, err);
    if (rc == 0)
        rc = read_generations(cfr_json_get(doc, "generations"), a, err);
    if (rc == 0)
        rc = read_made_time(doc, a, err);
    if (rc == 0)
        rc = read_reasons(doc, a, err);
    if (rc == 0)
        rc = check_signatures(a, err);
    cfr_json_free(doc);
    if (rc != 0)
        cfr_ca_free(a);
    return rc;
}
