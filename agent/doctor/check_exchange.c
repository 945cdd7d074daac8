/* SPDX-License-Identifier: MIT */
/* Check by one real exchange, of which nothing is published. */
#include "agent/doctor/doctor_private.h"

#include "agent/publish/secret_target.h"
#include "agent/publish/targets.h"
#include "agent/source/exchange_sync.h"
#include "base/time.h"

struct trial {
    struct cfr_doctor *d;
    struct cfr_doctor_case *c;
};

static void report_grant(const struct trial *t, struct cfr_source_exchange_result *result)
{
    struct cfr_publish_from from = {result->provider, result->config, result->contents, result->content_count, NULL};
    struct cfr_publish_render render = {t->c->name, &from, result->grant, 1, NULL};
    char words[CFR_TIME_WORDS_MAX];
    struct cfr_err err = {0};
    int64_t life_ms = cfr_source_exchange_life_ms(result->grant->expires_s, result->server_date_s, cfr_clock_now());

    if (cfr_source_exchange_check_life(life_ms, &err) != 0) {
        cfr_doctor_report(t->d, CFR_FINDING_WRONG, "cloud.exchange", NULL, "%s", err.text);
        return;
    }
    cfr_doctor_report(t->d, CFR_FINDING_OK, "cloud.exchange", NULL, "exchanged in %.0f ms: %s, valid for %s",
                      result->duration_s * 1000, result->grant->identity != NULL ? result->grant->identity : "no name",
                      result->grant->expires_s != 0 ? cfr_time_words(life_ms, words) : "ever");
    if (cfr_publish_rehearse(t->c->credential, &render, &err) != 0)
        cfr_doctor_report(t->d, CFR_FINDING_WRONG, "publish.format", NULL,
                          "the granted credential cannot be published: %s", err.text);
}

static void on_exchanged(void *ctx, struct cfr_source_exchange_result *result)
{
    struct trial *t = ctx;

    t->c->exchanged = result->rc == 0;
    if (result->server_date_s != 0) {
        t->c->server_date_s = result->server_date_s;
        t->c->seen_boot_ms = cfr_clock_now().boot_ms;
    }
    if (result->rc == 0) {
        report_grant(t, result);
        return;
    }
    t->c->refusal = result->err;
    cfr_doctor_report(t->d, CFR_FINDING_WRONG, "cloud.exchange", NULL, "%s", result->err.text);
}

static void try_exchange(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct trial t = {d, c};
    struct cfr_source_inputs m;
    struct cfr_err err = {0};
    int64_t wait_ms;
    int rc = cfr_source_inputs_read(c->credential, cfr_clock_now().wall_ms, false, &m, &wait_ms, &err);

    if (rc == 0 && cfr_source_inputs_is_final(&m))
        cfr_doctor_report(d, CFR_FINDING_OK, "cloud.exchange", NULL, "nothing is to be exchanged");
    else if (rc == 0)
        rc = cfr_source_sync_exchange(c->credential, &m, d->end_boot_ms, on_exchanged, &t, &err);
    if (rc == CFR_E_TIMEOUT)
        d->late = true;
    if (rc != 0) {
        c->refusal = err;
        cfr_doctor_report(d, CFR_FINDING_WRONG, "cloud.exchange", NULL, "%s", err.text);
    }
    cfr_source_inputs_free(&m);
}

/* The key is that of any provider that has it. */
static void warn_of_plain_http(struct cfr_doctor *d, const struct cfr_doctor_case *c)
{
    const struct cfr_field *f = cfr_field_find(c->provider->table, cfr_view_of("plain_http"));

    if (f != NULL && c->config != NULL && *(const bool *)(const void *)((const char *)c->config + f->offset))
        cfr_doctor_report(d, CFR_FINDING_WARNING, "cloud.plain-http", "give the server a certificate, and use https",
                          "plain_http: the token and the credential are readable on the network to the server");
}

void cfr_doctor_exchange(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    warn_of_plain_http(d, c);
    if (c->credential == NULL)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "cloud.exchange", NULL,
                          "the exchange waits for a request of the kubelet");
    else if (d->options->offline)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "cloud.exchange", NULL, "no exchange was tried: --offline");
    else if (!c->ready)
        cfr_doctor_report(d, d->selection ? CFR_FINDING_WRONG : CFR_FINDING_NOTE, "cloud.exchange", NULL,
                          "no exchange was tried, because its inputs cannot be read: %s", c->unready.text);
    else if (c->unreached[0] != '\0')
        cfr_doctor_report(d, CFR_FINDING_NOTE, "cloud.exchange", NULL, "no exchange was tried: %s is not reached",
                          c->unreached);
    else if (cfr_doctor_left_ms(d) == 0)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "cloud.exchange", "give it more time: --timeout",
                          "no exchange was tried: the time was up");
    else
        try_exchange(d, c);
}
