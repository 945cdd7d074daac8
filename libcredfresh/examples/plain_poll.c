/* SPDX-License-Identifier: MIT */
/* libcredfresh in a loop around poll(): prints the token each time it changes. usage: plain_poll DIRECTORY */
#include <credfresh.h>

#include <poll.h>
#include <stdio.h>

static void show(struct credfresh *w, const struct credfresh_snapshot *s, void *context)
{
    const struct credfresh_file *token = credfresh_snapshot_find(s, "token");

    (void)w, (void)context;
    printf("%llu %s\n", (unsigned long long)credfresh_snapshot_generation(s), token ? (const char *)token->bytes : "");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct credfresh_options options = CREDFRESH_OPTIONS_INIT;
    const struct credfresh_snapshot *first;
    struct credfresh *w;
    char text[400];

    options.on_change = show;
    if (credfresh_open(&w, argc > 1 ? argv[1] : "", &options, text, sizeof text) != 0)
        return fprintf(stderr, "%s\n", text), 1;
    if ((first = credfresh_acquire(w)) != NULL)
        show(w, first, NULL);
    credfresh_release(first);
    for (;;) {
        struct pollfd fds[] = {{credfresh_fd(w), POLLIN, 0}, {0, POLLIN, 0}};

        poll(fds, 2, -1);
        if (fds[0].revents != 0)
            credfresh_dispatch(w);
        if (fds[1].revents != 0)
            return credfresh_close(w), 0; /* standard input has ended */
    }
}
