/* SPDX-License-Identifier: MIT */
/* libcredfresh in a loop of libevent's. usage: with_libevent DIRECTORY */
#include <credfresh.h>

#include <event2/event.h>
#include <stdio.h>

static void show(struct credfresh *w, const struct credfresh_snapshot *s, void *context)
{
    const struct credfresh_file *token = credfresh_snapshot_find(s, "token");

    (void)w, (void)context;
    printf("%llu %s\n", (unsigned long long)credfresh_snapshot_generation(s), token ? (const char *)token->bytes : "");
    fflush(stdout);
}

static void readable(evutil_socket_t fd, short what, void *w)
{
    (void)fd, (void)what;
    credfresh_dispatch(w);
}

static void input_ended(evutil_socket_t fd, short what, void *base)
{
    (void)fd, (void)what;
    event_base_loopbreak(base);
}

int main(int argc, char **argv)
{
    struct credfresh_options options = CREDFRESH_OPTIONS_INIT;
    struct event_base *base = event_base_new();
    const struct credfresh_snapshot *first;
    struct credfresh *w;
    char text[400];

    options.on_change = show;
    if (credfresh_open(&w, argc > 1 ? argv[1] : "", &options, text, sizeof text) != 0)
        return fprintf(stderr, "%s\n", text), 1;
    if ((first = credfresh_acquire(w)) != NULL)
        show(w, first, NULL);
    credfresh_release(first);

    struct event *changes = event_new(base, credfresh_fd(w), EV_READ | EV_PERSIST, readable, w);
    struct event *end = event_new(base, 0, EV_READ, input_ended, base);

    event_add(changes, NULL);
    event_add(end, NULL);
    event_base_dispatch(base);
    event_free(end);
    event_free(changes);
    event_base_free(base);
    credfresh_close(w);
    return 0;
}
