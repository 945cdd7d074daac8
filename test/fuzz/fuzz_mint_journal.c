/* SPDX-License-Identifier: MIT */
/* Any bytes as a rotation's journal: what is taken is whole, is written back so that it reads the same, and
 * never leads to the key that is published being deactivated or deleted, nor to one that may be another user's being
 * deleted. */
#include "fuzz.h"
#include "utf8.h"

#include "base/json.h"
#include "rotation/gcp_private.h"
#include "rotation/rotation.h"

#include <stdio.h>
#include <string.h>

#define NOW 1767323045

static void add(struct cfr_rotation_keys *keys, const char *id, const char *name, bool active)
{
    struct cfr_rotation_key *key = &keys->key[keys->count];

    if (id[0] == '\0' || keys->count == CFR_ROTATION_KEYS_MAX)
        return;
    for (size_t i = 0; i < keys->count; i++) {
        if (strcmp(keys->key[i].id, id) == 0)
            return;
    }
    *key = (struct cfr_rotation_key){.created_s = NOW - 60, .active = active};
    (void)snprintf(key->id, sizeof key->id, "%s", id);
    (void)snprintf(key->name, sizeof key->name, "%s", name);
    keys->count++;
}

/* Every key that the journal speaks of exists, once. */
static void answer_list(struct cfr_rotation_rotation *r)
{
    const struct cfr_rotation_journal *j = &r->journal;
    struct cfr_rotation_keys keys = {.count = 0};

    add(&keys, j->current, "", true);
    add(&keys, j->minted, j->name, true);
    add(&keys, j->old, "", false);
    for (size_t i = 0; i < j->aside_count; i++)
        add(&keys, j->aside[i].id, "", false);
    (void)cfr_rotation_listed(r, &keys, NOW);
}

/* By the journal, the key ID was made by us. */
static bool is_proven(const struct cfr_rotation_journal *j, const char *id)
{
    for (size_t i = 0; i < j->aside_count; i++) {
        if (j->aside[i].ours && strcmp(j->aside[i].id, id) == 0)
            return true;
    }
    return strcmp(id, j->minted) == 0 || strcmp(id, j->old) == 0;
}

/* False when the world has to do something that changes it. */
static bool act(struct cfr_rotation_rotation *r, const struct cfr_rotation_todo *todo)
{
    switch (todo->action) {
    case CFR_ROTATION_ACT_LIST:
        answer_list(r);
        return true;
    case CFR_ROTATION_ACT_LAST_USED:
        CFR_FUZZ_MUST(todo->id != NULL && todo->id[0] != '\0');
        (void)cfr_rotation_used(r, 0, NOW);
        return true;
    case CFR_ROTATION_ACT_DEACTIVATE:
    case CFR_ROTATION_ACT_DELETE:
        CFR_FUZZ_MUST(todo->id != NULL && todo->id[0] != '\0' && strcmp(todo->id, r->journal.current) != 0);
        CFR_FUZZ_MUST(todo->action == CFR_ROTATION_ACT_DEACTIVATE || is_proven(&r->journal, todo->id));
        return false;
    default:
        return false;
    }
}

/* As after a start: nothing was seen yet. */
static void go_on(const struct cfr_rotation_journal *j)
{
    static const struct cfr_rotation_facts facts = {.now_s = NOW, .chance = 1, .used_by_all = true};
    struct cfr_rotation_rotation r = {.provider = &cfr_rotation_gcp_provider,
                                      .credential = "registry",
                                      .rules = {.expire_after_s = 2592000,
                                                .grace_s = 3600,
                                                .grace_most_s = 86400,
                                                .verify_wait_s = 10,
                                                .verify_most_s = 600,
                                                .settle_s = 600},
                                      .journal = *j};
    struct cfr_rotation_todo todo = {.action = CFR_ROTATION_ACT_WAIT};
    char words[CFR_ROTATION_WORDS_MAX];
    bool save;

    for (int i = 0; i < 16; i++) {
        save = false;
        cfr_rotation_next(&r, &facts, &save, &todo);
        if (!save && !act(&r, &todo))
            break;
    }
    cfr_rotation_words(&r, &facts, words);
    CFR_FUZZ_MUST(cfr_rotation_due_s(j, &r.rules) >= 0 && cfr_rotation_state(j, false) != NULL);
}

static void round_trip(const struct cfr_rotation_journal *j)
{
    struct cfr_str once = {.limit = 1 << 20};
    struct cfr_str twice = {.limit = 1 << 20};
    struct cfr_rotation_journal again;

    CFR_FUZZ_MUST(cfr_rotation_journal_write(j, &once) == 0);
    CFR_FUZZ_MUST(cfr_rotation_journal_read(cfr_str_view(&once), &again, NULL) == 0);
    CFR_FUZZ_MUST(cfr_rotation_journal_write(&again, &twice) == 0);
    CFR_FUZZ_MUST(cfr_view_eq(cfr_str_view(&once), cfr_str_view(&twice)));
    CFR_FUZZ_MUST(strcmp(again.current, j->current) == 0 && strcmp(again.minted, j->minted) == 0);
    CFR_FUZZ_MUST(again.step == j->step && again.known_count == j->known_count && again.rotation == j->rotation &&
                  again.step_s == j->step_s);
    cfr_str_free(&once);
    cfr_str_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_view text = {(const char *)data, size};
    struct cfr_rotation_journal j;
    struct cfr_err err = {0};
    int rc;

    cfr_json_setup();
    rc = cfr_rotation_journal_read(text, &j, &err);
    if (rc != 0) {
        CFR_FUZZ_MUST(err.code == rc && err.text[0] != '\0' && j.step == CFR_ROTATION_REST && j.current[0] == '\0');
        return 0;
    }
    CFR_FUZZ_MUST(j.step < CFR_ROTATION_STEP_COUNT && j.known_count <= CFR_ROTATION_KEYS_MAX);
    go_on(&j);
    if (is_utf8(text))
        round_trip(&j);
    return 0;
}
