/* SPDX-License-Identifier: MIT */
/* Accepts waiting clients so that no program's share grows with the number of its connections. */
#include "agent/httpd/admission_private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ACCEPT_MAX 4096 /* in one call, so that those accepted before get their turn */

/* Closes the oldest newcomer of the group that has the most, if possible one that asks for nothing yet. */
static void drop_one(struct cfr_httpd_newcomers *out)
{
    size_t victim = 0;

    for (size_t i = 1; i < out->count; i++) {
        const struct cfr_httpd_newcomer *one = &out->items[i];
        const struct cfr_httpd_newcomer *worst = &out->items[victim];

        if (one->group->newcomers > worst->group->newcomers ||
            (one->group == worst->group && worst->asks && !one->asks))
            victim = i;
    }
    (void)close(out->items[victim].fd);
    out->items[victim].group->newcomers--;
    out->count--;
    memmove(out->items + victim, out->items + victim + 1, (out->count - victim) * sizeof out->items[0]);
}

int cfr_httpd_admission_collect(int listen_fd, size_t most, cfr_httpd_group_fn *group_of, void *ctx,
                                struct cfr_httpd_newcomers *out)
{
    out->count = 0;
    if (most == 0 || most > CFR_HTTPD_NEWCOMERS_MAX)
        most = CFR_HTTPD_NEWCOMERS_MAX;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        struct cfr_httpd_newcomer one = {.n = sizeof one.address};

        one.fd = accept4(listen_fd, &one.address.any, &one.n, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (one.fd < 0 && (errno == ECONNABORTED || errno == EINTR))
            continue;
        if (one.fd < 0)
            return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM ? errno : 0;
        if (one.n > sizeof one.address)
            one.n = sizeof one.address; /* the path of a Unix socket's client, which nothing reads */
        one.group = group_of(ctx, &one);
        if (one.group == NULL) {
            (void)close(one.fd);
            continue;
        }
        if (out->count == most)
            drop_one(out);
        one.group->newcomers++;
        out->items[out->count++] = one;
    }
    return 0;
}
