/* SPDX-License-Identifier: MIT */
/* Options of libcurl that no answer of a well-behaved server shows. */
#include "http_fixture.h"

#include <curl/curl.h>
#include <stdarg.h>

#undef curl_easy_setopt

CURLcode __real_curl_easy_setopt(CURL *e, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *e, CURLoption option, ...);

static long version, sessions;
static char password[16], no_proxy[16];

static void keep_text(char *out, size_t size, const char *text)
{
    (void)snprintf(out, size, "%s", text != NULL ? text : "(none)");
}

CURLcode __wrap_curl_easy_setopt(CURL *e, CURLoption option, ...)
{
    va_list values;
    void *value;

    va_start(values, option);
    value = va_arg(values, void *);
    va_end(values);
    if (option == CURLOPT_SSLVERSION)
        version = (long)(intptr_t)value;
    if (option == CURLOPT_SSL_SESSIONID_CACHE)
        sessions = (long)(intptr_t)value;
    if (option == CURLOPT_KEYPASSWD)
        keep_text(password, sizeof password, value);
    if (option == CURLOPT_NOPROXY)
        keep_text(no_proxy, sizeof no_proxy, value);
    return __real_curl_easy_setopt(e, option, value);
}

static void forget(void)
{
    version = -1;
    sessions = -1;
    keep_text(password, sizeof password, "(not set)");
    keep_text(no_proxy, sizeof no_proxy, "(not set)");
}

static void tls_is_1_2_or_newer_and_resumes_nothing(void **state)
{
    struct cfr_http *h = engine();

    (void)state;
    forget();
    assert_int_equal(fetch_tls(h, srv.good, srv.ca).status, 200);
    assert_int_equal(version, CURL_SSLVERSION_TLSv1_2);
    assert_int_equal(sessions, 0);
    assert_string_equal(password, "(not set)");
    cfr_http_close(h);
}

/* With an empty one, OpenSSL has no reason to ask the terminal. */
static void a_client_key_has_an_empty_password(void **state)
{
    struct cfr_http *h = engine();
    struct cfr_secret cert = read_made("client-a.pem");
    struct cfr_secret key = read_made("client-a.key");
    char url[256];
    struct cfr_http_request r = get(url_of(url, "https", srv.good, "/echo"));

    (void)state;
    r.client_cert = cfr_secret_view(&cert);
    r.client_key = cfr_secret_view(&key);
    forget();
    (void)fetch(h, &r);
    assert_string_equal(password, "");
    cfr_http_close(h);
    cfr_secret_free(&cert);
    cfr_secret_free(&key);
}

/* Not even through a proxy that the configuration names: what is sent there is for this machine. */
static void a_link_local_address_is_never_proxied(void **state)
{
    struct cfr_http *h = engine();
    char proxy[256];
    struct cfr_http_request r = get("http://169.254.170.2/creds");

    (void)state;
    r.ca_file = NULL;
    r.link_local = true;
    r.proxy = url_of(proxy, "http", srv.proxy, "");
    r.timeout_ms = 200;
    forget();
    (void)fetch(h, &r);
    assert_string_equal(no_proxy, "*");
    cfr_http_close(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tls_is_1_2_or_newer_and_resumes_nothing),
        cmocka_unit_test(a_client_key_has_an_empty_password),
        cmocka_unit_test(a_link_local_address_is_never_proxied),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
