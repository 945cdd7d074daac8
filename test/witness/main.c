/* SPDX-License-Identifier: MIT */
/* credfresh-witness: reads published credentials continuously and reports each state it saw. */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"
#include "watch.h"

enum { EXIT_CLEAN = 0, EXIT_BAD = 1, EXIT_USAGE = 2, EXIT_NO_WATCH = 3 };

/* One directory, or one file with the directory that it is in. */
struct target {
    const char *path;
    char *dir;
    bool single;
    int watch;                   /* number of the directory's watch, or -1 if it has to be set again */
    struct cfw_memory memory[3]; /* by enum cfw_reader */
};

struct witness {
    struct cfw_options options;
    struct cfw_stats stats;
    struct cfw_view view;
    struct cfw_verdict verdict;
    struct timespec start;
    size_t n;
    struct target targets[CFW_PATHS_MAX + 1];
};

static volatile sig_atomic_t stop_signal;

static void on_signal(int signal)
{
    stop_signal = signal;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static bool add_target(struct witness *w, const char *path, bool single)
{
    struct target *t = &w->targets[w->n];
    char *copy = strdup(path);
    t->path = path;
    t->single = single;
    t->dir = copy ? strdup(single ? dirname(copy) : copy) : NULL;
    free(copy);
    if (!t->dir) {
        (void)fputs("credfresh-witness: out of memory\n", stderr);
        return false;
    }
    w->n++;
    t->watch = cfw_watch_add(t->dir);
    if (t->watch < 0)
        (void)fprintf(stderr, "credfresh-witness: cannot watch %s: %s\n", t->dir, strerror(errno));
    return t->watch >= 0;
}

static bool add_targets(struct witness *w)
{
    if (w->options.dir && !add_target(w, w->options.dir, false))
        return false;
    for (size_t i = 0; i < w->options.n_files; i++)
        if (!add_target(w, w->options.files[i], true))
            return false;
    return true;
}

static void lost_watch(void *context, int watch)
{
    struct witness *w = context;
    for (size_t i = 0; i < w->n; i++)
        if (w->targets[i].watch == watch)
            w->targets[i].watch = -1;
}

/* Once a new generation is in place, changes inside it are worth being woken for as well. Its watch goes away
 * with it. */
static void enter_generation(struct witness *w, const struct target *t, struct cfw_memory *memory)
{
    char path[4096];
    if (w->view.generation[0] == '\0' || strcmp(w->view.generation, memory->generation) == 0)
        return;
    memcpy(memory->generation, w->view.generation, sizeof memory->generation);
    w->stats.generations++;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", t->dir, w->view.generation) < sizeof path)
        (void)cfw_watch_add(path);
}

/* A state is what a reader of the whole sees. Names read one by one may come from two generations, which is a
 * consumer's own doing; so that reader reports only what is bad. */
static void weigh(struct witness *w, const struct target *t, struct cfw_memory *memory)
{
    struct timespec now;
    w->stats.observations++;
    w->stats.seconds = seconds_since(&w->start);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    cfw_judge_view(&w->view, &w->options, now.tv_sec, memory, &w->verdict);

    bool nothing_yet = w->verdict.n == 0 && !memory->complete;
    bool uninteresting = w->verdict.n == 0 && w->view.reader == CFW_NAMES;
    if (nothing_yet || uninteresting) {
        memory->signature = 0;
        return;
    }
    if (w->view.reader == CFW_SNAPSHOT)
        enter_generation(w, t, memory);
    if (w->verdict.signature == memory->signature)
        return;
    memory->signature = w->verdict.signature;
    if (w->view.reader != CFW_NAMES)
        w->stats.states++;
    cfw_report_count(&w->stats, t->path, &w->view, &w->verdict);
    cfw_report_state(&w->options, &w->stats, t->path, &w->view, &w->verdict);
}

static void look_at_target(struct witness *w, struct target *t)
{
    struct cfw_memory *memory = t->memory;
    if (t->single) {
        (void)cfw_look_file(t->path, &w->options, &memory[CFW_SINGLE], &w->view);
        weigh(w, t, &memory[CFW_SINGLE]);
        return;
    }
    /* Names first: when a state is reported, both readers know its names. */
    if (cfw_look_names(t->path, &w->options, &memory[CFW_NAMES], &w->view, &w->stats.luck))
        weigh(w, t, &memory[CFW_NAMES]);
    if (cfw_look_snapshot(t->path, &w->options, &memory[CFW_SNAPSHOT], &w->view, &w->stats.luck))
        weigh(w, t, &memory[CFW_SNAPSHOT]);
}

static bool finished(const struct witness *w)
{
    const struct cfw_options *o = &w->options;
    return stop_signal != 0 || (o->for_ms > 0 && seconds_since(&w->start) * 1000 >= (double)o->for_ms) ||
           (o->states > 0 && w->stats.states >= o->states);
}

static void witness_all(struct witness *w)
{
    int pause_ms = w->options.tight ? 0 : 1;
    do {
        for (size_t i = 0; i < w->n; i++) {
            if (w->targets[i].watch < 0)
                w->targets[i].watch = cfw_watch_add(w->targets[i].dir);
            look_at_target(w, &w->targets[i]);
        }
        w->stats.events += cfw_watch_wait(pause_ms, lost_watch, w);
    } while (!finished(w));
    w->stats.seconds = seconds_since(&w->start);
}

static int run(struct witness *w)
{
    (void)clock_gettime(CLOCK_MONOTONIC, &w->start);
    catch_signals();
    if (cfw_watch_open() || !add_targets(w))
        return EXIT_NO_WATCH;
    cfw_report_start(&w->options);
    witness_all(w);
    if (cfw_report_summary(&w->options, &w->stats))
        return EXIT_NO_WATCH;
    if (cfw_report_failures(&w->stats) > 0)
        return EXIT_BAD;
    if (w->stats.luck.unread > 0) {
        (void)fprintf(stderr, "credfresh-witness: more than %d files in the directory: not all were read\n",
                      CFW_NAMES_MAX);
        return EXIT_NO_WATCH;
    }
    return EXIT_CLEAN;
}

int main(int argc, char **argv)
{
    struct witness *w = calloc(1, sizeof *w);
    if (!w) {
        (void)fputs("credfresh-witness: out of memory\n", stderr);
        return EXIT_NO_WATCH;
    }
    int status = cfw_options_parse(argc, argv, &w->options);
    if (status == 0)
        status = run(w);
    else
        status = status > 0 ? EXIT_CLEAN : EXIT_USAGE;
    cfw_watch_close();
    for (size_t i = 0; i < w->n; i++)
        free(w->targets[i].dir);
    free(w);
    return status;
}
