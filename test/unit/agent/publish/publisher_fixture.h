/* SPDX-License-Identifier: MIT */
/* Publishes to real directories and files in a scratch directory. */
#ifndef TEST_PUBLISHER_FIXTURE_H
#define TEST_PUBLISHER_FIXTURE_H

#include "files_scratch.h"
#include "publish_work.h"
#include "unit.h"

#include <unistd.h>

static struct cfr_config *config;
static const struct cfr_config_credential *credential;
static struct cfr_grant grant;
static struct cfr_publish_record record;
static struct cfr_publisher_crew crew;
static struct cfr_publisher *publisher;

static inline const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static inline int begin(void **state)
{
    record = (struct cfr_publish_record){.generation = 0};
    return scratch_make_fast(state);
}

static inline int end(void **state)
{
    cfr_publisher_close(publisher);
    publisher = NULL;
    cfr_publish_record_free(&record);
    cfr_grant_free(&grant);
    cfr_config_free(config);
    config = NULL;
    return scratch_remove(state);
}

/* Loads a configuration, in which each @ is the scratch directory. */
static inline void configure(const char *text)
{
    static char whole[8192];
    struct cfr_str all = {.limit = 8192};
    size_t n = 0;

    for (const char *at = text; *at != '\0'; at++)
        n += (size_t)snprintf(whole + n, sizeof whole - n, "%.*s", *at == '@' ? (int)strlen(scratch) : 1,
                              *at == '@' ? scratch : at);
    put(in("config.yaml"), whole);
    cfr_publish_register();
    if (cfr_config_load(in("config.yaml"), no_env, &config, &all, NULL) != 0)
        fail_msg("refused: %s", all.p);
    cfr_str_free(&all);
    credential = cfr_config_at(config, 0);
}

static inline void done(void *ctx)
{
    (void)ctx;
}

static inline void set_field(const char *name, const char *value)
{
    assert_int_equal(cfr_grant_set(&grant, name, cfr_view_of(value), NULL), 0);
}

/* Publishes the grant as GENERATION, after which the publisher can be asked. Returns the error's code. */
static inline int publish_grant(uint64_t generation, struct cfr_publisher_outcome *out)
{
    const void *own = NULL;
    const struct cfr_sts_provider *provider = cfr_config_provider(credential, &own);
    const struct cfr_publish_from from = {.provider = provider, .config = own};
    struct cfr_publish_job job = {
        .render = {.credential = "a", .from = &from, .grant = &grant, .generation = generation},
        .now = cfr_clock_now(),
        .expires_ms = INT64_MAX};
    struct cfr_err err = {0};
    int rc = cfr_test_work(credential, CFR_PUBLISHER_RECOVER | CFR_PUBLISHER_PUBLISH, &job, &record, out, &err);

    if (rc == 0)
        record.generation = generation;
    return rc;
}

/* A publisher that has looked at what is there. */
static inline struct cfr_publisher *look(void)
{
    struct cfr_publisher_outcome out;
    struct cfr_err err = {0};

    cfr_publisher_close(publisher);
    publisher = NULL;
    assert_int_equal(cfr_publisher_open(credential, &crew, done, NULL, &publisher, &err), 0);
    assert_int_equal(cfr_publish_record_fit(
                         &record, (struct cfr_publish_record_room){(uint16_t)credential->publish.count, 0, 0}, &err),
                     0);
    assert_true(cfr_publisher_start(publisher, CFR_PUBLISHER_LOOK, NULL, &record, &err) >= 0);
    for (int i = 0; i < 10000 && !cfr_publisher_has_ended(publisher); i++) {
        (void)usleep(1000);
        cfr_publisher_step(publisher, cfr_clock_now());
    }
    assert_true(cfr_publisher_has_ended(publisher));
    cfr_publisher_finish(publisher, &record, &out);
    assert_false(cfr_publisher_is_busy(publisher));
    assert_true(cfr_publisher_is_idle(&crew));
    return publisher;
}

#endif
