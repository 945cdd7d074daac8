/* SPDX-License-Identifier: MIT */
/* Preloaded: a clock that runs sixty times as fast, so that what happens once a minute is seen within a second. */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

#define SPEED     60
#define SECOND_NS INT64_C(1000000000)

int clock_gettime(clockid_t id, struct timespec *out);
int timerfd_settime(int fd, int flags, const struct itimerspec *want, struct itimerspec *old);

typedef int settime_fn(int, int, const struct itimerspec *, struct itimerspec *);
typedef int gettime_fn(clockid_t, struct timespec *);

static gettime_fn *real_gettime;
static settime_fn *real_settime;
static int64_t began_ns; /* of the boot clock */

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

static struct timespec spec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
}

static int64_t boot_ns(void)
{
    struct timespec t = {0};

    (void)real_gettime(CLOCK_BOOTTIME, &t);
    return ns_of(t);
}

/* Libraries may ask for the time before any constructor of ours would run. */
static void begin(void)
{
    if (real_settime != NULL)
        return;
    /* ISO C has no conversion of an object pointer to a function pointer. */
    *(void **)(void *)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    *(void **)(void *)&real_settime = dlsym(RTLD_NEXT, "timerfd_settime");
    began_ns = boot_ns();
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    int rc;

    begin();
    rc = real_gettime(id, out);
    if (rc == 0 && (id == CLOCK_BOOTTIME || id == CLOCK_REALTIME))
        *out = spec_of(ns_of(*out) + (boot_ns() - began_ns) * (SPEED - 1));
    return rc;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *want, struct itimerspec *old)
{
    struct itimerspec spec = *want;
    int64_t at_ns = ns_of(spec.it_value);

    begin();
    /* Times of the fast boot clock; the watch for clock steps is set far ahead and left alone. */
    if ((flags & TFD_TIMER_ABSTIME) != 0 && (flags & TFD_TIMER_CANCEL_ON_SET) == 0 && at_ns != 0)
        spec.it_value = spec_of(at_ns <= began_ns ? began_ns : began_ns + (at_ns - began_ns) / SPEED);
    return real_settime(fd, flags, &spec, old);
}
