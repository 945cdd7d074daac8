/* SPDX-License-Identifier: MIT */
/* The two clocks: wall time, which people and clouds mean and which may step, and boot time, which runs through
 * suspend and never steps.
 *
 * Nothing blocks and nothing is kept; descriptors belong to the caller, which closes them. No callbacks. Only the two
 * functions that open a descriptor fail: they return it, or a negative code with ERR set. */
#ifndef CFR_AGENT_LOOP_CLOCK_H
#define CFR_AGENT_LOOP_CLOCK_H

#include "base/err.h"

#include <stdint.h>

struct cfr_now {
    int64_t wall_ms;
    int64_t boot_ms;
};

struct cfr_now cfr_clock_now(void);
/* The wall clock, in milliseconds at NOW, of a server whose answer has the date SERVER_DATE_S (0 = none): that date if
 * it differs from this machine's clock by more than 30 s, else this machine's clock. */
int64_t cfr_clock_grantor_ms(int64_t server_date_s, struct cfr_now now);
/* How far the wall clock was set back by NOW, since the moment WALL_MS was the moment BOOT_MS. 0 if by less than a
 * second, and if either is INT64_MAX. */
int64_t cfr_clock_set_back_ms(struct cfr_now now, int64_t wall_ms, int64_t boot_ms);
/* CLOCK_MONOTONIC in microseconds, for the service manager. */
int64_t cfr_clock_monotonic_us(void);
/* A number in [0, 1) from the kernel's random source. */
double cfr_clock_chance(void);

/* A descriptor that becomes readable when the wall clock is set. */
int cfr_clock_open_step(struct cfr_err *err);
/* To be called when it is readable; re-arms it. */
void cfr_clock_drain_step(int fd);

#endif
