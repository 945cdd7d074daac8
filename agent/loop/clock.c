/* SPDX-License-Identifier: MIT */
/* Clocks, jitter, and the descriptor for changes of the wall clock. */
#include "agent/loop/clock.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SKEW_MS INT64_C(30000)
/* The two clocks are not read at once, and one is slowed down or hurried while it is adjusted. */
#define STEP_MS 1000

static int64_t read_ms(clockid_t id)
{
    struct timespec t = {0};

    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct cfr_now cfr_clock_now(void)
{
    return (struct cfr_now){read_ms(CLOCK_REALTIME), read_ms(CLOCK_BOOTTIME)};
}

int64_t cfr_clock_monotonic_us(void)
{
    struct timespec t = {0};

    /* To the microsecond: a service manager drops what seems older than the reload that it began. */
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

double cfr_clock_chance(void)
{
    uint32_t bits = 0;

    /* Jitter is no secret: if the kernel has no random bytes yet, none is needed. */
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits)
        bits = (uint32_t)read_ms(CLOCK_BOOTTIME) * 2654435761U;
    return (double)bits / 4294967296.0;
}

int64_t cfr_clock_grantor_ms(int64_t server_date_s, struct cfr_now now)
{
    int64_t skew_ms = server_date_s != 0 ? server_date_s * 1000 - now.wall_ms : 0;

    return skew_ms > SKEW_MS || skew_ms < -SKEW_MS ? server_date_s * 1000 : now.wall_ms;
}

int64_t cfr_clock_set_back_ms(struct cfr_now now, int64_t wall_ms, int64_t boot_ms)
{
    int64_t by_ms;

    if (wall_ms == INT64_MAX || boot_ms == INT64_MAX)
        return 0;
    by_ms = (wall_ms - boot_ms) - (now.wall_ms - now.boot_ms);
    return by_ms >= STEP_MS ? by_ms : 0;
}

static void arm_step(int fd)
{
    /* Never meant to expire; its use is that setting the clock cancels it. */
    struct itimerspec spec = {.it_value = {.tv_sec = (time_t)4102444800}};

    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &spec, NULL);
}

int cfr_clock_open_step(struct cfr_err *err)
{
    int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot make a clock watch");
    arm_step(fd);
    return fd;
}

void cfr_clock_drain_step(int fd)
{
    uint64_t count;
    ssize_t ignored = read(fd, &count, sizeof count);

    (void)ignored;
    arm_step(fd);
}
