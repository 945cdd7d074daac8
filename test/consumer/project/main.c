/* SPDX-License-Identifier: MIT */
/* Prints the files of a directory and the version of the library. */
#include <credfresh.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    const struct credfresh_snapshot *s;
    struct credfresh *w;
    char text[400];

    if (credfresh_open(&w, argc > 1 ? argv[1] : "", NULL, text, sizeof text) != 0)
        return fprintf(stderr, "%s\n", text), 1;
    if ((s = credfresh_acquire(w)) != NULL)
        for (size_t i = 0; i < credfresh_snapshot_count(s); i++)
            printf("%s=%s\n", credfresh_snapshot_file(s, i)->name, (const char *)credfresh_snapshot_file(s, i)->bytes);
    printf("%s\n", credfresh_version());
    credfresh_release(s);
    credfresh_close(w);
    return 0;
}
