/* SPDX-License-Identifier: MIT */
/* Comparison of an error with the last one. */
#include "agent/loop/log_once.h"

#include "base/hash.h"

#include <string.h>

bool cfr_log_once_is_news(struct cfr_log_once *last, const struct cfr_err *err)
{
    struct cfr_log_once now = {err->code, CFR_HASH_START};
    bool news;

    for (const char *p = err->text; *p != '\0';) {
        size_t n = strcspn(p, " ");
        bool counts = strcspn(p, "0123456789") >= n;

        now.words = cfr_hash_add(now.words, p, counts ? n : 0);
        now.words = cfr_hash_add(now.words, " ", 1);
        p += n + strspn(p + n, " ");
    }
    news = now.code != last->code || now.words != last->words;
    *last = now;
    return news;
}
