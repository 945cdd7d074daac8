/* SPDX-License-Identifier: MIT */
/* Ten years of an authority in fast time, killed at random before and after everything that it writes, stopped for
 * weeks, and forced at random: at no moment does what is published fail to verify, nor what consumers have that
 * followed late. */
#include "ca_sample.h"

#include "base/json.h"

#define YEARS      10
#define LIVES      2
#define SAMPLE     20 /* between two publishes only time passes: one look in so many */
#define SERVERS    3
#define KEPT       4
#define HISTORY    4096
#define CLIENT_LAG (300 * DAY)
#define SERVER_LAG (100 * DAY)
#define LEAF_LIFE  (730 * DAY)

/* Something that was published. Servers are numbered from 0, the bundle is -1. */
struct version {
    int what;
    int64_t since_s;
    uint64_t number; /* of the newest CA in it */
    char *pem;
};

/* What a machine has on its disk, and what the outside world has seen of it. */
struct world {
    struct cfr_secret state;
    struct version history[HISTORY];
    size_t count;
    uint64_t marks[SERVERS]; /* recorded with what stands */
    int64_t renew_s[SERVERS];
    int64_t now_s;
    uint64_t kills;
    uint64_t rotations;
    uint64_t checks;
};

static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t chance(uint64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % n;
}

/* The newest version of WHAT that stood at AT_S. */
static const struct version *as_of(const struct world *w, int what, int64_t at_s)
{
    for (size_t i = w->count; i-- != 0;) {
        if (w->history[i].what == what && w->history[i].since_s <= at_s)
            return &w->history[i];
    }
    return NULL;
}

/* A client and a server that each read what was published some time ago. */
static void check_late(struct world *w)
{
    const struct version *client = as_of(w, -1, w->now_s - (int64_t)chance(CLIENT_LAG));
    const struct version *server = as_of(w, (int)chance(SERVERS), w->now_s - (int64_t)chance(SERVER_LAG));
    uint64_t missed;

    if (client == NULL || server == NULL)
        return;
    missed = client->number > server->number ? client->number - server->number : server->number - client->number;
    if (missed >= KEPT || w->rotations - client->number >= KEPT || w->rotations - server->number >= KEPT)
        return;
    w->checks++;
    assert_trusted(client->pem, server->pem, w->now_s, "late");
}

static void check_published(struct world *w)
{
    const struct version *bundle = as_of(w, -1, w->now_s);

    for (int i = 0; i < SERVERS && bundle != NULL; i++) {
        const struct version *server = as_of(w, i, w->now_s);

        if (server == NULL)
            continue;
        w->checks++;
        assert_trusted(bundle->pem, server->pem, w->now_s, "published");
    }
}

static void look(struct world *w)
{
    if (chance(SAMPLE) != 0)
        return;
    check_published(w);
    check_late(w);
}

static void publish(struct world *w, int what, uint64_t number, const char *pem)
{
    assert_true(w->count < HISTORY);
    w->history[w->count++] = (struct version){what, w->now_s, number, strdup(pem)};
    check_published(w);
    check_late(w);
}

/* True if the process has died here. */
static bool dies(struct world *w)
{
    bool dead = chance(4) == 0;

    w->kills += dead;
    return dead;
}

static bool keep_authority(struct world *w, struct cfr_ca *a, const struct cfr_ca_rules *rules)
{
    struct cfr_secret next;
    struct cfr_err err = {0};

    if (cfr_ca_need(a, rules, w->now_s) == CFR_CA_NOTHING)
        return true;
    rotate(a, rules, w->now_s);
    if (dies(w))
        return false;
    cfr_secret_init(&next, CFR_CA_STORE_MAX);
    assert_int_equal(cfr_ca_store(a, &next, &err), 0);
    cfr_secret_move(&w->state, &next);
    w->rotations = a->number;
    return !dies(w);
}

static bool keep_bundle(struct world *w, const struct cfr_ca *a)
{
    const struct version *stands = as_of(w, -1, w->now_s);
    char *pem = trust(a, KEPT, w->now_s);
    bool same = stands != NULL && strcmp(stands->pem, pem) == 0;
    bool alive = same || !dies(w);

    if (!same && alive) {
        publish(w, -1, a->number, pem);
        alive = !dies(w);
    }
    free(pem);
    return alive;
}

static bool keep_server(struct world *w, const struct cfr_ca *a, int i)
{
    uint64_t mark = cfr_bundle_fingerprint(a, KEPT, w->now_s);
    struct leaf leaf;

    if (as_of(w, i, w->now_s) != NULL && w->marks[i] == mark && w->now_s < w->renew_s[i])
        return true;
    issue(a, KEPT, LEAF_LIFE, w->now_s, &leaf);
    if (!dies(w)) {
        publish(w, i, a->number, leaf.certificate.p);
        if (!dies(w)) {
            w->marks[i] = mark;
            w->renew_s[i] = w->now_s + (leaf.ends_s - w->now_s) * 8 / 10;
            free_leaf(&leaf);
            return true;
        }
    }
    free_leaf(&leaf);
    return false;
}

/* One look at everything; the parts come in any order after the authority. */
static bool run(struct world *w, struct cfr_ca *a, const struct cfr_ca_rules *rules)
{
    size_t first = chance(SERVERS + 1);
    bool alive = keep_authority(w, a, rules);

    for (size_t i = 0; alive && i <= SERVERS; i++) {
        size_t part = (first + i) % (SERVERS + 1);

        alive = part == SERVERS ? keep_bundle(w, a) : keep_server(w, a, (int)part);
    }
    return alive;
}

/* A new process knows what the disk holds. */
static void start(const struct world *w, struct cfr_ca *a)
{
    struct cfr_err err = {0};

    cfr_ca_free(a);
    if (w->state.len != 0 && cfr_ca_load(cfr_secret_view(&w->state), a, &err) != 0)
        fail_msg("%s", err.text);
}

static void live(struct world *w)
{
    struct cfr_ca_rules rules = usual;
    struct cfr_ca a = {.number = 0};
    char reason[32] = "";

    rules.generations = KEPT;
    rules.force = reason;
    w->now_s = BEGIN;
    while (w->now_s < BEGIN + YEARS * 365 * DAY) {
        if (chance(200) == 0) {
            (void)snprintf(reason, sizeof reason, "reason %llu", (unsigned long long)chance(1000000));
            rules.force_validity_s = chance(2) == 0 ? 700 * DAY : 0;
        }
        while (!run(w, &a, &rules)) {
            /* Dead: started again at once, or weeks later. */
            w->now_s += chance(20) == 0 ? (int64_t)chance(25 * DAY) : (int64_t)chance(600);
            look(w);
            start(w, &a);
        }
        w->now_s += (int64_t)chance(10 * DAY);
        look(w);
    }
    cfr_ca_free(&a);
}

static void ten_years(void **state)
{
    (void)state;
    for (int i = 0; i < LIVES; i++) {
        struct world *w = calloc(1, sizeof *w);

        assert_non_null(w);
        live(w);
        print_message("%llu CAs, %zu publishes, %llu kills, %llu chains verified\n", (unsigned long long)w->rotations,
                      w->count, (unsigned long long)w->kills, (unsigned long long)w->checks);
        assert_true(w->rotations >= 9);
        assert_true(w->kills >= 20);
        for (size_t k = 0; k < w->count; k++)
            free(w->history[k].pem);
        cfr_secret_free(&w->state);
        free(w);
    }
}

/* The largest that the limits allow has room where it is kept; from two generations one knows what six take. */
static void the_largest_is_stored(void **state)
{
    struct cfr_ca a = {.number = 0};
    struct cfr_ca_rules rules = usual;
    struct cfr_secret all;
    struct cfr_err err = {0};
    char reason[CFR_CA_REASON_MAX + 1];

    (void)state;
    memset(reason, '"', sizeof reason - 1); /* each becomes two bytes */
    reason[sizeof reason - 1] = '\0';
    rules.key = CFR_KEY_RSA_4096;
    rules.force = reason;
    rules.subject = "a subject that is as long as one may be: sixty-four characters..";
    rotate(&a, &rules, BEGIN);
    reason[0] = 'x';
    rotate(&a, &rules, BEGIN + 1);
    cfr_secret_init(&all, CFR_CA_STORE_MAX);
    if (cfr_ca_store(&a, &all, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(all.len + (CFR_CA_GENERATIONS_MAX - 1) * 3 * (strlen(a.generations[1].outgoing.pem) + 60) +
                    CFR_CA_REASONS_MAX * (2 * CFR_CA_REASON_MAX + 3) <
                CFR_CA_STORE_MAX);
    cfr_secret_free(&all);
    cfr_ca_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_years),
        cmocka_unit_test(the_largest_is_stored),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
