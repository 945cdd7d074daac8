/* SPDX-License-Identifier: MIT */
/* Exchanges with Google for tests: a configuration made of keys and values, and the files that it names. */
#ifndef CFR_TEST_GCP_SAMPLE_H
#define CFR_TEST_GCP_SAMPLE_H

#include "unit.h"

#include "data_file.h"
#include "sts/gcp/gcp.h"

#define NOW     INT64_C(1767323045) /* 2026-01-02T03:04:05Z */
#define TOKEN   "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlc2lnbmF0dXJl"
#define SUBJECT "system:serviceaccount:ns-a:sa-b"
#define AUDIENCE                                                                                             \
    "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/pool/providers/cluster"
#define WORKFORCE "//iam.googleapis.com/locations/global/workforcePools/staff/providers/idp"
#define ACCOUNT   "deployer@example-project.iam.gserviceaccount.com"
#define BUILDER   "builder@example-project.iam.gserviceaccount.com"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Paths of files are names below the data folder, after this. */
#define DATA      "/data/"

#define FILES_MAX 4

struct gcp_sample {
    struct cfr_sts_gcp config;
    struct cfr_sts_content contents[FILES_MAX];
    size_t file_count;
    struct cfr_sts_input in;
    struct cfr_sts_exchange x;
};

static inline const char *gcp_no_env(const char *name)
{
    (void)name;
    return NULL;
}

/* A list is its items with a blank between them. */
static inline void gcp_set_list(struct cfr_strings *list, const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, " ");

        list->items = realloc(list->items, (list->count + 1) * sizeof *list->items);
        assert_non_null(list->items);
        list->items[list->count++] = strndup(text, n);
        text += n + (text[n] == ' ' ? 1 : 0);
    }
}

static inline void gcp_add_file(struct gcp_sample *s, const char *key, const char *path)
{
    struct cfr_sts_content *content = &s->contents[s->file_count++];
    struct cfr_view whole = data_file_read(path + strlen(DATA));

    /* As the agent does: without the white space around it. */
    *content = (struct cfr_sts_content){key, whole};
    while (content->bytes.n != 0 && strchr(" \r\n", content->bytes.p[content->bytes.n - 1]) != NULL)
        content->bytes.n--;
}

/* SETTINGS: keys and values in turn, up to a NULL. */
static inline void gcp_sample(struct gcp_sample *s, const char *const *settings)
{
    struct cfr_err err = {0};

    *s = (struct gcp_sample){0};
    assert_int_equal(cfr_field_defaults(&cfr_sts_gcp_table, &s->config, &err), 0);
    for (; settings[0] != NULL; settings += 2) {
        const struct cfr_field *f = cfr_field_find(&cfr_sts_gcp_table, cfr_view_of(settings[0]));

        if (f == NULL)
            fail_msg("no key %s", settings[0]);
        if (f->type == CFR_FIELD_STRINGS)
            gcp_set_list((struct cfr_strings *)(void *)((char *)&s->config + f->offset), settings[1]);
        else if (cfr_field_store(f, &s->config, cfr_view_of(settings[1]), false, &err) != 0)
            fail_msg("%s: %s", settings[0], err.text);
        if ((f->flags & CFR_FIELD_CONTENT) != 0 && strncmp(settings[1], DATA, strlen(DATA)) == 0)
            gcp_add_file(s, f->key, settings[1]);
    }
    s->in = (struct cfr_sts_input){.credential = "registry",
                                   .token = cfr_view_of(TOKEN),
                                   .subject = cfr_view_of(SUBJECT),
                                   .contents = s->contents,
                                   .content_count = s->file_count,
                                   .now_s = NOW,
                                   .env = gcp_no_env};
    s->x = (struct cfr_sts_exchange){.provider = &cfr_sts_gcp_provider, .config = &s->config};
}

static inline void gcp_sample_free(struct gcp_sample *s)
{
    cfr_sts_exchange_free(&s->x);
    cfr_field_free(&cfr_sts_gcp_table, &s->config);
    for (size_t i = 0; i < s->file_count; i++)
        data_file_free(s->contents[i].bytes);
}

#endif
