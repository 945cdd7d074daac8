/* SPDX-License-Identifier: MIT */
/* A rotation breaks no trust: OpenSSL verifies every certificate by every bundle of the generations that are kept. */
#include "ca_sample.h"
#include "pki/cert_private.h"
#include "pki/key.h"

#include "base/json.h"

#define GENERATIONS 5

static int count_of(const char *pem)
{
    int n = 0;

    for (const char *at = pem; at != NULL && (at = strstr(at, "-----BEGIN")) != NULL; at++)
        n++;
    return n;
}

static void the_first_ca(void **state)
{
    struct cfr_ca a = {.number = 0};
    const struct cfr_cert *root = &a.generations[0].root;
    struct leaf leaf;
    char *bundle;

    (void)state;
    assert_int_equal(cfr_ca_need(&a, &usual, BEGIN), CFR_CA_FIRST);
    rotate(&a, &usual, BEGIN);
    assert_int_equal(a.number, 1);
    assert_int_equal(a.count, 1);
    assert_string_equal(a.subject, "test CA");
    assert_int_equal(root->begins_s, BEGIN - CFR_CERT_BACKDATE_S);
    assert_int_equal(root->ends_s, BEGIN + 790 * DAY);
    assert_int_equal(a.made_s, BEGIN);
    assert_true(cfr_cert_is_by(root, root));
    assert_null(a.generations[0].outgoing.pem);
    assert_null(a.generations[0].incoming.pem);
    issue(&a, 3, 90 * DAY, BEGIN, &leaf);
    bundle = trust(&a, 3, BEGIN);
    assert_int_equal(count_of(bundle), 1);
    assert_int_equal(count_of(leaf.certificate.p), 1);
    assert_int_equal(leaf.ends_s, BEGIN + 90 * DAY);
    assert_trusted(bundle, leaf.certificate.p, BEGIN, "first");
    assert_int_equal(judge(bundle, leaf.certificate.p, BEGIN + 90 * DAY + 1), X509_V_ERR_CERT_HAS_EXPIRED);
    free(bundle);
    free_leaf(&leaf);
    cfr_ca_free(&a);
}

/* Bundles and serving certificates of GENERATIONS successive CAs; rotations are STEP_S apart. */
struct history {
    struct cfr_ca a;
    char *bundles[GENERATIONS];
    struct leaf leaves[GENERATIONS];
    int64_t now_s;
};

static void make_history(struct history *h, const struct cfr_ca_rules *rules, int64_t step_s)
{
    h->a = (struct cfr_ca){.number = 0};
    h->now_s = BEGIN;
    for (size_t i = 0; i < GENERATIONS; i++) {
        h->now_s += i != 0 ? step_s : 0;
        rotate(&h->a, rules, h->now_s);
        issue(&h->a, rules->generations, rules->validity_s, h->now_s, &h->leaves[i]);
        h->bundles[i] = trust(&h->a, rules->generations, h->now_s);
    }
}

static void free_history(struct history *h)
{
    for (size_t i = 0; i < GENERATIONS; i++) {
        free(h->bundles[i]);
        free_leaf(&h->leaves[i]);
    }
    cfr_ca_free(&h->a);
}

/* A client or server that missed fewer rotations than generations are kept is not cut off. */
static void each_by_each(void **state)
{
    (void)state;
    for (size_t keep = 2; keep <= 3; keep++) {
        struct cfr_ca_rules rules = usual;
        struct history h;

        rules.generations = keep;
        make_history(&h, &rules, 3600);
        for (size_t client = 0; client < GENERATIONS; client++) {
            for (size_t server = 0; server < GENERATIONS; server++) {
                size_t missed = client > server ? client - server : server - client;
                char what[64];

                (void)snprintf(what, sizeof what, "%zu kept, client %zu, server %zu", keep, client, server);
                if (missed < keep)
                    assert_trusted(h.bundles[client], h.leaves[server].certificate.p, h.now_s, what);
                else
                    assert_int_not_equal(judge(h.bundles[client], h.leaves[server].certificate.p, h.now_s), X509_V_OK);
            }
        }
        assert_int_equal(count_of(h.bundles[GENERATIONS - 1]), keep);
        assert_int_equal(count_of(h.leaves[GENERATIONS - 1].certificate.p), keep);
        free_history(&h);
    }
}

/* Those who did not follow the rotation that was due go on until the old CA's end; those who did do not notice it. */
static void the_old_root_ends(void **state)
{
    struct history h;
    int64_t first_ends_s = BEGIN + 790 * DAY;

    (void)state;
    make_history(&h, &usual, 396 * DAY);
    assert_trusted(h.bundles[0], h.leaves[1].certificate.p, first_ends_s - 1, "old client, new server");
    assert_trusted(h.bundles[1], h.leaves[0].certificate.p, first_ends_s - 1, "new client, old server");
    assert_int_equal(judge(h.bundles[0], h.leaves[1].certificate.p, first_ends_s + 1), X509_V_ERR_CERT_HAS_EXPIRED);
    assert_trusted(h.bundles[1], h.leaves[1].certificate.p, first_ends_s + 1, "new client, new server");
    assert_trusted(h.bundles[1], h.leaves[2].certificate.p, BEGIN + 793 * DAY, "new client, newer server");
    /* The first is no part of the third bundle any more. */
    assert_int_equal(count_of(h.bundles[2]), 2);
    free_history(&h);
}

/* An old CA that would end soon is trusted for the minimum nevertheless. */
static void the_minimum_of_trust(void **state)
{
    struct cfr_ca a = {.number = 0};
    int64_t late_s = BEGIN + 780 * DAY;

    (void)state;
    rotate(&a, &usual, BEGIN);
    rotate(&a, &usual, late_s);
    assert_int_equal(a.generations[1].outgoing.ends_s, late_s + 395 * DAY);
    assert_int_equal(a.generations[0].incoming.ends_s, late_s + 790 * DAY);
    assert_true(cfr_cert_is_by(&a.generations[1].outgoing, &a.generations[0].root));
    assert_true(cfr_cert_is_by(&a.generations[0].incoming, &a.generations[1].root));
    assert_true(cfr_cert_same_key(&a.generations[1].outgoing, &a.generations[1].root));
    assert_true(cfr_cert_same_key(&a.generations[0].incoming, &a.generations[0].root));
    cfr_ca_free(&a);
}

static void due_by_age(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_ca_rules rules = usual;

    (void)state;
    rotate(&a, &rules, BEGIN);
    assert_int_equal(cfr_ca_due_s(&a, &rules), BEGIN + 395 * DAY);
    assert_int_equal(cfr_ca_need(&a, &rules, BEGIN + 395 * DAY - 1), CFR_CA_NOTHING);
    assert_int_equal(cfr_ca_need(&a, &rules, BEGIN + 395 * DAY), CFR_CA_DUE);
    assert_int_equal(cfr_ca_next_s(&a, &rules, BEGIN), BEGIN + 395 * DAY);
    /* A CA that lives shorter than what should be left is not replaced over and over. */
    rules.validity_s = 100 * DAY;
    rotate(&a, &rules, BEGIN + 395 * DAY);
    assert_int_equal(cfr_ca_need(&a, &rules, BEGIN + 395 * DAY), CFR_CA_NOTHING);
    assert_int_equal(cfr_ca_due_s(&a, &rules), BEGIN + 445 * DAY);
    assert_int_equal(a.made_s, BEGIN + 395 * DAY);
    assert_false(cfr_ca_is_ahead(&a, BEGIN));
    assert_true(cfr_ca_is_ahead(&a, BEGIN - DAY));
    cfr_ca_free(&a);
}

/* Set forward by years, and right again: what was made meanwhile is good, too, but for the serving certificate itself.
 */
static void a_clock_that_was_wrong_breaks_nothing(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct leaf leaves[3];
    char *bundles[2];

    (void)state;
    rotate(&a, &usual, BEGIN);
    issue(&a, 3, 90 * DAY, BEGIN, &leaves[0]);
    bundles[0] = trust(&a, 3, BEGIN);
    assert_int_equal(cfr_ca_need(&a, &usual, BEGIN + 5000 * DAY), CFR_CA_DUE);
    rotate(&a, &usual, BEGIN + 5000 * DAY);
    issue(&a, 3, 90 * DAY, BEGIN + 5000 * DAY, &leaves[1]);
    bundles[1] = trust(&a, 3, BEGIN + DAY);
    assert_int_equal(cfr_ca_need(&a, &usual, BEGIN + DAY), CFR_CA_NOTHING);
    issue(&a, 3, 90 * DAY, BEGIN + DAY, &leaves[2]);
    assert_int_equal(leaves[2].ends_s, BEGIN + 91 * DAY);
    for (size_t i = 0; i < COUNT(bundles); i++) {
        assert_trusted(bundles[i], leaves[0].certificate.p, BEGIN + DAY, "issued before");
        assert_int_equal(judge(bundles[i], leaves[1].certificate.p, BEGIN + DAY), X509_V_ERR_CERT_NOT_YET_VALID);
        assert_trusted(bundles[i], leaves[2].certificate.p, BEGIN + DAY, "issued after");
        free(bundles[i]);
    }
    for (size_t i = 0; i < COUNT(leaves); i++)
        free_leaf(&leaves[i]);
    cfr_ca_free(&a);
}

/* The same after a rotation of the usual kind: the clock that is ahead must not decide which CAs are kept, for it is
 * right again while they are trusted. */
static void a_clock_that_was_wrong_keeps_the_older_ones(void **state)
{
    int64_t ahead_s = BEGIN + 5000 * DAY;
    struct cfr_ca a = {.number = 0};
    struct leaf leaves[3];
    char *bundles[3];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rotate(&a, &usual, BEGIN + (int64_t)i * DAY);
        issue(&a, 3, 90 * DAY, BEGIN + (int64_t)i * DAY, &leaves[i]);
        bundles[i] = trust(&a, 3, BEGIN + (int64_t)i * DAY);
    }
    rotate(&a, &usual, ahead_s);
    assert_int_equal(cfr_bundle_count(&a, 3, ahead_s), 2);
    assert_int_equal(cfr_bundle_count(&a, 3, BEGIN + 2 * DAY), 3);
    issue(&a, 3, 90 * DAY, BEGIN + 2 * DAY, &leaves[2]);
    bundles[2] = trust(&a, 3, BEGIN + 2 * DAY);
    for (size_t i = 0; i < COUNT(bundles); i++) {
        for (size_t k = 0; k < COUNT(leaves); k++)
            assert_trusted(bundles[i], leaves[k].certificate.p, BEGIN + 2 * DAY, "after the clock was set right");
    }
    /* What was to end still does. */
    assert_int_equal(a.generations[2].outgoing.ends_s, BEGIN + 790 * DAY);
    assert_int_equal(judge(bundles[2], leaves[0].certificate.p, BEGIN + 790 * DAY + 1), X509_V_ERR_CERT_HAS_EXPIRED);
    for (size_t i = 0; i < COUNT(leaves); i++) {
        free(bundles[i]);
        free_leaf(&leaves[i]);
    }
    cfr_ca_free(&a);
}

static void forced_once_per_reason(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_ca_rules rules = usual;

    (void)state;
    rotate(&a, &rules, BEGIN);
    rules.force = "key leaked";
    rules.force_validity_s = 60 * DAY;
    assert_int_equal(cfr_ca_need(&a, &rules, BEGIN + 10), CFR_CA_FORCED);
    rotate(&a, &rules, BEGIN + 10);
    assert_int_equal(a.generations[0].root.ends_s, BEGIN + 10 + 60 * DAY);
    assert_string_equal(a.reason, "key leaked");
    assert_int_equal(cfr_ca_need(&a, &rules, BEGIN + 20), CFR_CA_NOTHING);
    /* Due by its age, with the same reason still standing there: an ordinary one. */
    rotate(&a, &rules, BEGIN + 31 * DAY);
    assert_null(a.reason);
    assert_int_equal(a.generations[0].root.ends_s, BEGIN + 31 * DAY + 790 * DAY);
    rules.force = "another";
    assert_int_equal(cfr_ca_need(&a, &rules, BEGIN + 31 * DAY), CFR_CA_FORCED);
    rules.force = "";
    assert_int_equal(cfr_ca_need(&a, &rules, BEGIN + 31 * DAY), CFR_CA_NOTHING);
    cfr_ca_free(&a);
    /* One that stands there before there is any CA asks for no second one. */
    rules.force = "early";
    rotate(&a, &rules, BEGIN);
    assert_int_equal(a.generations[0].root.ends_s, BEGIN + 790 * DAY);
    assert_int_equal(cfr_ca_need(&a, &rules, BEGIN), CFR_CA_NOTHING);
    cfr_ca_free(&a);
}

/* A rotation for a key that leaked: until the set time nobody notices it; from then on nothing that the keys before
 * signed is believed, by their certificates or through bridges, and later rotations do not bring it back. */
static void trust_in_the_ones_before_ends(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_ca_rules rules = usual;
    struct leaf leaves[3];
    char *bundles[3];
    int64_t now_s = BEGIN;
    int64_t end_s = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(leaves); i++) {
        if (i == 2) {
            rules.force = "key leaked";
            rules.force_trust_s = DAY;
            end_s = now_s + DAY;
        }
        rotate(&a, &rules, now_s);
        issue(&a, 3, 90 * DAY, now_s, &leaves[i]);
        bundles[i] = trust(&a, 3, now_s);
        now_s += i < 2 ? 3600 : 0;
    }
    for (size_t i = 0; i < COUNT(leaves); i++) {
        assert_trusted(bundles[i], leaves[2].certificate.p, end_s - 1, "an older client before the end");
        assert_trusted(bundles[2], leaves[i].certificate.p, end_s - 1, "an older server before the end");
    }
    assert_int_equal(cfr_ca_next_s(&a, &rules, end_s), end_s + 1);
    rotate(&a, &usual, now_s + 60);
    assert_int_equal(a.generations[2].outgoing.ends_s, end_s);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(judge(bundles[2], leaves[i].certificate.p, end_s + 1), X509_V_ERR_CERT_HAS_EXPIRED);
        assert_int_equal(judge(bundles[i], leaves[2].certificate.p, end_s + 1), X509_V_ERR_CERT_HAS_EXPIRED);
    }
    assert_trusted(bundles[2], leaves[2].certificate.p, end_s + 1, "both new");
    free_leaf(&leaves[0]);
    issue(&a, 3, 90 * DAY, end_s + 1, &leaves[0]);
    free(bundles[0]);
    bundles[0] = trust(&a, 3, end_s + 1);
    assert_int_equal(count_of(bundles[0]), 2);
    assert_int_equal(count_of(leaves[0].certificate.p), 2);
    assert_trusted(bundles[2], leaves[0].certificate.p, end_s + 1, "the one after it");
    assert_trusted(bundles[0], leaves[2].certificate.p, end_s + 1, "the one after it");
    assert_int_not_equal(judge(bundles[0], leaves[1].certificate.p, end_s + 1), X509_V_OK);
    for (size_t i = 0; i < COUNT(leaves); i++) {
        free_leaf(&leaves[i]);
        free(bundles[i]);
    }
    cfr_ca_free(&a);
}

static void the_oldest_reasons_are_forgotten(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_ca_rules rules = usual;
    char reason[32];

    (void)state;
    rules.force = reason;
    for (int i = 0; i <= CFR_CA_REASONS_MAX; i++) {
        (void)snprintf(reason, sizeof reason, "number %d", i);
        rotate(&a, &rules, BEGIN + i);
    }
    assert_int_equal(a.reason_count, CFR_CA_REASONS_MAX);
    assert_string_equal(a.reasons[0], "number 1");
    assert_int_equal(cfr_ca_need(&a, &rules, BEGIN + 100), CFR_CA_NOTHING);
    cfr_ca_free(&a);
}

/* A short-lived CA between two long-lived ones: the older one is trusted longer, and so is what leads to it and from
 * it. */
static void trust_never_skips_a_generation(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_ca_rules rules = usual;
    int64_t now_s = BEGIN + 10;
    struct leaf leaf;
    char *bundle;

    (void)state;
    rules.rotate_below_s = 10 * DAY;
    rotate(&a, &rules, BEGIN);
    bundle = trust(&a, 3, BEGIN);
    rules.force = "emergency";
    rules.force_validity_s = 20 * DAY;
    rotate(&a, &rules, now_s);
    now_s += 100 * DAY;
    rotate(&a, &rules, now_s);
    assert_int_equal(a.count, 3);
    assert_int_equal(a.generations[1].outgoing.ends_s, BEGIN + 790 * DAY);
    assert_int_equal(a.generations[2].outgoing.ends_s, BEGIN + 790 * DAY);
    issue(&a, 3, 90 * DAY, now_s, &leaf);
    assert_int_equal(count_of(leaf.certificate.p), 3);
    assert_trusted(bundle, leaf.certificate.p, now_s, "who missed two");
    free(bundle);
    bundle = trust(&a, 3, BEGIN + 790 * DAY + 1);
    assert_int_equal(count_of(bundle), 1);
    free(bundle);
    free_leaf(&leaf);
    cfr_ca_free(&a);
}

static void the_bundle_changes_only_when_something_ends(void **state)
{
    struct cfr_ca a = {.number = 0};
    int64_t rotated_s = BEGIN + 100 * DAY;
    int64_t gone_s = BEGIN + 790 * DAY + 1;
    char *before;
    char *after;

    (void)state;
    rotate(&a, &usual, BEGIN);
    rotate(&a, &usual, rotated_s);
    before = trust(&a, 3, rotated_s);
    after = trust(&a, 3, gone_s - 1);
    assert_string_equal(before, after);
    assert_int_equal(cfr_bundle_fingerprint(&a, 3, rotated_s), cfr_bundle_fingerprint(&a, 3, gone_s - 1));
    assert_int_equal(cfr_ca_next_s(&a, &usual, rotated_s), rotated_s + 395 * DAY);
    assert_int_equal(cfr_ca_next_s(&a, &(struct cfr_ca_rules){.rotate_below_s = DAY}, rotated_s), gone_s);
    assert_int_not_equal(cfr_bundle_fingerprint(&a, 3, rotated_s), cfr_bundle_fingerprint(&a, 3, gone_s));
    free(after);
    /* Fewer generations by configuration. */
    after = trust(&a, 1, rotated_s);
    assert_int_equal(count_of(after), 1);
    free(before);
    free(after);
    cfr_ca_free(&a);
}

static void what_is_stored_comes_back(void **state)
{
    struct history h;
    struct cfr_ca again;
    struct cfr_ca_rules rules = usual;
    struct cfr_secret first;
    struct cfr_secret second;
    struct cfr_err err = {0};

    (void)state;
    rules.generations = CFR_CA_GENERATIONS_MAX;
    rules.force = "because \"so\"\n";
    make_history(&h, &rules, 3600);
    cfr_secret_init(&first, CFR_CA_STORE_MAX);
    cfr_secret_init(&second, CFR_CA_STORE_MAX);
    assert_int_equal(cfr_ca_store(&h.a, &first, &err), 0);
    if (cfr_ca_load(cfr_secret_view(&first), &again, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(cfr_ca_store(&again, &second, &err), 0);
    assert_true(cfr_view_eq(cfr_secret_view(&first), cfr_secret_view(&second)));
    assert_string_equal(again.subject, h.a.subject);
    assert_int_equal(cfr_ca_need(&again, &rules, h.now_s), CFR_CA_NOTHING);
    rotate(&again, &rules, h.now_s + 1);
    assert_int_equal(again.number, GENERATIONS + 1);
    cfr_secret_free(&first);
    cfr_secret_free(&second);
    cfr_ca_free(&again);
    free_history(&h);
}

static void replace_text(char *text, const char *from, const char *to)
{
    char *at = strstr(text, from);

    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
}

/* It does not say when its newest CA was made; such a CA began then. */
static void a_store_of_before(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_secret all;
    struct cfr_err err = {0};

    (void)state;
    rotate(&a, &usual, BEGIN);
    cfr_secret_init(&all, CFR_CA_STORE_MAX);
    assert_int_equal(cfr_ca_store(&a, &all, &err), 0);
    replace_text(all.p, "\"made\"", "\"edam\"");
    cfr_ca_free(&a);
    assert_int_equal(cfr_ca_load(cfr_secret_view(&all), &a, &err), 0);
    assert_int_equal(a.made_s, BEGIN);
    cfr_secret_free(&all);
    cfr_ca_free(&a);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {
        {"{\"version\":1", "{\"version\":2"},
        {"\"number\":2", "\"number\":0"},
        {"\"key\":", "\"yek\":"},
        {"\"root\":", "\"toor\":"},
        {"\"outgoing\":", "\"outgoinG\":"},
        {"\"incoming\":", "\"outgoing\":"}, /* of the newest, which has none */
        {"\"generations\":[{", "\"generationS\":[{"},
        {"BEGIN PRIV", "BEGIN PRIW"},
        {"\"version\":1", "\"version\":x"},
        {"\"made\":1", "\"made\":9"},
        {"\"made\":17", "\"made\":-1"},
    };
    struct cfr_ca a = {.number = 0};
    struct cfr_ca other = {.number = 0};
    struct cfr_ca out;
    struct cfr_secret all;
    struct cfr_err err = {0};

    (void)state;
    rotate(&a, &usual, BEGIN);
    rotate(&a, &usual, BEGIN + 1);
    rotate(&other, &usual, BEGIN);
    cfr_secret_init(&all, CFR_CA_STORE_MAX);
    for (size_t i = 0; i < COUNT(cases); i++) {
        cfr_secret_clear(&all);
        assert_int_equal(cfr_ca_store(&a, &all, &err), 0);
        replace_text(all.p, cases[i].from, cases[i].to);
        if (cfr_ca_load(cfr_secret_view(&all), &out, &err) == 0)
            fail_msg("case %zu", i);
        assert_null(out.key.p);
    }
    /* Parts of two authorities. */
    cfr_secret_clear(&all);
    cfr_secret_move(&a.key, &other.key);
    assert_int_equal(cfr_ca_store(&a, &all, &err), 0);
    assert_int_equal(cfr_ca_load(cfr_secret_view(&all), &out, &err), CFR_E_CONFIG);
    assert_contains(err.text, "private key");
    cfr_secret_free(&all);
    cfr_ca_free(&a);
    cfr_ca_free(&other);
}

static void an_authority_that_cannot_sign_issues_nothing(void **state)
{
    static const char *const names[] = {"server.test"};
    struct cfr_strings dns_names = strings_of(names, 1);
    struct cfr_strings none = {NULL, 0};
    struct cfr_serving_cert_order order = {
        .dns_names = &dns_names, .ip_addresses = &none, .key = CFR_KEY_ECDSA_P256, .validity_s = DAY};
    struct cfr_ca a = {.number = 0};
    struct cfr_str certificate = {.limit = TEXT_LIMIT};
    struct cfr_secret key;
    struct cfr_err err = {0};
    int64_t ends_s;

    (void)state;
    cfr_secret_init(&key, CFR_KEY_PEM_MAX);
    assert_int_equal(cfr_serving_cert_issue(&a, 3, &order, BEGIN, &certificate, &key, &ends_s, &err), CFR_E_MISSING);
    rotate(&a, &usual, BEGIN);
    assert_int_equal(cfr_serving_cert_issue(&a, 3, &order, BEGIN - DAY, &certificate, &key, &ends_s, &err),
                     CFR_E_MISSING);
    assert_int_equal(cfr_serving_cert_issue(&a, 3, &order, BEGIN + 790 * DAY, &certificate, &key, &ends_s, &err),
                     CFR_E_MISSING);
    assert_int_equal(certificate.len, 0);
    /* Never beyond the CA's own end. */
    assert_int_equal(cfr_serving_cert_issue(&a, 3, &order, BEGIN + 790 * DAY - 60, &certificate, &key, &ends_s, &err),
                     0);
    assert_int_equal(ends_s, BEGIN + 790 * DAY);
    cfr_str_free(&certificate);
    cfr_secret_free(&key);
    cfr_ca_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_ca),
        cmocka_unit_test(each_by_each),
        cmocka_unit_test(the_old_root_ends),
        cmocka_unit_test(the_minimum_of_trust),
        cmocka_unit_test(due_by_age),
        cmocka_unit_test(a_clock_that_was_wrong_breaks_nothing),
        cmocka_unit_test(a_clock_that_was_wrong_keeps_the_older_ones),
        cmocka_unit_test(forced_once_per_reason),
        cmocka_unit_test(trust_in_the_ones_before_ends),
        cmocka_unit_test(the_oldest_reasons_are_forgotten),
        cmocka_unit_test(trust_never_skips_a_generation),
        cmocka_unit_test(the_bundle_changes_only_when_something_ends),
        cmocka_unit_test(what_is_stored_comes_back),
        cmocka_unit_test(a_store_of_before),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(an_authority_that_cannot_sign_issues_nothing),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
