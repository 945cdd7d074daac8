/* SPDX-License-Identifier: MIT */
/* libcredfresh in a loop of libuv's. usage: with_libuv DIRECTORY */
#include <credfresh.h>

#include <stdio.h>
#include <uv.h>

static void show(struct credfresh *w, const struct credfresh_snapshot *s, void *context)
{
    const struct credfresh_file *token = credfresh_snapshot_find(s, "token");

    (void)w, (void)context;
    printf("%llu %s\n", (unsigned long long)credfresh_snapshot_generation(s), token ? (const char *)token->bytes : "");
    fflush(stdout);
}

static void readable(uv_poll_t *handle, int status, int events)
{
    (void)status, (void)events;
    credfresh_dispatch(handle->data);
}

static void input_ended(uv_poll_t *handle, int status, int events)
{
    (void)status, (void)events;
    uv_stop(handle->loop);
}

int main(int argc, char **argv)
{
    struct credfresh_options options = CREDFRESH_OPTIONS_INIT;
    const struct credfresh_snapshot *first;
    struct credfresh *w;
    uv_poll_t changes;
    uv_poll_t end;
    char text[400];

    options.on_change = show;
    if (credfresh_open(&w, argc > 1 ? argv[1] : "", &options, text, sizeof text) != 0)
        return fprintf(stderr, "%s\n", text), 1;
    if ((first = credfresh_acquire(w)) != NULL)
        show(w, first, NULL);
    credfresh_release(first);
    uv_poll_init(uv_default_loop(), &changes, credfresh_fd(w));
    uv_poll_init(uv_default_loop(), &end, 0);
    changes.data = w;
    uv_poll_start(&changes, UV_READABLE, readable);
    uv_poll_start(&end, UV_READABLE | UV_DISCONNECT, input_ended);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&changes, NULL);
    uv_close((uv_handle_t *)&end, NULL);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    uv_loop_close(uv_default_loop());
    credfresh_close(w);
    return 0;
}
