/* SPDX-License-Identifier: MIT */
/* Loading, using, refusing and freeing a key leaves no more of it in freed memory than OpenSSL's own
 * reader does: OpenSSL 3.0 does not wipe all of what it reads a key with. */
#include "tls_pair.h"

#include <malloc.h>

static unsigned char number[2][32]; /* the private number, as in DER and as in a big number's words */
static char line[65];               /* a line of the PEM text in which it stands */
static bool watching;
static size_t looked;
static size_t found;

static void look_at(const void *p)
{
    size_t n = malloc_usable_size((void *)(uintptr_t)p);

    if (!watching)
        return;
    looked++;
    if (memmem(p, n, number[0], 32) != NULL || memmem(p, n, number[1], 32) != NULL || memmem(p, n, line, 64) != NULL)
        found++;
}

static void *watched_malloc(size_t n, const char *file, int at)
{
    (void)file;
    (void)at;
    return malloc(n);
}

static void watched_free(void *p, const char *file, int at)
{
    (void)file;
    (void)at;
    if (p != NULL)
        look_at(p);
    free(p);
}

static void *watched_realloc(void *p, size_t n, const char *file, int at)
{
    void *q = malloc(n);

    if (q != NULL && p != NULL) {
        size_t had = malloc_usable_size(p);

        memcpy(q, p, had < n ? had : n);
        watched_free(p, file, at);
    }
    return q;
}

static void learn(const struct identity *own, const struct files *f)
{
    BIGNUM *private = NULL;
    const char *start = strchr(f->key, '\n') + 1;

    MUST(EVP_PKEY_get_bn_param(own->key, "priv", &private) == 1);
    MUST(BN_bn2binpad(private, number[0], 32) == 32 && BN_bn2lebinpad(private, number[1], 32) == 32);
    BN_clear_free(private);
    memcpy(line, start, 64);
}

/* The blocks that OpenSSL leaves when it reads this key and does nothing with it. */
static size_t left_by_reading(const struct files *f)
{
    BIO *bio = BIO_new_mem_buf(f->key, -1);
    EVP_PKEY *key = NULL;

    watching = true;
    key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    MUST(key != NULL);
    EVP_PKEY_free(key);
    watching = false;
    BIO_free(bio);
    return found;
}

static void test_wiped(void **state)
{
    struct volume v;
    struct identity ca = authority("authority");
    struct identity own = leaf(&ca, 1);
    struct identity next = leaf(&ca, 2);
    struct files f;
    struct files other;
    SSL_CTX *client = plain_client(&ca);
    struct credfresh_tls *tls = NULL;
    size_t reading = 0;

    (void)state;
    volume_make(&v);
    files_of(&f, &own, &ca);
    files_of(&other, &next, &ca);
    volume_publish(&v, &f);
    learn(&own, &f);
    reading = left_by_reading(&f);
    found = 0;
    watching = true;
    tls = open_tls(&v, "", 0);
    assert_int_equal(shake(credfresh_tls_ctx(tls), client, TLS1_3_VERSION), 1);
    memcpy(f.cert, other.cert, sizeof f.cert); /* refused, with the key that is watched for */
    volume_publish(&v, &f);
    until(tls, 1, 1);
    volume_publish(&v, &other); /* the key that is watched for goes out of use */
    until(tls, 2, 1);
    assert_int_equal(shake(credfresh_tls_ctx(tls), client, TLS1_3_VERSION), 2);
    credfresh_tls_close(tls);
    watching = false;
    assert_true(looked > 1000);
    if (found > 2 * reading) /* it is read for the first set and for the one that is refused */
        fail_msg("%zu blocks held the key; reading it twice leaves %zu", found, 2 * reading);
    volume_remove(&v);
    SSL_CTX_free(client);
    identity_free(&ca);
    identity_free(&own);
    identity_free(&next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wiped)};

    MUST(CRYPTO_set_mem_functions(watched_malloc, watched_realloc, watched_free) == 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
