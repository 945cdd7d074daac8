/* SPDX-License-Identifier: MIT */
/* Reader of the token that a command line names. */
#include "agent/cli/token_input.h"

#include "agent/cli/command.h"
#include "files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES 4096
#define TOKEN_MIN   32 /* characters */

/* Up to one byte more than is allowed, so that a longer text is noticed. Blocks until the writer ends. */
static int read_stream(int fd, struct cfr_secret *out, struct cfr_err *err)
{
    for (;;) {
        size_t room = out->limit - out->len < CHUNK_BYTES ? out->limit - out->len : CHUNK_BYTES;
        char *to = room != 0 ? cfr_secret_reserve(out, room, err) : NULL;
        ssize_t n;

        if (room == 0)
            return cfr_err_set(err, CFR_E_LIMIT, "it is longer than the %zu bytes of a token", out->limit - 1);
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

/* True for text that begins like a token's header (`{"` in base64url) and does not look like a path. A damaged token
 * counts too: an error must not print it as a path. */
static bool is_token(const char *argument)
{
    return strncmp(argument, "eyJ", 3) == 0 && strlen(argument) >= TOKEN_MIN && strchr(argument, '/') == NULL;
}

/* Copies the token from the command line and wipes it there. */
static int take_argument(char *argument, struct cfr_secret *out, struct cfr_err *err)
{
    int rc = cfr_secret_append_str(out, argument, err);

    cfr_secret_wipe(argument, strlen(argument));
    cfr_cli_complain("a token on the command line is readable by every user of this machine, in the list of processes: "
                     "give its file, or - for standard input");
    return rc;
}

int cfr_cli_read_token(char *path, bool literal, struct cfr_secret *out, struct cfr_err *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct stat st;
    int fd;
    int rc;

    if (literal && is_token(path))
        return take_argument(path, out, err);
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
