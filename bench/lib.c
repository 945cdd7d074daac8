/* SPDX-License-Identifier: MIT */
/* What it costs to ask whether a credential is new, and to take it: libcredfresh against stat() and a pointer under a
 * mutex. usage: lib DIRECTORY THREADS; prints NAME NANOSECONDS, for one operation of one of THREADS threads that do it
 * at once. */
#include <credfresh.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define ROUNDS 9

static struct credfresh *watcher;
static uint64_t sequence;
static char path[4096];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

struct counted {
    long count;
    const char *bytes;
};

static struct counted content = {1, "token"};
static struct counted *current = &content;

static void ask(void)
{
    if (credfresh_changed(watcher, sequence))
        abort();
}

static void look(void)
{
    struct stat st;

    if (stat(path, &st) != 0)
        abort();
}

static void take(void)
{
    credfresh_release(credfresh_acquire(watcher));
}

static void take_with_mutex(void)
{
    struct counted *mine;

    pthread_mutex_lock(&mutex);
    mine = current;
    mine->count++;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&mutex);
    mine->count--;
    pthread_mutex_unlock(&mutex);
}

struct job {
    void (*operation)(void);
    long times;
    double ns;
};

static void *run(void *argument)
{
    struct job *job = argument;
    struct timespec a;
    struct timespec b;

    pthread_barrier_wait(&barrier);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < job->times; i++)
        job->operation();
    clock_gettime(CLOCK_MONOTONIC, &b);
    job->ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)job->times;
    return NULL;
}

static double measure(void (*operation)(void), long times, int threads)
{
    pthread_t thread[64];
    struct job job[64];
    double sum = 0;

    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        job[i] = (struct job){operation, times, 0};
        pthread_create(&thread[i], NULL, run, &job[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        sum += job[i].ns;
    }
    pthread_barrier_destroy(&barrier);
    return sum / threads;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*operation)(void);
        long times;
    } operations[] = {{"changed", ask, 4000000},
                      {"stat", look, 200000},
                      {"acquire", take, 2000000},
                      {"mutex", take_with_mutex, 1000000}};
    int threads = argc == 3 ? atoi(argv[2]) : 0;

    if (threads < 1 || threads > 64 || credfresh_open(&watcher, argv[1], NULL, NULL, 0) != 0)
        return 2;
    sequence = credfresh_sequence(watcher);
    snprintf(path, sizeof path, "%s/token", argv[1]);
    for (int round = 0; round < ROUNDS; round++) /* in turns, so that a slow moment of the machine meets all of them */
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
            printf("%s %.2f\n", operations[i].name, measure(operations[i].operation, operations[i].times, threads));
    credfresh_close(watcher);
    return 0;
}
