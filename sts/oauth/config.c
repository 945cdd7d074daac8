/* SPDX-License-Identifier: MIT */
/* The configuration of `oauth:`. */
#include "sts/oauth/oauth_private.h"

#include "wire/url.h"

#include <string.h>

#define SECOND_MS           INT64_C(1000)
#define DAY_MS              (86400 * SECOND_MS)
#define URN                 "urn:ietf:params:oauth:token-type:"

#define FIELD(member, kind) .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_oauth, member)
#define FIELD_AS(name, member, kind)                                                                                   \
    .key = (name), .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_oauth, member)

static const char *const grants[] = {"token-exchange", "jwt-bearer", "client-credentials", "custom", NULL};
static const char *const clients[] = {"none", "basic", "post", "private_key_jwt", "token", "basic_plain", NULL};

static const struct {
    const char *name;
    const char *urn;
} types[] = {
    {"jwt", URN "jwt"},
    {"id_token", URN "id_token"},
    {"access_token", URN "access_token"},
    {"refresh_token", URN "refresh_token"},
    {"saml1", URN "saml1"},
    {"saml2", URN "saml2"},
};

static const struct cfr_field fields[] = {
    {FIELD(token_url, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = CFR_URL_MAX,
     .doc = CFR_DOC("The server's token endpoint: https, or http to a loopback address.")},
    {FIELD(plain_http, BOOL), .fallback = "false",
     .doc = CFR_DOC("Allow plain http to another machine for `token_url`, such as a server inside the "
                    "cluster. Everyone who can read the network in between gets the token and the "
                    "granted credentials; `credfresh check` warns.")},
    {FIELD(grant, ENUM), .fallback = "token-exchange", .choices = grants,
     .doc = CFR_DOC("How the token is sent: `token-exchange` (RFC 8693) as subject token, `jwt-bearer` (RFC 7523) as "
                    "assertion, `client-credentials` (RFC 6749) not at all, except by `client_authentication: token`, "
                    "`custom` as `token_parameter`, if any, of the server's own `grant_type`.")},
    {FIELD(grant_type, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("With `grant: custom`: the server's name of its grant, such as "
                    "`urn:ibm:params:oauth:grant-type:cr-token`.")},
    {FIELD(token_parameter, STRING), .min = 1, .max = 64,
     .doc = CFR_DOC("With `grant: custom`: the parameter for the credential's token, such as `cr_token`.")},
    {FIELD(secret_parameter, STRING), .min = 1, .max = 64,
     .doc = CFR_DOC("With `grant: custom`: the parameter for the content of `client_secret_file`, such "
                    "as `apikey`.")},
    {FIELD(audience, STRINGS), .max = 10,
     .doc = CFR_DOC("Names of the services that the new token is for (RFC 8693); one `audience` parameter each.")},
    {FIELD(resource, STRINGS), .max = 10,
     .doc = CFR_DOC("URIs of the services that the new token is for (RFC 8707); one `resource` parameter each.")},
    {FIELD(scopes, STRINGS), .max = 100,
     .doc = CFR_DOC("Scopes to request. With `openid` a server may also grant an ID token: the "
                    "credential is then renewed before the earlier of the two expires. Default: those of "
                    "the server.")},
    {FIELD(subject_token_type, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("With token-exchange: type of the credential's token, a URI or short `jwt`, "
                    "`id_token`, `access_token`, `refresh_token`, `saml1`, `saml2`. Default: `jwt`.")},
    {FIELD(requested_token_type, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("With token-exchange: type of the requested token, written like "
                    "`subject_token_type`. Default: the server's own.")},
    {FIELD(actor_token_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("With token-exchange: file with the token of the party that acts for the subject.")},
    {FIELD(actor_token_type, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("Type of the actor's token, written like `subject_token_type`. Default: `jwt`.")},
    {FIELD(client_authentication, ENUM), .fallback = "none", .choices = clients,
     .doc =
         CFR_DOC("How the client authenticates: `none`; `basic` or `post` with `client_secret_file`; `private_key_jwt` "
                 "with `client_key_file`; `token` with the credential's token as its assertion (RFC 7523). "
                 "`basic_plain` is `basic` for servers that do not decode percent signs (RFC 6749, 2.3.1).")},
    {FIELD(client_id, STRING), .min = 1, .max = 512, .doc = CFR_DOC("The client's ID at the server.")},
    {FIELD(client_secret_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("File with the client's secret, for `basic`, `basic_plain` and `post`, or for "
                    "`secret_parameter`.")},
    {FIELD(client_key_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT,
     .doc = CFR_DOC("File with the client's private key (PEM, not encrypted), for `private_key_jwt`: RSA of 2048 to "
                    "4096 bits signs with RS256, P-256 with ES256.")},
    {FIELD(client_key_id, STRING), .min = 1, .max = 256,
     .doc = CFR_DOC("ID of that key at the server, for the assertion's `kid`. Default: none is sent.")},
    {FIELD(assertion_audience, STRING), .min = 1, .max = CFR_URL_MAX,
     .doc =
         CFR_DOC("Audience of the client's assertion with `private_key_jwt`: some servers require their issuer here. "
                 "Default: "
                 "`token_url`.")},
    {FIELD(parameters, PAIRS), .max = 20,
     .doc = CFR_DOC("Further parameters of the request, for servers that require more than the standard "
                    "ones. No value may be empty. Do not put secrets here.")},
    {FIELD_AS("default_lifetime", default_lifetime_ms, DURATION), .flags = CFR_FIELD_UNSET, .min = 60 * SECOND_MS,
     .max = 30 * DAY_MS,
     .doc = CFR_DOC("Lifetime to assume, in whole seconds, if the server's response has no `expires_in`. Default: such "
                    "a response is refused.")},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust for this exchange instead of the system's.")},
    {.key = NULL},
};

const char *cfr_oauth_token_type(const char *type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(type, types[i].name) == 0)
            return types[i].urn;
    }
    return type;
}

static int check_type(const char *key, const char *type, struct cfr_err *err)
{
    if (type == NULL || strchr(cfr_oauth_token_type(type), ':') != NULL)
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG,
                       "%s: it must be a URI, or one of jwt, id_token, access_token, refresh_token, saml1 and saml2",
                       key);
}

static int check_types(const struct cfr_oauth *c, struct cfr_err *err)
{
    const char *only_exchange = c->subject_token_type != NULL     ? "subject_token_type"
                                : c->requested_token_type != NULL ? "requested_token_type"
                                : c->actor_token_file != NULL     ? "actor_token_file"
                                                                  : NULL;
    int rc = check_type("subject_token_type", c->subject_token_type, err);

    if (rc == 0)
        rc = check_type("requested_token_type", c->requested_token_type, err);
    if (rc == 0)
        rc = check_type("actor_token_type", c->actor_token_type, err);
    if (rc != 0)
        return rc;
    if (c->grant != CFR_OAUTH_TOKEN_EXCHANGE && only_exchange != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "%s: it has no effect with `grant: %s`; leave it out", only_exchange,
                           grants[c->grant]);
    if (c->actor_token_type != NULL && c->actor_token_file == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "actor_token_type: it needs actor_token_file");
    return 0;
}

/* What each way of proof needs and excludes. */
static int check_client(const struct cfr_oauth *c, struct cfr_err *err)
{
    bool plain = c->client_authentication == CFR_OAUTH_BASIC_PLAIN;
    bool by_secret = plain || c->client_authentication == CFR_OAUTH_BASIC || c->client_authentication == CFR_OAUTH_POST;
    bool by_key = c->client_authentication == CFR_OAUTH_PRIVATE_KEY_JWT;
    const char *name = clients[c->client_authentication];
    const char *only_key = c->client_key_file != NULL      ? "client_key_file"
                           : c->client_key_id != NULL      ? "client_key_id"
                           : c->assertion_audience != NULL ? "assertion_audience"
                                                           : NULL;

    if (!by_secret && c->secret_parameter != NULL && c->client_secret_file == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "client_secret_file: `secret_parameter` needs it");
    if ((by_secret || c->secret_parameter != NULL) != (c->client_secret_file != NULL))
        return cfr_err_set(err, CFR_E_CONFIG,
                           by_secret ? "client_secret_file: `client_authentication: %s` needs it"
                                     : "client_secret_file: it has no effect with `client_authentication: %s`; write "
                                       "basic or post there",
                           name);
    if (by_key && c->client_key_file == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "client_key_file: `client_authentication: %s` needs it", name);
    if (!by_key && only_key != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "%s: it has no effect with `client_authentication: %s`; write private_key_jwt there",
                           only_key, name);
    if ((by_secret || by_key) && c->client_id == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "client_id: `client_authentication: %s` needs it", name);
    if (plain && strchr(c->client_id, ':') != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "client_id: a colon ends it with `client_authentication: basic_plain`; write basic or post "
                           "there");
    if (by_secret && c->secret_parameter != NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "secret_parameter: it has no effect with `client_authentication: %s`",
                           name);
    if (c->grant == CFR_OAUTH_CLIENT_CREDENTIALS && c->client_authentication == CFR_OAUTH_NONE)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "client_authentication: `grant: client-credentials` is for clients that prove themselves; write "
            "basic, post, private_key_jwt or token");
    return 0;
}

static int check_text(const char *key, const struct cfr_strings *list, bool blanks, struct cfr_err *err)
{
    for (size_t i = 0; i < list->count; i++) {
        struct cfr_view item = cfr_view_of(list->items[i]);

        if (item.n == 0 || (!blanks && strpbrk(list->items[i], " \t\r\n\"\\") != NULL))
            return cfr_err_set(err, CFR_E_CONFIG, "%s: element %zu is empty%s", key, i + 1,
                               blanks ? "" : " or has a blank, a quote or a backslash; write one scope per element");
    }
    return 0;
}

/* Parameters that the provider writes itself. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"grant_type",
                                      "subject_token",
                                      "subject_token_type",
                                      "requested_token_type",
                                      "actor_token",
                                      "actor_token_type",
                                      "assertion",
                                      "client_assertion",
                                      "client_assertion_type",
                                      "client_id",
                                      "client_secret",
                                      "audience",
                                      "resource",
                                      "scope"};

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(name, own[i]) == 0)
            return true;
    }
    return false;
}

static bool is_same(const char *name, const char *other)
{
    return other != NULL && strcmp(name, other) == 0;
}

static int check_parameters(const struct cfr_oauth *c, struct cfr_err *err)
{
    for (size_t i = 0; i < c->parameters.count; i++) {
        const char *key = c->parameters.items[i].key;

        if (key[0] == '\0' || !cfr_view_printable(cfr_view_of(key)))
            return cfr_err_set(err, CFR_E_CONFIG, "parameters: the name of parameter %zu is empty or not printable",
                               i + 1);
        if (is_own(key) || is_same(key, c->token_parameter) || is_same(key, c->secret_parameter))
            return cfr_err_set(err, CFR_E_CONFIG,
                               "parameters: %s cannot be set here; there is a key of its own for what it says", key);
        if (c->parameters.items[i].value[0] == '\0')
            return cfr_err_set(err, CFR_E_CONFIG,
                               "parameters: %s is empty, which is the same as a parameter that is not sent (RFC 6749, "
                               "3.2); leave it out",
                               key);
    }
    return 0;
}

static bool is_word(const char *text)
{
    return text[0] != '\0' && cfr_view_printable(cfr_view_of(text)) && strchr(text, ' ') == NULL;
}

static int check_parameter(const char *key, const char *name, struct cfr_err *err)
{
    if (name == NULL || (is_word(name) && !is_own(name)))
        return 0;
    return cfr_err_set(err, CFR_E_CONFIG, "%s: must be a name without blanks that no other key writes, such as apikey",
                       key);
}

/* The server's own grant has keys that the standard ones do not have. */
static int check_custom(const struct cfr_oauth *c, struct cfr_err *err)
{
    const char *only_custom = c->grant_type != NULL         ? "grant_type"
                              : c->token_parameter != NULL  ? "token_parameter"
                              : c->secret_parameter != NULL ? "secret_parameter"
                                                            : NULL;
    int rc;

    if (c->grant != CFR_OAUTH_CUSTOM)
        return only_custom == NULL
                   ? 0
                   : cfr_err_set(err, CFR_E_CONFIG, "%s: it has no effect with `grant: %s`; write custom there",
                                 only_custom, grants[c->grant]);
    if (c->grant_type == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "grant_type: `grant: custom` needs it");
    if (c->token_parameter == NULL && c->secret_parameter == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "token_parameter: `grant: custom` needs it, or secret_parameter");
    if (c->token_parameter != NULL && is_same(c->token_parameter, c->secret_parameter))
        return cfr_err_set(err, CFR_E_CONFIG, "secret_parameter: must be another one than token_parameter");
    if (!is_word(c->grant_type))
        return cfr_err_set(err, CFR_E_CONFIG, "grant_type: must be a name or URI without blanks");
    rc = check_parameter("token_parameter", c->token_parameter, err);
    return rc == 0 ? check_parameter("secret_parameter", c->secret_parameter, err) : rc;
}

static int check_resources(const struct cfr_oauth *c, struct cfr_err *err)
{
    for (size_t i = 0; i < c->resource.count; i++) {
        const char *uri = c->resource.items[i];

        if (strchr(uri, ':') == NULL || strpbrk(uri, " #\t\r\n") != NULL)
            return cfr_err_set(
                err, CFR_E_CONFIG,
                "resource: element %zu must be an absolute URI without fragment; names go under `audience`", i + 1);
    }
    return 0;
}

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_oauth *c = node;
    struct cfr_url url;
    int rc = cfr_url_parse_as(c->plain_http ? CFR_URL_ANY_HTTP : 0, c->token_url, &url, err);

    if (rc != 0) {
        (void)cfr_err_prefix(err, "token_url");
        return rc;
    }
    if (c->plain_http && url.tls)
        return cfr_err_set(err, CFR_E_CONFIG, "plain_http: it has no effect with an https URL; leave it out");
    if (c->ca_file != NULL && !url.tls)
        return cfr_err_set(err, CFR_E_CONFIG, "ca_file: it has no effect with an http URL; leave it out");
    rc = check_types(c, err);
    if (rc == 0)
        rc = check_custom(c, err);
    if (rc == 0)
        rc = check_client(c, err);
    if (rc == 0)
        rc = check_text("scopes", &c->scopes, false, err);
    if (rc == 0)
        rc = check_text("audience", &c->audience, true, err);
    if (rc == 0)
        rc = check_resources(c, err);
    if (rc == 0)
        rc = check_parameters(c, err);
    if (rc == 0 && c->default_lifetime_ms >= 0 && c->default_lifetime_ms % SECOND_MS != 0)
        rc = cfr_err_set(err, CFR_E_CONFIG, "default_lifetime: it must be in whole seconds");
    return rc;
}

const struct cfr_table cfr_oauth_table = {
    .name = "oauth exchange",
    .size = sizeof(struct cfr_oauth),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("Exchange at any OAuth 2 server: token exchange (RFC 8693), JWT bearer grant (RFC 7523) or client "
                   "credentials."),
};
