/* SPDX-License-Identifier: MIT */
/* Checks a view of the credentials against the guarantees. */
#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *cfw_judge_flaw_name(enum cfw_flaw flaw)
{
    static const char *const names[CFW_FLAWS] = {"torn", "empty", "mixed", "missing", "expired", "worse", "mode"};
    return names[flaw];
}

__attribute__((format(printf, 4, 5))) static void find(struct cfw_verdict *verdict, enum cfw_flaw flaw,
                                                       const char *name, const char *why, ...)
{
    if (verdict->n == CFW_FINDINGS_MAX)
        return;
    struct cfw_finding *finding = &verdict->findings[verdict->n++];
    va_list args;
    va_start(args, why);
    finding->flaw = flaw;
    (void)snprintf(finding->name, sizeof finding->name, "%s", name);
    (void)vsnprintf(finding->why, sizeof finding->why, why, args);
    va_end(args);
}

static void judge_times(const struct cfw_fact *fact, const struct cfw_options *o, int64_t now_s,
                        const struct cfw_memory *memory, struct cfw_verdict *verdict)
{
    int64_t expires_s = fact->content.expires_s;
    if (expires_s == CFW_NO_TIME)
        return;
    if (expires_s + o->grace_s <= now_s)
        find(verdict, CFW_EXPIRED, fact->name, "its expiry is in the past");
    const struct cfw_known *known = cfw_look_known(memory, fact->name);
    if (known && known->expires_s != CFW_NO_TIME && expires_s < known->expires_s)
        find(verdict, CFW_WORSE, fact->name, "it expires %" PRId64 " s earlier than the one before",
             known->expires_s - expires_s);
}

static void judge_fact(const struct cfw_fact *fact, const struct cfw_options *o, bool may_miss,
                       struct cfw_verdict *verdict)
{
    if (fact->err) {
        if (!may_miss)
            find(verdict, CFW_MISSING, fact->name, "it cannot be read: %s", strerror(fact->err));
        return;
    }
    if (fact->size == 0)
        find(verdict, CFW_EMPTY, fact->name, "it has no bytes");
    if (fact->content.torn)
        find(verdict, CFW_TORN, fact->name, "%zu bytes of %s: %s", fact->size,
             cfw_content_kind_name(fact->content.kind), fact->content.torn);
    const struct cfw_rule *mode = cfw_options_rule(&o->modes, fact->name);
    if (mode && mode->value != fact->mode)
        find(verdict, CFW_MODE, fact->name, "its mode is %04o instead of %04o", fact->mode, mode->value);
}

/* 0 on either side means that the file does not say. */
static bool agree(uint64_t a, uint64_t b)
{
    return a == 0 || b == 0 || a == b;
}

static bool share_identity(const struct cfw_content *a, const struct cfw_content *b)
{
    for (size_t i = 0; i < a->n_ids; i++)
        for (size_t k = 0; k < b->n_ids; k++)
            if (agree(a->ids[i].key, b->ids[k].key) && agree(a->ids[i].secret, b->ids[k].secret) &&
                agree(a->ids[i].token, b->ids[k].token))
                return true;
    return false;
}

/* Says how two files of one set contradict each other, or NULL. Two token files may be for two audiences. */
static const char *contradict(const struct cfw_content *a, const struct cfw_content *b)
{
    if (a->torn || b->torn)
        return NULL;
    if (a->n_ids > 0 && b->n_ids > 0 && !share_identity(a, b))
        return "it has another key than";
    if (a->generation >= 0 && b->generation >= 0 && a->generation != b->generation)
        return "it has another generation number than";
    if (a->kind != b->kind && !agree(a->bearer, b->bearer))
        return "it has another token than";
    return NULL;
}

static void judge_set(const struct cfw_view *view, const struct cfw_options *o, const struct cfw_memory *memory,
                      bool may_miss, struct cfw_verdict *verdict)
{
    for (size_t i = 1; i < view->n; i++)
        for (size_t k = 0; k < i; k++) {
            const char *how = contradict(&view->facts[i].content, &view->facts[k].content);
            if (how)
                find(verdict, CFW_MIXED, view->facts[i].name, "%s %.100s in the same set", how, view->facts[k].name);
        }
    if (may_miss)
        return;
    for (size_t i = 0; i < memory->n; i++)
        if (!cfw_look_fact(view, memory->known[i].name))
            find(verdict, CFW_MIXED, memory->known[i].name, "the set had it before and now lacks it");
    for (size_t i = 0; i < o->expect.n; i++)
        if (!cfw_look_fact(view, o->expect.rule[i].name) && !cfw_look_known(memory, o->expect.rule[i].name))
            find(verdict, CFW_MIXED, o->expect.rule[i].name, "the set lacks it");
}

static void remember_fact(struct cfw_memory *memory, const struct cfw_fact *fact)
{
    struct cfw_known *slot = NULL;
    for (size_t i = 0; i < memory->n && !slot; i++)
        if (strcmp(memory->known[i].name, fact->name) == 0)
            slot = &memory->known[i];
    if (!slot && memory->n < CFW_NAMES_MAX) {
        slot = &memory->known[memory->n++];
        *slot = (struct cfw_known){.expires_s = CFW_NO_TIME};
        memcpy(slot->name, fact->name, sizeof slot->name);
    }
    if (!slot || fact->content.torn || fact->size == 0)
        return;
    slot->kind = fact->content.kind;
    if (fact->content.expires_s != CFW_NO_TIME)
        slot->expires_s = fact->content.expires_s;
}

static void remember(struct cfw_memory *memory, const struct cfw_view *view, const struct cfw_options *o)
{
    bool complete = view->n > 0;
    for (size_t i = 0; i < view->n; i++) {
        if (view->facts[i].err)
            complete = false;
        else
            remember_fact(memory, &view->facts[i]);
    }
    for (size_t i = 0; i < o->expect.n && view->reader != CFW_SINGLE; i++)
        complete = complete && cfw_look_fact(view, o->expect.rule[i].name);
    memory->complete = memory->complete || complete;
}

static uint64_t mix(uint64_t h, const void *data, size_t length)
{
    uint64_t pair[2] = {h, cfw_content_digest(data, length)};
    return cfw_content_digest(pair, sizeof pair);
}

/* `worse` is about the step from one state to the next, and so not a part of either. */
static uint64_t sign(const struct cfw_view *view, const struct cfw_verdict *verdict)
{
    uint64_t h = mix(1, view->generation, strlen(view->generation));
    h = mix(h, &view->err, sizeof view->err);
    for (size_t i = 0; i < view->n; i++) {
        const struct cfw_fact *fact = &view->facts[i];
        const uint64_t numbers[] = {fact->digest, fact->inode, fact->mode, (uint64_t)fact->err};
        h = mix(h, fact->name, strlen(fact->name));
        h = mix(h, numbers, sizeof numbers);
    }
    for (size_t i = 0; i < verdict->n; i++) {
        if (verdict->findings[i].flaw == CFW_WORSE)
            continue;
        h = mix(h, &verdict->findings[i].flaw, sizeof verdict->findings[i].flaw);
        h = mix(h, verdict->findings[i].name, strlen(verdict->findings[i].name));
    }
    return h;
}

void cfw_judge_view(const struct cfw_view *view, const struct cfw_options *o, int64_t now_s, struct cfw_memory *memory,
                    struct cfw_verdict *verdict)
{
    bool may_miss = !memory->complete && o->missing_at_start_ok;
    verdict->n = 0;
    if ((view->err || view->n == 0) && !may_miss) {
        find(verdict, CFW_MISSING, "", view->err ? "the set cannot be read: %s" : "the set has no files%s",
             view->err ? strerror(view->err) : "");
    } else if (!view->err) {
        for (size_t i = 0; i < view->n; i++) {
            judge_fact(&view->facts[i], o, may_miss, verdict);
            judge_times(&view->facts[i], o, now_s, memory, verdict);
        }
        if (view->reader == CFW_SNAPSHOT)
            judge_set(view, o, memory, may_miss, verdict);
    }
    verdict->signature = sign(view, verdict);
    remember(memory, view, o);
}
