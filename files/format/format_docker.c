/* SPDX-License-Identifier: MIT */
/* The output format of container registries' logins: docker's config.json, which podman, skopeo, buildah,
 * containerd's tools and Kubernetes' secrets of type kubernetes.io/dockerconfigjson read too; and its merge into one
 * that has other registries' logins and docker's own settings. */
#include "files/format/format_private.h"

#include "base/json.h"

#include <string.h>

#define AUTHS     "auths"
#define THERE_MAX 262144 /* more than any client writes; parsing takes several times as much memory */

int cfr_format_docker_config(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {
        .secret = out, .err = err, .rc = cfr_format_need(in, "docker-config", CFR_FIELD_REGISTRY_AUTHS, err)};

    cfr_writer_object(&p, NULL);
    cfr_writer_object(&p, AUTHS);
    cfr_writer_view(&p, cfr_format_get(in, CFR_FIELD_REGISTRY_AUTHS));
    cfr_writer_close(&p);
    cfr_writer_close(&p);
    cfr_writer_text(&p, "\n");
    return p.rc;
}

/* ---- merging ---- */

/* A JSON object: as it was parsed, and its text. Values are copied from the text, which keeps the numbers and escapes
 * of other programs as they wrote them. */
struct object {
    const struct cfr_json *value;
    struct cfr_view text;
};

static bool is_between(char c)
{
    return (unsigned char)c <= ' ' || c == ',' || c == ':';
}

/* Cuts the next value, or the next member's name, off *REST: the inside of an object that was parsed. */
static struct cfr_view cut_value(struct cfr_view *rest)
{
    struct cfr_view out;
    bool quoted = false;
    size_t depth = 0;
    size_t i = 0;

    while (rest->n != 0 && is_between(*rest->p)) {
        rest->p++;
        rest->n--;
    }
    for (; i < rest->n; i++) {
        char c = rest->p[i];

        if (quoted && c == '\\') {
            i++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == '{' || c == '[')) {
            depth++;
            continue;
        } else if (!quoted && (c == '}' || c == ']')) {
            if (depth == 0)
                break;
            depth--;
        } else if (!quoted && depth == 0 && is_between(c)) {
            break;
        } else {
            continue;
        }
        if (!quoted && depth == 0) {
            i++;
            break;
        }
    }
    i = i < rest->n ? i : rest->n;
    out = (struct cfr_view){rest->p, i};
    *rest = (struct cfr_view){rest->p + i, rest->n - i};
    return out;
}

/* The inside of the object that TEXT is. */
static struct cfr_view inside_of(struct cfr_view text)
{
    const char *open = text.n != 0 ? memchr(text.p, '{', text.n) : NULL;

    return open == NULL ? (struct cfr_view){NULL, 0}
                        : (struct cfr_view){open + 1, text.n - (size_t)(open + 1 - text.p)};
}

static bool has_member(const struct cfr_json *object, struct cfr_view name)
{
    for (const struct cfr_json *m = cfr_json_first(object); m != NULL; m = cfr_json_next(m)) {
        if (cfr_view_eq(cfr_json_key(m), name))
            return true;
    }
    return false;
}

/* Appends the members of O that SKIP does not have. */
static void copy_members(struct cfr_writer *w, struct object o, const struct cfr_json *skip, bool *comma)
{
    struct cfr_view rest = inside_of(o.text);

    for (const struct cfr_json *m = cfr_json_first(o.value); m != NULL; m = cfr_json_next(m)) {
        struct cfr_view name = cut_value(&rest);
        struct cfr_view value = cut_value(&rest);

        if (has_member(skip, cfr_json_key(m)))
            continue;
        cfr_writer_text(w, *comma ? "," : "");
        cfr_writer_view(w, name);
        cfr_writer_text(w, ":");
        cfr_writer_view(w, value);
        *comma = true;
    }
}

/* Appends the logins of OURS, then those of each `auths` of THERE that OURS does not have: a name can occur twice. */
static void write_auths(struct cfr_writer *w, struct object there, const struct cfr_json *ours, struct cfr_view text)
{
    struct cfr_view rest = inside_of(there.text);
    bool comma = false;

    copy_members(w, (struct object){ours, text}, NULL, &comma);
    for (const struct cfr_json *m = cfr_json_first(there.value); m != NULL; m = cfr_json_next(m)) {
        struct cfr_view value = (cut_value(&rest), cut_value(&rest));

        if (cfr_view_is(cfr_json_key(m), AUTHS))
            copy_members(w, (struct object){m, value}, ours, &comma);
    }
}

/* Parses the config that another program may have written. */
static int parse_there(struct cfr_view there, struct cfr_json **doc, struct cfr_err *err)
{
    struct cfr_err why = {0};
    int rc;

    *doc = NULL;
    if (there.n > THERE_MAX)
        return cfr_err_set(err, CFR_E_LIMIT,
                           "it is larger than %d KiB, so the logins of other registries in it cannot be kept: remove "
                           "what no client needs",
                           THERE_MAX / 1024);
    rc = cfr_json_parse(there, doc, &why);
    for (const struct cfr_json *m = cfr_json_first(*doc); rc == 0 && m != NULL; m = cfr_json_next(m)) {
        if (cfr_view_is(cfr_json_key(m), AUTHS) && !cfr_json_is_object(m) && !cfr_json_is_null(m))
            rc = cfr_err_set(&why, CFR_E_CONFLICT, "its `auths` is not an object");
    }
    if (rc == 0 && !cfr_json_is_object(*doc))
        rc = cfr_err_set(&why, CFR_E_CONFLICT, "it is JSON, but not an object");
    if (rc == CFR_E_NOMEM)
        return cfr_err_nomem(err);
    return rc == 0 ? 0
                   : cfr_err_set(err, CFR_E_CONFLICT,
                                 "%s; the logins of other registries in it cannot be kept: correct it, or remove it",
                                 why.text);
}

int cfr_format_docker_merge(struct cfr_view there, struct cfr_secret *content, struct cfr_err *err)
{
    struct cfr_json *theirs = NULL;
    struct cfr_json *ours = NULL;
    struct cfr_secret merged;
    int rc;

    if (cfr_view_trim(there).n == 0)
        return 0;
    cfr_secret_init(&merged, content->limit);
    rc = parse_there(there, &theirs, err);
    rc = rc != 0 ? rc : cfr_json_parse_own(cfr_secret_view(content), &ours, err);
    if (rc == 0) {
        struct cfr_writer w = {.secret = &merged, .err = err};
        struct cfr_view rest = inside_of(cfr_secret_view(content));
        bool comma = true;

        (void)cut_value(&rest);
        cfr_writer_text(&w, "{\"" AUTHS "\":{");
        write_auths(&w, (struct object){theirs, there}, cfr_json_get(ours, AUTHS), cut_value(&rest));
        cfr_writer_text(&w, "}");
        copy_members(&w, (struct object){theirs, there}, ours, &comma);
        cfr_writer_text(&w, "}\n");
        rc = w.rc;
    }
    if (rc == 0)
        cfr_secret_move(content, &merged);
    cfr_json_free(theirs);
    cfr_json_free(ours);
    cfr_secret_free(&merged);
    return rc;
}

/* docker asks the helper of a registry, or else that of all registries, and never looks at `auths` then. */
const char *cfr_format_docker_ignored(struct cfr_view there, struct cfr_view ours)
{
    struct cfr_json *theirs = NULL;
    struct cfr_json *own = NULL;
    const char *key = NULL;

    (void)cfr_json_parse(there, &theirs, NULL);
    (void)cfr_json_parse_own(ours, &own, NULL);
    if (cfr_json_text(theirs, "credsStore").n != 0)
        key = "credsStore";
    for (const struct cfr_json *m = cfr_json_first(cfr_json_get(theirs, "credHelpers")); m != NULL;
         m = cfr_json_next(m)) {
        if (has_member(cfr_json_get(own != NULL ? own : theirs, AUTHS), cfr_json_key(m)))
            key = "credHelpers";
    }
    cfr_json_free(theirs);
    cfr_json_free(own);
    return key;
}
