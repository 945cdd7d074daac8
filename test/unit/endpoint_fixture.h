/* SPDX-License-Identifier: MIT */
/* Requests to the shapes of AWS and what they may look at, as rows of tables. */
#ifndef TEST_ENDPOINT_FIXTURE_H
#define TEST_ENDPOINT_FIXTURE_H

#include "serve_ask.h"

#include "serve/sdk/ec2_token.h"

#define FIXTURE_NOW_S INT64_C(1767326645) /* 2026-01-02T04:04:05Z */
#define FIXTURE_KEY   "0123456789abcdef0123456789abcdef"
#define ROLE_ARN      "arn:aws:iam::123456789012:role/team/reporting"
#define SESSION_ARN   "arn:aws-cn:sts::123456789012:assumed-role/reporting/pod-1"

/* What the one credential, "registry", has to offer. */
enum fixture_offer {
    OFFER_SESSION,    /* a role's session with an hour to live */
    OFFER_ROLE,       /* the same, the identity being the role */
    OFFER_ACCOUNT,    /* the same without identity, the account known */
    OFFER_ANONYMOUS,  /* the same without either */
    OFFER_USER,       /* the same with a user for identity */
    OFFER_ODD,        /* values that JSON must escape */
    OFFER_LONG_LIVED, /* keys of a user: no session token, no end */
    OFFER_ENDING,     /* ends in a second */
    OFFER_ENDED,      /* ends now */
    OFFER_NONE,
    OFFER_NONE_SILENT, /* without a reason and a time */
    OFFER_OTHER_CLOUD,
    OFFER_HALF, /* a key without its secret */
    OFFER_UNKNOWN
};

struct fixture {
    enum fixture_offer kind;
    struct cfr_grant grant;
    const char *secret; /* what the authorization file holds; NULL = cannot be read */
    const char *secret_path;
};

static inline void fixture_set(struct cfr_grant *g, const char *name, const char *value)
{
    assert_int_equal(cfr_grant_set(g, name, cfr_view_of(value), NULL), 0);
}

static inline const char *fixture_identity(enum fixture_offer kind)
{
    switch (kind) {
    case OFFER_SESSION:
        return SESSION_ARN;
    case OFFER_ROLE:
        return ROLE_ARN;
    case OFFER_USER:
        return "arn:aws:iam::123456789012:user/bob";
    default:
        return NULL;
    }
}

static inline void fixture_fill(struct fixture *f, enum fixture_offer kind)
{
    struct cfr_grant *g = &f->grant;

    f->kind = kind;
    if (kind == OFFER_OTHER_CLOUD) {
        fixture_set(g, CFR_FIELD_GCP_ACCESS_TOKEN, "ya29.example");
        return;
    }
    fixture_set(g, CFR_FIELD_AWS_ACCESS_KEY_ID, "ASIAEXAMPLE");
    if (kind != OFFER_HALF)
        fixture_set(g, CFR_FIELD_AWS_SECRET_ACCESS_KEY, kind == OFFER_ODD ? "a\"b\\c\x01\xff" : "wJalr/secret+example");
    if (kind != OFFER_LONG_LIVED)
        fixture_set(g, CFR_FIELD_AWS_SESSION_TOKEN, "IQoJ//session==");
    if (kind == OFFER_ACCOUNT)
        fixture_set(g, CFR_FIELD_AWS_ACCOUNT_ID, "210987654321");
    if (fixture_identity(kind) != NULL)
        assert_int_equal(cfr_grant_set_identity(g, cfr_view_of(fixture_identity(kind)), NULL), 0);
}

static inline bool fixture_offer(void *ctx, const char *credential, struct cfr_offer *out)
{
    const struct fixture *f = ctx;
    bool none = f->kind == OFFER_NONE || f->kind == OFFER_NONE_SILENT;

    if (f->kind == OFFER_UNKNOWN)
        return false;
    assert_string_equal(credential, "registry");
    *out = (struct cfr_offer){.credential = credential, .issued_s = FIXTURE_NOW_S - 60, .expires_s = FIXTURE_NOW_S + 3600};
    if (f->kind == OFFER_ENDING || f->kind == OFFER_ENDED)
        out->expires_s = FIXTURE_NOW_S + (f->kind == OFFER_ENDING ? 1 : 0);
    if (f->kind == OFFER_LONG_LIVED)
        out->issued_s = out->expires_s = 0;
    if (f->kind == OFFER_NONE) {
        out->why = "the cloud refuses";
        out->retry_after_s = 17;
    }
    out->grant = none ? NULL : &f->grant;
    return true;
}

static inline struct cfr_view fixture_secret_file(void *ctx, const char *path)
{
    struct fixture *f = ctx;

    f->secret_path = path;
    return cfr_view_of(f->secret);
}

/* For programs that ask for session tokens: setup and teardown of their group. */
static struct cfr_ec2_signer *fixture_signer;

static inline int fixture_open_signer(void **state)
{
    (void)state;
    return cfr_ec2_signer_open(LITERAL(FIXTURE_KEY), &fixture_signer, NULL);
}

static inline int fixture_close_signer(void **state)
{
    (void)state;
    cfr_ec2_signer_close(fixture_signer);
    return 0;
}

static inline struct cfr_endpoint_world fixture_world(struct fixture *f)
{
    return (struct cfr_endpoint_world){.now_s = FIXTURE_NOW_S,
                                       .offer = fixture_offer,
                                       .secret_file = fixture_secret_file,
                                       .ctx = f,
                                       .signer = fixture_signer};
}

/* HEADERS is "Name: value" lines. */
static inline struct cfr_endpoint_request fixture_request(const char *method, const char *path,
                                                          const char *headers)
{
    ask_headers = headers;
    return (struct cfr_endpoint_request){
        .method = cfr_view_of(method), .path = cfr_view_of(path), .header = ask_header, .peer = "127.0.0.1"};
}

/* Secrets have no place in what is no success. */
static inline void fixture_check_no_secret(const struct cfr_endpoint_answer *a)
{
    static const char *const secrets[] = {"ASIAEXAMPLE", "wJalr", "IQoJ", "ya29", "the password"};

    for (size_t i = 0; a->status != 200 && i < COUNT(secrets); i++)
        assert_null(strstr(ask_body(a), secrets[i]));
}

#endif
