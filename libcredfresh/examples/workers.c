/* SPDX-License-Identifier: MIT */
/* Worker threads that ask before each piece of work whether there is a new token, and acknowledge it, while one thread
 * does nothing but follow. usage: workers DIRECTORY ACKNOWLEDGE-FILE; prints the token with which each worker ends. */
#include <credfresh.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define WORKERS 3

struct worker {
    pthread_t thread;
    const char *acknowledge;
    char token[4096];
};

static struct credfresh *watcher;
static atomic_bool over;

static void *work(void *argument)
{
    struct worker *self = argument;
    uint64_t seen = 0;

    while (!over || credfresh_changed(watcher, seen)) {
        if (!credfresh_changed(watcher, seen)) {
            sched_yield(); /* here it would do its work */
            continue;
        }
        const struct credfresh_snapshot *s = credfresh_acquire(watcher);

        seen = credfresh_snapshot_sequence(s);
        snprintf(self->token, sizeof self->token, "%s", (const char *)credfresh_snapshot_find(s, "token")->bytes);
        credfresh_ack(credfresh_snapshot_generation(s), self->acknowledge, NULL, 0);
        credfresh_release(s);
    }
    return NULL;
}

static void *follow(void *unused)
{
    while (!over)
        credfresh_wait(watcher, 100);
    return unused;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"token"};
    struct credfresh_options options = CREDFRESH_OPTIONS_INIT;
    struct worker workers[WORKERS];
    pthread_t follower;
    char text[400];

    options.names = names;
    options.name_count = 1;
    if (argc != 3 || credfresh_open(&watcher, argv[1], &options, text, sizeof text) != 0)
        return 1;
    pthread_create(&follower, NULL, follow, NULL);
    for (int i = 0; i < WORKERS; i++) {
        workers[i].acknowledge = argv[2];
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    getchar(); /* standard input has ended */
    over = 1;
    pthread_join(follower, NULL);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        printf("%s\n", workers[i].token);
    }
    credfresh_close(watcher);
    return 0;
}
