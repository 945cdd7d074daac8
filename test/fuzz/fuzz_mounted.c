/* SPDX-License-Identifier: MIT */
/* A mounted Secret: its first byte is the options, then names and values take turns, each ended by a NUL.
 * Whatever is in it, what comes out is whole, and an error is a text. */
#include "fuzz.h"

#include "base/json.h"
#include "sts/mounted/mounted.h"

#include <string.h>

#define EXPECT  0x0f
#define PASS_ON 0x10

static struct cfr_mounted_key keys[CFR_MOUNTED_KEYS_MAX];

static size_t cut(const char *p, size_t n)
{
    size_t count = 0;

    while (n != 0 && count < CFR_MOUNTED_KEYS_MAX) {
        const char *name_end = memchr(p, '\0', n);
        const char *value = name_end != NULL ? name_end + 1 : NULL;
        const char *value_end;

        if (value == NULL)
            break;
        value_end = memchr(value, '\0', n - (size_t)(value - p));
        if (value_end == NULL)
            break;
        keys[count++] = (struct cfr_mounted_key){p, {value, (size_t)(value_end - value)}};
        n -= (size_t)(value_end + 1 - p);
        p = value_end + 1;
    }
    return count;
}

static void check(const struct cfr_mounted *m, const struct cfr_mounted_options *options)
{
    CFR_FUZZ_MUST((m->provider == NULL) == (m->config == NULL));
    CFR_FUZZ_MUST(m->content_count <= CFR_STS_CONTENTS_MAX);
    CFR_FUZZ_MUST(m->provider != NULL || (m->content_count == 0 && m->token_file == NULL));
    CFR_FUZZ_MUST(m->token_file == NULL || (m->token_file[0] == '/' && m->short_lived));
    CFR_FUZZ_MUST(m->token_field == NULL || m->token_file != NULL);
    CFR_FUZZ_MUST(options->expect == CFR_MOUNTED_UNKNOWN || (int)m->kind == options->expect);
    CFR_FUZZ_MUST(!options->pass_on || m->provider == NULL);
    CFR_FUZZ_MUST(cfr_view_printable(cfr_view_of(m->note)));
    CFR_FUZZ_MUST(cfr_view_printable(cfr_view_of(m->taken)));
    CFR_FUZZ_MUST(m->ca.len == 0 || m->provider == NULL ||
                  (m->kind == CFR_MOUNTED_OPENSTACK && strncmp(m->ca.p, "-----BEGIN CERTIFICATE-----\n", 28) == 0 &&
                   strchr(m->ca.p, ':') == NULL));
    for (size_t i = 0; i < m->content_count; i++)
        CFR_FUZZ_MUST(m->contents[i].bytes.n != 0 &&
                      cfr_field_find(m->provider->table, cfr_view_of(m->contents[i].key)) != NULL);
    if (m->provider != NULL && m->provider->table->check != NULL)
        CFR_FUZZ_MUST(m->provider->table->check(m->config, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    struct cfr_mounted_options options = {.directory = "/mnt/secret"};
    struct cfr_mounted m;
    struct cfr_err err = {0};
    size_t count;
    int rc;

    if (size == 0)
        return 0;
    if (!ready)
        cfr_json_setup();
    ready = true;
    options.expect = (data[0] & EXPECT) % (CFR_MOUNTED_IBMCLOUD + 1);
    options.pass_on = (data[0] & PASS_ON) != 0;
    count = cut((const char *)data + 1, size - 1);
    rc = cfr_mounted_read(keys, count, &options, &m, &err);
    if (rc == 0)
        check(&m, &options);
    else
        CFR_FUZZ_MUST((rc == CFR_E_MISSING || rc == CFR_E_CONFIG || rc == CFR_E_LIMIT) && err.code == rc &&
                      err.text[0] != '\0');
    cfr_mounted_free(&m);
    return 0;
}
