/* SPDX-License-Identifier: MIT */
/* Subcommand init: writes a first configuration, and the Kubernetes objects for it, from the templates in init.txt. */
#include "agent/cmd/commands_private.h"

#include "agent/config/config.h"
#include "agent/loop/env.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX  65536
#define NAME_MAX_ 50 /* the longest name that is made of it is one of Kubernetes, which has at most 63 characters */

/* The service of a registry by the end of its host; without any it is "ecr". */
static const struct {
    const char *ending;
    const char *service;
} services[] = {{".pkg.dev", "artifact-registry"}, {"gcr.io", "artifact-registry"}, {".azurecr.io", "acr"}};

struct template
{
    const struct cfr_cli_options *options;
    const char *page; /* init.txt */
    const char *form;
    const char *service;
    const char *kind;
    const char *name; /* of the credential */
    const char *file; /* where the configuration will be, and the objects of the cluster */
    const char *kubernetes_file;
    uint64_t used; /* bit N: the N-th row of the options of cfr_cli_program */
};

static void expand(struct template *t, struct cfr_view text, struct cfr_str *out);

/* ---- options ---- */

/* The value of O, or NULL. */
static const char *given(const struct cfr_cli_options *options, const struct cfr_cli_option *o)
{
    const void *at = (const char *)options + o->offset;

    if (o->type == CFR_CLI_STRING)
        return *(const char *const *)at;
    if (o->type == CFR_CLI_STRINGS && ((const struct cfr_cli_names *)at)->count != 0)
        return ((const struct cfr_cli_names *)at)->items[0];
    return NULL;
}

/* The value of the option NAME, or NULL. It counts as used. */
static const char *value_of(struct template *t, struct cfr_view name)
{
    for (size_t i = 0; cfr_cli_program->options[i].name != NULL; i++) {
        if (!cfr_view_is(name, cfr_cli_program->options[i].name))
            continue;
        t->used |= UINT64_C(1) << i;
        return given(t->options, &cfr_cli_program->options[i]);
    }
    return NULL;
}

static bool is_name(const char *name)
{
    size_t n = strlen(name);

    return n > 0 && n <= NAME_MAX_ && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n && name[0] != '-' &&
           name[n - 1] != '-';
}

/* Complains about an option that what was written has no place for. */
static bool all_used(const struct template *t)
{
    const struct cfr_cli_command *c = cfr_cli_find("init");

    for (size_t i = 0; cfr_cli_program->options[i].name != NULL; i++) {
        const struct cfr_cli_option *o = &cfr_cli_program->options[i];
        const char *value = given(t->options, o);

        if (cfr_cli_part_of(c, o) == NULL || value == NULL || value == t->options->output)
            continue;
        if ((t->used >> i & 1) == 0) {
            cfr_cli_complain("--%s has no effect for %s with --%s: `credfresh help init %s` lists the options", o->name,
                             t->service, t->form, t->kind);
            return false;
        }
        if (!cfr_view_is_text(cfr_view_of(value)) ||
            (o->type == CFR_CLI_STRINGS &&
             ((const struct cfr_cli_names *)(const void *)((const char *)t->options + o->offset))->count > 1)) {
            cfr_cli_complain("--%s: give one value of one line", o->name);
            return false;
        }
    }
    return true;
}

/* ---- templates ---- */

/* The section with this name; false if there is none. */
static bool find_section(const struct template *t, const char *name, struct cfr_view *out)
{
    char heading[128];
    const char *begin;
    const char *end;

    (void)snprintf(heading, sizeof heading, "\n%%%% %s\n", name);
    begin = strstr(t->page, heading);
    if (begin == NULL)
        return false;
    begin += strlen(heading);
    end = strstr(begin - 1, "\n%% ");
    *out = cfr_view_of(begin);
    if (end != NULL)
        out->n = end > begin ? (size_t)(end - begin) : 0;
    while (out->n > 0 && out->p[out->n - 1] == '\n')
        out->n--;
    return true;
}

/* The most special section for NAME. Those that the page does not have are a defect of it, which a test finds. */
static struct cfr_view section_of(const struct template *t, struct cfr_view name)
{
    const char *const prefixes[][2] = {{t->form, t->service}, {t->form, t->kind}, {t->service, NULL},
                                       {t->kind, NULL},       {t->form, NULL},    {NULL, NULL}};
    struct cfr_view found = {"", 0};

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        char full[96];

        (void)snprintf(full, sizeof full, "%s%s%s%s%.*s", prefixes[i][0] != NULL ? prefixes[i][0] : "",
                       prefixes[i][0] != NULL ? "." : "", prefixes[i][1] != NULL ? prefixes[i][1] : "",
                       prefixes[i][1] != NULL ? "." : "", (int)name.n, name.p);
        if (find_section(t, full, &found))
            break;
    }
    return found;
}

/* As a scalar of YAML. */
static void add_quoted(struct cfr_str *out, const char *prefix, struct cfr_view text)
{
    cfr_str_addf(out, "\"%s", prefix);
    for (size_t i = 0; i < text.n; i++)
        cfr_str_addf(out, "%s%c", text.p[i] == '"' || text.p[i] == '\\' ? "\\" : "", text.p[i]);
    cfr_str_addz(out, "\"");
}

/* Appends what the FIELD between "@{" and "}" stands for; false if its line is to be left out. */
static bool add_field(struct template *t, struct cfr_view field, struct cfr_str *out)
{
    ptrdiff_t bar = cfr_view_find(field, "|");
    struct cfr_view name = {field.p, bar >= 0 ? (size_t)bar : field.n};
    bool optional = name.n > 0 && name.p[name.n - 1] == '?';
    const char *value;

    name.n -= optional ? 1 : 0;
    value = value_of(t, name);
    if (cfr_view_is(name, "name"))
        cfr_str_addz(out, t->name);
    else if (cfr_view_is(name, "file"))
        cfr_str_addz(out, t->file);
    else if (cfr_view_is(name, "kubernetes_file"))
        cfr_str_addz(out, t->kubernetes_file);
    else if (value != NULL)
        add_quoted(out, "", cfr_view_of(value));
    else if (bar >= 0)
        add_quoted(out, "REPLACE-ME with ", (struct cfr_view){field.p + bar + 1, field.n - (size_t)bar - 1});
    else if (!optional)
        expand(t, section_of(t, name), out);
    return !optional || value != NULL;
}

/* Appends TEXT with its fields replaced. Its lines after the first begin in the column in which OUT ends. */
static void expand(struct template *t, struct cfr_view text, struct cfr_str *out)
{
    const char *newline = out->p != NULL ? memrchr(out->p, '\n', out->len) : NULL;
    size_t column = out->len - (newline != NULL ? (size_t)(newline + 1 - out->p) : 0);
    size_t begin = out->len;
    struct cfr_view line;

    while (cfr_view_line(&text, &line)) {
        size_t before = out->len;
        size_t start;
        bool keep = true;
        ptrdiff_t at;

        if (before != begin)
            cfr_str_addf(out, "\n%*s", (int)column, "");
        start = out->len;
        while ((at = cfr_view_find(line, "@{")) >= 0) {
            struct cfr_view field = {line.p + at + 2, line.n - (size_t)at - 2};

            cfr_str_add(out, (struct cfr_view){line.p, (size_t)at});
            field.n = (size_t)cfr_view_find(field, "}");
            keep = add_field(t, field, out) && keep;
            line.n -= (size_t)(field.p + field.n + 1 - line.p);
            line.p = field.p + field.n + 1;
        }
        cfr_str_add(out, line);
        if (!out->failed && (!keep || cfr_view_trim((struct cfr_view){out->p + start, out->len - start}).n == 0))
            out->len = before;
    }
}

/* ---- files ---- */

static bool write_new(const char *path, const struct cfr_str *text)
{
    FILE *to = fopen(path, "wxe"); /* x: a file that exists is never overwritten */
    bool good;

    if (to == NULL) {
        cfr_cli_complain("cannot make %s: %s%s", path, strerror(errno), // NOLINT(concurrency-mt-unsafe): one thread
                         errno == EEXIST ? "; remove it, or write to another file" : "");
        return false;
    }
    good = fwrite(text->p, 1, text->len, to) == text->len;
    good = fclose(to) == 0 && good;
    if (!good) {
        cfr_cli_complain("cannot write %s: %s", path, strerror(errno)); // NOLINT(concurrency-mt-unsafe): one thread
        (void)unlink(path);
    }
    return good;
}

/* What is left to do, with the placeholders as `check` reports them. */
static void print_next(const struct template *t, const char *path)
{
    struct cfr_config *config = NULL;
    struct cfr_str problems = {.limit = TEXT_MAX};
    struct cfr_err err = {0};

    if (cfr_config_load(path, cfr_env_get, &config, &problems, &err) != 0)
        (void)fprintf(stderr, "Complete it:\n%s", problems.len != 0 ? problems.p : "");
    (void)fprintf(stderr, "Then check it: credfresh check -c %s\n", path);
    if (t->kubernetes_file[0] != '\0')
        (void)fprintf(stderr, "The first lines of the other file say how to apply it.\n");
    cfr_str_free(&problems);
    cfr_config_free(config);
}

static int write_files(const struct template *t, const char *path, const char *kubernetes_path,
                       const struct cfr_str *configuration, const struct cfr_str *kubernetes)
{
    bool both = kubernetes->len != 0;

    if (!write_new(path, configuration))
        return CFR_EXIT_FAILED;
    if (both && !write_new(kubernetes_path, kubernetes)) {
        (void)unlink(path);
        return CFR_EXIT_FAILED;
    }
    (void)fprintf(stderr, "Wrote %s%s%s\n", path, both ? ", and for Kubernetes " : "", both ? kubernetes_path : "");
    print_next(t, path);
    return CFR_EXIT_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static const char *service_of(const struct cfr_cli_options *o, const char *kind)
{
    const char *host = o->init.registry != NULL ? o->init.registry : "";

    if (strcmp(kind, "registry") != 0)
        return kind;
    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++) {
        size_t n = strlen(services[i].ending);

        if (strlen(host) >= n && strcmp(host + strlen(host) - n, services[i].ending) == 0)
            return services[i].service;
    }
    return "ecr";
}

int cfr_cmd_init(const struct cfr_cli_options *o)
{
    const char *path = o->output != NULL ? o->output : "credfresh.yaml";
    size_t stem = strlen(path) - (strlen(path) > 5 && strcmp(path + strlen(path) - 5, ".yaml") == 0 ? 5 : 0);
    char kubernetes_path[PATH_MAX];
    struct template t = {
        .options = o,
        .form = o->init.node     ? "node"
                : o->init.secret ? "secret"
                                 : "sidecar",
        .kind = o->args[0],
        .name = o->names.count != 0 ? o->names.items[0] : "app",
        .file = base_name(path),
        .kubernetes_file = "",
    };
    struct cfr_str configuration = {.limit = TEXT_MAX};
    struct cfr_str kubernetes = {.limit = TEXT_MAX};
    char *page;
    int status;

    if (cfr_cli_find_verb(cfr_cli_find("init"), t.kind) == NULL) {
        cfr_cli_complain("init %s: write aws, gcp, azure, openstack, registry or oauth", t.kind);
        return CFR_EXIT_USAGE;
    }
    if (o->init.sidecar + o->init.node + o->init.secret > 1) {
        cfr_cli_complain("init takes one of --sidecar, --node and --secret");
        return CFR_EXIT_USAGE;
    }
    if (!is_name(t.name)) {
        cfr_cli_complain("--name %s: use at most %d lower-case letters, digits and hyphens between them", t.name,
                         NAME_MAX_);
        return CFR_EXIT_USAGE;
    }
    if ((size_t)snprintf(kubernetes_path, sizeof kubernetes_path, "%.*s-kubernetes.yaml", (int)stem, path) >=
        sizeof kubernetes_path) {
        cfr_cli_complain("-o: the path is too long");
        return CFR_EXIT_USAGE;
    }
    t.service = service_of(o, t.kind);
    t.kubernetes_file = o->init.node ? "" : base_name(kubernetes_path);
    page = cfr_cmd_page("init");
    t.page = page;
    if (page != NULL) {
        expand(&t, section_of(&t, cfr_view_of("configuration")), &configuration);
        expand(&t, section_of(&t, cfr_view_of("kubernetes")), &kubernetes);
    }
    cfr_str_addz(&configuration, "\n");
    cfr_str_addz(&kubernetes, o->init.node ? "" : "\n");
    if (page == NULL || configuration.failed || kubernetes.failed) {
        cfr_cli_complain("out of memory");
        status = CFR_EXIT_FAILED;
    } else if (!all_used(&t)) {
        status = CFR_EXIT_USAGE;
    } else if (o->output != NULL) {
        status = write_files(&t, path, kubernetes_path, &configuration, &kubernetes);
    } else {
        status = fputs(configuration.p, stdout) >= 0 && fflush(stdout) == 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
    }
    free(page);
    cfr_str_free(&configuration);
    cfr_str_free(&kubernetes);
    return status;
}
