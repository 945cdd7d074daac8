/* SPDX-License-Identifier: MIT */
/* Notification protocol of the service manager (sd_notify(3)), without its library.
 *
 * Reads the environment, never blocks, keeps nothing, and ignores every failure. */
#ifndef CFR_AGENT_LOOP_SD_NOTIFY_H
#define CFR_AGENT_LOOP_SD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Sends STATE ("RELOADING=1\n...") to $NOTIFY_SOCKET; does nothing where there is none. Never blocks. */
void cfr_sd_notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Sends the text as STATUS=, after READY=1 if READY. It may repeat what others wrote: a line feed in it would begin
 * another assignment, so it is shown as by cfr_view_show. */
void cfr_sd_notify_status(bool ready, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* True if $NOTIFY_SOCKET is set. */
bool cfr_sd_notify_is_on(void);
/* How often WATCHDOG=1 is due, in milliseconds (half of $WATCHDOG_USEC); 0 = never. */
int64_t cfr_sd_notify_watchdog_ms(void);
/* True if standard error is the journal's: $JOURNAL_STREAM names its device and inode (systemd.exec(5)). */
bool cfr_sd_notify_to_journal(void);

#endif
