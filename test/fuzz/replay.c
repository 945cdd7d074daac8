/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over all files of the given directories (or over the given files). */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define INPUT_MAX (1 << 20)

static int replay_file(const char *path)
{
    uint8_t *data = malloc(INPUT_MAX);
    FILE *f = fopen(path, "rb");
    uint8_t *exact;
    size_t n;

    if (f == NULL || data == NULL) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        free(data);
        if (f != NULL)
            (void)fclose(f);
        return 1;
    }
    n = fread(data, 1, INPUT_MAX, f);
    (void)fclose(f);
    /* Of exactly that size, so that reading one byte too far is seen. */
    exact = malloc(n != 0 ? n : 1);
    if (exact != NULL) {
        memcpy(exact, data, n);
        (void)LLVMFuzzerTestOneInput(exact, n);
    }
    free(exact);
    free(data);
    return exact != NULL ? 0 : 1;
}

static int replay_folder(const char *path, DIR *dir, unsigned *count)
{
    char name[4096];
    int failed = 0;

    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        failed |= replay_file(name);
        ++*count;
    }
    return failed;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    int failed = 0;

    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);

        if (dir == NULL) {
            failed |= replay_file(argv[i]);
            count++;
            continue;
        }
        failed |= replay_folder(argv[i], dir, &count);
        (void)closedir(dir);
    }
    (void)printf("%u inputs replayed\n", count);
    return failed != 0 || count == 0 ? 1 : 0;
}
