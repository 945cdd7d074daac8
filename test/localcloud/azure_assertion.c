/* SPDX-License-Identifier: MIT */
/* Entra ID: applications that prove themselves with an assertion, either one that they signed with a
 * certificate's key, or another issuer's token that a federated identity credential names. */
#include "azure.h"

#include "token_proof.h"
#include "token_replay.h"
#include "token_subject.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FEDERATION_HELP                                                                                                \
    "Check your federated identity credential Subject, Audience and Issuer against the presented "                     \
    "assertion. "                                                                                                      \
    "https://learn.microsoft.com/entra/workload-id/workload-identity-federation"

enum { LONGEST_S = 600, SLACK_S = 300 };

static int check_time(struct lc_visit *visit, const struct lc_subject *subject, bool issued_wanted)
{
    int64_t now = (int64_t)lc_time_now();
    int64_t from = subject->not_before_s != 0 ? subject->not_before_s : subject->issued_at_s;
    char now_text[LC_TIME_BYTES];
    char from_text[LC_TIME_BYTES];
    char end_text[LC_TIME_BYTES];

    if (subject->expires_at_s == 0 || (issued_wanted && subject->issued_at_s == 0)) {
        return lc_azure_refuse(visit, 50027, "JWT token is invalid or malformed: exp%s must be there, as integers.",
                               issued_wanted ? " and iat" : "");
    }
    if (now < subject->expires_at_s && from <= now + SLACK_S) {
        return 0;
    }
    lc_time_iso(now, now_text);
    lc_time_iso(from, from_text);
    lc_time_iso(subject->expires_at_s, end_text);
    return lc_azure_refuse(
        visit, 700024,
        "Client assertion is not within its valid time range. Current time: %s, assertion valid from "
        "%s, expiry time of assertion %s. Review the documentation at "
        "https://learn.microsoft.com/entra/identity-platform/certificate-credentials .",
        now_text, from_text, end_text);
}

/* Which of the credentials fits best: all of issuer, subject and audience; otherwise the refusal says which
 * is off. */
static int match_federated(struct lc_visit *visit, const struct lc_azure_ask *ask, const struct lc_subject *subject)
{
    json_t *item = NULL;
    size_t index = 0;
    bool issuer = false;
    bool same_subject = false;
    bool other_case = false;
    char *audience = NULL;

    json_array_foreach(json_object_get(ask->application, "federated"), index, item)
    {
        const char *wanted = json_string_value(json_object_get(item, "subject"));
        if (strcmp(json_string_value(json_object_get(item, "issuer")), subject->issuer) != 0) {
            continue;
        }
        issuer = true;
        if (strcmp(wanted, subject->subject) != 0) {
            other_case = other_case || strcasecmp(wanted, subject->subject) == 0;
            continue;
        }
        same_subject = true;
        if (lc_subject_for(subject, json_string_value(json_object_get(item, "audience")))) {
            return 0;
        }
    }
    if (!issuer) {
        return lc_azure_refuse(visit, 700211,
                               "No matching federated identity record found for presented assertion issuer "
                               "'%.300s'. " FEDERATION_HELP,
                               subject->issuer);
    }
    if (!same_subject) {
        return lc_azure_refuse(visit, other_case ? 7002138 : 700213,
                               "No matching federated identity record found for presented assertion subject "
                               "'%.300s'.%s " FEDERATION_HELP,
                               subject->subject,
                               other_case ? " The matching is done using a case-sensitive comparison." : "");
    }
    audience = lc_subject_audience(subject);
    (void)lc_azure_refuse(visit, 700212,
                          "No matching federated identity record found for presented assertion audience "
                          "'%.300s'. " FEDERATION_HELP,
                          audience == NULL ? "" : audience);
    free(audience);
    return -1;
}

static int prove_federated(struct lc_visit *visit, const struct lc_azure_ask *ask, const struct lc_subject *subject)
{
    if (strcmp(subject->jwt.alg, "RS256") != 0) {
        return lc_azure_refuse(visit, 5002738,
                               "Invalid JWT token. '%.20s' is not a supported signature algorithm. Supported signing "
                               "algorithms are: 'RS256'.",
                               subject->jwt.alg);
    }
    if (subject->jwt.kid == NULL) {
        return lc_azure_refuse(visit, 50027, "JWT token is invalid or malformed: its header has no kid.");
    }
    if (match_federated(visit, ask, subject) != 0) {
        return -1;
    }
    switch (lc_subject_signed(visit->cloud, subject)) {
    case LC_SIGNED_UNKNOWN:
        return lc_azure_refuse(visit, 7000272,
                               "The certificate with identifier %.80s used to sign the federated credential could not "
                               "be found in the metadata of identity provider %.300s. Please validate that your "
                               "Identity Provider's metadata exposes the key used to sign the incoming token.",
                               subject->jwt.kid, subject->issuer);
    case LC_SIGNED_BADLY:
        return lc_azure_refuse(visit, 700027,
                               "Client assertion contains an invalid signature. [Reason - The provided signature value "
                               "did not match the expected signature value.]");
    case LC_SIGNED_WELL:
        break;
    }
    return check_time(visit, subject, true);
}

/* SHA-256 thumbprints also in standard base64 with padding, which a library sends and the service takes. */
static bool same_thumb(const char *registered, const char *sent)
{
    size_t len = sent == NULL ? 0 : strcspn(sent, "=");

    if (len != strlen(registered)) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        char c = sent[i] == '+' ? '-' : sent[i] == '/' ? '_' : sent[i];
        if (c != registered[i]) {
            return false;
        }
    }
    return true;
}

/* Entra takes x5t#S256 with PS256 or RS256, and x5t with RS256; AD FS the latter alone. */
static int find_certificate(struct lc_visit *visit, const struct lc_azure_ask *ask, const struct lc_subject *subject,
                            const char **pem)
{
    const char *sha256 = ask->adfs ? NULL : json_string_value(json_object_get(subject->jwt.header, "x5t#S256"));
    const char *sha1 = json_string_value(json_object_get(subject->jwt.header, "x5t"));
    const char *key = sha256 != NULL ? "x5t#S256" : "x5t";
    const char *sent = sha256 != NULL ? sha256 : sha1;
    json_t *item = NULL;
    size_t index = 0;
    bool rs = strcmp(subject->jwt.alg, "RS256") == 0;

    if (!rs && (ask->adfs || strcmp(subject->jwt.alg, "PS256") != 0)) {
        return lc_azure_refuse(visit, 5002738,
                               "Invalid JWT token. '%.20s' is not a supported signature algorithm. Supported signing "
                               "algorithms are: %s.",
                               subject->jwt.alg, ask->adfs ? "'RS256'" : "'PS256, RS256'");
    }
    if (sent == NULL || (!rs && sha256 == NULL)) {
        return lc_azure_refuse(visit, 50027,
                               "Invalid JWT token. No certificate %s thumbprint specified in token header.",
                               rs ? "SHA-1 or SHA-256" : "SHA-256");
    }
    json_array_foreach(json_object_get(ask->application, "certificates"), index, item)
    {
        if (same_thumb(json_string_value(json_object_get(item, key)), sent)) {
            *pem = json_string_value(json_object_get(item, "pem"));
            return 0;
        }
    }
    return lc_azure_refuse(visit, 700027,
                           "Client assertion contains an invalid signature. [Reason - The key was not found., "
                           "Thumbprint of key used by client: '%.100s', Please visit the Azure Portal, Graph Explorer "
                           "or directly use MS Graph to see configured keys for app Id '%.100s'.]",
                           sent, ask->client_id);
}

static int check_own_claims(struct lc_visit *visit, const struct lc_azure_ask *ask, const struct lc_subject *subject)
{
    const char *audience = json_string_value(json_object_get(subject->jwt.claims, "aud"));
    const char *jti = json_string_value(json_object_get(subject->jwt.claims, "jti"));
    int64_t now = (int64_t)lc_time_now();
    int64_t from = subject->not_before_s != 0 ? subject->not_before_s : now;

    if (strcmp(subject->subject, ask->client_id) != 0) {
        return lc_azure_refuse(visit, 700021,
                               "Client assertion application identifier doesn't match 'client_id' parameter.");
    }
    if (audience == NULL || !lc_visit_is_url(visit, audience, visit->request->path)) {
        return lc_azure_refuse(visit, 700023,
                               "Client assertion audience claim does not match Realm issuer. Review the documentation "
                               "at https://learn.microsoft.com/entra/identity-platform/certificate-credentials .");
    }
    if (check_time(visit, subject, false) != 0) {
        return -1;
    }
    if (subject->expires_at_s > now + LONGEST_S + SLACK_S || subject->expires_at_s > from + LONGEST_S + SLACK_S) {
        return lc_azure_refuse(
            visit, 700024,
            "Client assertion is not within its valid time range: it must not be valid for more than "
            "10 minutes.");
    }
    if (jti == NULL || *jti == '\0') {
        return lc_azure_refuse(visit, 50027, "JWT token is invalid or malformed: it has no jti.");
    }
    if (!lc_token_first_use(ask->client_id, jti, subject->expires_at_s)) {
        return lc_azure_refuse(visit, 50027, "JWT token is invalid or malformed: its jti was used before.");
    }
    return 0;
}

static int prove_certificate(struct lc_visit *visit, const struct lc_azure_ask *ask, const struct lc_subject *subject)
{
    const char *pem = NULL;

    if (find_certificate(visit, ask, subject, &pem) != 0) {
        return -1;
    }
    if (!lc_token_proof(subject->token, subject->jwt.alg, pem)) {
        return lc_azure_refuse(visit, 700027,
                               "Client assertion contains an invalid signature. [Reason - The provided signature value "
                               "did not match the expected signature value.]");
    }
    if (!lc_token_certificate_current(pem)) {
        return lc_azure_refuse(visit, 700027,
                               "Client assertion contains an invalid signature. [Reason - The key used is expired.]");
    }
    return check_own_claims(visit, ask, subject);
}

int lc_azure_prove_assertion(struct lc_visit *visit, struct lc_azure_ask *ask)
{
    struct lc_subject subject = {0};
    int result = 0;

    /* Not a byte more than the token: white space at its end is refused. */
    if (strpbrk(ask->assertion, " \t\r\n") != NULL || !lc_subject_read(ask->assertion, &subject)) {
        return lc_azure_refuse(visit, 50027, "JWT token is invalid or malformed.");
    }
    ask->proved_by = "2";
    result = strcmp(subject.issuer, ask->client_id) == 0 ? prove_certificate(visit, ask, &subject)
                                                         : prove_federated(visit, ask, &subject);
    lc_subject_free(&subject);
    return result;
}
