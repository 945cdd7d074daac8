/* SPDX-License-Identifier: MIT */
/* Check of the cloud's trust in a token: what a refusal says, what is needed, and the files of the command line. */
#include "agent/doctor/doctor_private.h"

#include "agent/loop/env.h"
#include "sts/aws/aws.h"
#include "sts/gcp/gcp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static const char *const clouds[] = {[CFR_DOCTOR_AWS] = "aws", [CFR_DOCTOR_AZURE] = "azure", [CFR_DOCTOR_GCP] = "gcp"};

static const char *path_of(const struct cfr_doctor *d, int side)
{
    const char *const paths[] = {[CFR_DOCTOR_AWS] = d->options->trust_policy,
                                 [CFR_DOCTOR_AZURE] = d->options->federated_credential,
                                 [CFR_DOCTOR_GCP] = d->options->pool_provider};

    return paths[side];
}

/* ---- reading ---- */

/* Another program may be writing it (`<(aws iam get-role ...)`), which ends when that does. */
static int read_all(struct cfr_doctor *d, int fd, struct cfr_str *out, struct cfr_err *err)
{
    char part[8192];
    ssize_t n = 1;

    while (n > 0) {
        int64_t left_ms = cfr_doctor_left_ms(d);
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) == 0) {
            (void)cfr_doctor_left_ms(d); /* it counts as left out */
            return cfr_err_set(err, CFR_E_TIMEOUT, "nothing came in time");
        }
        n = read(fd, part, sizeof part);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            n = 1;
        else if (n < 0)
            return cfr_err_sys(err, errno, "it cannot be read");
        else
            cfr_str_add(out, (struct cfr_view){part, (size_t)n});
    }
    return out->failed ? cfr_err_set(err, CFR_E_LIMIT, "it is longer than %d bytes", CFR_POLICY_FILE_MAX) : 0;
}

static void read_document(struct cfr_doctor *d, const char *path, struct cfr_doctor_document *doc)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    doc->used = true;
    doc->text.limit = CFR_POLICY_FILE_MAX;
    if (fd < 0)
        (void)cfr_err_sys(&doc->err, errno, "it cannot be opened");
    else
        (void)read_all(d, fd, &doc->text, &doc->err);
    if (fd >= 0)
        (void)close(fd);
}

/* ---- comparing ---- */

static void compare_document(struct cfr_doctor *d, const struct cfr_doctor_case *c, int side,
                             const struct cfr_str *text)
{
    struct cfr_view document = text->p != NULL ? cfr_str_view(text) : cfr_view_of("");
    const char *role_arn = side == CFR_DOCTOR_AWS ? ((const struct cfr_aws *)c->config)->role_arn : NULL;

    if (side == CFR_DOCTOR_AZURE)
        cfr_policy_azure(document, &c->trusted, &d->sink);
    else if (side == CFR_DOCTOR_GCP)
        cfr_policy_gcp(document, ((const struct cfr_gcp *)c->config)->audience, &c->trusted, &d->sink);
    else if (role_arn != NULL)
        cfr_policy_aws(document, role_arn, &c->trusted, &d->sink);
}

static void check_document(struct cfr_doctor *d, const struct cfr_doctor_case *c, int side)
{
    struct cfr_doctor_document *doc = &d->documents[side];
    const char *path = path_of(d, side);

    if (!doc->used)
        read_document(d, path, doc);
    d->file = path;
    d->line = 0;
    if (doc->err.code != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "trust.file", NULL, "%s: %s", path, doc->err.text);
    else if (!c->has_claims)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "trust.file", NULL,
                          "%s was not compared, because the token is missing: see the findings above", path);
    else
        compare_document(d, c, side, &doc->text);
    cfr_doctor_at(d, c->name, c->line);
}

void cfr_doctor_trust(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    d->advises = c->refusal.code != 0 && cfr_err_class(c->refusal.code) == CFR_CLASS_STOP;
    if (c->has_claims && c->refusal.code != 0)
        cfr_policy_refused(c->provider, c->refusal.text, &c->trusted, &d->sink);
    if (c->has_claims && !c->exchanged)
        cfr_policy_needed(c->provider, c->config, cfr_env_get, &c->trusted, &d->sink);
    d->advises = false;
    if (!cfr_sts_needs_token(c->provider, c->config))
        return;
    for (int side = 0; side < CFR_DOCTOR_DOCUMENTS; side++) {
        if (path_of(d, side) != NULL && strcmp(c->provider->name, clouds[side]) == 0)
            check_document(d, c, side);
    }
}

void cfr_doctor_trust_unused(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    (void)c;
    for (int side = 0; side < CFR_DOCTOR_DOCUMENTS; side++) {
        if (path_of(d, side) != NULL && !d->documents[side].used)
            cfr_doctor_report(d, CFR_FINDING_WARNING, "trust.file", "name a credential that is",
                              "%s was not compared: no checked credential exchanges a token at %s", path_of(d, side),
                              clouds[side]);
    }
}
