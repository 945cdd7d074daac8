/* SPDX-License-Identifier: MIT */
/* Simulates a fleet of agents, each with one credential of AWS STS, in virtual time: the lifecycle, the refresh rule,
 * the backoff and the loop are those of the agent; the cloud and the clocks are simulated.
 *
 * usage: fleet SCENARIO [AGENTS]        (default: 100000, for which the rates of the scenarios are meant)
 *
 * Prints figures as lines `name value`, and a line for each minute, `minute N REQUESTS GRANTED BARE`: BARE agents held
 * no valid credential at its end. Without arguments it prints the names of the scenarios. The same scenario always
 * gives the same numbers. */
#include "agent/loop/loop.h"
#include "agent/worker/lifecycle_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND     INT64_C(1000)
#define MINUTE     (60 * SECOND)
#define HOUR       (60 * MINUTE)
#define EPOCH      INT64_C(1795000000000) /* the wall time at which boot time is 0 */
#define LIFE       HOUR                   /* of a session */
#define WINDOW     (20 * MINUTE)          /* as of sts/aws */
#define TIMEOUT    (10 * SECOND)          /* of a request that nobody answers */
#define MINUTES    600
#define REACTION   (15 * SECOND) /* how soon an agent without a credential is back, if the cloud could serve it; */
#define REACTION_R MINUTE        /* after a refusal */

/* What happens to the fleet and its cloud. Times are of the simulation; 0 = does not happen. */
struct scenario {
    const char *name;
    int64_t start_ms;      /* the agents start evenly in this time; 0 = all at once */
    int64_t token_ms;      /* life of the tokens, which the kubelet renews past 80 %; 0 = longer than all this */
    int64_t down_ms;       /* the cloud does not answer from then on, */
    int64_t refuse_ms;     /* or refuses every token, since it does not find the issuer's key */
    int64_t until_ms;      /* until then */
    int64_t rate;          /* requests that are granted in a second; 0 = any number. The rest is throttled, */
    int64_t retry_after_s; /* with this Retry-After; 0 = without */
    int64_t step_at_ms;    /* the clocks of a quarter of the agents are set */
    int64_t step_ms;       /* by this */
    int64_t settled_ms;    /* when the last of these troubles has begun to end: the recovery is measured from there */
};

static const struct scenario scenarios[] = {
    {.name = "start"},
    {.name = "start-short-tokens", .token_ms = HOUR},
    {.name = "start-throttled", .rate = 200},
    {.name = "outage",
     .start_ms = 40 * MINUTE,
     .down_ms = 3 * HOUR,
     .until_ms = 4 * HOUR,
     .rate = 500,
     .settled_ms = 4 * HOUR},
    {.name = "throttled",
     .start_ms = 40 * MINUTE,
     .down_ms = 3 * HOUR,
     .until_ms = 4 * HOUR,
     .rate = 100,
     .retry_after_s = 5,
     .settled_ms = 4 * HOUR},
    {.name = "clock-forward",
     .start_ms = 40 * MINUTE,
     .step_at_ms = 3 * HOUR,
     .step_ms = 30 * MINUTE,
     .settled_ms = 3 * HOUR},
    {.name = "clock-back",
     .start_ms = 40 * MINUTE,
     .step_at_ms = 3 * HOUR,
     .step_ms = -30 * MINUTE,
     .settled_ms = 3 * HOUR},
    {.name = "issuer-key",
     .start_ms = 40 * MINUTE,
     .refuse_ms = 3 * HOUR,
     .until_ms = 3 * HOUR + 30 * MINUTE,
     .settled_ms = 3 * HOUR + 30 * MINUTE},
};

enum answer { GRANTED, UNANSWERED, THROTTLED, REFUSED };

struct agent {
    struct cfr_task task;
    struct cfr_lifecycle life;
    uint64_t random;
    double spread;
    int64_t ahead_ms;   /* its wall clock, of the cloud's */
    int64_t answer_ms;  /* when the request under way is answered */
    int64_t expires_ms; /* of what it holds, by the cloud */
    int64_t token_ms;   /* when its next token comes */
    int64_t refused_ms; /* when a token of its was last refused */
    enum answer answer;
};

static struct {
    const struct scenario *s;
    struct agent *agents;
    size_t count;
    int64_t now_ms;
    double rate;            /* as S has it, for this many agents */
    double tokens;          /* requests that may be granted now */
    int64_t filled_ms;      /* as of then */
    int64_t unavailable_ms; /* when the cloud last turned a good request away */
    size_t bare;            /* agents whose credential had expired when the trouble began to end */
    int64_t recovered_ms;   /* when the last of those was granted one */
    int64_t late;           /* agents that were past expiry while the cloud could have served them */
    int64_t latest_ms;      /* and for how long at most */
    uint32_t requests[MINUTES];
    uint32_t granted[MINUTES];
} fleet;

static double chance_of(struct agent *a)
{
    uint64_t h = a->random += UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((h ^ h >> 31) >> 11) / 9007199254740992.0;
}

static struct cfr_now clock_of(const struct agent *a)
{
    return (struct cfr_now){EPOCH + fleet.now_ms + a->ahead_ms, fleet.now_ms};
}

/* ---- the cloud ---- */

static bool is_within_trouble(void)
{
    int64_t from_ms = fleet.s->down_ms != 0 ? fleet.s->down_ms : fleet.s->refuse_ms;

    return from_ms != 0 && fleet.now_ms >= from_ms && fleet.now_ms < fleet.s->until_ms;
}

static enum answer ask_cloud(void)
{
    const struct scenario *s = fleet.s;

    fleet.requests[fleet.now_ms / MINUTE]++;
    if (is_within_trouble()) {
        fleet.unavailable_ms = fleet.now_ms;
        return s->down_ms != 0 ? UNANSWERED : REFUSED;
    }
    if (s->rate != 0) {
        fleet.tokens += (double)(fleet.now_ms - fleet.filled_ms) * fleet.rate / 1000;
        fleet.filled_ms = fleet.now_ms;
        if (fleet.tokens > fleet.rate)
            fleet.tokens = fleet.rate;
        if (fleet.tokens < 1) {
            fleet.unavailable_ms = fleet.now_ms;
            return THROTTLED;
        }
        fleet.tokens -= 1;
    }
    fleet.granted[fleet.now_ms / MINUTE]++;
    return GRANTED;
}

/* ---- an agent ---- */

static void send_request(struct agent *a)
{
    a->answer = ask_cloud();
    a->answer_ms = fleet.now_ms + (a->answer == UNANSWERED ? TIMEOUT : 50 + (int64_t)(chance_of(a) * 100));
    (void)cfr_lifecycle_step(&a->life, CFR_EVENT_SENT);
}

/* Counts how long A has been past its expiry although the cloud could have served it. */
static void note_late(const struct agent *a)
{
    int64_t since_ms = a->expires_ms > fleet.unavailable_ms ? a->expires_ms : fleet.unavailable_ms;
    bool refused = a->refused_ms != 0 && a->refused_ms >= a->expires_ms - HOUR;
    int64_t late_ms = fleet.now_ms - since_ms - (refused ? REACTION_R : REACTION);

    if (late_ms <= 0)
        return;
    fleet.late++;
    if (late_ms > fleet.latest_ms)
        fleet.latest_ms = late_ms;
}

static void take_grant(struct agent *a)
{
    if (a->expires_ms < fleet.now_ms && fleet.now_ms >= fleet.s->settled_ms) {
        note_late(a);
        /* The first time only: nothing else lets a credential expire. */
        if (a->expires_ms <= fleet.s->settled_ms)
            fleet.recovered_ms = fleet.now_ms;
    }
    a->expires_ms = fleet.now_ms + LIFE;
    (void)cfr_lifecycle_step(&a->life, CFR_EVENT_GRANTED);
    cfr_lifecycle_renewed(&a->life, clock_of(a), LIFE, WINDOW,
                          (struct cfr_refresh_jitter){a->spread, chance_of(a), true});
    (void)cfr_lifecycle_step(&a->life, CFR_EVENT_PUBLISHED);
    (void)cfr_lifecycle_step(&a->life, CFR_EVENT_NOTIFIED);
}

static void take_answer(struct agent *a)
{
    if (a->answer == GRANTED) {
        take_grant(a);
        return;
    }
    if (a->answer == REFUSED)
        a->refused_ms = fleet.now_ms;
    (void)cfr_lifecycle_step(&a->life, CFR_EVENT_FAILED);
    (void)cfr_lifecycle_failed(&a->life, clock_of(a), a->answer == REFUSED ? CFR_CLASS_STOP : CFR_CLASS_RETRY,
                               a->answer == THROTTLED ? fleet.s->retry_after_s : -1, chance_of(a));
}

/* When a token that comes now is renewed. The kubelet begins up to 10 s early, and looks at a pod every 60 to 90 s. */
static int64_t next_token(struct agent *a)
{
    if (fleet.s->token_ms == 0)
        return INT64_MAX;
    return fleet.now_ms + fleet.s->token_ms * 8 / 10 + (int64_t)(chance_of(a) * 90000) -
           (int64_t)(chance_of(a) * 10000);
}

static void arm(struct agent *a)
{
    bool waits = a->life.state == CFR_STATE_EXCHANGING;
    int64_t at_ms = waits ? a->answer_ms : cfr_lifecycle_wake_at(&a->life);

    if (!waits && a->token_ms < at_ms)
        at_ms = a->token_ms;
    cfr_loop_at(&a->task, at_ms);
}

/* Does what is due at A. */
static void run(struct cfr_task *task)
{
    struct agent *a = CFR_TASK_OWNER(task, struct agent, task);
    enum cfr_event event;

    if (a->life.state == CFR_STATE_EXCHANGING) {
        take_answer(a);
    } else {
        event = cfr_lifecycle_next_event(&a->life, clock_of(a));
        if (a->token_ms <= fleet.now_ms) {
            a->token_ms = next_token(a);
            event = CFR_EVENT_SOURCE;
        }
        if (event != CFR_EVENT_NONE && cfr_lifecycle_step(&a->life, event) == CFR_ACTION_ACQUIRE)
            send_request(a);
    }
    arm(a);
}

/* ---- the fleet ---- */

static void start_agents(void)
{
    for (size_t i = 0; i < fleet.count; i++) {
        struct agent *a = &fleet.agents[i];
        char name[32];

        (void)snprintf(name, sizeof name, "app-%zu/demo", i);
        a->task.run = run;
        a->random = i + 1;
        a->spread = cfr_refresh_spread(name);
        a->expires_ms = (int64_t)((double)fleet.s->start_ms * (double)i / (double)fleet.count);
        a->token_ms = next_token(a);
        cfr_lifecycle_init(&a->life, false);
        cfr_lifecycle_retry_at(&a->life, a->expires_ms);
        arm(a);
    }
}

static void set_clocks(void)
{
    for (size_t i = 0; i < fleet.count; i += 4) {
        struct agent *a = &fleet.agents[i];

        a->ahead_ms += fleet.s->step_ms;
        /* As cfr_worker_on_clock. */
        if (cfr_lifecycle_due(&a->life, clock_of(a)) &&
            cfr_lifecycle_step(&a->life, CFR_EVENT_DUE) == CFR_ACTION_ACQUIRE)
            send_request(a);
        arm(a);
    }
}

static size_t count_bare(void)
{
    size_t n = 0;

    for (size_t i = 0; i < fleet.count; i++)
        n += fleet.agents[i].expires_ms <= fleet.now_ms;
    return n;
}

static void run_until(int64_t until_ms)
{
    while (cfr_loop_next() < until_ms) {
        int64_t at_ms = cfr_loop_next();

        fleet.now_ms = at_ms > fleet.now_ms ? at_ms : fleet.now_ms;
        cfr_loop_run(fleet.now_ms);
    }
    fleet.now_ms = until_ms;
}

static void report(void)
{
    const struct scenario *s = fleet.s;
    int64_t ideal_ms = s->rate != 0 ? (int64_t)((double)fleet.bare * 1000 / fleet.rate) : 0;
    /* From the fourth life on of the last agent that was served. */
    int64_t from =
        (fleet.recovered_ms > s->settled_ms + s->start_ms ? fleet.recovered_ms : s->settled_ms + s->start_ms);
    double sum = 0;
    uint32_t most = 0;

    for (size_t i = 0; i < fleet.count; i++) {
        if (fleet.agents[i].expires_ms < fleet.now_ms)
            note_late(&fleet.agents[i]);
    }
    from = (from + 3 * LIFE) / MINUTE + 1;
    for (int64_t i = from; i < MINUTES; i++) {
        sum += fleet.requests[i];
        most = fleet.requests[i] > most ? fleet.requests[i] : most;
    }
    (void)printf("agents %zu\nfrom_minute %lld\nhighest_to_mean %.3f\n", fleet.count, (long long)from,
                 (double)most / (sum / (double)(MINUTES - from)));
    (void)printf("bare %zu\nrecovery_s %.1f\nideal_s %.1f\nlate %lld\nlatest_s %.1f\n", fleet.bare,
                 fleet.recovered_ms != 0 ? (double)(fleet.recovered_ms - s->settled_ms) / 1000 : 0,
                 (double)ideal_ms / 1000, (long long)fleet.late, (double)fleet.latest_ms / 1000);
}

int main(int argc, char **argv)
{
    uint32_t bare[MINUTES];

    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (argc < 2)
            (void)printf("%s\n", scenarios[i].name);
        else if (strcmp(argv[1], scenarios[i].name) == 0)
            fleet.s = &scenarios[i];
    }
    if (argc < 2)
        return 0;
    fleet.count = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
    fleet.agents = fleet.count != 0 && fleet.count <= 10000000 ? calloc(fleet.count, sizeof *fleet.agents) : NULL;
    if (fleet.s == NULL || fleet.agents == NULL) {
        (void)fprintf(stderr, "usage: fleet SCENARIO [AGENTS]\n");
        return 2;
    }
    fleet.unavailable_ms = -1;
    fleet.rate = (double)fleet.s->rate * (double)fleet.count / 100000;
    start_agents();
    for (int64_t minute = 0; minute < MINUTES; minute++) {
        if (fleet.now_ms == fleet.s->settled_ms)
            fleet.bare = count_bare();
        if (fleet.s->step_at_ms != 0 && fleet.now_ms == fleet.s->step_at_ms)
            set_clocks();
        run_until((minute + 1) * MINUTE);
        bare[minute] = (uint32_t)count_bare();
    }
    report();
    for (size_t i = 0; i < MINUTES; i++)
        (void)printf("minute %zu %u %u %u\n", i, fleet.requests[i], fleet.granted[i], bare[i]);
    free(fleet.agents);
    return 0;
}
