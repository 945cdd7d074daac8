/* SPDX-License-Identifier: MIT */
/* A context that follows a volume: sets used and refused, and existing connections unchanged. */
#include "tls_pair.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static time_t clock_ahead_s;
static char rewritten[200];
static atomic_bool ended;

/* Takes the place of libc's, for the library too. */
time_t time(time_t *now)
{
    struct timespec t;

    MUST(clock_gettime(CLOCK_REALTIME, &t) == 0);
    t.tv_sec += clock_ahead_s;
    if (now != NULL)
        *now = t.tv_sec;
    return t.tv_sec;
}

struct world {
    struct volume volume;
    struct identity ca;
    struct identity other_ca;
    struct files files;
    SSL_CTX *client;
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct identity own;

    MUST(w != NULL);
    clock_ahead_s = 0;
    volume_make(&w->volume);
    w->ca = authority("first");
    w->other_ca = authority("second");
    w->client = plain_client(&w->ca);
    own = leaf(&w->ca, 101);
    files_of(&w->files, &own, &w->ca);
    volume_publish(&w->volume, &w->files);
    identity_free(&own);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    volume_remove(&w->volume);
    identity_free(&w->ca);
    identity_free(&w->other_ca);
    SSL_CTX_free(w->client);
    free(w);
    return 0;
}

static void publish_leaf(struct world *w, long serial)
{
    struct identity own = leaf(&w->ca, serial);

    files_of(&w->files, &own, &w->ca);
    volume_publish(&w->volume, &w->files);
    identity_free(&own);
}

static void test_next_handshake(void **state)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, "", 0);
    SSL_CTX *ctx = credfresh_tls_ctx(tls);
    struct pair standing = pair_new(ctx, w->client, 0);
    struct pair waiting = pair_new(ctx, w->client, 0);

    assert_true(pair_shake(&standing));
    assert_int_equal(peer_serial(standing.client), 101);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(shake(ctx, w->client, versions[i]), 101);
    publish_leaf(w, 102);
    until(tls, 2, 0);
    assert_ptr_equal(credfresh_tls_ctx(tls), ctx);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(shake(ctx, w->client, versions[i]), 102);
    assert_true(pair_shake(&standing));
    assert_true(pair_shake(&waiting));
    assert_int_equal(peer_serial(waiting.client), 102);
    pair_free(&standing);
    pair_free(&waiting);
    credfresh_tls_close(tls);
}

/* Publishes the world's files, spoilt, and sees them refused with CODE while 101 is served on; then mended ones taken.
 */
static void refused(struct world *w, struct credfresh_tls *tls, int code, const char *text)
{
    struct credfresh_tls_status status = status_of(tls);
    uint64_t taken = status.taken;
    long before = shake(credfresh_tls_ctx(tls), w->client, 0);

    assert_true(before > 0);
    volume_publish(&w->volume, &w->files);
    until(tls, 0, status.refused + 1);
    status = status_of(tls);
    assert_int_equal(status.code, code);
    if (strstr(status.text, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, status.text);
    assert_int_equal(status.taken, taken);
    assert_int_equal(shake(credfresh_tls_ctx(tls), w->client, 0), before);
    publish_leaf(w, before + 1);
    until(tls, taken + 1, 0);
    status = status_of(tls);
    assert_int_equal(status.code, 0);
    assert_string_equal(status.text, "");
    assert_int_equal(shake(credfresh_tls_ctx(tls), w->client, 0), before + 1);
}

static void test_refused_pair(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, "", 0);
    struct identity a = leaf(&w->ca, 900);
    struct identity weak = identity_of(EVP_RSA_gen(1024), &w->ca, "server.test", 901, -1, TLS_DAY_S);
    struct files other;

    files_of(&other, &a, &w->ca);
    memcpy(w->files.key, other.key, sizeof other.key);
    refused(w, tls, CREDFRESH_TLS_E_MISMATCH, "tls.key is not the key of tls.crt");
    w->files.key[0] = '\0';
    refused(w, tls, CREDFRESH_E_MISSING, "tls.key");
    strcpy(w->files.key, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    refused(w, tls, CREDFRESH_TLS_E_KEY, "tls.key cannot be read");
    w->files.key[0] = '\0';
    pem_key(w->files.key, a.key, "secret");
    refused(w, tls, CREDFRESH_TLS_E_KEY, "unencrypted");
    strcpy(w->files.cert, "nothing");
    refused(w, tls, CREDFRESH_TLS_E_CERT, "tls.crt holds no PEM certificate");
    w->files.cert[strlen(w->files.cert) - 30] = '\0';
    refused(w, tls, CREDFRESH_TLS_E_CERT, "certificate number 1 cannot be read");
    files_of(&w->files, &weak, &w->ca);
    refused(w, tls, CREDFRESH_TLS_E_CERT, "not fit for TLS");
    identity_free(&weak);
    identity_free(&a);
    credfresh_tls_close(tls);
}

/* The public halves agree, but the private number is another one: only a signature shows it. */
static void test_refused_broken_key(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, "", 0);
    struct identity own = leaf(&w->ca, 900);
    unsigned char *der = NULL;
    unsigned char *at = NULL;
    int n = i2d_PrivateKey(own.key, &der);
    BIO *bio = BIO_new(BIO_s_mem());

    MUST(n > 40 && bio != NULL);
    at = der + 7; /* SEQUENCE, INTEGER 1, OCTET STRING of 32: the private number */
    at[20] ^= 1;
    files_of(&w->files, &own, &w->ca);
    w->files.key[0] = '\0';
    MUST(PEM_write_bio(bio, "EC PRIVATE KEY", "", der, n) > 0);
    pem_add(w->files.key, bio);
    OPENSSL_free(der);
    refused(w, tls, CREDFRESH_TLS_E_MISMATCH, "is not the key");
    identity_free(&own);
    credfresh_tls_close(tls);
}

static void test_refused_bundle(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, NULL, 0);

    SSL_CTX_set_verify(credfresh_tls_ctx(tls), SSL_VERIFY_NONE, NULL);
    w->files.ca[0] = '\0';
    refused(w, tls, CREDFRESH_E_MISSING, "ca.crt");
    strcpy(w->files.ca, "# no authority today\n");
    refused(w, tls, CREDFRESH_TLS_E_CA, "ca.crt holds no PEM certificate");
    pem_cert(w->files.ca, w->other_ca.cert);
    w->files.ca[strlen(w->files.ca) - 100] = '*';
    refused(w, tls, CREDFRESH_TLS_E_CA, "ca.crt: certificate number 2 cannot be read");
    credfresh_tls_close(tls);
}

static void test_expired(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, "", 0);
    struct identity old = identity_of(EVP_EC_gen("P-256"), &w->ca, "server.test", 900, -TLS_DAY_S, -1);
    struct files expired;
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    struct credfresh_tls *second = NULL;
    char text[400] = "";

    files_of(&expired, &old, &w->ca);
    w->files = expired;
    refused(w, tls, CREDFRESH_TLS_E_EXPIRED, "tls.crt expired at 2");
    credfresh_tls_close(tls);
    volume_publish(&w->volume, &expired);
    options.directory = w->volume.path;
    assert_int_equal(credfresh_tls_open(&second, &options, text, sizeof text), CREDFRESH_TLS_E_EXPIRED);
    assert_null(second);
    assert_non_null(strstr(text, "expired"));
    options.flags = CREDFRESH_TLS_ALLOW_EXPIRED;
    assert_int_equal(credfresh_tls_open(&second, &options, text, sizeof text), 0);
    credfresh_tls_close(second);
    identity_free(&old);
}

/* Nothing on the disk changes when the time has come: the descriptor has to tell. */
static void test_not_yet_valid(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, "", 0);
    struct identity soon = identity_of(EVP_EC_gen("P-256"), &w->ca, "server.test", 900, 3, TLS_DAY_S);

    files_of(&w->files, &soon, &w->ca);
    volume_publish(&w->volume, &w->files);
    until(tls, 0, 1);
    assert_int_equal(status_of(tls).code, CREDFRESH_TLS_E_EARLY);
    assert_int_equal(status_of(tls).taken, 1);
    until(tls, 2, 0);
    assert_int_equal(status_of(tls).code, 0);
    assert_int_equal(shake(credfresh_tls_ctx(tls), w->client, 0), 900);
    identity_free(&soon);
    credfresh_tls_close(tls);
}

/* A rotation by a clock that is far ahead, which is then set right in two steps. */
static void test_clock_set_back(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, "", 0);

    publish_leaf(w, 102);
    clock_ahead_s = 400 * (time_t)TLS_DAY_S;
    until(tls, 1, 1);
    assert_int_equal(status_of(tls).code, CREDFRESH_TLS_E_EXPIRED);
    clock_ahead_s = 300 * (time_t)TLS_DAY_S;
    assert_int_equal(credfresh_tls_dispatch(tls), 0);
    assert_int_equal(status_of(tls).code, CREDFRESH_TLS_E_EXPIRED);
    assert_int_equal(status_of(tls).refused, 1);
    clock_ahead_s = 0;
    assert_int_equal(credfresh_tls_dispatch(tls), 1);
    assert_int_equal(status_of(tls).code, 0);
    assert_int_equal(shake(credfresh_tls_ctx(tls), w->client, 0), 102);
    credfresh_tls_close(tls);
}

/* The same for a bundle of its own, which was never in use before. */
static void test_clock_set_back_bundle(void **state)
{
    struct world *w = *state;
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    struct credfresh_tls *tls = NULL;

    clock_ahead_s = 40000 * (time_t)TLS_DAY_S;
    options.cert_name = "";
    options.ca_directory = w->volume.path;
    options.flags = CREDFRESH_TLS_WAIT;
    assert_int_equal(credfresh_tls_open(&tls, &options, NULL, 0), 0);
    assert_int_equal(status_of(tls).code, CREDFRESH_TLS_E_EXPIRED);
    clock_ahead_s = 0;
    assert_int_equal(credfresh_tls_dispatch(tls), 1);
    assert_int_equal(status_of(tls).code, 0);
    credfresh_tls_close(tls);
}

static void test_two_directories(void **state)
{
    struct world *w = *state;
    struct volume bundle;
    struct files pair = w->files;
    struct files trust = {"", "", ""};
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    struct credfresh_tls *tls = NULL;
    struct credfresh_tls *client = NULL;

    volume_make(&bundle);
    pem_cert(trust.ca, w->ca.cert);
    volume_publish(&bundle, &trust);
    pair.ca[0] = '\0';
    volume_publish(&w->volume, &pair);
    options.directory = w->volume.path;
    options.ca_directory = bundle.path;
    assert_int_equal(credfresh_tls_open(&tls, &options, NULL, 0), 0);
    client = tls;
    assert_int_equal(shake(credfresh_tls_ctx(tls), credfresh_tls_ctx(client), 0), 101);
    strcpy(trust.ca, "broken");
    volume_publish(&bundle, &trust);
    until(tls, 1, 1);
    assert_int_equal(status_of(tls).code, CREDFRESH_TLS_E_CA);
    publish_leaf(w, 102); /* a broken bundle does not keep the pair back */
    until(tls, 2, 1);
    assert_int_equal(status_of(tls).code, CREDFRESH_TLS_E_CA);
    assert_int_equal(shake(credfresh_tls_ctx(tls), credfresh_tls_ctx(client), 0), 102);
    trust.ca[0] = '\0';
    pem_cert(trust.ca, w->other_ca.cert);
    volume_publish(&bundle, &trust);
    until(tls, 3, 1);
    assert_int_equal(status_of(tls).code, 0);
    assert_int_equal(shake(credfresh_tls_ctx(tls), credfresh_tls_ctx(client), 0), -1);
    credfresh_tls_close(tls);
    volume_remove(&bundle);
}

static void test_one_file(void **state)
{
    struct world *w = *state;
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    struct credfresh_tls *tls = NULL;
    struct identity own = leaf(&w->ca, 102);
    struct files both;

    files_of(&both, &own, &w->ca);
    memmove(both.cert + strlen(both.key), both.cert, strlen(both.cert) + 1);
    memcpy(both.cert, both.key, strlen(both.key)); /* the key first, as some servers want it */
    both.key[0] = '\0';
    volume_publish(&w->volume, &both);
    options.directory = w->volume.path;
    options.key_name = "tls.crt";
    options.ca_name = "";
    assert_int_equal(credfresh_tls_open(&tls, &options, NULL, 0), 0);
    assert_int_equal(shake(credfresh_tls_ctx(tls), w->client, 0), 102);
    credfresh_tls_close(tls);
    identity_free(&own);
}

static void test_wait(void **state)
{
    struct world *w = *state;
    struct volume empty;
    struct credfresh_tls *tls = NULL;
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    char text[400] = "";

    volume_make(&empty);
    options.directory = empty.path;
    assert_true(credfresh_tls_open(&tls, &options, text, sizeof text) < 0);
    assert_true(strlen(text) > 0);
    tls = open_tls(&empty, "", CREDFRESH_TLS_WAIT);
    assert_true(status_of(tls).code < 0);
    assert_int_equal(status_of(tls).not_after_s, 0);
    assert_int_equal(shake(credfresh_tls_ctx(tls), w->client, 0), -1);
    volume_publish(&empty, &w->files);
    until(tls, 1, 0);
    assert_int_equal(shake(credfresh_tls_ctx(tls), w->client, 0), 101);
    credfresh_tls_close(tls);
    volume_remove(&empty);
}

static void *rewrite(void *unused)
{
    char text[TLS_PEM_MAX];
    int fd = open(rewritten, O_RDWR);
    ssize_t n = read(fd, text, sizeof text);

    MUST(fd >= 0 && n > 0);
    while (!atomic_load(&ended))
        MUST(pwrite(fd, text, (size_t)n, 0) == n);
    (void)close(fd);
    return unused;
}

/* A file of a plain directory that is written without a pause: its content is always whole, but that is not known. */
static void test_directory_that_keeps_changing(void **state)
{
    struct world *w = *state;
    struct volume plain;
    struct identity own = leaf(&w->ca, 102);
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    pthread_t writer;

    volume_make(&plain);
    files_of(&w->files, &own, NULL);
    write_text(plain.path, "tls.crt", w->files.cert);
    write_text(plain.path, "tls.key", w->files.key);
    (void)snprintf(rewritten, sizeof rewritten, "%s/tls.crt", plain.path);
    options.directory = plain.path;
    options.ca_name = "";
    MUST(pthread_create(&writer, NULL, rewrite, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        struct credfresh_tls *tls = NULL;
        char text[400] = "";
        int rc = credfresh_tls_open(&tls, &options, text, sizeof text);

        if (rc != 0 && (rc != CREDFRESH_E_UNSTABLE || strstr(text, plain.path) == NULL))
            fail_msg("%d: %s", rc, text);
        credfresh_tls_close(tls);
    }
    atomic_store(&ended, true);
    MUST(pthread_join(writer, NULL) == 0);
    identity_free(&own);
    remove_flat(plain.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_next_handshake, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_pair, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_broken_key, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_bundle, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expired, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_yet_valid, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clock_set_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clock_set_back_bundle, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_directories, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_directory_that_keeps_changing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wait, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
