/* SPDX-License-Identifier: MIT */
/* Writes states and the summary, for people or as JSON lines. */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"

static const char *const cfw_reader_names[] = {"names", "snapshot", "single"};

struct printable {
    char text[512];
};

/* File names are anybody's bytes; a terminal and a JSON parser get only what they can take. */
static struct printable printable(const char *raw)
{
    struct printable p;
    size_t n = strnlen(raw, sizeof p.text - 1);
    for (size_t i = 0; i < n; i++)
        p.text[i] = (char)(raw[i] >= 0x20 && raw[i] < 0x7f ? raw[i] : '?');
    p.text[n] = '\0';
    return p;
}

static struct printable iso_time(int64_t seconds)
{
    struct printable p;
    struct tm tm;
    time_t when = (time_t)seconds;
    if (!gmtime_r(&when, &tm) || strftime(p.text, sizeof p.text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        (void)snprintf(p.text, sizeof p.text, "%" PRId64, seconds);
    return p;
}

static void print_line(const json_t *object)
{
    (void)json_dumpf(object, stdout, JSON_COMPACT);
    (void)putchar('\n');
    (void)fflush(stdout);
}

static void set_text(json_t *object, const char *key, const char *raw)
{
    (void)json_object_set_new(object, key, json_string(printable(raw).text));
}

static void set_count(json_t *object, const char *key, uint64_t value)
{
    (void)json_object_set_new(object, key, json_integer((json_int_t)value));
}

void cfw_report_start(const struct cfw_options *o)
{
    if (!o->json) {
        (void)printf("watching %s%s\n", o->dir ? printable(o->dir).text : "single files",
                     o->dir && o->n_files ? " and single files" : "");
        (void)fflush(stdout);
        return;
    }
    json_t *line = json_object();
    set_text(line, "type", "watching");
    if (o->dir)
        set_text(line, "directory", o->dir);
    print_line(line);
    json_decref(line);
}

static json_t *fact_json(const struct cfw_fact *fact)
{
    char mode[8];
    json_t *file = json_object();
    set_text(file, "name", fact->name);
    if (fact->err) {
        set_text(file, "error", strerror(fact->err));
        return file;
    }
    (void)snprintf(mode, sizeof mode, "%04o", fact->mode);
    set_text(file, "kind", cfw_content_kind_name(fact->content.kind));
    set_count(file, "size", fact->size);
    set_count(file, "inode", fact->inode);
    set_text(file, "mode", mode);
    if (fact->content.n_ids > 0 && fact->content.ids[0].key_end[0] != '\0')
        set_text(file, "key_id_end", fact->content.ids[0].key_end);
    if (fact->content.generation >= 0)
        set_count(file, "generation", (uint64_t)fact->content.generation);
    if (fact->content.expires_s != CFW_NO_TIME)
        set_text(file, "expires", iso_time(fact->content.expires_s).text);
    return file;
}

static void state_json(const struct cfw_stats *stats, const char *target, const struct cfw_view *view,
                       const struct cfw_verdict *verdict)
{
    json_t *line = json_object();
    json_t *files = json_array();
    json_t *flaws = json_array();
    set_text(line, "type", "state");
    (void)json_object_set_new(line, "at_s", json_real(stats->seconds));
    set_count(line, "state", stats->states);
    set_text(line, "target", target);
    set_text(line, "reader", cfw_reader_names[view->reader]);
    set_text(line, "generation_dir", view->generation);
    for (size_t i = 0; i < view->n; i++)
        (void)json_array_append_new(files, fact_json(&view->facts[i]));
    for (size_t i = 0; i < verdict->n; i++) {
        json_t *flaw = json_object();
        set_text(flaw, "flaw", cfw_judge_flaw_name(verdict->findings[i].flaw));
        set_text(flaw, "file", verdict->findings[i].name);
        set_text(flaw, "why", verdict->findings[i].why);
        (void)json_array_append_new(flaws, flaw);
    }
    (void)json_object_set_new(line, "files", files);
    (void)json_object_set_new(line, "flaws", flaws);
    print_line(line);
    json_decref(line);
}

static void print_fact(const struct cfw_fact *fact)
{
    (void)printf("  %s", printable(fact->name).text);
    if (fact->err) {
        (void)printf(" (%s)", strerror(fact->err));
        return;
    }
    (void)printf(" %zu B #%ju %04o", fact->size, (uintmax_t)fact->inode, fact->mode);
    if (fact->content.n_ids > 0 && fact->content.ids[0].key_end[0] != '\0')
        (void)printf(" key ..%s", fact->content.ids[0].key_end);
    if (fact->content.expires_s != CFW_NO_TIME)
        (void)printf(" expires %s", iso_time(fact->content.expires_s).text);
}

void cfw_report_state(const struct cfw_options *o, const struct cfw_stats *stats, const char *target,
                      const struct cfw_view *view, const struct cfw_verdict *verdict)
{
    if (o->json) {
        state_json(stats, target, view, verdict);
        return;
    }
    (void)printf("%9.3f s  state %" PRIu64 "  %s  %s %s%s", stats->seconds, stats->states, printable(target).text,
                 cfw_reader_names[view->reader], printable(view->generation).text, verdict->n ? "  BAD" : "  ok");
    for (size_t i = 0; i < view->n; i++)
        print_fact(&view->facts[i]);
    (void)putchar('\n');
    for (size_t i = 0; i < verdict->n; i++)
        (void)printf("             %s: %s: %s\n", cfw_judge_flaw_name(verdict->findings[i].flaw),
                     printable(verdict->findings[i].name).text, printable(verdict->findings[i].why).text);
    (void)fflush(stdout);
}

void cfw_report_count(struct cfw_stats *stats, const char *target, const struct cfw_view *view,
                      const struct cfw_verdict *verdict)
{
    for (size_t i = 0; i < verdict->n; i++) {
        const struct cfw_finding *finding = &verdict->findings[i];
        if (cfw_report_failures(stats) == 0)
            (void)snprintf(stats->first_failure, sizeof stats->first_failure,
                           "%s at %.3f s: %.180s %.100s: %.159s (%s reader)", cfw_judge_flaw_name(finding->flaw),
                           stats->seconds, printable(target).text, printable(finding->name).text,
                           printable(finding->why).text, cfw_reader_names[view->reader]);
        stats->flaws[finding->flaw]++;
    }
}

uint64_t cfw_report_failures(const struct cfw_stats *stats)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < CFW_FLAWS; i++)
        sum += stats->flaws[i];
    return sum;
}

static json_t *summary_json(const struct cfw_stats *stats)
{
    json_t *line = json_object();
    set_text(line, "type", "summary");
    (void)json_object_set_new(line, "seconds", json_real(stats->seconds));
    set_count(line, "observations", stats->observations);
    set_count(line, "events", stats->events);
    set_count(line, "states", stats->states);
    set_count(line, "generations", stats->generations);
    for (size_t i = 0; i < CFW_FLAWS; i++)
        set_count(line, cfw_judge_flaw_name((enum cfw_flaw)i), stats->flaws[i]);
    set_count(line, "stumbles", stats->luck.stumbles);
    set_count(line, "discarded", stats->luck.discarded);
    set_count(line, "unread", stats->luck.unread);
    (void)json_object_set_new(line, "ok", json_boolean(cfw_report_failures(stats) == 0));
    if (stats->first_failure[0] != '\0')
        set_text(line, "first_failure", stats->first_failure);
    return line;
}

static void print_summary(const struct cfw_stats *stats)
{
    (void)printf("%" PRIu64 " observations in %.3f s, %" PRIu64 " events: %" PRIu64 " states, %" PRIu64 " generations;",
                 stats->observations, stats->seconds, stats->events, stats->states, stats->generations);
    for (size_t i = 0; i < CFW_FLAWS; i++)
        (void)printf(" %s %" PRIu64 "%s", cfw_judge_flaw_name((enum cfw_flaw)i), stats->flaws[i],
                     i + 1 < CFW_FLAWS ? "," : "\n");
    if (stats->first_failure[0] != '\0')
        (void)printf("first failure: %s\n", stats->first_failure);
    (void)fflush(stdout);
}

static int write_report(const char *path, const json_t *summary)
{
    size_t size = strlen(path) + sizeof ".new";
    char *draft = malloc(size);
    int r = -1;
    if (draft) {
        (void)snprintf(draft, size, "%s.new", path);
        r = json_dump_file(summary, draft, JSON_INDENT(2));
        if (r == 0)
            r = rename(draft, path);
    }
    if (r != 0)
        (void)fprintf(stderr, "credfresh-witness: --report %s: %s\n", path, strerror(errno));
    free(draft);
    return r;
}

int cfw_report_summary(const struct cfw_options *o, const struct cfw_stats *stats)
{
    json_t *summary = summary_json(stats);
    int r = 0;
    if (o->json)
        print_line(summary);
    else
        print_summary(stats);
    if (o->report)
        r = write_report(o->report, summary);
    json_decref(summary);
    return r;
}
