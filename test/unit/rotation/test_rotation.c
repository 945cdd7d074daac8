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
#define ASIDE  300 /* how long keys stay deactivated; an operator notices in a third of that */
#define SURE   20  /* how old the knowledge that the published key is there may be when the old one is retired */

struct cloud_key {
    char id[CFR_ROTATION_ID_MAX];
    char name[CFR_ROTATION_NAME_MAX];
    int64_t created_s;
    int64_t appears_s; /* a request that is late, or a list that lags */
    int64_t used_s;
    int64_t off_s; /* since when it is not active */
    bool active;
    bool foreign;
    bool proven; /* that it is ours is on the disk */
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
    char found[CFR_ROTATION_ID_MAX];   /* in a Secret of another program; "" = nothing is to be adopted */
    char removed[CFR_ROTATION_ID_MAX]; /* deleted or deactivated by an operator while it was published */
    int64_t removed_s;
    bool old_removed; /* so was published_old */
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
    k->proven = true;
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
    /* It may be published already, by a run that ended before it was written down. */
    assert_true(works(w, w->pending) || strcmp(w->pending, w->removed) == 0);
    if (strcmp(w->published, w->pending) != 0) {
        (void)snprintf(w->published_old, sizeof w->published_old, "%s", w->published);
        w->old_removed = strcmp(w->published, w->removed) == 0;
        (void)snprintf(w->published, sizeof w->published, "%s", w->pending);
        w->generation++;
        w->replaced_s = w->now_s;
    }
    if (!dies(w))
        report(w, cfr_rotation_published(&w->r, w->generation, w->now_s));
}

/* The key ID may be retired now: what took its place works, as far as can be known, and its grace is over. */
static void check_retired(struct world *w, const char *id)
{
    const struct cfr_rotation_journal *j = &w->r.journal;

    if (strcmp(id, w->published_old) == 0 || strcmp(id, j->old) == 0)
        assert_true(w->now_s >= w->replaced_s + GRACE);
    if (strcmp(id, j->old) == 0 || j->step == CFR_ROTATION_REST)
        assert_true(works(w, w->published) || w->now_s <= w->removed_s + SURE);
}

static void delete (struct world *w, const char *id)
{
    struct cloud_key *k = find(w, id);

    assert_string_not_equal(id, "");
    if (strcmp(id, w->published) == 0)
        assert_false(works(w, id)); /* an operator deactivated it, and there is no room */
    check_retired(w, id);
    if (dies(w))
        return;
    if (k != NULL) {
        assert_false(k->foreign);
        assert_true(k->proven || w->provider.names);
        k->there = false;
    }
    if (!dies(w))
        report(w, cfr_rotation_deleted(&w->r, w->now_s));
}

static void deactivate(struct world *w, const char *id)
{
    struct cloud_key *k = find(w, id);

    assert_string_not_equal(id, w->published);
    check_retired(w, id);
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

static void take(struct world *w, const char *id)
{
    assert_string_equal(id, w->found);
    assert_true(works(w, id));
    if (dies(w))
        return;
    (void)snprintf(w->pending, sizeof w->pending, "%s", id);
    (void)snprintf(w->backup, sizeof w->backup, "%s", id);
    if (!dies(w))
        report(w, cfr_rotation_taken(&w->r, "adopted", 0, w->now_s));
}

static void act(struct world *w, const struct cfr_rotation_todo *todo)
{
    const struct cloud_key *k;

    switch (todo->action) {
    case CFR_ROTATION_ACT_WAIT:
        w->now_s += 1 + chance(w, 60);
        /* What follows is another try. */
        w->r.try_s = w->r.unfit != CFR_ROTATION_FIT ? 0 : w->r.try_s;
        /* The operator restores the file. */
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
        k = find(w, w->r.journal.step == CFR_ROTATION_REST ? todo->id : w->pending);
        report(w, cfr_rotation_verified(&w->r, k != NULL && k->active && (!w->faults || chance(w, 5) != 0), w->now_s));
        break;
    case CFR_ROTATION_ACT_TAKE:
        take(w, todo->id);
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

/* Unless the journal has its id, nothing is left that proves whose key that is. */
static void lose_pending(struct world *w)
{
    struct cloud_key *k = find(w, w->pending);

    if (k != NULL && w->r.journal.step == CFR_ROTATION_INTENT)
        k->proven = false;
    w->pending[0] = '\0';
}

static void start(struct world *w)
{
    struct cfr_err err = {0};

    w->crashed = false;
    w->r = (struct cfr_rotation_rotation){
        .provider = &w->provider,
        .credential = "robot",
        .rules = {.expire_after_s = 5000,
                  .keep_lost = true, /* an operator decides, so that whose it is can be checked here */
                  .grace_s = GRACE,
                  .grace_most_s = 900,
                  .verify_wait_s = 5,
                  .verify_most_s = 120,
                  .inactive_s = ASIDE,
                  .settle_s = SETTLE,
                  .replace = true},
    };
    if (w->journal.len != 0)
        assert_int_equal(cfr_rotation_journal_read(cfr_str_view(&w->journal), &w->r.journal, &err), 0);
    if (w->faults && chance(w, 6) == 0)
        lose_pending(w);
}

/* An operator activates a key made by hand again, and deletes one that nothing uses and that was put aside. */
static void clean_up(struct world *w)
{
    const struct cfr_rotation_journal *j = &w->r.journal;

    for (size_t i = 0; i < j->aside_count; i++) {
        struct cloud_key *k = find(w, j->aside[i].id);

        if (k == NULL || w->now_s < j->aside[i].since_s + ASIDE / 3)
            continue;
        if (k->foreign)
            k->active = true;
        else if (!k->proven)
            k->there = false;
    }
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

/* An operator deletes or deactivates the published key. */
static void remove_published(struct world *w)
{
    struct cloud_key *k = find(w, w->published);

    if (k == NULL || chance(w, 300) != 0)
        return;
    (void)snprintf(w->removed, sizeof w->removed, "%s", w->published);
    w->removed_s = w->now_s;
    if (chance(w, 2) == 0)
        k->there = false;
    else
        k->active = false;
}

static void turn(struct world *w)
{
    struct cfr_rotation_facts f = {.now_s = w->now_s,
                                   .chance = chance(w, 1000000),
                                   .wanted = w->faults && chance(w, 20) == 0,
                                   .pending = w->pending[0] != '\0',
                                   .pending_id = w->pending,
                                   .found = w->found[0] != '\0',
                                   .found_id = w->found,
                                   .found_hint = "",
                                   .new_published = strcmp(w->published, w->r.journal.minted) == 0,
                                   .used_by_all = chance(w, 2) == 0};
    struct cfr_rotation_todo todo;
    bool changed;

    /* What is published is removed: until it is published again, consumers go on with what they have read. */
    f.lost = w->faults && w->published[0] != '\0' && chance(w, 200) == 0;
    f.wanted = f.wanted || f.lost;
    f.alone = !f.wanted && chance(w, 3) == 0;
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
    clean_up(w);
    if (w->crashed)
        start(w);
    /* The promise. */
    if (w->published[0] != '\0' && strcmp(w->published, w->removed) != 0)
        assert_true(works(w, w->published));
    if (w->published_old[0] != '\0' && !w->old_removed && w->now_s < w->replaced_s + GRACE)
        assert_true(works(w, w->published_old));
    if (w->faults)
        remove_published(w);
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
    struct cloud_key *found;
    unsigned turns = 0;

    w.journal.limit = 65536;
    foreign = chance(&w, 3) == 0 && most != 2 ? add_key(&w, "by hand", true) : NULL;
    if (chance(&w, 3) == 0 && (most != 2 || foreign == NULL)) {
        found = add_key(&w, "in a Secret", false);
        found->proven = true;
        found->used_s = w.now_s;
        (void)snprintf(w.found, sizeof w.found, "%s", found->id);
        w.makers = false;
    }
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
    while (turns++ < TURNS && !(w.r.journal.step == CFR_ROTATION_REST && works(&w, w.published) &&
                                w.r.journal.aside_count == 0 && w.now_s < cfr_rotation_due_s(&w.r.journal, &w.r.rules)))
        turn(&w);
    assert_true(w.r.journal.step == CFR_ROTATION_REST);
    assert_true(works(&w, w.published));
    for (unsigned i = 0; i < KEYS; i++) {
        if (w.key[i].there && !w.key[i].foreign)
            assert_string_equal(w.key[i].id, w.published);
    }
    assert_string_equal(w.r.journal.current, w.published);
    cfr_str_free(&w.journal);
}

static void what_is_published_always_works(void **state)
{
    const char *fewer = getenv("CFR_RUNS");
    uint64_t runs = fewer != NULL ? strtoull(fewer, NULL, 10) : RUNS;

    (void)state;
    assert_true(runs > 0);
    for (uint64_t i = 0; i < runs; i++)
        once(i * UINT64_C(0x9e3779b97f4a7c15) + 1, i % 2 == 0, i % 3 == 0, i % 3 != 2, i % 5 == 0 ? 2 : 0);
}

/* ---- the lookup of the published key ---- */

#define START_S 1700000000

/* At rest, with the key "one" of AGE_S published. */
static struct cfr_rotation_rotation at_rest(const struct cfr_rotation_provider *provider, int64_t age_s, bool replace)
{
    struct cfr_rotation_rotation r = {
        .provider = provider,
        .credential = "robot",
        .rules = {.expire_after_s = 100 * 86400, .grace_s = GRACE, .settle_s = SETTLE, .replace = replace},
        .journal = {.current = "one", .current_s = START_S - age_s},
    };

    return r;
}

static struct cfr_rotation_todo next_of(struct cfr_rotation_rotation *r, int64_t now_s, bool alone)
{
    struct cfr_rotation_facts f = {.now_s = now_s, .alone = alone, .pending_id = "", .used_by_all = true};
    struct cfr_rotation_todo todo;
    bool changed;

    cfr_rotation_next(r, &f, &changed, &todo);
    assert_false(changed);
    return todo;
}

static void list_one(struct cfr_rotation_rotation *r, int64_t now_s, bool there, bool active)
{
    struct cfr_rotation_keys keys = {.count = there ? 1 : 0};

    (void)snprintf(keys.key[0].id, sizeof keys.key[0].id, "one");
    keys.key[0].active = active;
    assert_false(cfr_rotation_listed(r, &keys, now_s));
}

/* At start and each hour, and not before lists can tell; a list that fails says nothing. */
static void when_it_is_looked_up(void **state)
{
    const struct cfr_rotation_provider provider = {.verify_count = 3};
    struct cfr_rotation_rotation r = at_rest(&provider, SETTLE - 10, true);
    struct cfr_rotation_todo todo;

    (void)state;
    todo = next_of(&r, START_S, true);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_true(todo.at_s == START_S + 10);
    r = at_rest(&provider, 86400, true);
    assert_int_equal(next_of(&r, START_S, false).action, CFR_ROTATION_ACT_WAIT);
    assert_int_equal(next_of(&r, START_S, true).action, CFR_ROTATION_ACT_LIST);
    list_one(&r, START_S, true, true);
    assert_string_equal(cfr_rotation_key_state_name(r.key_state), "active");
    todo = next_of(&r, START_S, true);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_true(todo.at_s == START_S + 3600);
    r.rules.spread = 1;
    assert_int_equal(next_of(&r, START_S + 3600, true).action, CFR_ROTATION_ACT_LIST);
    cfr_rotation_lookup_failed(&r, START_S + 3600);
    assert_int_equal(r.key_state, CFR_ROTATION_KEY_ACTIVE);
    assert_true(next_of(&r, START_S + 3600, true).at_s == START_S + 3900);
    assert_int_equal(next_of(&r, START_S + 3900, true).action, CFR_ROTATION_ACT_LIST);
    list_one(&r, START_S + 3900, true, true);
    assert_true(next_of(&r, START_S + 3900, true).at_s == START_S + 3900 + 3240);
    /* As often as is configured. */
    r.rules.lookup_s = 100;
    assert_int_equal(next_of(&r, START_S + 8000, true).action, CFR_ROTATION_ACT_LIST);
    list_one(&r, START_S + 8000, true, true);
    assert_true(next_of(&r, START_S + 8000, true).at_s == START_S + 8090);
}

/* Of a rotation that was taken over, a lost key is looked for by our own clock, whatever the other agent's was. */
static void a_lost_key_of_another_agent(void **state)
{
    static const int64_t others[] = {START_S - 86400, START_S - 10, START_S + 86400};
    const struct cfr_rotation_provider provider = {.verify_count = 3};
    const struct cfr_rotation_keys none = {.count = 0};

    (void)state;
    for (size_t i = 0; i < COUNT(others); i++) {
        struct cfr_rotation_rotation r = at_rest(&provider, 86400, true);
        struct cfr_rotation_todo todo;
        bool changed;

        r.journal.step = CFR_ROTATION_LOST;
        r.journal.intent_s = others[i];
        r.search_s = START_S;
        assert_int_equal(next_of(&r, START_S, true).action, CFR_ROTATION_ACT_LIST);
        (void)cfr_rotation_listed(&r, &none, START_S);
        todo = next_of(&r, START_S, true);
        assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
        assert_true(todo.at_s > START_S && todo.at_s <= START_S + SETTLE);
        assert_int_equal(next_of(&r, START_S + SETTLE, true).action, CFR_ROTATION_ACT_LIST);
        (void)cfr_rotation_listed(&r, &none, START_S + SETTLE);
        cfr_rotation_next(&r, &(struct cfr_rotation_facts){.now_s = START_S + SETTLE}, &changed, &todo);
        assert_true(changed);
        assert_int_equal(r.journal.step, CFR_ROTATION_REST);
    }
}

/* One list without it proves nothing; two in a row do, and are a reason to replace it. */
static void a_key_that_was_removed(void **state)
{
    const struct cfr_rotation_provider provider = {.verify_count = 3};
    struct cfr_rotation_facts f = {.now_s = START_S + 20, .pending_id = "", .used_by_all = true};
    struct cfr_rotation_todo todo;
    bool changed = false;

    (void)state;
    for (int replace = 0; replace < 2; replace++) {
        struct cfr_rotation_rotation r = at_rest(&provider, 86400, replace != 0);

        assert_int_equal(next_of(&r, START_S, true).action, CFR_ROTATION_ACT_LIST);
        list_one(&r, START_S, false, false);
        assert_int_equal(r.key_state, CFR_ROTATION_KEY_UNKNOWN);
        assert_false(cfr_rotation_must_replace(&r));
        assert_true(next_of(&r, START_S, true).at_s == START_S + 10);
        assert_int_equal(next_of(&r, START_S + 10, true).action, CFR_ROTATION_ACT_LIST);
        list_one(&r, START_S + 10, true, false);
        assert_string_equal(cfr_rotation_key_state_name(r.key_state), "deactivated");
        assert_int_equal(cfr_rotation_must_replace(&r), replace != 0);
        r.key_state = CFR_ROTATION_KEY_EXPIRED;
        assert_string_equal(cfr_rotation_key_state_name(r.key_state), "expired");
        assert_int_equal(cfr_rotation_must_replace(&r), replace != 0);
        cfr_rotation_next(&r, &f, &changed, &todo);
        assert_int_equal(todo.action, replace != 0 ? CFR_ROTATION_ACT_LIST : CFR_ROTATION_ACT_WAIT);
        /* It is active again: there is nothing to replace. */
        assert_int_equal(next_of(&r, START_S + 310, true).action, CFR_ROTATION_ACT_LIST);
        list_one(&r, START_S + 310, true, true);
        assert_false(cfr_rotation_must_replace(&r));
    }
}

/* Lists the keys "one", "two" and so on: the first COUNT of four. */
static void list_first(struct cfr_rotation_rotation *r, int64_t now_s, size_t count)
{
    static const char *const ids[] = {"one", "two", "three", "four"};
    struct cfr_rotation_keys keys = {.count = count};

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(keys.key[i].id, sizeof keys.key[i].id, "%s", ids[i]);
        keys.key[i].active = true;
    }
    (void)cfr_rotation_listed(r, &keys, now_s);
}

/* During the grace, with "one" as the old key and "two" as the published one. */
static struct cfr_rotation_rotation in_grace(const struct cfr_rotation_provider *provider)
{
    struct cfr_rotation_rotation r = at_rest(provider, 0, true);

    r.rules.grace_most_s = 86400;
    r.journal.step = CFR_ROTATION_PUBLISHED;
    r.journal.published_s = START_S;
    (void)snprintf(r.journal.old, sizeof r.journal.old, "one");
    (void)snprintf(r.journal.current, sizeof r.journal.current, "two");
    return r;
}

/* What was published is lost in the grace: another key is made next to both; the old one stays the old one. */
static void what_was_published_is_lost(void **state)
{
    const struct cfr_rotation_provider provider = {.verify_count = 3};
    struct cfr_rotation_rotation r = in_grace(&provider);
    struct cfr_rotation_facts f = {.now_s = START_S + 5, .wanted = true, .pending_id = ""};
    const struct cfr_rotation_key third = {.id = "three"};
    struct cfr_rotation_todo todo;
    bool changed;

    (void)state;
    /* That a rotation is wanted is not enough. */
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    f.lost = true;
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_LIST);
    list_first(&r, f.now_s, 2);
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_true(changed);
    assert_int_equal(r.journal.step, CFR_ROTATION_INTENT);
    assert_true(cfr_rotation_made(&r, &third, f.now_s));
    r.journal.step = CFR_ROTATION_VERIFIED;
    assert_true(cfr_rotation_published(&r, 3, f.now_s));
    assert_string_equal(r.journal.current, "three");
    assert_string_equal(r.journal.old, "one");
    assert_int_equal(r.journal.aside_count, 1);
    assert_string_equal(r.journal.aside[0].id, "two");
    assert_true(r.journal.aside[0].ours);
}

/* Where there is no room it waits for the grace, but for no consumer: none can read what it should acknowledge. */
static void it_is_lost_and_there_is_no_room(void **state)
{
    const struct cfr_rotation_provider provider = {.verify_count = 3, .most = 2, .deactivates = true};
    struct cfr_rotation_rotation r = in_grace(&provider);
    struct cfr_rotation_facts f = {.now_s = START_S + 5, .wanted = true, .lost = true, .pending_id = ""};
    char words[CFR_ROTATION_WORDS_MAX];
    struct cfr_rotation_todo todo;
    bool changed;

    (void)state;
    list_first(&r, f.now_s, 2);
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_true(todo.at_s == START_S + 305);
    cfr_rotation_words(&r, &f, words);
    assert_string_equal(words,
                        "the grace of the old key, 9 min 55 s more: nothing is published, because the secret "
                        "of two is lost, and the cloud allows no further key before the old one, one, is deleted");
    /* An operator makes room. */
    f.now_s = START_S + 305;
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_LIST);
    list_first(&r, f.now_s, 2);
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_true(todo.at_s == START_S + GRACE);
    f.now_s = START_S + GRACE;
    f.grace_left_s = 7;
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_false(changed);
    assert_true(todo.at_s == START_S + GRACE + 5);
    f.grace_left_s = 0;
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_true(changed);
    assert_int_equal(r.journal.step, CFR_ROTATION_RETIRING);
}

/* A key of the same owner from before another one was configured is ours, and retired. */
static void a_key_of_an_owner_that_is_set_back(void **state)
{
    const struct cfr_rotation_provider provider = {.verify_count = 3, .most = 2};
    struct cfr_rotation_rotation r = at_rest(&provider, 86400, true);

    (void)state;
    (void)snprintf(r.journal.subject, sizeof r.journal.subject, "aws/robot");
    list_first(&r, START_S, 2);
    assert_true(cfr_rotation_lacks_room(&r));
    r.journal.former_count = 1;
    (void)snprintf(r.journal.former[0].id, sizeof r.journal.former[0].id, "two");
    (void)snprintf(r.journal.former[0].subject, sizeof r.journal.former[0].subject, "aws/other");
    list_first(&r, START_S + 100, 2);
    assert_true(cfr_rotation_lacks_room(&r));
    (void)snprintf(r.journal.former[0].subject, sizeof r.journal.former[0].subject, "aws/robot");
    list_first(&r, START_S + 200, 2);
    assert_false(cfr_rotation_lacks_room(&r));
}

/* A key of ours that is aside and cannot be deleted: the others have their turn, and a rotation that is due begins. */
static void one_that_is_aside_and_stays(void **state)
{
    const struct cfr_rotation_provider provider = {.verify_count = 3};
    struct cfr_rotation_rotation r = at_rest(&provider, 86400, true);
    struct cfr_rotation_facts f = {.now_s = START_S, .wanted = true, .pending_id = ""};
    struct cfr_rotation_todo todo;
    bool changed;

    (void)state;
    r.rules.inactive_s = ASIDE;
    r.journal.aside_count = 2;
    r.journal.aside[0] = (struct cfr_rotation_aside){.id = "two", .since_s = START_S - 2000, .ours = true};
    r.journal.aside[1] = (struct cfr_rotation_aside){.id = "three", .since_s = START_S - 1000, .ours = true};
    list_first(&r, START_S, 3);
    todo = next_of(&r, START_S, true);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DELETE);
    assert_string_equal(todo.id, "two");
    assert_true(cfr_rotation_aside_failed(&r, START_S));
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_true(changed);
    assert_int_equal(r.journal.step, CFR_ROTATION_INTENT);
    r.journal.step = CFR_ROTATION_REST;
    list_first(&r, START_S + 3600, 3);
    todo = next_of(&r, START_S + 3600, true);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_DELETE);
    assert_string_equal(todo.id, "three");
    (void)cfr_rotation_deleted(&r, START_S + 3600);
    list_first(&r, START_S + 3600, 2);
    assert_string_equal(next_of(&r, START_S + 3600, true).id, "two");
}

/* Between two lists without it, one that has it, or that fails, begins the count again. */
static void lists_that_disagree(void **state)
{
    const struct cfr_rotation_provider provider = {.verify_count = 3};
    struct cfr_rotation_rotation r = at_rest(&provider, 86400, true);
    int64_t now_s = START_S;

    (void)state;
    for (int i = 0; i < 6; i++, now_s += 4000) {
        assert_int_equal(next_of(&r, now_s, true).action, CFR_ROTATION_ACT_LIST);
        if (i % 3 == 0)
            list_one(&r, now_s, false, false);
        else if (i % 3 == 1)
            cfr_rotation_lookup_failed(&r, now_s);
        else
            list_one(&r, now_s, true, true);
        assert_false(cfr_rotation_must_replace(&r));
    }
}

/* What was found is adopted if it is listed as active and was tried; it has the age that the cloud says, and is
 * published before anything is created. */
static void a_key_that_was_found(void **state)
{
    const struct cfr_rotation_provider provider = {.verify_count = 3};
    struct cfr_rotation_facts f = {
        .now_s = START_S, .found = true, .found_id = "", .found_hint = "abc", .pending_id = "", .used_by_all = true};
    struct cfr_rotation_rotation r = at_rest(&provider, 0, true);
    struct cfr_rotation_keys keys = {.count = 2,
                                     .key = {{.id = "one", .hint = "abc", .active = true, .created_s = START_S - 7},
                                             {.id = "two", .hint = "abd", .active = true}}};
    char words[CFR_ROTATION_WORDS_MAX];
    struct cfr_rotation_todo todo;
    bool changed;

    (void)state;
    r.journal = (struct cfr_rotation_journal){.subject = "aws/robot"};
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_LIST);
    /* Two that begin so: neither. */
    keys.key[1].hint[2] = 'c';
    assert_false(cfr_rotation_listed(&r, &keys, START_S));
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    cfr_rotation_words(&r, &f, words);
    assert_non_null(strstr(words, "abc... that was found is none of aws/robot, or not the only one that begins so"));
    /* Deactivated. */
    keys.key[1].hint[2] = 'd';
    keys.key[0].active = false;
    assert_false(cfr_rotation_listed(&r, &keys, START_S));
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(r.unfit, CFR_ROTATION_UNFIT_INACTIVE);
    keys.key[0].expired = true;
    assert_false(cfr_rotation_listed(&r, &keys, START_S));
    cfr_rotation_next(&r, &f, &changed, &todo);
    cfr_rotation_words(&r, &f, words);
    assert_non_null(strstr(words, "abc... that was found has expired; put one that is valid in its place"));
    keys.key[0].active = true;
    keys.key[0].expired = false;
    assert_false(cfr_rotation_listed(&r, &keys, START_S));
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_VERIFY);
    assert_string_equal(todo.id, "one");
    /* Refused: not before another try. */
    (void)cfr_rotation_verified(&r, false, START_S);
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(r.unfit, CFR_ROTATION_UNFIT_REFUSED);
    r.try_s = 0;
    cfr_rotation_next(&r, &f, &changed, &todo);
    (void)cfr_rotation_verified(&r, true, START_S);
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_TAKE);
    assert_true(cfr_rotation_taken(&r, "credfresh-x", 0, START_S));
    assert_int_equal(r.journal.step, CFR_ROTATION_VERIFIED);
    assert_true(r.journal.minted_s == START_S - 7);
    /* Its secret is lost before it was published: it is still where it was found. */
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_true(changed);
    assert_int_equal(r.journal.step, CFR_ROTATION_REST);
}

/* The id that was found next to a secret may be that of another one: the secret begins otherwise. */
static void an_id_that_is_not_the_secrets(void **state)
{
    const struct cfr_rotation_provider provider = {.verify_count = 3};
    struct cfr_rotation_facts f = {
        .now_s = START_S, .found = true, .found_id = "one", .found_hint = "xyz", .pending_id = "", .used_by_all = true};
    struct cfr_rotation_rotation r = at_rest(&provider, 0, true);
    struct cfr_rotation_keys keys = {
        .count = 2,
        .key = {{.id = "one", .hint = "abc", .active = true}, {.id = "two", .hint = "xyz", .active = true}}};
    char words[CFR_ROTATION_WORDS_MAX];
    struct cfr_rotation_todo todo;
    bool changed;

    (void)state;
    r.journal = (struct cfr_rotation_journal){.subject = "azure/robot"};
    assert_false(cfr_rotation_listed(&r, &keys, START_S));
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_WAIT);
    assert_int_equal(r.unfit, CFR_ROTATION_UNFIT_UNLISTED);
    cfr_rotation_words(&r, &f, words);
    assert_non_null(strstr(words, "the id one that was found is not that of the secret next to it"));
    f.found_hint = "abc";
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_VERIFY);
    assert_string_equal(todo.id, "one");
    /* A cloud that does not say how secrets begin. */
    f.found_id = "two";
    keys.key[1].hint[0] = '\0';
    assert_false(cfr_rotation_listed(&r, &keys, START_S));
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_int_equal(todo.action, CFR_ROTATION_ACT_VERIFY);
    assert_string_equal(todo.id, "two");
    /* One that was found by its id alone. */
    f.found_id = "one";
    f.found_hint = "";
    cfr_rotation_next(&r, &f, &changed, &todo);
    assert_string_equal(todo.id, "one");
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
        cmocka_unit_test(when_it_is_looked_up),
        cmocka_unit_test(a_key_that_was_removed),
        cmocka_unit_test(lists_that_disagree),
        cmocka_unit_test(what_was_published_is_lost),
        cmocka_unit_test(it_is_lost_and_there_is_no_room),
        cmocka_unit_test(a_key_of_an_owner_that_is_set_back),
        cmocka_unit_test(one_that_is_aside_and_stays),
        cmocka_unit_test(a_key_that_was_found),
        cmocka_unit_test(an_id_that_is_not_the_secrets),
        cmocka_unit_test(a_lost_key_of_another_agent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
