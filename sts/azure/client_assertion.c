/* SPDX-License-Identifier: MIT */
/* Proofs of the client. */
#include "sts/azure/settings_private.h"

#include "base/writer.h"
#include "wire/form.h"
#include "wire/jwt.h"

#define ASSERTION_TYPE   "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
#define ASSERTION_LIFE_S 600
#define HEADER_MAX       CFR_JWT_MAX
#define CLAIMS_MAX       4096

enum cfr_azure_client_assertion cfr_azure_client_assertion_of(const struct cfr_azure *config)
{
    if (config->client_secret_file != NULL)
        return CFR_AZURE_SECRET;
    return config->certificate_file != NULL ? CFR_AZURE_CERTIFICATE : CFR_AZURE_FEDERATED;
}

static int add_assertion(struct cfr_secret *body, struct cfr_view assertion, struct cfr_err *err)
{
    int rc = cfr_form_add(body, "client_assertion_type", cfr_view_of(ASSERTION_TYPE), err);

    return rc != 0 ? rc : cfr_form_add(body, "client_assertion", assertion, err);
}

static int add_secret(const struct cfr_sts_input *in, struct cfr_secret *body, struct cfr_err *err)
{
    struct cfr_view secret = cfr_sts_input_content(in, "client_secret_file");

    if (secret.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "client_secret_file: the file is empty; write the secret's value to it");
    for (size_t i = 0; i < secret.n; i++) {
        if ((unsigned char)secret.p[i] < 0x20 || secret.p[i] == 0x7f)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "client_secret_file: the file holds more than one line or a control character; it must "
                               "hold only the secret's value");
    }
    return cfr_form_add(body, "client_secret", secret, err);
}

/* AD FS knows only the older form of both. */
static int make_header(const struct cfr_azure *config, bool adfs, struct cfr_view pem, struct cfr_secret *header,
                       struct cfr_err *err)
{
    char thumbprint[CFR_JWT_THUMBPRINT_MAX] = "";
    int rc = adfs ? cfr_jwt_thumbprint_sha1(pem, thumbprint, err) : cfr_jwt_thumbprint(pem, thumbprint, err);
    struct cfr_writer w = {.secret = header, .err = err, .rc = rc};
    struct cfr_secret chain;

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "alg", cfr_view_of(adfs ? "RS256" : "PS256"));
    cfr_writer_string(&w, "typ", cfr_view_of("JWT"));
    cfr_writer_string(&w, adfs ? "x5t" : "x5t#S256", cfr_view_of(thumbprint));
    if (config->send_certificate_chain) {
        cfr_secret_init(&chain, HEADER_MAX);
        if (w.rc == 0)
            w.rc = cfr_jwt_chain(pem, &chain, err);
        cfr_writer_raw(&w, "x5c", cfr_secret_view(&chain));
        cfr_secret_free(&chain);
    }
    cfr_writer_close(&w);
    return w.rc;
}

static void make_claims(const struct cfr_azure_settings *place, const struct cfr_sts_input *in, struct cfr_str *claims)
{
    struct cfr_writer w = {.str = claims};
    char url[CFR_AZURE_URL_MAX];
    char id[CFR_JWT_UUID_MAX];

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "aud", cfr_view_of(cfr_azure_settings_token_url(place, url)));
    cfr_writer_string(&w, "iss", cfr_view_of(place->client));
    cfr_writer_string(&w, "sub", cfr_view_of(place->client));
    cfr_writer_string(&w, "jti", cfr_view_of(cfr_jwt_uuid(in->nonce, id)));
    cfr_writer_number(&w, "iat", in->now_s);
    cfr_writer_number(&w, "nbf", in->now_s);
    cfr_writer_number(&w, "exp", in->now_s + ASSERTION_LIFE_S);
    cfr_writer_close(&w);
}

static int sign(const struct cfr_azure *config, const struct cfr_azure_settings *place, const struct cfr_sts_input *in,
                struct cfr_view header, struct cfr_secret *jwt, struct cfr_err *err)
{
    const char *from = config->key_file != NULL ? "key_file" : "certificate_file";
    struct cfr_str claims = {.limit = CLAIMS_MAX};
    int rc;

    make_claims(place, in, &claims);
    if (claims.failed)
        rc = cfr_err_nomem(err);
    else
        rc = cfr_jwt_sign(place->adfs ? CFR_JWT_RS256 : CFR_JWT_PS256, header, cfr_str_view(&claims),
                          cfr_sts_input_content(in, from), jwt, err);
    cfr_str_free(&claims);
    return rc == CFR_E_CONFIG && err != NULL ? cfr_err_prefix(err, "%s", from) : rc;
}

static int add_certificate(const struct cfr_azure *config, const struct cfr_azure_settings *place,
                           const struct cfr_sts_input *in, struct cfr_secret *body, struct cfr_err *err)
{
    struct cfr_view pem = cfr_sts_input_content(in, "certificate_file");
    struct cfr_secret header;
    struct cfr_secret jwt;
    int rc;

    if (in->nonce == NULL)
        return cfr_err_set(err, CFR_E_INTERNAL, "cannot get random bytes for the assertion's jti");
    cfr_secret_init(&header, HEADER_MAX);
    cfr_secret_init(&jwt, CFR_JWT_MAX);
    rc = make_header(config, place->adfs, pem, &header, err);
    if (rc == CFR_E_CONFIG && err != NULL)
        rc = cfr_err_prefix(err, "certificate_file");
    if (rc == 0)
        rc = sign(config, place, in, cfr_secret_view(&header), &jwt, err);
    if (rc == CFR_E_LIMIT)
        rc = cfr_err_set(err, CFR_E_CONFIG,
                         "certificate_file: with so many certificates the assertion is too long; keep the leaf and its "
                         "intermediates only");
    if (rc == 0)
        rc = add_assertion(body, cfr_secret_view(&jwt), err);
    cfr_secret_free(&header);
    cfr_secret_free(&jwt);
    return rc;
}

int cfr_azure_client_assertion_add(const struct cfr_azure *config, const struct cfr_azure_settings *place,
                                   const struct cfr_sts_input *in, struct cfr_secret *body, struct cfr_err *err)
{
    switch (cfr_azure_client_assertion_of(config)) {
    case CFR_AZURE_SECRET:
        return add_secret(in, body, err);
    case CFR_AZURE_CERTIFICATE:
        return add_certificate(config, place, in, body, err);
    case CFR_AZURE_FEDERATED:
        break;
    }
    if (in->token.n == 0)
        return cfr_err_set(err, CFR_E_TOKEN, "the token is empty");
    return add_assertion(body, in->token, err);
}
