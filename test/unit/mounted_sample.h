/* SPDX-License-Identifier: MIT */
/* Secrets of test/data/mounted, and wishes as the table there writes them. */
#ifndef CFR_TEST_MOUNTED_SAMPLE_H
#define CFR_TEST_MOUNTED_SAMPLE_H

#include "base/view.h"
#include "unit.h"

#include "data_file.h"
#include "sts/mounted/mounted.h"
#include "sts/providers.h"

#include <dirent.h>

#define SAMPLE_DIRECTORY "/mnt/secret"
#define SAMPLE_PIECE     "S3CRET" /* of every secret value */

/* A folder as a Secret. Values are blocks of their own, so that a look beyond one is noticed. */
struct mounted_sample {
    char names[CFR_MOUNTED_KEYS_MAX][256];
    struct cfr_mounted_key keys[CFR_MOUNTED_KEYS_MAX];
    size_t count;
    struct cfr_mounted_wish wish;
    void *config;
};

static inline void mounted_add(struct mounted_sample *s, const char *name, struct cfr_view value)
{
    char *copy = malloc(value.n + 1);

    assert_non_null(copy);
    assert_true(s->count < CFR_MOUNTED_KEYS_MAX);
    if (value.n != 0)
        memcpy(copy, value.p, value.n);
    (void)snprintf(s->names[s->count], sizeof s->names[0], "%s", name);
    s->keys[s->count] = (struct cfr_mounted_key){s->names[s->count], {copy, value.n}};
    s->count++;
}

static inline int mounted_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void mounted_load(struct mounted_sample *s, const char *folder)
{
    char path[512];
    char *names[CFR_MOUNTED_KEYS_MAX];
    size_t count = 0;
    struct dirent *e;
    DIR *dir;

    (void)snprintf(path, sizeof path, "%s/mounted/%s", CFR_TEST_DATA, folder);
    dir = opendir(path);
    if (dir == NULL)
        fail_msg("there is no %s", path);
    while ((e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            names[count++] = strdup(e->d_name);
    }
    (void)closedir(dir);
    qsort(names, count, sizeof names[0], mounted_compare);
    for (size_t i = 0; i < count; i++) {
        struct cfr_view value;

        (void)snprintf(path, sizeof path, "mounted/%.200s/%.250s", folder, names[i]);
        value = data_file_read(path);
        mounted_add(s, names[i], value);
        data_file_free(value);
        free(names[i]);
    }
}

/* Cuts the first part before a `;` off *REST. False at the end. */
static inline bool mounted_part(struct cfr_view *rest, char out[512])
{
    const char *end;
    size_t n;

    if (rest->n == 0 || cfr_view_is(*rest, "-"))
        return false;
    end = memchr(rest->p, ';', rest->n);
    n = end != NULL ? (size_t)(end - rest->p) : rest->n;
    assert_true(n < 512);
    (void)snprintf(out, 512, "%.*s", (int)n, rest->p);
    rest->p += n + (end != NULL);
    rest->n -= n + (end != NULL);
    return true;
}

static inline int mounted_kind(const char *name)
{
    for (int i = 0; cfr_mounted_kinds[i] != NULL; i++) {
        if (strcmp(cfr_mounted_kinds[i], name) == 0)
            return i;
    }
    return -1;
}

static inline void mounted_wish(struct mounted_sample *s, struct cfr_view text)
{
    char part[512];

    s->wish.directory = SAMPLE_DIRECTORY;
    while (mounted_part(&text, part)) {
        char *value = strchr(part, '=');
        struct cfr_err err = {0};

        if (strcmp(part, "pass_on") == 0) {
            s->wish.pass_on = true;
            continue;
        }
        assert_non_null(value);
        *value++ = '\0';
        if (strcmp(part, "expect") == 0) {
            s->wish.expect = mounted_kind(value);
        } else if (strcmp(part, "exchange") == 0) {
            s->wish.provider = cfr_sts_find(cfr_view_of(value));
            assert_non_null(s->wish.provider);
            s->config = calloc(1, s->wish.provider->table->size);
            s->wish.config = s->config;
            assert_int_equal(cfr_field_defaults(s->wish.provider->table, s->config, &err), 0);
        } else if (cfr_field_store(cfr_field_find(s->wish.provider->table, cfr_view_of(part)), s->config,
                                   cfr_view_of(value), false, &err) != 0) {
            fail_msg("%s: %s", part, err.text);
        }
    }
}

static inline void mounted_free(struct mounted_sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        free((void *)(uintptr_t)s->keys[i].value.p);
    if (s->config != NULL)
        cfr_field_free(s->wish.provider->table, s->config);
    free(s->config);
    *s = (struct mounted_sample){.count = 0};
}

#endif
