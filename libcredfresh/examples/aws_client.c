/* SPDX-License-Identifier: MIT */
/* A client of an AWS API that runs for ever: it asks STS again and again who it is, each time with the keys of the
 * newest generation, and acknowledges a generation once a call with it has succeeded. Ends when standard input does.
 * usage: aws_client DIRECTORY ENDPOINT ACKNOWLEDGE-FILE; environment: AWS_REGION, AWS_CA_BUNDLE */
#include <credfresh.h>

#include <curl/curl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_EVERY_MS 100
#define TOKEN_HEADER  "X-Amz-Security-Token: "

struct keys { /* as libcurl takes them */
    char id[256];
    char secret[256];
    char token_header[16384];
};

/* libcurl keeps copies of what it is given and frees them as they are: here what is freed is wiped. */
static void wiping_free(void *p)
{
    if (p != NULL)
        explicit_bzero(p, malloc_usable_size(p));
    free(p);
}

static void *wiping_realloc(void *p, size_t size)
{
    size_t had = p != NULL ? malloc_usable_size(p) : 0;
    void *to = malloc(size);

    if (to == NULL || p == NULL)
        return to;
    memcpy(to, p, had < size ? had : size);
    wiping_free(p);
    return to;
}

/* Copies the value of the line "NAME = value", terminated. 0 if there is none, or it does not fit. */
static int get(const char *lines, const char *name, char *value, size_t size)
{
    for (const char *line = lines; line != NULL; line = strchr(line, '\n')) {
        line += strspn(line, "\n");
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        const char *from = line + strlen(name) + strspn(line + strlen(name), " =");
        size_t length = strcspn(from, "\r\n");

        if (length == 0 || length >= size)
            return 0;
        memcpy(value, from, length);
        value[length] = '\0';
        return 1;
    }
    return 0;
}

static int get_keys(const char *lines, struct keys *k)
{
    size_t n = strlen(TOKEN_HEADER);

    memcpy(k->token_header, TOKEN_HEADER, n + 1);
    return get(lines, "aws_access_key_id", k->id, sizeof k->id) &&
           get(lines, "aws_secret_access_key", k->secret, sizeof k->secret) &&
           get(lines, "aws_session_token", k->token_header + n, sizeof k->token_header - n);
}

static unsigned set_options(CURL *curl, const char *endpoint, const struct keys *k, struct curl_slist *headers,
                            FILE *answer)
{
    const char *region = getenv("AWS_REGION"), *ca_file = getenv("AWS_CA_BUNDLE");
    char sign[128];
    unsigned bad;

    /* All four parts: what libcurl would take from the host name is wrong for most of AWS's endpoints. */
    snprintf(sign, sizeof sign, "aws:amz:%s:sts", region != NULL ? region : "us-east-1");
    bad = curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, sign);
    bad |= curl_easy_setopt(curl, CURLOPT_USERNAME, k->id);
    bad |= curl_easy_setopt(curl, CURLOPT_PASSWORD, k->secret);
    bad |= curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    bad |= curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "Action=GetCallerIdentity&Version=2011-06-15");
    bad |= curl_easy_setopt(curl, CURLOPT_URL, endpoint);
    bad |= curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    /* nghttp2 has an allocator of its own, which wipes nothing. */
    bad |= curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    bad |= curl_easy_setopt(curl, CURLOPT_TIMEOUT, 10L);
    bad |= curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    bad |= curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    if (ca_file != NULL)
        bad |= curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file);
    return bad;
}

/* One signed call; prints the ARN of the caller, or the error. 1 if it succeeded. */
static int call(const char *endpoint, const struct keys *k)
{
    char text[8192] = "";
    FILE *answer = fmemopen(text, sizeof text - 1, "w");
    struct curl_slist *headers = curl_slist_append(NULL, k->token_header); /* libcurl signs it, but does not make it */
    CURL *curl = curl_easy_init(); /* for this call only: a handle, and a connection that it keeps, hold the keys */
    CURLcode failed = CURLE_FAILED_INIT;
    long status = 0;

    if (answer != NULL && headers != NULL && curl != NULL && set_options(curl, endpoint, k, headers, answer) == 0) {
        failed = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    }
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    if (answer != NULL)
        fclose(answer);
    if (failed != CURLE_OK)
        return printf("error: %s\n", curl_easy_strerror(failed)), 0;
    const char *name = status == 200 ? "<Arn>" : "<Code>", *found = strstr(text, name);

    if (found == NULL)
        return printf("error: %ld, and not in the words of STS\n", status), 0;
    found += strlen(name);
    printf("%s%.*s\n", status == 200 ? "" : "error: ", (int)strcspn(found, "<\n"), found);
    return status == 200;
}

/* A call with the newest snapshot, which is held for no longer. 1 if it succeeded. */
static int call_with(const struct credfresh_snapshot *s, const char *endpoint)
{
    struct keys k;
    int good;

    printf("%llu ", (unsigned long long)credfresh_snapshot_generation(s));
    good = get_keys((const char *)credfresh_snapshot_find(s, "credentials")->bytes, &k);
    if (good)
        good = call(endpoint, &k);
    else
        printf("error: the file has not all three keys\n");
    explicit_bzero(&k, sizeof k);
    fflush(stdout);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"credentials"};
    struct credfresh_options options = CREDFRESH_OPTIONS_INIT;
    uint64_t acknowledged = 0;
    struct credfresh *w;
    char text[400];

    options.names = names;
    options.name_count = 1;
    if (argc != 4 ||
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wiping_free, wiping_realloc, strdup, calloc) != 0)
        return 2;
    if (credfresh_open(&w, argv[1], &options, text, sizeof text) != 0)
        return fprintf(stderr, "%s\n", text), 1;
    for (;;) {
        struct pollfd fds[] = {{credfresh_fd(w), POLLIN, 0}, {0, POLLIN, 0}};

        poll(fds, 2, CALL_EVERY_MS);
        if (fds[1].revents != 0)
            break;
        if (fds[0].revents != 0)
            credfresh_dispatch(w);
        int is_new = credfresh_changed(w, acknowledged);
        const struct credfresh_snapshot *s = credfresh_acquire(w);

        if (s != NULL && call_with(s, argv[2]) && is_new) {
            if (credfresh_ack(credfresh_snapshot_generation(s), argv[3], text, sizeof text) == 0)
                acknowledged = credfresh_snapshot_sequence(s);
            else
                fprintf(stderr, "%s\n", text); /* again with the next call */
        }
        credfresh_release(s);
    }
    credfresh_close(w);
    curl_global_cleanup();
    return 0;
}
