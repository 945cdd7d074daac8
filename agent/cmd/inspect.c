/* SPDX-License-Identifier: MIT */
/* Subcommand inspect: explains a token. */
#include "agent/cmd/commands_private.h"

#include "agent/loop/clock.h"
#include "base/json.h"
#include "files/file.h"
#include "sts/providers.h"
#include "token/claims.h"
#include "token/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES 4096

static int explain(const struct cfr_cli_options *o, struct cfr_view file)
{
    struct cfr_str report = {.limit = 65536};
    struct cfr_claims claims;
    struct cfr_err err = {0};
    struct cfr_inspect_subject subject = {
        .file = file,
        .claims = &claims,
        .now_s = cfr_clock_now().wall_ms / 1000,
        .audience = o->audience,
        .rules = cfr_sts_find(cfr_view_of("aws"))->token_rules, /* the strictest that there are */
    };
    unsigned problems;

    if (cfr_claims_read(cfr_view_trim(file), &claims, &err) != 0) {
        cfr_cli_complain("%s: %s", o->args[0], err.text);
        return CFR_EXIT_FAILED;
    }
    problems = cfr_inspect_write(&subject, &report);
    (void)fwrite(report.p, 1, report.len, stdout);
    cfr_claims_free(&claims);
    cfr_str_free(&report);
    return problems == 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}

/* Up to one byte more than is allowed, so that a longer text is noticed. Blocks until the writer ends. */
static int read_stream(int fd, struct cfr_secret *out, struct cfr_err *err)
{
    for (;;) {
        size_t room = out->limit - out->len < CHUNK_BYTES ? out->limit - out->len : CHUNK_BYTES;
        char *to = room != 0 ? cfr_secret_reserve(out, room, err) : NULL;
        ssize_t n;

        if (room == 0)
            return cfr_err_set(err, CFR_E_LIMIT, "it is longer than the %d bytes of a token", CFR_TOKEN_MAX);
        if (to == NULL)
            return CFR_E_NOMEM;
        n = read(fd, to, room);
        if (n < 0 && errno != EINTR)
            return cfr_err_sys(err, errno, "cannot read it");
        if (n == 0)
            return 0;
        if (n > 0)
            cfr_secret_grown(out, (size_t)n);
    }
}

/* A file, a pipe such as that of <(COMMAND), or "-", which is standard input. */
static int read_token(const char *path, struct cfr_secret *out, struct cfr_err *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct stat st;
    int fd;
    int rc;

    if (!standard && (stat(path, &st) != 0 || !S_ISFIFO(st.st_mode)))
        return cfr_file_read(path, out, err);
    fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cfr_err_sys(err, errno, "cannot open %s", path);
    rc = read_stream(fd, out, err);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", standard ? "standard input" : path);
    if (!standard)
        (void)close(fd);
    return rc;
}

int cfr_cmd_inspect(const struct cfr_cli_options *o)
{
    struct cfr_secret raw;
    struct cfr_err err = {0};
    int status = CFR_EXIT_FAILED;

    cfr_json_setup();
    cfr_secret_init(&raw, CFR_TOKEN_MAX + 1);
    if (read_token(o->args[0], &raw, &err) != 0)
        cfr_cli_complain("%s", err.text);
    else
        status = explain(o, cfr_secret_view(&raw));
    cfr_secret_free(&raw);
    return status;
}
