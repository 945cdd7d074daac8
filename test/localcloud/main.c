/* SPDX-License-Identifier: MIT */
/* credfresh-localcloud: starts the parts in order, waits for a signal, ends them in reverse. */
#include "admin.h"
#include "config.h"
#include "example.h"
#include "iam.h"
#include "keystone.h"
#include "kube.h"
#include "minted.h"
#include "objects.h"
#include "options.h"
#include "pause.h"
#include "service.h"
#include "state.h"
#include "tls.h"
#include "token_key.h"
#include "volume.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, DAY_S = 86400 };

/* The listeners, in the order in which they are made. */
enum { MAIN, EXPIRED, WRONG_NAME, PLAIN, ADMIN, LISTENERS };

struct program {
    struct lc_options options;
    json_t *config;
    struct lc_state state;
    struct lc_cert certs[3]; /* of MAIN, EXPIRED, WRONG_NAME */
    struct lc_http *http[LISTENERS];
    struct lc_cloud cloud;
};

static void opened(void *owner)
{
    lc_stats_connection(((struct lc_cloud *)owner)->stats);
}

static void began(void *owner)
{
    lc_stats_began(((struct lc_cloud *)owner)->stats);
}

static void ended(void *owner)
{
    lc_stats_ended(((struct lc_cloud *)owner)->stats);
}

static void ignore(void *owner)
{
    (void)owner;
}

static int make_certificates(struct program *program, struct lc_fail *fail)
{
    static const char local[] = "IP:127.0.0.1,IP:::1,DNS:localhost";
    const struct lc_cert *ca = &program->state.ca;

    return lc_tls_server(ca, local, -DAY_S, 3650L * DAY_S, &program->certs[MAIN], fail) != 0 ||
                   lc_tls_server(ca, local, -2L * DAY_S, -DAY_S, &program->certs[EXPIRED], fail) != 0 ||
                   lc_tls_server(ca, "DNS:another-name.invalid", -DAY_S, 3650L * DAY_S, &program->certs[WRONG_NAME],
                                 fail) != 0
               ? -1
               : 0;
}

static int make_listeners(struct program *program, struct lc_fail *fail)
{
    const struct lc_http_use service = {&program->cloud, lc_service_handle, opened, began, ended};
    const struct lc_http_use admin = {&program->cloud, lc_admin_handle, ignore, ignore, ignore};

    for (int i = 0; i < LISTENERS; i++) {
        const struct lc_cert *cert = i < PLAIN ? &program->certs[i] : NULL;
        const struct lc_http_tls tls = {cert == NULL ? NULL : cert->cert_pem, cert == NULL ? NULL : cert->key_pem,
                                        program->state.ca.cert_pem};
        program->http[i] = lc_http_new(i == MAIN ? program->options.port : 0, cert == NULL ? NULL : &tls,
                                       i == ADMIN ? &admin : &service, fail);
        if (program->http[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

static int make_cloud(struct program *program, struct lc_fail *fail)
{
    struct lc_cloud *cloud = &program->cloud;
    char *url = lc_text_format("https://127.0.0.1:%u/issuer", (unsigned)lc_http_port(program->http[MAIN]));
    char *volumes = lc_text_format("%s/volumes", program->options.state);
    bool good = url != NULL && volumes != NULL;

    memcpy(cloud->session_key, program->state.session_key, sizeof cloud->session_key);
    cloud->speed = program->options.speed;
    cloud->ca = &program->state.ca;
    cloud->region = lc_config_region(program->config);
    cloud->stats = good ? lc_stats_new(fail) : NULL;
    cloud->faults = cloud->stats == NULL ? NULL : lc_faults_new(fail);
    cloud->services = cloud->faults == NULL ? NULL : lc_services_new(fail);
    cloud->minted = cloud->services == NULL ? NULL : lc_minted_new(fail);
    cloud->token_key = cloud->minted == NULL ? NULL : lc_token_key_new(program->state.token_key, fail);
    if (cloud->token_key != NULL) {
        cloud->issuer = lc_issuer_new(url, program->state.signing_key, fail);
        program->state.signing_key = NULL;
    }
    cloud->trust = cloud->issuer == NULL ? NULL : lc_trust_new(cloud->issuer, cloud->session_key, fail);
    cloud->kubelet = cloud->trust == NULL ? NULL : lc_kubelet_new(volumes, cloud->issuer, cloud->speed, fail);
    free(url);
    free(volumes);
    return cloud->kubelet == NULL ? -1 : 0;
}

/* Items of one list of the configuration; a refusal names the file, the list and the item. */
static int apply_list(struct program *program, const char *name, struct lc_fail *fail)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(lc_config_part(program->config, name), index, item)
    {
        struct lc_fail why = {""};
        int result = name[0] == 'r'   ? lc_trust_put_role(program->cloud.trust, item, &why)
                     : name[0] == 'v' ? lc_kubelet_add(program->cloud.kubelet, item, &why)
                     : name[1] == 's' ? lc_trust_put_issuer(program->cloud.trust, item, &why)
                                      : lc_trust_put_iam_key(program->cloud.trust, item, &why);
        if (result != 0) {
            const char *file = program->options.config == NULL ? "configuration" : program->options.config;
            return lc_fail_set(fail, "%.200s: %s[%zu]: %.380s", file, name, index, why.text);
        }
    }
    return 0;
}

static int apply_services(struct program *program, struct lc_fail *fail)
{
    const struct lc_service *service = NULL;

    for (size_t n = 0; (service = lc_service_at(n)) != NULL; n++) {
        struct lc_fail why = {""};
        if (service->demo != NULL &&
            lc_service_set(&program->cloud, service, lc_config_part(program->config, service->name), &why) != 0) {
            const char *file = program->options.config == NULL ? "configuration" : program->options.config;
            return lc_fail_set(fail, "%.200s: %s: %.400s", file, service->name, why.text);
        }
    }
    return 0;
}

static int open_log(struct program *program, struct lc_fail *fail)
{
    const char *path = program->options.log;

    if (path == NULL) {
        return 0;
    }
    program->cloud.log = strcmp(path, "-") == 0 ? stdout : fopen(path, "ae");
    return program->cloud.log == NULL ? lc_fail_set(fail, "--log %s: %s", path, strerror(errno)) : 0;
}

static char *url_of(const struct program *program, int listener, const char *path)
{
    return lc_text_format("%s://127.0.0.1:%u%s", listener < PLAIN ? "https" : "http",
                          (unsigned)lc_http_port(program->http[listener]), path);
}

/* NAME_url of every service that has a prefix of its own. */
static void add_service_urls(struct program *program, json_t *ready)
{
    const struct lc_service *service = NULL;

    for (size_t n = 0; (service = lc_service_at(n)) != NULL; n++) {
        size_t len = strlen(service->prefix) - 1;
        char *path = service->url != NULL ? strdup(service->url) : strndup(service->prefix, len);
        char *name = lc_text_format("%s_url", service->name);
        char *url = path == NULL || *path == '\0' ? NULL : url_of(program, service->plain_url ? PLAIN : MAIN, path);
        if (name != NULL && url != NULL) {
            (void)json_object_set_new(ready, name, json_string(url));
        }
        free(path);
        free(name);
        free(url);
    }
}

/* The service accounts of the configuration's volumes are the cluster's too. */
static void imply_accounts(struct program *program)
{
    json_t *volume = NULL;
    size_t index = 0;

    json_array_foreach(lc_config_part(program->config, "volumes"), index, volume)
    {
        const char *space = json_string_value(json_object_get(volume, "namespace"));
        const char *account = json_string_value(json_object_get(volume, "service_account"));
        lc_kube_imply(program->cloud.kube, space == NULL ? "default" : space, account == NULL ? "demo" : account);
    }
}

static int write_kubeconfig(struct program *program, json_t *ready, struct lc_fail *fail)
{
    struct lc_buf text = {0};
    char *path = lc_text_format("%s/kubeconfig", program->options.state);
    char *server = url_of(program, MAIN, "/kube");
    int result = 0;

    if (path == NULL || server == NULL) {
        result = lc_fail_set(fail, "out of memory");
    } else if (lc_kube_config(program->cloud.kube, server, program->state.ca.cert_pem, &text)) {
        result = lc_volume_put_file(path, 0600, text.at, text.len, fail);
        (void)json_object_set_new(ready, "kubeconfig", json_string(path));
    }
    lc_buf_free(&text);
    free(path);
    free(server);
    return result;
}

static int write_ready(struct program *program, struct lc_fail *fail)
{
    static const char *const names[] = {"sts_url", "sts_expired_url", "sts_wrongname_url", "http_url", "admin_url"};
    json_t *ready = json_pack("{s:I,s:s,s:f}", "pid", (json_int_t)getpid(), "issuer",
                              lc_issuer_url(program->cloud.issuer), "speed", program->cloud.speed);
    json_t *volumes = json_object();
    json_t *report = lc_kubelet_report(program->cloud.kubelet);
    const char *name = NULL;
    json_t *volume = NULL;

    for (int i = 0; i < LISTENERS; i++) {
        char *url = url_of(program, i, i == ADMIN ? "" : "/");
        (void)json_object_set_new(ready, names[i], json_string(url));
        free(url);
    }
    json_object_foreach(report, name, volume)
    {
        (void)json_object_set(volumes, name, json_object_get(volume, "directory"));
    }
    json_decref(report);
    (void)json_object_set_new(ready, "volumes", volumes);
    add_service_urls(program, ready);
    /* Without a configuration, because that may leave out any of the identities that the example uses. */
    if (write_kubeconfig(program, ready, fail) != 0 ||
        (program->options.config == NULL && lc_example_write(program->options.state, ready, fail) != 0)) {
        json_decref(ready);
        return -1;
    }
    return lc_state_write_ready(program->options.state, ready, fail);
}

static int start(struct program *program, struct lc_fail *fail)
{
    program->config = lc_config_load(program->options.config, fail);
    if (program->config == NULL || lc_state_open(program->options.state, &program->state, fail) != 0 ||
        open_log(program, fail) != 0 || make_certificates(program, fail) != 0 || make_listeners(program, fail) != 0 ||
        make_cloud(program, fail) != 0 || apply_list(program, "issuers", fail) != 0 ||
        apply_list(program, "roles", fail) != 0 || apply_list(program, "volumes", fail) != 0 ||
        apply_list(program, "iam_keys", fail) != 0 || apply_services(program, fail) != 0) {
        return -1;
    }
    imply_accounts(program);
    for (int i = 0; i < LISTENERS; i++) {
        if (lc_http_start(program->http[i], fail) != 0) {
            return -1;
        }
    }
    return lc_kubelet_start(program->cloud.kubelet, fail) != 0 ? -1 : write_ready(program, fail);
}

static void stop(struct program *program)
{
    struct lc_cloud *cloud = &program->cloud;

    lc_pause_stop();
    for (int i = LISTENERS - 1; i >= 0; i--) {
        lc_http_free(program->http[i]);
    }
    if (cloud->issuer != NULL) {
        lc_state_close(program->options.state, cloud->issuer);
    }
    lc_kubelet_free(cloud->kubelet);
    lc_trust_free(cloud->trust);
    lc_issuer_free(cloud->issuer);
    lc_iam_free(cloud);
    lc_objects_free(cloud);
    lc_keystone_free(cloud->keystone);
    lc_kube_free(cloud->kube);
    lc_minted_free(cloud->minted);
    lc_services_free(cloud->services);
    lc_token_key_free(cloud->token_key);
    lc_faults_free(cloud->faults);
    lc_stats_free(cloud->stats);
    for (int i = 0; i < 3; i++) {
        lc_tls_free(&program->certs[i]);
    }
    lc_state_free(&program->state);
    json_decref(program->config);
    if (cloud->log != NULL && cloud->log != stdout) {
        (void)fclose(cloud->log);
    }
}

int main(int argc, char *argv[])
{
    static struct program program;
    struct lc_fail fail = {""};
    sigset_t signals;
    int number = 0;
    int result = 0;

    if (lc_options_read(argc, argv, &program.options, &fail) != 0) {
        (void)fprintf(stderr, "credfresh-localcloud: %s\n", fail.text);
        return EXIT_USAGE;
    }
    if (program.options.help || program.options.version) {
        (void)fputs(program.options.help ? lc_options_help : "credfresh-localcloud " CFR_VERSION "\n", stdout);
        return 0;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL); /* every thread inherits this; main waits for them below */
    result = start(&program, &fail);
    if (result == 0) {
        (void)printf("ready: %s/ready.json\n", program.options.state);
        (void)fflush(stdout);
        (void)sigwait(&signals, &number);
    } else {
        (void)fprintf(stderr, "credfresh-localcloud: %s\n", fail.text);
    }
    stop(&program);
    return result == 0 ? 0 : EXIT_USAGE;
}
