/* SPDX-License-Identifier: MIT */
/* Where the agent of a configuration is asked. */
#include "agent/config/config_private.h"

#include "agent/config/schema_private.h"
#include "base/secret.h"
#include "base/str.h"
#include "base/yaml.h"
#include "files/file.h"

#include <stdlib.h>
#include <string.h>

/* What of a configuration says where the socket is; empty views: it does not. */
struct places {
    struct cfr_view control_socket;
    struct cfr_view state_dir;
};

static struct cfr_view top_text(const struct cfr_yaml *doc, const char *key)
{
    const struct cfr_yaml_node *value = cfr_yaml_get(cfr_yaml_root(doc), key, NULL);

    return value != NULL && value->kind == CFR_YAML_SCALAR ? value->text : (struct cfr_view){NULL, 0};
}

/* The path in "KEY: /PATH", plain or in quotes, perhaps with a comment; else an empty view. */
static struct cfr_view path_in_line(struct cfr_view line, const char *key)
{
    const size_t n = strlen(key);
    struct cfr_view value;
    ptrdiff_t comment;

    if (!cfr_view_starts(line, key) || line.n <= n || line.p[n] != ':')
        return (struct cfr_view){NULL, 0};
    value = (struct cfr_view){line.p + n + 1, line.n - n - 1};
    comment = cfr_view_find(value, " #");
    if (comment >= 0)
        value.n = (size_t)comment;
    value = cfr_view_trim(value);
    if (value.n > 2 && (value.p[0] == '"' || value.p[0] == '\'') && value.p[value.n - 1] == value.p[0])
        value = (struct cfr_view){value.p + 1, value.n - 2};
    for (size_t i = 0; i < value.n; i++) {
        if (strchr(" \t\"'\\{}[],&*", value.p[i]) != NULL)
            return (struct cfr_view){NULL, 0};
    }
    return value.n > 1 && value.p[0] == '/' ? value : (struct cfr_view){NULL, 0};
}

/* The places in a text that is no YAML, as somebody's mistake has left it. False if it is not clear what they are: to
 * ask the wrong agent is worse than to ask none. */
static bool places_in_lines(struct cfr_view text, struct places *out)
{
    struct cfr_view line;
    bool any = false;

    while (cfr_view_line(&text, &line)) {
        struct cfr_view words = cfr_view_trim(line);

        if (words.n == 0 || words.p[0] == '#')
            continue;
        any = true;
        if (cfr_view_find(words, "control_socket") >= 0) {
            out->control_socket = path_in_line(line, "control_socket");
            if (out->control_socket.n == 0)
                return false;
        } else if (cfr_view_find(words, "state_dir") >= 0) {
            out->state_dir = path_in_line(line, "state_dir");
            if (out->state_dir.n == 0)
                return false;
        }
    }
    return any;
}

static int find_places(const char *path, struct cfr_view text, struct cfr_yaml **doc, struct places *out,
                       struct cfr_err *err)
{
    struct cfr_err wrong = {0};
    int line = 0;
    int rc = cfr_yaml_parse(text, doc, &line, &wrong);

    if (rc == 0 && cfr_yaml_root(*doc)->kind != CFR_YAML_MAP)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: is not a configuration: it has no keys", path);
    if (rc == 0) {
        *out = (struct places){top_text(*doc, "control_socket"), top_text(*doc, "state_dir")};
        return 0;
    }
    if (rc == CFR_E_CONFIG && places_in_lines(text, out))
        return 0;
    return line > 0 ? cfr_err_set(err, rc, "%s:%d: %s", path, line, wrong.text)
                    : cfr_err_set(err, rc, "%s: %s", path, wrong.text);
}

static char *socket_of(const struct places *places)
{
    struct cfr_view dir = places->state_dir;
    struct cfr_str made = {.limit = 4096};

    if (places->control_socket.n != 0)
        return cfr_str_dup(places->control_socket);
    if (dir.n == 0)
        dir = cfr_view_of(cfr_field_find(&cfr_config_table, cfr_view_of("state_dir"))->fallback);
    cfr_str_add(&made, dir);
    cfr_str_addz(&made, "/" CFR_CONFIG_SOCKET_NAME);
    return made.p;
}

int cfr_config_socket(const char *path, char **out, struct cfr_err *err)
{
    struct places places = {.control_socket = {NULL, 0}};
    struct cfr_secret content;
    struct cfr_yaml *doc = NULL;
    int rc = 0;

    *out = NULL;
    cfr_secret_init(&content, CFR_CONFIG_FILE_MAX);
    if (path != NULL) {
        rc = cfr_file_read(path, &content, err);
        if (rc == 0)
            rc = find_places(path, cfr_secret_view(&content), &doc, &places, err);
    } else {
        const char *dir = getenv("CREDFRESH_STATE_DIR");

        places.state_dir = cfr_view_of(dir != NULL ? dir : "");
    }
    if (rc == 0) {
        *out = socket_of(&places);
        rc = *out != NULL ? 0 : cfr_err_nomem(err);
    }
    cfr_yaml_free(doc);
    cfr_secret_free(&content);
    return rc;
}
