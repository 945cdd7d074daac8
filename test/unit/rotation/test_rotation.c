/* SPDX-License-Identifier: MIT */
/* The rotation protocol against a cloud that loses and delays answers, with a crash at any point. With
 * CFR_ROTATION_TRACE the steps that were seen to follow each other are written there, for the comparison with
 * test/model/mint.pml. */
#include "unit.h"

#include "rotation/rotation.h"

#define KEYS   32
#define RUNS   400
#define TURNS  8000
#define GRACE  600
#define SETTLE 60
#define ASIDE  300 /* how long keys stay deactivated; a person notices in a third of that */

struct cloud_key {
    char id[CFR_ROTATION_ID_MAX];
    char name[CFR_ROTATION_NAME_MAX];
    int64_t created_s;
    int64_t appears_s; /* a request that is late, or a list that lags */
    int64_t used_s;
    int64_t off_s; /* since when it is not active */
    bool active;
    bool foreign;
    bool there;
};

struct world {
    struct cfr_rotation_provider provider;
    struct cloud_key key[KEYS];
    unsigned made;
    /* the disk */
    struct cfr_str journal;
    char pending[CFR_ROTATION_ID_MAX];
    char backup[CFR_ROTATION_ID_MAX]; /* of it */
    char published[CFR_ROTATION_ID_MAX];
    char published_old[CFR_ROTATION_ID_MAX];
    int64_t replaced_s; /* when published_old was replaced */
    uint64_t generation;
    /* the present run of the program */
    struct cfr_rotation_rotation r;
    bool crashed;
    bool faults;
    bool makers; /* the cloud says who made a key */
    int64_t now_s;
    uint64_t seed;
};

static bool seen[CFR_ROTATION_STEP_COUNT][CFR_ROTATION_STEP_COUNT];

static unsigned chance(struct world *w, unsigned of)
{
    w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(w->seed >> 33) % of;
}

/* A point at which the program may end. */
static bool dies(struct world *w)
{
    w->crashed = w->crashed || (w->faults && chance(w, 12) == 0);
    return w->crashed;
}

static struct cloud_key *find(struct world *w, const char *id)
{
    for (unsigned i = 0; i < KEYS; i++) {
        if (w->key[i].there && strcmp(w->key[i].id, id) == 0)
            return &w->key[i];
    }
    return NULL;
}

static bool works(struct world *w, const char *id)
{
    const struct cloud_key *k = find(w, id);

    return k != NULL && k->active;
}

static struct cloud_key *add_key(struct world *w, const char *name, bool foreign)
{
    for (unsigned i = 0; i < KEYS; i++) {
        struct cloud_key *k = &w->key[i];

        if (k->there)
            continue;
        *k = (struct cloud_key){.created_s = w->now_s, .active = true, .foreign = foreign, .there = true};
        (void)snprintf(k->id, sizeof k->id, "key-%u", ++w->made);
        (void)snprintf(k->name, sizeof k->name, "%s", name);
        return k;
    }
    fail_msg("keys pile up");
    return NULL;
}

static unsigned count(const struct world *w)
{
    unsigned n = 0;

    for (unsigned i = 0; i < KEYS; i++)
        n += w->key[i].there ? 1 : 0;
    return n;
}

/* Written in one step, as files/state.c does. */
static void save(struct world *w)
{
    static enum cfr_rotation_step last;
    struct cfr_rotation_journal before;
    struct cfr_err err = {0};

    if (dies(w))
        return;
    last = CFR_ROTATION_REST;
    if (w->journal.len != 0) {
        assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&w->journal), &before, &err), 0);
        last = before.step;
    }
    seen[last][w->r.journal.step] = true;
    cfr_str_free(&w->journal);
    assert_int_equal(cfr_rotation_journal_write(&w->r.journal, &w->journal), 0);
    (void)dies(w);
}

static void report(struct world *w, bool changed)
{
    if (changed && !w->crashed)
        save(w);
}

static void list(struct world *w)
{
    struct cfr_rotation_keys keys = {.count = 0};

    for (unsigned i = 0; i < KEYS; i++) {
        struct cfr_rotation_key *to = &keys.key[keys.count];

        if (!w->key[i].there || w->key[i].appears_s > w->now_s)
            continue;
        (void)snprintf(to->id, sizeof to->id, "%s", w->key[i].id);
        if (w->provider.names)
            (void)snprintf(to->name, sizeof to->name, "%s", w->key[i].name);
        if (w->makers)
            (void)snprintf(to->maker, sizeof to->maker, "%s", w->key[i].foreign ? "somebody" : "admin");
        to->created_s = w->key[i].created_s;
        to->active = w->key[i].active;
        keys.count++;
    }
    report(w, cfr_rotation_listed(&w->r, &keys, w->now_s));
}

static void create(struct world *w)
{
    struct cfr_rotation_key made = {.active = true, .maker = "admin"};
    unsigned fate = w->faults ? chance(w, 8) : 7;
    struct cloud_key *k;

    if (dies(w))
        return;
    if (fate == 0 || (w->provider.most != 0 && count(w) >= w->provider.most)) {
        report(w, cfr_rotation_refused(&w->r, w->now_s));
        return;
    }
    if (fate == 1) { /* never arrived */
        report(w, cfr_rotation_unknown(&w->r, w->now_s));
        return;
    }
    k = add_key(w, w->r.journal.name, false);
    if (fate == 2 || fate == 3) { /* the answer is lost, and lists tell of it late */
        k->appears_s = w->now_s + chance(w, SETTLE / 2);
        report(w, cfr_rotation_unknown(&w->r, w->now_s));
        return;
    }
    k->active = fate != 4; /* one that never comes to be accepted */
    if (dies(w))
        return;
    (void)snprintf(w->pending, sizeof w->pending, "%s", k->id);
    (void)snprintf(w->backup, sizeof w->backup, "%s", k->id);
    if (dies(w))
        return;
    (void)snprintf(made.id, sizeof made.id, "%s", k->id);
    if (!w->makers)
        made.maker[0] = '\0';
    report(w, cfr_rotation_made(&w->r, &made, w->now_s));
}

static void publish(struct world *w)
{
    if (dies(w))
        return;
    assert_true(works(w, w->pending));
    if (strcmp(w->published, w->pending) != 0) {
        (void)snprintf(w->published_old, sizeof w->published_old, "%s", w->published);
        (void)snprintf(w->published, sizeof w->published, "%s", w->pending);
        w->generation++;
        w->replaced_s = w->now_s;
    }
    if (!dies(w))
        report(w, cfr_rotation_published(&w->r, w->generation, w->now_s));
}

static void delete (struct world *w, const char *id)
{
    struct cloud_key *k = find(w, id);

    assert_string_not_equal(id, "");
    assert_string_not_equal(id, w->published);
    if (strcmp(id, w->published_old) == 0)
        assert_true(w->now_s >= w->replaced_s + GRACE);
    if (dies(w))
        return;
    if (k != NULL) {
        assert_false(k->foreign);
        k->there = false;
    }
    if (!dies(w))
        report(w, cfr_rotation_deleted(&w->r, w->now_s));
}

static void deactivate(struct world *w, const char *id)
{
    struct cloud_key *k = find(w, id);

    assert_string_not_equal(id, w->published);
    if (strcmp(id, w->published_old) == 0)
        assert_true(w->now_s >= w->replaced_s + GRACE);
    if (k != NULL && w->r.journal.maker[0] != '\0')
        assert_false(k->foreign);
    if (dies(w))
        return;
    if (k != NULL && k->active)
        k->off_s = w->now_s;
    if (k != NULL)
        k->active = false;
    if (!dies(w))
        report(w, cfr_rotation_deactivated(&w->r, w->now_s));
}

static void act(struct world *w, const struct cfr_rotation_todo *todo)
{
    const struct cloud_key *k;

    switch (todo->action) {
    case CFR_ROTATION_ACT_WAIT:
        w->now_s += 1 + chance(w, 60);
        /* Somebody restores the file. */
        if (w->r.journal.step == CFR_ROTATION_VERIFIED)
            (void)snprintf(w->pending, sizeof w->pending, "%s", w->backup);
        break;
    case CFR_ROTATION_ACT_LIST:
        list(w);
        break;
    case CFR_ROTATION_ACT_CREATE:
        create(w);
        break;
    case CFR_ROTATION_ACT_VERIFY:
        report(w, cfr_rotation_verified(&w->r, works(w, w->pending) && (!w->faults || chance(w, 5) != 0), w->now_s));
        break;
    case CFR_ROTATION_ACT_PUBLISH:
        publish(w);
        break;
    case CFR_ROTATION_ACT_ADOPT:
        assert_string_equal(w->published, w->r.journal.minted);
        if (!dies(w))
            report(w, cfr_rotation_published(&w->r, w->generation, w->now_s));
        break;
    case CFR_ROTATION_ACT_DEACTIVATE:
        deactivate(w, todo->id);
        break;
    case CFR_ROTATION_ACT_LAST_USED:
        k = find(w, todo->id);
        report(w, cfr_rotation_used(&w->r, k != NULL ? k->used_s : 0, w->now_s));
        break;
    default:
        delete (w, todo->id);
        break;
    }
}

static void start(struct world *w)
{
    struct cfr_err err = {0};

    w->crashed = false;
    w->r = (struct cfr_rotation_rotation){
        .provider = &w->provider,
        .credential = "robot",
        .rules = {.expire_after_s = 5000,
                  .grace_s = GRACE,
                  .grace_most_s = 900,
                  .verify_wait_s = 5,
                  .verify_most_s = 120,
                  .inactive_s = ASIDE,
                  .settle_s = SETTLE},
    };
    if (w->journal.len != 0)
        assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&w->journal), &w->r.journal, &err), 0);
    if (w->faults && chance(w, 6) == 0)
        w->pending[0] = '\0';
}

/* Whoever made a key by hand finds out that it is not active any more. */
static void mend(struct world *w)
{
    for (unsigned i = 0; i < KEYS; i++) {
        if (w->key[i].foreign && w->now_s >= w->key[i].off_s + ASIDE / 3)
            w->key[i].active = true;
    }
}

/* Consumers that read once and never again. */
static void use_old(struct world *w)
{
    struct cloud_key *k = find(w, w->published_old);

    if (k != NULL && k->active && chance(w, 4) == 0)
        k->used_s = w->now_s;
}

static void turn(struct world *w)
{
    struct cfr_rotation_facts f = {.now_s = w->now_s,
                                   .chance = chance(w, 1000000),
                                   .wanted = w->faults && chance(w, 20) == 0,
                                   .pending = w->pending[0] != '\0',
                                   .pending_id = w->pending,
                                   .new_published = strcmp(w->published, w->r.journal.minted) == 0,
                                   .used_by_all = chance(w, 2) == 0};
    struct cfr_rotation_todo todo;
    bool changed;

    f.alone = w->faults && !f.wanted && chance(w, 3) == 0;
    cfr_rotation_next(&w->r, &f, &changed, &todo);
    if (changed) {
        save(w);
    } else {
        if (todo.drop_pending)
            w->pending[0] = '\0';
        act(w, &todo);
    }
    w->now_s += chance(w, 3);
    use_old(w);
    mend(w);
    if (w->crashed)
        start(w);
    /* The promise. */
    if (w->published[0] != '\0')
        assert_true(works(w, w->published));
    if (w->published_old[0] != '\0' && w->now_s < w->replaced_s + GRACE)
        assert_true(works(w, w->published_old));
}

static void once(uint64_t seed, bool names, bool uses, bool deactivates, unsigned most)
{
    struct world w = {
        .provider = {.names = names, .deactivates = deactivates, .tells_use = uses, .most = most, .verify_count = 3},
        .faults = true,
        .makers = seed % 2 == 0,
        .now_s = 1700000000,
        .seed = seed};
    struct cloud_key *foreign;
    unsigned turns = 0;

    w.journal.limit = 65536;
    foreign = chance(&w, 3) == 0 && most != 2 ? add_key(&w, "by hand", true) : NULL;
    start(&w);
    for (; turns < TURNS / 4; turns++) {
        if (foreign != NULL && deactivates && chance(&w, 40) == 0 && most == 0) {
            foreign = add_key(&w, "by hand", true);
            foreign->used_s = uses ? w.now_s : 0;
            foreign->appears_s = 0;
            if (count(&w) > KEYS - 4)
                break;
        }
        turn(&w);
    }
    /* No more faults: it comes to rest, and nothing is left but what is published. */
    w.faults = false;
    while (turns++ < TURNS && !(w.r.journal.step == CFR_ROTATION_REST && w.published[0] != '\0' &&
                                w.r.journal.aside_count == 0 && w.now_s < cfr_rotation_due_s(&w.r.journal, &w.r.rules)))
        turn(&w);
    assert_true(w.r.journal.step == CFR_ROTATION_REST);
    for (unsigned i = 0; i < KEYS; i++) {
        if (w.key[i].there && !w.key[i].foreign)
            assert_string_equal(w.key[i].id, w.published);
    }
    assert_string_equal(w.r.journal.current, w.published);
    cfr_str_free(&w.journal);
}

static void what_is_published_always_works(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < RUNS; i++)
        once(i * UINT64_C(0x9e3779b97f4a7c15) + 1, i % 2 == 0, i % 3 == 0, i % 3 != 2, i % 5 == 0 ? 2 : 0);
}

static const char *const names[] = {
#define X(name, text) #name,
    CFR_ROTATION_STEP_LIST(X)
#undef X
};

/* Every step was gone through, so the run above says something. */
static void the_steps_that_were_seen(void **state)
{
    const char *path = getenv("CFR_ROTATION_TRACE");
    FILE *f = path != NULL ? fopen(path, "w") : NULL;

    (void)state;
    for (int from = 0; from < CFR_ROTATION_STEP_COUNT; from++) {
        bool any = false;

        for (int to = 0; to < CFR_ROTATION_STEP_COUNT; to++) {
            any = any || seen[from][to];
            if (seen[from][to] && f != NULL)
                (void)fprintf(f, "%s %s\n", names[from], names[to]);
        }
        assert_true(any);
    }
    if (f != NULL)
        (void)fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_published_always_works),
        cmocka_unit_test(the_steps_that_were_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
