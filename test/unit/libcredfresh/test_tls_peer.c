/* SPDX-License-Identifier: MIT */
/* Trust of a context that follows a CA bundle: both ends of mutual TLS, and sessions from another bundle. */
#include "tls_pair.h"

#include <sys/wait.h>

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

/* Two authorities; the volume has a certificate of the first one, and a bundle. */
struct world {
    struct volume volume;
    struct identity a;
    struct identity b;
    struct identity of_a;
    struct identity of_b;
};

enum bundle { ONLY_A, ONLY_B, BOTH };

static void publish(struct world *w, const struct identity *own, enum bundle bundle)
{
    struct files f;

    files_of(&f, own, NULL);
    if (bundle != ONLY_B)
        pem_cert(f.ca, w->a.cert);
    if (bundle != ONLY_A)
        pem_cert(f.ca, w->b.cert);
    volume_publish(&w->volume, &f);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);

    MUST(w != NULL);
    volume_make(&w->volume);
    w->a = authority("authority");
    w->b = authority("authority"); /* of the same name, as after a renewal: the key identifier tells them apart */
    w->of_a = leaf(&w->a, 11);
    w->of_b = leaf(&w->b, 22);
    publish(w, &w->of_a, ONLY_A);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    volume_remove(&w->volume);
    identity_free(&w->a);
    identity_free(&w->b);
    identity_free(&w->of_a);
    identity_free(&w->of_b);
    free(w);
    return 0;
}

/* A peer of nobody's library: OWN as its certificate, trusting CA. */
static SSL_CTX *plain_peer(const struct identity *own, const struct identity *ca)
{
    SSL_CTX *ctx = plain_client(ca);

    MUST(SSL_CTX_use_certificate(ctx, own->cert) == 1 && SSL_CTX_use_PrivateKey(ctx, own->key) == 1);
    return ctx;
}

static void test_mutual_server(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, NULL, 0);
    SSL_CTX *ctx = credfresh_tls_ctx(tls);
    SSL_CTX *client_a = plain_peer(&w->of_a, &w->a);
    SSL_CTX *client_b = plain_peer(&w->of_b, &w->a);
    SSL_CTX *nobody = plain_client(&w->a);

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(shake(ctx, client_a, versions[i]), 11);
        assert_int_equal(shake(ctx, client_b, versions[i]), -1);
        assert_int_equal(shake(ctx, nobody, versions[i]), -1);
    }
    publish(w, &w->of_a, BOTH);
    until(tls, 2, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(shake(ctx, client_a, versions[i]), 11);
        assert_int_equal(shake(ctx, client_b, versions[i]), 11);
    }
    publish(w, &w->of_a, ONLY_B);
    until(tls, 3, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(shake(ctx, client_a, versions[i]), -1);
        assert_int_equal(shake(ctx, client_b, versions[i]), 11);
    }
    SSL_CTX_free(client_a);
    SSL_CTX_free(client_b);
    SSL_CTX_free(nobody);
    credfresh_tls_close(tls);
}

/* The serial of the certificate that a client of TLS shows to a server which trusts CA; -1 without a handshake. */
static long shown(struct credfresh_tls *tls, SSL_CTX *server, int version)
{
    struct pair p = pair_new(server, credfresh_tls_ctx(tls), version);
    long serial = pair_shake(&p) ? peer_serial(p.server) : -1;

    pair_free(&p);
    return serial;
}

static void test_mutual_client(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, NULL, 0);
    SSL_CTX *trusts_a = plain_peer(&w->of_a, &w->a);
    SSL_CTX *trusts_b = plain_peer(&w->of_b, &w->b);

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(shown(tls, trusts_a, versions[i]), 11);
        assert_int_equal(shown(tls, trusts_b, versions[i]), -1);
    }
    publish(w, &w->of_b, ONLY_B);
    until(tls, 2, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(shown(tls, trusts_a, versions[i]), -1);
        assert_int_equal(shown(tls, trusts_b, versions[i]), 22);
    }
    SSL_CTX_free(trusts_a);
    SSL_CTX_free(trusts_b);
    credfresh_tls_close(tls);
}

enum outcome { FAILED, WHOLE, RESUMED };

/* Shakes hands, offering *SESSION if there is one, and keeps the session that comes of it if there is none. */
static enum outcome shake_with(SSL_CTX *server, SSL_CTX *client, int version, SSL_SESSION **session)
{
    struct pair p = pair_new(server, client, version);
    enum outcome outcome = FAILED;

    if (*session != NULL)
        MUST(SSL_set_session(p.client, *session) == 1);
    if (pair_shake(&p))
        outcome = SSL_session_reused(p.client) == 1 ? RESUMED : WHOLE;
    if (*session == NULL)
        *session = SSL_get1_session(p.client);
    SSL_shutdown(p.client);
    SSL_shutdown(p.server);
    pair_free(&p);
    return outcome;
}

static void server_session(struct world *w, int version, bool ticket)
{
    struct credfresh_tls *tls = open_tls(&w->volume, NULL, 0);
    SSL_CTX *ctx = credfresh_tls_ctx(tls);
    SSL_CTX *client = plain_peer(&w->of_a, &w->a);
    SSL_SESSION *session = NULL;
    struct identity newer = leaf(&w->a, 12);

    if (!ticket)
        (void)SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    assert_int_equal(shake_with(ctx, client, version, &session), WHOLE);
    assert_int_equal(shake_with(ctx, client, version, &session), RESUMED);
    publish(w, &newer, ONLY_A); /* another certificate, the same bundle */
    until(tls, 2, 0);
    SSL_SESSION_free(session);
    session = NULL;
    assert_int_equal(shake_with(ctx, client, version, &session), WHOLE);
    assert_int_equal(shake_with(ctx, client, version, &session), RESUMED);
    SSL_SESSION_free(session);
    session = NULL;
    assert_int_equal(shake_with(ctx, client, version, &session), WHOLE);
    publish(w, &newer, BOTH);
    until(tls, 3, 0);
    assert_int_equal(shake_with(ctx, client, version, &session), WHOLE);
    publish(w, &newer, ONLY_B); /* the client's authority is no longer trusted */
    until(tls, 4, 0);
    assert_int_equal(shake_with(ctx, client, version, &session), FAILED);
    publish(w, &w->of_a, ONLY_A);
    SSL_SESSION_free(session);
    identity_free(&newer);
    SSL_CTX_free(client);
    credfresh_tls_close(tls);
}

static void test_server_session(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        server_session(*state, versions[i], true);
        server_session(*state, versions[i], false);
    }
}

static void test_client_session(void **state)
{
    struct world *w = *state;

    for (size_t i = 0; i < 2; i++) {
        struct credfresh_tls *tls = open_tls(&w->volume, NULL, 0);
        SSL_CTX *server = plain_peer(&w->of_a, &w->a);
        SSL_SESSION *session = NULL;

        SSL_CTX_set_verify(server, SSL_VERIFY_NONE, NULL);
        assert_int_equal(shake_with(server, credfresh_tls_ctx(tls), versions[i], &session), WHOLE);
        if (versions[i] == TLS1_2_VERSION)
            assert_int_equal(shake_with(server, credfresh_tls_ctx(tls), versions[i], &session), RESUMED);
        publish(w, &w->of_a, BOTH);
        until(tls, 2, 0);
        assert_int_equal(shake_with(server, credfresh_tls_ctx(tls), versions[i], &session), WHOLE);
        publish(w, &w->of_a, ONLY_B); /* the server's authority is no longer trusted */
        until(tls, 3, 0);
        assert_int_equal(shake_with(server, credfresh_tls_ctx(tls), versions[i], &session), FAILED);
        publish(w, &w->of_a, ONLY_A);
        SSL_SESSION_free(session);
        SSL_CTX_free(server);
        credfresh_tls_close(tls);
    }
}

static void test_keep_sessions(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, NULL, CREDFRESH_TLS_KEEP_SESSIONS);
    SSL_CTX *client = plain_peer(&w->of_a, &w->a);
    SSL_SESSION *session = NULL;

    assert_int_equal(shake_with(credfresh_tls_ctx(tls), client, TLS1_2_VERSION, &session), WHOLE);
    publish(w, &w->of_a, BOTH);
    until(tls, 2, 0);
    assert_int_equal(shake_with(credfresh_tls_ctx(tls), client, TLS1_2_VERSION, &session), RESUMED);
    SSL_SESSION_free(session);
    SSL_CTX_free(client);
    credfresh_tls_close(tls);
}

static int infos;

static void count_infos(const SSL *ssl, int where, int ret)
{
    (void)ssl;
    (void)where;
    (void)ret;
    infos++;
}

/* A context of the program's own keeps what the program set, follows, and outlives the follower. */
static void test_follow(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, NULL, 0);
    SSL_CTX *client = plain_client(&w->a);
    SSL_CTX *mine = SSL_CTX_new(TLS_server_method());

    SSL_CTX_set_info_callback(mine, count_infos);
    assert_int_equal(credfresh_tls_follow(tls, mine), 0);
    assert_int_equal(credfresh_tls_follow(tls, mine), CREDFRESH_E_INVALID);
    assert_int_equal(SSL_CTX_get_verify_mode(mine), SSL_VERIFY_NONE);
    assert_int_equal(shake(mine, client, 0), 11);
    assert_true(infos > 0);
    publish(w, &w->of_b, BOTH);
    until(tls, 2, 0);
    credfresh_tls_close(tls);
    SSL_CTX_free(client);
    client = plain_client(&w->b);
    assert_int_equal(shake(mine, client, 0), 22);
    SSL_CTX_free(mine);
    SSL_CTX_free(client);
}

static void test_fork(void **state)
{
    struct world *w = *state;
    struct credfresh_tls *tls = open_tls(&w->volume, "", 0);
    SSL_CTX *client = plain_client(&w->b);
    int go[2];
    int code = -1;
    char byte = 0;
    pid_t child = -1;

    MUST(pipe(go) == 0);
    child = fork();
    MUST(child >= 0);
    if (child == 0) {
        MUST(credfresh_tls_after_fork(tls) >= 0 && read(go[0], &byte, 1) == 1);
        until(tls, 2, 0);
        code = shake(credfresh_tls_ctx(tls), client, 0) == 22 && status_of(tls).taken == 2 ? 0 : 1;
        credfresh_tls_close(tls);
        SSL_CTX_free(client);
        _exit(code);
    }
    publish(w, &w->of_b, BOTH);
    until(tls, 2, 0); /* the parent takes it up first, and the child all the same */
    MUST(write(go[1], "g", 1) == 1);
    MUST(waitpid(child, &code, 0) == child);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
    (void)close(go[0]);
    (void)close(go[1]);
    SSL_CTX_free(client);
    credfresh_tls_close(tls);
}

static void on_change(struct credfresh_tls *tls, const struct credfresh_tls_status *status, void *context)
{
    struct credfresh_tls_status *seen = context;

    (void)tls;
    *seen = *status;
}

static void test_report(void **state)
{
    struct world *w = *state;
    struct credfresh_tls_status seen = {0};
    struct credfresh_tls_status cut = {.struct_size = offsetof(struct credfresh_tls_status, refused), .refused = 77};
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    struct credfresh_tls *tls = NULL;

    options.directory = w->volume.path;
    options.on_change = on_change;
    options.context = &seen;
    assert_int_equal(credfresh_tls_open(&tls, &options, NULL, 0), 0);
    assert_int_equal(seen.taken, 0);
    publish(w, &w->of_b, BOTH);
    until(tls, 2, 0);
    assert_int_equal(seen.taken, 2);
    assert_int_equal(seen.generation, 1000 + w->volume.version);
    assert_true(seen.not_after_s > (int64_t)time(NULL));
    assert_string_equal(seen.text, "");
    credfresh_tls_status(tls, &cut);
    assert_int_equal(cut.taken, 2);
    assert_int_equal(cut.refused, 77); /* behind the end of what an older program knows */
    credfresh_tls_close(tls);
}

static void refuse_options(const struct credfresh_tls_options *options, const char *text)
{
    struct credfresh_tls *tls = NULL;
    char said[400] = "";

    assert_int_equal(credfresh_tls_open(&tls, options, said, sizeof said), CREDFRESH_E_INVALID);
    assert_null(tls);
    if (strstr(said, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, said);
}

static void test_options(void **state)
{
    struct credfresh_tls_options options = CREDFRESH_TLS_OPTIONS_INIT;
    const struct credfresh_tls_options zero = {0};
    struct {
        struct credfresh_tls_options known;
        uint64_t later;
    } newer = {CREDFRESH_TLS_OPTIONS_INIT, 1};

    (void)state;
    newer.known.struct_size = sizeof newer;
    refuse_options(&newer.known, "use a newer one");
    newer.later = 0;
    refuse_options(&newer.known, "directory");
    refuse_options(NULL, "options");
    refuse_options(&zero, "struct_size");
    refuse_options(&options, "directory");
    options.directory = "/nowhere";
    options.key_name = "";
    refuse_options(&options, "key_name");
    options.cert_name = "";
    options.ca_name = "";
    refuse_options(&options, "nothing to follow");
    options.flags = 0x8000;
    refuse_options(&options, "0x8000");
    credfresh_tls_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_mutual_server, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mutual_client, setup, teardown),
        cmocka_unit_test_setup_teardown(test_server_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_client_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keep_sessions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_follow, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
        cmocka_unit_test_setup_teardown(test_report, setup, teardown),
        cmocka_unit_test(test_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
