/* SPDX-License-Identifier: MIT */
/* Preloaded: wall and boot clock of every program that has it are ahead of the machine's by as many
 * nanoseconds as the file says that CFR_CLOCK_AHEAD names. A test writes there while they run. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define LOOK_NS   INT64_C(5000000) /* so late at most an alarm is after the clock was put forward */

int clock_gettime(clockid_t id, struct timespec *out);
time_t time(time_t *out);
int timerfd_settime(int fd, int flags, const struct itimerspec *want, struct itimerspec *old);

typedef int settime_fn(int, int, const struct itimerspec *, struct itimerspec *);
typedef int gettime_fn(clockid_t, struct timespec *);

static gettime_fn *real_gettime;
static settime_fn *real_settime;
static const int64_t *ahead;

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

static struct timespec spec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
}

static void map(const char *path)
{
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (at == MAP_FAILED)
        abort();
    ahead = at;
    (void)close(fd);
}

/* Libraries may ask for the time before any constructor of ours would run. */
static void begin(void)
{
    if (ahead != NULL)
        return;
    /* ISO C has no conversion of an object pointer to a function pointer. */
    *(void **)(void *)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    *(void **)(void *)&real_settime = dlsym(RTLD_NEXT, "timerfd_settime");
    map(getenv("CFR_CLOCK_AHEAD"));
}

static int64_t ahead_ns(void)
{
    return __atomic_load_n(ahead, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    int rc;

    begin();
    rc = real_gettime(id, out);
    if (rc == 0 && (id == CLOCK_BOOTTIME || id == CLOCK_REALTIME))
        *out = spec_of(ns_of(*out) + ahead_ns());
    return rc;
}

time_t time(time_t *out)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *want, struct itimerspec *old)
{
    struct itimerspec spec = *want;
    struct timespec now = {0};
    int64_t at_ns = ns_of(spec.it_value);

    begin();
    /* Times of the boot clock; the watch for clock steps is set far ahead and left alone. */
    if ((flags & TFD_TIMER_ABSTIME) != 0 && (flags & TFD_TIMER_CANCEL_ON_SET) == 0 && at_ns != 0) {
        (void)real_gettime(CLOCK_BOOTTIME, &now);
        at_ns -= ahead_ns();
        if (at_ns > ns_of(now) + LOOK_NS)
            at_ns = ns_of(now) + LOOK_NS;
        spec.it_value = spec_of(at_ns > 0 ? at_ns : 1);
    }
    return real_settime(fd, flags, &spec, old);
}
