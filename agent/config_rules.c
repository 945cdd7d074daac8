/* SPDX-License-Identifier: MIT */
/* Rules across the fields of one mapping. */
#include "agent/config_rules.h"

#include "agent/config.h"
#include "files/format.h"

#include <arpa/inet.h>
#include <string.h>

#define CREDENTIAL_NAME_MAX 63

static bool is_port(struct cfr_view text, int64_t least)
{
    int64_t port;

    return text.n >= 1 && text.n <= 5 && text.p[0] != '-' && text.p[0] != '+' && cfr_view_int(text, &port) &&
           port >= least && port <= 65535;
}

static bool is_address(struct cfr_view text, int family)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];

    if (text.n >= sizeof copy)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return inet_pton(family, copy, address) == 1;
}

/* ADDRESS:PORT, [ADDRESS]:PORT or :PORT */
static bool is_listen(struct cfr_view text)
{
    struct cfr_view host;
    ptrdiff_t colon;

    if (cfr_view_starts(text, "[")) {
        colon = cfr_view_find(text, "]:");
        if (colon < 0)
            return false;
        host = (struct cfr_view){text.p + 1, (size_t)colon - 1};
        return is_address(host, AF_INET6) &&
               is_port((struct cfr_view){text.p + colon + 2, text.n - (size_t)colon - 2}, 0);
    }
    colon = cfr_view_find(text, ":");
    if (colon < 0 || !is_port((struct cfr_view){text.p + colon + 1, text.n - (size_t)colon - 1}, 0))
        return false;
    return colon == 0 || is_address((struct cfr_view){text.p, (size_t)colon}, AF_INET);
}

int cfr_config_rules_root(const void *node, struct cfr_err *err)
{
    const struct cfr_config *c = node;

    if (c->listen != NULL && !is_listen(cfr_view_of(c->listen)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "listen: %.64s is no address and port; write one such as \"127.0.0.1:9464\", "
                           "\"[::1]:9464\" or \":9464\" for all addresses",
                           c->listen);
    return 0;
}

static bool is_name_start(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int cfr_config_rules_credential(const void *node, struct cfr_err *err)
{
    const struct cfr_config_credential *c = node;
    struct cfr_view name = cfr_view_of(c->name);

    if (name.n > CREDENTIAL_NAME_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "name: is longer than %d characters", CREDENTIAL_NAME_MAX);
    if (name.n != 0 && !is_name_start(name.p[0]))
        return cfr_err_set(err, CFR_E_CONFIG, "name: must begin with a letter or a digit");
    for (size_t i = 0; i < name.n; i++) {
        if (!is_name_start(name.p[i]) && strchr("._-", name.p[i]) == NULL)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "name: has a character that names cannot have; use letters, digits, dot, dash "
                               "and underscore");
    }
    return 0;
}

int cfr_config_rules_exchange(const void *node, struct cfr_err *err)
{
    const struct cfr_config_exchange *x = node;

    if (x->aws == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "names no provider; write `aws:` with its keys below it, or leave `exchange` out "
                           "to publish the token itself");
    return 0;
}

/* What aws-config alone understands, of a file or of a profile. */
struct sdk_options {
    int format;
    const char *role_arn;
    const char *session_name;
    const char *token_path;
    const char *region;
    const char *command;
};

/* The first option that FORMAT does not know, or NULL. */
static const char *stray_option(const struct sdk_options *o, const char *format)
{
    bool config = strcmp(format, "aws-config") == 0;

    if (!config && o->role_arn != NULL)
        return "role_arn";
    if (!config && o->session_name != NULL)
        return "session_name";
    if (!config && o->token_path != NULL)
        return "token_path";
    if (!config && o->command != NULL)
        return "command";
    return !config && strcmp(format, "env") != 0 && o->region != NULL ? "region" : NULL;
}

static int check_config_options(const struct sdk_options *o, struct cfr_err *err)
{
    if (o->role_arn != NULL && o->token_path == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "role_arn: needs token_path beside it, where the SDK finds the token");
    if (o->token_path != NULL && o->role_arn == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "token_path: needs role_arn beside it, the role that the SDK assumes");
    if (o->session_name != NULL && o->role_arn == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "session_name: needs role_arn and token_path beside it");
    if (o->command != NULL && o->role_arn != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "command: cannot stand beside role_arn; keep one of the two");
    if (o->command == NULL && o->role_arn == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "format: aws-config needs `role_arn` and `token_path` beside it, or `command`");
    return 0;
}

static int check_options(const struct sdk_options *o, const char *profile, struct cfr_err *err)
{
    const struct cfr_format *format = &cfr_formats[o->format];
    const char *stray = stray_option(o, format->name);
    char section[CFR_FORMAT_SECTION_MAX];

    if (stray != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: belongs to format %s, and this is %s; remove it", stray,
                           strcmp(stray, "region") == 0 ? "aws-config or env" : "aws-config", format->name);
    if (profile != NULL && cfr_format_section(format, profile, section, err) != 0)
        return cfr_err_prefix(err, "profile");
    return strcmp(format->name, "aws-config") == 0 ? check_config_options(o, err) : 0;
}

int cfr_config_rules_file(const void *node, struct cfr_err *err)
{
    const struct cfr_config_file *f = node;
    struct sdk_options options = {f->format,     f->role_arn, f->session_name,
                                  f->token_path, f->region,   f->command};

    if (f->profile != NULL && !cfr_formats[f->format].profile)
        return cfr_err_set(err, CFR_E_CONFIG, "profile: format %s has no profiles; remove it",
                           cfr_formats[f->format].name);
    return check_options(&options, f->profile, err);
}

int cfr_config_rules_profile(const void *node, struct cfr_err *err)
{
    const struct cfr_config_profile *p = node;
    char section[CFR_FORMAT_SECTION_MAX];
    int rc;
    struct sdk_options options = {p->format,     p->role_arn, p->session_name,
                                  p->token_path, p->region,   p->command};

    if (!cfr_formats[p->format].profile)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "format: %s cannot be merged into a file as a profile; write aws-credentials or aws-config",
            cfr_formats[p->format].name);
    rc = check_options(&options, NULL, err);
    if (rc == 0 && cfr_format_section(&cfr_formats[p->format], p->name, section, err) != 0)
        rc = cfr_err_prefix(err, "name");
    return rc;
}

static const struct cfr_config_file *file_at(const struct cfr_list *list, size_t i)
{
    return (const struct cfr_config_file *)list->items + i;
}

static int check_names(const struct cfr_list *files, struct cfr_err *err)
{
    for (size_t i = 0; i < files->count; i++) {
        for (size_t j = 0; j < i; j++) {
            const char *a = file_at(files, i)->name;
            const char *b = file_at(files, j)->name;

            if (a != NULL && b != NULL && strcmp(a, b) == 0)
                return cfr_err_set(err, CFR_E_CONFIG,
                                   "files: two are named %.64s, on lines %d and %d; rename one of them", a,
                                   file_at(files, j)->node.line, file_at(files, i)->node.line);
        }
    }
    return 0;
}

int cfr_config_rules_publish(const void *node, struct cfr_err *err)
{
    const struct cfr_config_publish *p = node;
    int kinds = (p->directory != NULL) + (p->file != NULL) + (p->profile != NULL);

    if (p->directory == NULL && p->files.count != 0)
        return cfr_err_set(err, CFR_E_CONFIG, "files: needs `directory` beside it, where they are published");
    if (kinds == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "says not where; write one of `directory`, `file` or `profile`");
    if (kinds > 1)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "has more than one of `directory`, `file` and `profile`; write a list with one in each item");
    if (p->directory == NULL && p->directory_mode != -1)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "directory_mode: belongs to `directory`; write `mode` in the file");
    if (p->directory == NULL && (p->owner != NULL || p->group != NULL))
        return cfr_err_set(err, CFR_E_CONFIG, "%s: belongs to `directory`; write it in the file",
                           p->owner != NULL ? "owner" : "group");
    if (p->directory != NULL && p->files.items == NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "directory: needs `files` beside it, such as - {name: token, format: token}");
    return check_names(&p->files, err);
}

int cfr_config_rules_hook(const void *node, struct cfr_err *err)
{
    const struct cfr_config_hook *h = node;
    int kinds = (h->signal != NULL) + (h->exec.items != NULL) + (h->http != NULL);

    if (kinds == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "does nothing; write one of `signal`, `exec` or `http`");
    if (kinds > 1)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "has more than one of `signal`, `exec` and `http`; write an item of its own for each");
    if (h->exec.items != NULL && h->exec.count != 0 && h->exec.items[0][0] != '/')
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "exec: %.64s is no absolute path; there is no shell and no PATH, write one that begins with /",
            h->exec.items[0]);
    return 0;
}

int cfr_config_rules_signal(const void *node, struct cfr_err *err)
{
    const struct cfr_config_signal *s = node;

    if ((s->pid_file != NULL) == (s->executable != NULL))
        return cfr_err_set(err, CFR_E_CONFIG,
                           s->pid_file == NULL
                               ? "says not to whom; write `pid_file` or `executable`"
                               : "executable: cannot stand beside pid_file; keep one of the two");
    if (s->executable != NULL && s->executable[0] != '/' && strchr(s->executable, '/') != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "executable: write an absolute path, or the bare name of the program without /");
    return 0;
}

static size_t authority_length(struct cfr_view rest)
{
    size_t n = 0;

    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?' && rest.p[n] != '#')
        n++;
    return n;
}

static bool has_user(struct cfr_view rest)
{
    size_t n = authority_length(rest);

    return n != 0 && memchr(rest.p, '@', n) != NULL;
}

static bool is_host(struct cfr_view text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!is_name_start(text.p[i]) && text.p[i] != '.' && text.p[i] != '-')
            return false;
    }
    return text.n != 0 && text.n <= 253;
}

/* The host of `host:port/...`, without brackets; false if this is no authority. */
static bool split_authority(struct cfr_view rest, struct cfr_view *host, bool *ipv6)
{
    struct cfr_view authority = {rest.p, authority_length(rest)};
    ptrdiff_t colon;

    *ipv6 = cfr_view_starts(authority, "[");
    if (*ipv6) {
        colon = cfr_view_find(authority, "]");
        if (colon < 0)
            return false;
        *host = (struct cfr_view){authority.p + 1, (size_t)colon - 1};
        authority.p += colon + 1;
        authority.n -= (size_t)colon + 1;
    } else {
        colon = cfr_view_find(authority, ":");
        *host = (struct cfr_view){authority.p, colon < 0 ? authority.n : (size_t)colon};
        authority.p += host->n;
        authority.n -= host->n;
    }
    if (*ipv6 ? !is_address(*host, AF_INET6) : !is_host(*host))
        return false;
    return authority.n == 0 ||
           (authority.p[0] == ':' && is_port((struct cfr_view){authority.p + 1, authority.n - 1}, 1));
}

static bool is_loopback(struct cfr_view host, bool ipv6)
{
    return ipv6 ? cfr_view_is(host, "::1") : cfr_view_starts(host, "127.") && is_address(host, AF_INET);
}

int cfr_config_rules_http(const void *node, struct cfr_err *err)
{
    const struct cfr_config_http *h = node;
    struct cfr_view url = cfr_view_of(h->url);
    struct cfr_view rest = url;
    bool tls = cfr_view_starts(url, "https://");
    struct cfr_view host;
    bool ipv6;

    if (h->url == NULL)
        return 0;
    if (!tls && !cfr_view_starts(url, "http://"))
        return cfr_err_set(err, CFR_E_CONFIG, "url: write one that begins with https:// or http://");
    rest.p += tls ? 8 : 7;
    rest.n -= tls ? 8 : 7;
    if (has_user(rest))
        return cfr_err_set(err, CFR_E_CONFIG, "url: has a user or password in it (@); remove that");
    if (!cfr_view_printable(url) || cfr_view_find(url, " ") >= 0 || !split_authority(rest, &host, &ipv6))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "url: is no valid URL; write one such as \"http://127.0.0.1:9090/-/reload\"");
    if (cfr_view_find(url, "#") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG, "url: has a fragment (#), which is never sent; remove it");
    if (!tls && !is_loopback(host, ipv6))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "url: http:// goes to a literal loopback address only, and %.*s is none; write "
                           "https://, or http://127.0.0.1",
                           host.n < 64 ? (int)host.n : 64, host.p);
    if (!tls && h->ca_file != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "ca_file: is of no use with http://; remove it, or write https://");
    return 0;
}
