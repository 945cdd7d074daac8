/* SPDX-License-Identifier: MIT */
/* Texts and drawings of the status page. Drawings are SVG with attributes alone, which no style policy forbids. */
#include "serve/api/page_private.h"

#include "base/time.h"

#include <inttypes.h>

#define LIFE_WIDTH 1000

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void cfr_api_page_text(struct cfr_str *out, const char *text)
{
    struct cfr_view rest = cfr_view_of(text);

    while (rest.n != 0) {
        size_t n = cfr_view_utf8_len(rest);
        struct cfr_view one = {rest.p, n != 0 ? n : 1};
        const char *entity = entity_of(rest.p[0]);

        if (entity != NULL)
            cfr_str_addz(out, entity);
        else if (n != 0 && cfr_view_is_text(one))
            cfr_str_add(out, one);
        else
            cfr_str_addz(out, "?");
        rest = (struct cfr_view){rest.p + one.n, rest.n - one.n};
    }
}

void cfr_api_page_moment(struct cfr_str *out, int64_t at_s, int64_t now_s)
{
    char words[CFR_TIME_WORDS_MAX];

    if (at_s == now_s)
        cfr_str_addz(out, "just now");
    else if (at_s > now_s)
        cfr_str_addf(out, "in %s", cfr_time_words((at_s - now_s) * 1000, words));
    else
        cfr_str_addf(out, "%s ago", cfr_time_words((now_s - at_s) * 1000, words));
}

void cfr_api_page_life(struct cfr_str *out, const struct cfr_api_status_credential *c, int64_t now_s)
{
    int64_t life_s = c->expires_s - c->issued_s;
    int64_t left_s = now_s < c->issued_s ? life_s : now_s > c->expires_s ? 0 : c->expires_s - now_s;

    if (!c->published || c->issued_s == 0 || c->expires_s == 0 || life_s <= 0)
        return;
    cfr_str_addf(out,
                 "<svg class=\"life\" viewBox=\"0 0 %d 12\" preserveAspectRatio=\"none\" role=\"img\" "
                 "aria-label=\"%" PRId64 " %% of the lifetime is left\">"
                 "<rect class=\"track\" width=\"%d\" height=\"12\"/><rect class=\"left\" width=\"%" PRId64
                 "\" height=\"12\"/>",
                 LIFE_WIDTH, left_s * 100 / life_s, LIFE_WIDTH, left_s * LIFE_WIDTH / life_s);
    if (c->refresh_s > c->issued_s && c->refresh_s < c->expires_s)
        cfr_str_addf(out, "<rect class=\"due\" x=\"%" PRId64 "\" width=\"4\" height=\"12\"/>",
                     (c->expires_s - c->refresh_s) * LIFE_WIDTH / life_s);
    cfr_str_addz(out, "</svg>\n");
}

static void add_sums(struct cfr_str *out, const struct cfr_api_history *h)
{
    static const char *const names[] = {[CFR_API_HISTORY_GOOD] = "good",
                                        [CFR_API_HISTORY_FAILING] = "failing",
                                        [CFR_API_HISTORY_UNUSABLE] = "unusable"};
    bool some = false;

    for (size_t i = CFR_API_HISTORY_GOOD; i <= CFR_API_HISTORY_UNUSABLE; i++) {
        int64_t minutes = cfr_api_history_minutes(h, (enum cfr_api_history_health)i);
        char words[CFR_TIME_WORDS_MAX];

        if (minutes == 0)
            continue;
        cfr_str_addf(out, "%s%s %s", some ? ", " : "", names[i], cfr_time_words(minutes * 60000, words));
        some = true;
    }
    if (!some)
        cfr_str_addz(out, "no result yet");
}

void cfr_api_page_history(struct cfr_str *out, const struct cfr_api_history *h)
{
    /* The worse, the higher, so that colours are not needed to tell them apart. */
    static const struct {
        const char *class;
        int height;
    } bars[] = {[CFR_API_HISTORY_UNKNOWN] = {"track", 2},
                [CFR_API_HISTORY_GOOD] = {"good", 8},
                [CFR_API_HISTORY_FAILING] = {"failing", 14},
                [CFR_API_HISTORY_UNUSABLE] = {"bad", 20}};
    size_t age = CFR_API_HISTORY_SLOTS;

    cfr_str_addf(out,
                 "<svg class=\"day\" viewBox=\"0 0 %d 20\" preserveAspectRatio=\"none\" role=\"img\" "
                 "aria-label=\"the last 24 hours, the oldest first\">",
                 CFR_API_HISTORY_SLOTS);
    while (age > 0) {
        enum cfr_api_history_health health = cfr_api_history_at(h, age - 1);
        size_t end = age;

        while (end > 0 && cfr_api_history_at(h, end - 1) == health)
            end--;
        cfr_str_addf(out, "<rect class=\"%s\" x=\"%zu\" y=\"%d\" width=\"%zu\" height=\"%d\"/>", bars[health].class,
                     CFR_API_HISTORY_SLOTS - age, 20 - bars[health].height, age - end, bars[health].height);
        age = end;
    }
    cfr_str_addz(out, "</svg>\n<p class=\"axis\"><span>24 h ago</span><span>");
    add_sums(out, h);
    cfr_str_addz(out, "</span><span>now</span></p>\n");
}
