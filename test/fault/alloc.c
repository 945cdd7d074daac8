/* SPDX-License-Identifier: MIT */
/* Fails each allocation in turn, those of the libraries too, on the way from a configuration to published files: an
 * error comes back, what is published is whole, and nothing is leaked. Usage: alloc EMPTY_DIRECTORY */
#include "agent/config/config_private.h"
#include "agent/hook/hook.h"
#include "agent/publish/targets.h"
#include "agent/source/source.h"
#include "base/json.h"
#include "base/str.h"
#include "files/state.h"
#include "token/claims.h"
#include "publish_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST  100000
#define NOW_S 1767323045
#define FILES 4

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

static bool counting;
static unsigned long *made;   /* since counting began; shared with the children that write files */
static unsigned long fail_at; /* 0 = none */
static long live;             /* blocks that were made and not given back since counting began */

static bool fails(void)
{
    if (!counting || ++*made != fail_at)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    void *p = fails() ? NULL : __libc_malloc(n);

    live += counting && p != NULL;
    return p;
}

void *calloc(size_t count, size_t size)
{
    void *p = fails() ? NULL : __libc_calloc(count, size);

    live += counting && p != NULL;
    return p;
}

void *realloc(void *old, size_t n)
{
    void *p = fails() ? NULL : __libc_realloc(old, n);

    live += counting && p != NULL && old == NULL;
    return p;
}

void free(void *p)
{
    live -= counting && p != NULL;
    __libc_free(p);
}

/* In these, each @ stands for a value. */
static const char config_text[] = "version: 1\n"
                                  "state_dir: @/state\n"
                                  "credentials:\n"
                                  "  - name: demo\n"
                                  "    token: {file: @/token}\n"
                                  "    exchange:\n"
                                  "      aws:\n"
                                  "        role_arn: arn:aws:iam::123456789012:role/demo\n"
                                  "        region: us-east-1\n"
                                  "        endpoint: http://127.0.0.1:1/\n"
                                  "        policy_arns: [\"arn:aws:iam::aws:policy/ReadOnlyAccess\"]\n"
                                  "    publish:\n"
                                  "      - directory: @/out\n"
                                  "        files:\n"
                                  "          - {name: credentials, format: aws-credentials, mode: \"0640\"}\n"
                                  "          - {name: creds.json, format: json}\n"
                                  "      - file: {path: @/creds.env, format: env}\n"
                                  "      - profile: {path: @/aws, name: demo, format: aws-credentials}\n"
                                  "    reload:\n"
                                  "      - exec: [/bin/true]\n";

/* {"alg":"RS256"} {"iss":"a","sub":"b","aud":["c"],"iat":1767320000,"exp":1767330000} */
static const char token[] =
    "eyJhbGciOiJSUzI1NiJ9."
    "eyJpc3MiOiJhIiwic3ViIjoiYiIsImF1ZCI6WyJjIl0sImlhdCI6MTc2NzMyMDAwMCwiZXhwIjoxNzY3MzMwMDAwfQ."
    "c2lnbmF0dXJlc2lnbmF0dXJl";

static const char xml[] =
    "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
    "<AssumeRoleWithWebIdentityResult><AssumedRoleUser>"
    "<Arn>arn:aws:sts::123456789012:assumed-role/demo/b</Arn><AssumedRoleId>AROAEXAMPLE:b</AssumedRoleId>"
    "</AssumedRoleUser><Credentials><AccessKeyId>ASIAEXAMPLE@00</AccessKeyId>"
    "<SecretAccessKey>secret-@</SecretAccessKey><SessionToken>session-@</SessionToken>"
    "<Expiration>2026-01-02T04:04:05Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
    "<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></AssumeRoleWithWebIdentityResponse>";

static const char *const names[FILES] = {"out/credentials", "out/creds.json", "creds.env", "aws"};

static const char *root;
static char config[4096];
static int state_fd = -1;
static struct cfr_publish_record record;

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

__attribute__((noreturn)) static void die(unsigned long n, const char *what, const char *text)
{
    (void)fprintf(stderr, "allocation %lu: %s: %s\n", n, what, text);
    exit(1); // NOLINT(concurrency-mt-unsafe): there is one thread
}

/* TEXT with VALUE for each @. */
static void fill(char *out, size_t size, const char *text, const char *value)
{
    size_t n = 0;

    for (; *text != '\0' && n + 1 < size; text++) {
        if (*text != '@') {
            out[n++] = *text;
            continue;
        }
        for (const char *v = value; *v != '\0' && n + 1 < size; v++)
            out[n++] = *v;
    }
    out[n] = '\0';
}

static int exchange(const struct cfr_config_credential *c, const char *text, const char *type, struct cfr_grant *out,
                    struct cfr_err *err)
{
    struct cfr_sts_exchange x = {.provider = NULL};
    struct cfr_wire_request request = {.method = NULL};
    struct cfr_sts_input in = {
        .credential = "demo", .token = cfr_view_of(token), .subject = cfr_view_of("b"), .now_s = NOW_S, .env = no_env};
    struct cfr_wire_reply reply = {.status = 200, .content_type = cfr_view_of(type), .body = cfr_view_of(text)};
    int rc;

    x.provider = cfr_config_provider(c, &x.config);
    rc = x.provider->build(&x, &in, &request, err);
    if (rc == 0)
        rc = x.provider->parse(&x, &in, &reply, err);
    if (rc == 0)
        cfr_grant_move(out, &x.grant);
    cfr_wire_request_free(&request);
    cfr_sts_exchange_free(&x);
    return rc;
}

static int decode(struct cfr_err *err)
{
    struct cfr_claims claims;
    int rc = cfr_claims_decode(cfr_view_of(token), &claims, err);

    if (rc == 0)
        cfr_claims_free(&claims);
    return rc;
}

static int remember(struct cfr_err *err)
{
    struct cfr_publish_record again;
    struct cfr_slow_write saving = {.next = NULL};
    int rc = cfr_publish_record_save(&saving, state_fd, "demo", &record, err);

    if (rc == 0)
        rc = cfr_publish_record_load(state_fd, "demo", &again, err);
    if (rc == 0)
        cfr_publish_record_free(&again);
    return rc;
}

/* From text to files. */
static int run(const char *answer, const char *type, uint64_t generation, struct cfr_err *err)
{
    struct cfr_config *c = NULL;
    struct cfr_grant grant = {0};
    struct cfr_publish_from from = {.provider = NULL};
    struct cfr_publish_job job = {
        .render = {"demo", &from, &grant, generation, NULL},
        .now = {.wall_ms = NOW_S * INT64_C(1000)},
        .expires_ms = INT64_MAX,
    };
    struct cfr_publisher_crew crew = {0};
    struct cfr_publisher_outcome out;
    struct cfr_publisher *p = NULL;
    int rc;

    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    rc = cfr_config_parse("credfresh.yaml", cfr_view_of(config), no_env, &c, NULL, err);

    if (rc == 0)
        rc = decode(err);
    if (rc == 0)
        rc = exchange(cfr_config_at(c, 0), answer, type, &grant, err);
    if (rc == 0)
        rc =
            cfr_test_work(cfr_config_at(c, 0), CFR_PUBLISHER_RECOVER | CFR_PUBLISHER_PUBLISH, &job, &record, &out, err);
    record.generation = generation;
    if (rc == 0)
        rc = cfr_publisher_open(cfr_config_at(c, 0), &crew, cfr_test_work_done, NULL, &p, err);
    if (rc == 0)
        rc = cfr_publisher_verify(p, &record, err);
    cfr_publisher_close(p);
    if (rc == 0)
        rc = remember(err);
    cfr_grant_free(&grant);
    cfr_config_free(c);
    return rc;
}

/* The number in the secret that FILE holds; 0 if FILE is missing. */
static unsigned long published(unsigned long n, const char *file)
{
    char path[4096];
    char text[8192];
    const char *secret;
    ssize_t size;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", root, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    size = read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[size > 0 ? size : 0] = '\0';
    secret = strstr(text, "secret-");
    if (secret == NULL || strstr(text, "ASIAEXAMPLE") == NULL || strstr(text, "session-") == NULL)
        die(n, file, "is torn");
    return strtoul(secret + strlen("secret-"), NULL, 10);
}

/* Each target is whole, and the files of one directory are of one generation. */
static void check_view(unsigned long n, unsigned long newest, bool all, unsigned long seen[FILES])
{
    for (int i = 0; i < FILES; i++) {
        unsigned long now = published(n, names[i]);

        if (now < seen[i] || now > newest || (all && now != newest))
            die(n, names[i], "is not what was published");
        seen[i] = now;
    }
    if (seen[0] != seen[1])
        die(n, "out", "is mixed");
}

static unsigned long attempt(unsigned long n, unsigned long seen[FILES], unsigned long codes[CFR_EI_COUNT])
{
    static unsigned long number;
    struct cfr_err err = {0};
    char answer[2048];
    char digits[24];
    int rc;

    number++;
    (void)snprintf(digits, sizeof digits, "%07lu", number);
    fill(answer, sizeof answer, xml, digits);
    *made = 0;
    live = 0;
    fail_at = n;
    counting = true;
    rc = run(answer, "text/xml", number, &err);
    counting = false;
    if (live != 0 && number > 1)
        die(n, "blocks leaked", err.text);
    if (rc != 0 && (rc != err.code || err.text[0] == '\0'))
        die(n, "an error without words", cfr_err_name(rc));
    codes[-rc]++;
    check_view(n, number, rc == 0, seen);
    if (rc != 0 && (n == 0 || *made < n))
        die(n, "failed without a fault", err.text);
    return *made;
}

static void every(void)
{
    unsigned long seen[FILES] = {0};
    unsigned long codes[CFR_EI_COUNT] = {0};
    unsigned long n = 1;

    while (n < MOST && attempt(n, seen, codes) >= n)
        n++;
    (void)printf("%lu allocations;", n - 1);
    for (int i = 0; i < CFR_EI_COUNT; i++) {
        if (codes[i] != 0)
            (void)printf(" %s %lu", cfr_err_name(-i), codes[i]);
    }
    (void)printf("\n");
    if (n == MOST || codes[-CFR_E_NOMEM] < 50)
        die(n, "too few failures were seen", "the test tests nothing");
}

int main(int argc, char **argv)
{
    unsigned long seen[FILES] = {0};
    unsigned long codes[CFR_EI_COUNT] = {0};
    struct cfr_err err = {0};
    int lock_fd = -1;
    char path[4096];

    if (argc != 2)
        return 2;
    root = argv[1];
    fill(config, sizeof config, config_text, root);
    (void)snprintf(path, sizeof path, "%s/state", root);
    made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return 2;
    cfr_json_setup();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    state_fd = cfr_state_open(path, &lock_fd, &err);
    if (state_fd < 0)
        die(0, "state", err.text);
    /* Libraries keep what they make once. */
    (void)attempt(0, seen, codes);
    (void)attempt(0, seen, codes);
    every();
    (void)close(state_fd);
    (void)close(lock_fd);
    return 0;
}
