/* SPDX-License-Identifier: MIT */
/* Pauses that end at once when the program stops. */
#include "pause.h"

#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool stopping;

bool lc_pause(double ms)
{
    struct timespec until = {0};
    long long whole_ns = (long long)((ms < 0 ? 0 : ms > 1e9 ? 1e9 : ms) * 1e6);
    bool stop = false;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(whole_ns / 1000000000);
    until.tv_nsec += (long)(whole_ns % 1000000000);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_mutex_lock(&lock);
    while (!stopping && pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until) == 0) {
    }
    stop = stopping;
    (void)pthread_mutex_unlock(&lock);
    return stop;
}

void lc_pause_stop(void)
{
    (void)pthread_mutex_lock(&lock);
    stopping = true;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}
