/* SPDX-License-Identifier: MIT */
/* Rules for single values. */
#include "sts/gcp/validate_private.h"

#include "wire/url.h"

#include <stdio.h>
#include <string.h>

#define IAM          "//iam.googleapis.com/"
#define AUDIENCE_MAX 512
#define PROJECT_MAX  32
#define ACCOUNT_MAX  254
#define SCOPE_MAX    1024
#define WANTED_POOL  IAM "projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER"

static bool digits_only(struct cfr_view text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    }
    return text.n != 0;
}

static bool made_of(struct cfr_view text, const char *more)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (!cfr_view_is_alnum(c) && (c == '\0' || strchr(more, c) == NULL))
            return false;
    }
    return text.n != 0;
}

/* Cuts the part before the next slash off REST. */
static struct cfr_view part(struct cfr_view *rest)
{
    const char *slash = rest->n != 0 ? memchr(rest->p, '/', rest->n) : NULL;
    struct cfr_view out = {rest->p, slash != NULL ? (size_t)(slash - rest->p) : rest->n};
    size_t skip = out.n + (slash != NULL ? 1 : 0);

    *rest = (struct cfr_view){rest->p + skip, rest->n - skip};
    return out;
}

/* True if REST is `locations/L/POOLS/POOL/providers/PROVIDER`. */
static bool is_provider(struct cfr_view rest, const char *pools)
{
    bool good = cfr_view_is(part(&rest), "locations");

    good = part(&rest).n != 0 && good;
    good = cfr_view_is(part(&rest), pools) && good;
    good = part(&rest).n != 0 && good;
    good = cfr_view_is(part(&rest), "providers") && good;
    return part(&rest).n != 0 && good && rest.n == 0;
}

static struct cfr_view after(struct cfr_view text, size_t n)
{
    return (struct cfr_view){text.p + n, text.n - n};
}

bool cfr_gcp_is_workforce(struct cfr_view audience)
{
    return cfr_view_starts(audience, IAM) && is_provider(after(audience, strlen(IAM)), "workforcePools");
}

static int check_iam_name(struct cfr_view audience, struct cfr_err *err)
{
    struct cfr_view rest = after(audience, strlen(IAM));
    struct cfr_view project;

    if (cfr_gcp_is_workforce(audience))
        return 0;
    if (!cfr_view_is(part(&rest), "projects"))
        return cfr_err_set(err, CFR_E_CONFIG, "it must be the provider's full name, " WANTED_POOL);
    project = part(&rest);
    if (!digits_only(project))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "after projects/ it must have the project's NUMBER, not its id \"%.*s\" (gcloud "
                           "projects describe ID shows projectNumber)",
                           (int)(project.n < 40 ? project.n : 40), project.p);
    return is_provider(rest, "workloadIdentityPools")
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG, "it must be the provider's full name, " WANTED_POOL);
}

/* Only the names that are known are looked into: fleets of clusters and other universes have others. */
int cfr_gcp_check_audience(struct cfr_view audience, struct cfr_err *err)
{
    if (audience.n > AUDIENCE_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "it is longer than %d characters", AUDIENCE_MAX);
    if (!cfr_view_printable(audience) || cfr_view_find(audience, " ") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG, "it has a blank or a character that is not printable ASCII");
    if (cfr_view_starts(audience, IAM))
        return check_iam_name(audience, err);
    if (cfr_view_starts(audience, "https:" IAM) || cfr_view_starts(audience, "iam.googleapis.com/") ||
        cfr_view_starts(audience, "projects/") || cfr_view_starts(audience, "/projects/") ||
        cfr_view_starts(audience, "locations/"))
        return cfr_err_set(err, CFR_E_CONFIG, "it must begin with //iam.googleapis.com/: " WANTED_POOL);
    return 0;
}

int cfr_gcp_check_account(struct cfr_view account, struct cfr_err *err)
{
    const char *at = account.n != 0 ? memchr(account.p, '@', account.n) : NULL;
    struct cfr_view name;
    struct cfr_view domain;

    if (account.n > ACCOUNT_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "it is longer than %d characters", ACCOUNT_MAX);
    if (digits_only(account))
        return 0;
    name = (struct cfr_view){account.p, at != NULL ? (size_t)(at - account.p) : 0};
    domain = (struct cfr_view){at != NULL ? at + 1 : NULL, at != NULL ? account.n - name.n - 1 : 0};
    return made_of(name, "-._") && made_of(domain, "-.")
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG,
                             "it must be an email address (or the numeric id) of a service account; write "
                             "NAME@PROJECT.iam.gserviceaccount.com");
}

int cfr_gcp_check_universe(struct cfr_view universe, struct cfr_err *err)
{
    return cfr_url_host_ok(universe) && cfr_view_find(universe, ":") < 0 && cfr_view_find(universe, ".") > 0
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG, "it must be a domain name, such as googleapis.com");
}

int cfr_gcp_check_user_project(struct cfr_view project, struct cfr_view audience, struct cfr_err *err)
{
    if (project.n > PROJECT_MAX || !made_of(project, "-.:"))
        return cfr_err_set(err, CFR_E_CONFIG, "it must be a project's number or id, of at most %d characters",
                           PROJECT_MAX);
    return cfr_gcp_is_workforce(audience)
               ? 0
               : cfr_err_set(err, CFR_E_CONFIG,
                             "it is for workforce pools only, and the audience is not that of one; leave it "
                             "out");
}

int cfr_gcp_check_scope(struct cfr_view scope, struct cfr_err *err)
{
    static const char *const short_ones[] = {"openid", "email", "profile"};

    for (size_t i = 0; i < sizeof short_ones / sizeof short_ones[0]; i++) {
        if (cfr_view_is(scope, short_ones[i]))
            return 0;
    }
    if (scope.n > SCOPE_MAX)
        return cfr_err_set(err, CFR_E_CONFIG, "one is longer than %d characters", SCOPE_MAX);
    if (!cfr_view_starts(scope, "https://") || !cfr_view_printable(scope) || cfr_view_find(scope, " ") >= 0 ||
        cfr_view_find(scope, ",") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "each scope is a separate URL, such as https://www.googleapis.com/auth/cloud-platform (or "
                           "openid, email, profile)");
    return 0;
}

int cfr_gcp_check_endpoint(const char *url, struct cfr_err *err)
{
    struct cfr_url parsed;
    int rc = cfr_url_parse(url, &parsed, err);

    if (rc == 0 && cfr_view_find(parsed.path, "?") >= 0)
        return cfr_err_set(err, CFR_E_CONFIG, "it has a query; leave out everything from the ? on");
    return rc;
}
