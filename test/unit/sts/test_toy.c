/* SPDX-License-Identifier: MIT */
/* A toy provider and a toy format, written as any other: their interfaces are all that they need. */
#include "unit.h"

#include "base/json.h"
#include "base/writer.h"
#include "files/format/format.h"
#include "sts/core/provider.h"

/* ---- the provider ---- */

struct toy {
    struct cfr_node node;
    char *url;
    char *colour;
};

static int check(const void *config, struct cfr_err *err)
{
    const struct toy *t = config;

    return t->url != NULL ? 0 : cfr_err_set(err, CFR_E_CONFIG, "url: it is missing");
}

static const struct cfr_field fields[] = {
    {.key = "url", .type = CFR_FIELD_STRING, .offset = offsetof(struct toy, url), .doc = "URL of the toy service."},
    {.key = "colour",
     .type = CFR_FIELD_STRING,
     .offset = offsetof(struct toy, colour),
     .fallback = "red",
     .doc = "Colour of the toy."},
    {.key = NULL},
};

static const struct cfr_table table = {
    .name = "toy exchange", .size = sizeof(struct toy), .fields = fields, .check = check, .doc = "A toy."};

/* Two requests: for a ticket, then for the toy. */
static int build(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    const struct toy *t = x->config;
    struct cfr_view ticket = cfr_grant_get(&x->grant, "toy_ticket");
    struct cfr_writer w = {.secret = &out->body, .err = err};

    cfr_secret_init(&out->body, CFR_STS_BODY_MAX);
    out->method = "POST";
    out->url = cfr_str_dup(cfr_view_of(t->url));
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, x->step == 0 ? "token" : "ticket", x->step == 0 ? in->token : ticket);
    cfr_writer_string(&w, "colour", cfr_view_of(t->colour));
    cfr_writer_close(&w);
    return out->url != NULL ? w.rc : cfr_err_nomem(err);
}

static int parse(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                 struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    struct cfr_view text;
    int rc = cfr_json_parse(reply->body, &doc, err);

    (void)in;
    if (rc == 0 && !cfr_json_string(cfr_json_get(doc, x->step == 0 ? "ticket" : "toy"), &text))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer has no %s", x->step == 0 ? "ticket" : "toy");
    if (rc == 0)
        rc = cfr_grant_set(&x->grant, x->step == 0 ? "toy_ticket" : "toy", text, err);
    cfr_json_free(doc);
    if (rc != 0)
        return rc;
    return x->step++ == 0 ? CFR_STS_MORE : CFR_STS_DONE;
}

static const char *const hosts[] = {".toys.example", NULL};
static const struct cfr_sts_provider toy_provider = {
    .name = "toy", .table = &table, .doc = "A toy.", .hosts = hosts, .build = build, .parse = parse};

/* ---- the format ---- */

static int render(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer w = {.secret = out, .err = err};

    cfr_writer_text(&w, "toy of ");
    cfr_writer_text(&w, in->credential);
    cfr_writer_text(&w, ": ");
    cfr_writer_view(&w, cfr_grant_get(in->grant, "toy"));
    return w.rc;
}

static const struct cfr_format toy_format = {.name = "toy", .render = render, .needs = "toy", .doc = "the toy"};

/* ---- the exchange ---- */

static int answer(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const char *wanted, const char *body)
{
    struct cfr_wire_request request = {0};
    struct cfr_wire_reply reply = {.status = 200, .body = cfr_view_of(body)};
    struct cfr_err err = {0};

    assert_int_equal(x->provider->build(x, in, &request, &err), 0);
    assert_string_equal(request.url, "https://a.toys.example/");
    assert_view(cfr_secret_view(&request.body), wanted);
    cfr_wire_request_free(&request);
    return x->provider->parse(x, in, &reply, &err);
}

static void a_toy_is_exchanged_and_rendered(void **state)
{
    struct toy config = {0};
    struct cfr_sts_exchange x = {.provider = &toy_provider, .config = &config};
    struct cfr_sts_input in = {.credential = "doll", .token = cfr_view_of("e30.e30.e30")};
    struct cfr_format_input input = {.credential = "doll", .grant = &x.grant};
    struct cfr_secret out;
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_field_defaults(toy_provider.table, &config, &err), 0);
    assert_int_equal(toy_provider.table->check(&config, &err), CFR_E_CONFIG);
    assert_int_equal(cfr_field_store(cfr_field_find(toy_provider.table, cfr_view_of("url")), &config,
                                     cfr_view_of("https://a.toys.example/"), true, &err),
                     0);
    assert_int_equal(toy_provider.table->check(&config, &err), 0);
    assert_true(cfr_sts_needs_token(&toy_provider, &config));
    assert_int_equal(answer(&x, &in, "{\"token\":\"e30.e30.e30\",\"colour\":\"red\"}", "{\"ticket\":\"7\"}"),
                     CFR_STS_MORE);
    assert_int_equal(answer(&x, &in, "{\"ticket\":\"7\",\"colour\":\"red\"}", "{}"), CFR_E_ANSWER);
    assert_int_equal(answer(&x, &in, "{\"ticket\":\"7\",\"colour\":\"red\"}", "{\"toy\":\"bear\"}"), CFR_STS_DONE);
    cfr_secret_init(&out, CFR_FORMAT_OUTPUT_MAX);
    assert_int_equal(toy_format.render(&input, &out, &err), 0);
    assert_view(cfr_secret_view(&out), "toy of doll: bear");
    cfr_secret_free(&out);
    cfr_sts_exchange_free(&x);
    cfr_field_free(toy_provider.table, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_toy_is_exchanged_and_rendered)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
