/* SPDX-License-Identifier: MIT */
/* Mounted Secrets of AWS: two keys, an ini file with the same, or an ini file that names a role and a token, or a role
 * and another profile. Source: the cloud credential operator's AWS actuator and ccoctl. */
#include "sts/mounted/aws_profile_private.h"

#include "base/secret.h"
#include "sts/aws/aws.h"

#include <stdio.h>
#include <stdlib.h>

/* The profiles from the one that is followed to the one that the others begin with. */
struct chain {
    struct cfr_mounted_profile at[CFR_AWS_STEPS_MAX + 2];
    size_t last;
};

static int fill_duration(const struct cfr_mounted_case *c, const struct cfr_table *table, void *node,
                         struct cfr_view seconds)
{
    const struct cfr_field *f = cfr_field_find(table, cfr_view_of("duration"));
    char text[32];
    int64_t n;
    int rc;

    if (!cfr_view_int(seconds, &n) || n <= 0 || n > INT32_MAX)
        return cfr_err_set(c->err, CFR_E_CONFIG, "duration_seconds in credentials is not a number of seconds");
    (void)snprintf(text, sizeof text, "%llds", (long long)n);
    rc = cfr_field_store(f, node, cfr_view_of(text), false, c->err);
    return rc != 0 ? cfr_err_prefix(c->err, "duration_seconds in credentials") : 0;
}

static int set_common(const struct cfr_mounted_case *c, const struct chain *chain)
{
    const struct cfr_mounted_profile *last = &chain->at[chain->last];
    const struct cfr_mounted_profile *own = &chain->at[0];

    if (cfr_view_is_nocase(own->regional.n != 0 ? own->regional : last->regional, "legacy"))
        cfr_mounted_note(c, "sts_regional_endpoints = legacy in credentials has no effect: the STS of the region is "
                            "called");
    return cfr_mounted_fill(c, "region", own->region.n != 0 ? own->region : last->region);
}

/* Begins the exchange. The section is chosen, which is all that `profile` was for. */
static int begin(const struct cfr_mounted_case *c, const struct chain *chain)
{
    int rc = cfr_mounted_exchange(c, &cfr_aws_provider);
    struct cfr_aws *aws = c->out->config;

    if (rc == 0 && aws->profile != NULL && aws->credentials_file == NULL && chain->at[0].found) {
        free(aws->profile);
        aws->profile = NULL;
    }
    return rc;
}

/* What the first request says of its role. */
static int set_role(const struct cfr_mounted_case *c, const struct cfr_mounted_profile *p)
{
    struct cfr_aws *aws = c->out->config;
    int rc = cfr_mounted_fill(c, "role_arn", p->role_arn);

    if (rc == 0)
        rc = cfr_mounted_fill(c, "session_name", p->session_name);
    if (rc == 0 && p->token_file.n == 0)
        rc = cfr_mounted_fill(c, "external_id", p->external_id);
    else if (rc == 0 && p->external_id.n != 0)
        cfr_mounted_note(c, "external_id in credentials has no effect: AWS ignores it with a token");
    if (rc == 0 && p->duration.n != 0 && aws->duration_ms < 0) {
        rc = fill_duration(c, c->out->provider->table, aws, p->duration);
        if (rc == 0)
            cfr_mounted_taken(c, "duration");
    }
    return rc;
}

static int add_step(const struct cfr_mounted_case *c, const struct cfr_mounted_profile *p)
{
    const struct {
        const char *key;
        struct cfr_view value;
    } texts[] = {{"role_arn", p->role_arn}, {"session_name", p->session_name}, {"external_id", p->external_id}};
    struct cfr_aws_step *step;
    int rc = cfr_aws_add_step(c->out->config, &step, c->err);

    for (size_t i = 0; rc == 0 && i < sizeof texts / sizeof texts[0]; i++) {
        const struct cfr_field *f = cfr_field_find(&cfr_aws_step_table, cfr_view_of(texts[i].key));

        if (texts[i].value.n == 0)
            continue;
        rc = cfr_field_store(f, step, texts[i].value, true, c->err);
        if (rc != 0)
            (void)cfr_err_prefix(c->err, "%s", texts[i].key);
    }
    if (rc == 0 && p->duration.n != 0)
        rc = fill_duration(c, &cfr_aws_step_table, step, p->duration);
    if (rc == 0)
        rc = cfr_aws_step_table.check(step, c->err);
    if (rc == 0)
        cfr_mounted_taken(c, "a role to assume then");
    return rc;
}

/* The roles of profiles that name another as their source, in the order in which they are assumed; FIRST is the one
 * that the exchange itself does not assume. */
static int add_steps(const struct cfr_mounted_case *c, const struct chain *chain, size_t first)
{
    const struct cfr_aws *aws = c->out->config;
    int rc = 0;

    if (first != 0 && aws->then_assume.count != 0)
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "credentials has a source_profile, and `then_assume` is configured; keep one of the two");
    for (size_t i = first; rc == 0 && i > 0; i--)
        rc = add_step(c, &chain->at[i - 1]);
    return rc;
}

static int configure_role(const struct cfr_mounted_case *c, const struct chain *chain)
{
    const struct cfr_mounted_profile *p = &chain->at[chain->last];
    int rc = cfr_mounted_token(c, "web_identity_token_file in credentials", p->token_file);

    if (rc != 0)
        return rc;
    if (p->access_key_id.n != 0 || cfr_mounted_get(c, "aws_access_key_id").n != 0)
        cfr_mounted_note(
            c, "it holds stale long-lived keys next to the role; the role is followed, delete aws_access_key_id "
               "and aws_secret_access_key");
    if (c->options->pass_on)
        return 0;
    rc = begin(c, chain);
    if (rc == 0)
        rc = set_role(c, p);
    if (rc == 0)
        rc = add_steps(c, chain, chain->last);
    return rc == 0 ? set_common(c, chain) : rc;
}

/* The two keys of the Secret, or those inside `credentials` where the Secret has none, or only these may be meant. */
static int find_keys(const struct cfr_mounted_case *c, const struct cfr_mounted_profile *p, bool of_profile,
                     struct cfr_view *id, struct cfr_view *secret)
{
    bool alone =
        cfr_mounted_get(c, "aws_access_key_id").p == NULL && cfr_mounted_get(c, "aws_secret_access_key").p == NULL;
    int rc;

    *id = p->access_key_id;
    *secret = p->secret_access_key;
    if ((alone || of_profile) && id->n != 0 && secret->n != 0)
        return 0;
    if (alone && cfr_mounted_get(c, "credentials").n == 0)
        return cfr_err_set(c->err, CFR_E_MISSING, "waiting for a value of the key credentials, which is empty");
    rc = cfr_mounted_need(c, "aws_access_key_id", id);
    if (rc == 0)
        rc = cfr_mounted_need(c, "aws_secret_access_key", secret);
    if (rc == 0 && ((p->access_key_id.n != 0 && !cfr_view_eq(*id, p->access_key_id)) ||
                    (p->secret_access_key.n != 0 && !cfr_secret_equal(*secret, p->secret_access_key))))
        cfr_mounted_note(
            c, "aws_access_key_id and aws_secret_access_key are not those in credentials; the former are used");
    return rc;
}

static int configure_keys(const struct cfr_mounted_case *c, const struct chain *chain)
{
    const struct cfr_mounted_profile *p = &chain->at[chain->last];
    const struct cfr_aws *aws;
    struct cfr_view id;
    struct cfr_view secret;
    int rc;

    if (c->options->pass_on && p->process.n != 0)
        cfr_mounted_note(c, "credentials has a credential_process, which credfresh does not run; it is passed on");
    /* Its consumers name the profile, and may know of other ways to keys. */
    if (c->options->pass_on && (p->process.n != 0 || (!p->found && cfr_mounted_get(c, "credentials").n != 0)) &&
        cfr_mounted_get(c, "aws_access_key_id").p == NULL)
        return 0;
    rc = find_keys(c, p, chain->last != 0, &id, &secret);
    if (rc != 0 || c->options->pass_on)
        return rc;
    if (p->session_token.n != 0)
        return cfr_err_set(c->err, CFR_E_CONFIG,
                           "credentials holds an aws_session_token, so its keys are short-lived already; write "
                           "pass_on: true to publish them as they are");
    rc = begin(c, chain);
    aws = c->out->config;
    /* The configuration may have the role, and the Secret how it is assumed. */
    if (rc == 0 && (chain->last != 0 || aws->role_arn != NULL))
        rc = set_role(c, &chain->at[chain->last != 0 ? chain->last - 1 : 0]);
    if (rc == 0 && chain->last > 1)
        rc = add_steps(c, chain, chain->last - 1);
    if (rc != 0)
        return rc;
    if (aws->credentials_file != NULL)
        return set_common(c, chain);
    rc = cfr_mounted_content(c, "access_key_id_file", id);
    if (rc == 0)
        rc = cfr_mounted_content(c, "secret_access_key_file", secret);
    if (c->out->content_count != 0 && aws->role_arn == NULL && aws->then_assume.count == 0)
        c->out->limit =
            "its long-lived keys become a session of the same user, which may call nothing of IAM, and of STS "
            "only AssumeRole and GetCallerIdentity";
    return rc == 0 ? set_common(c, chain) : rc;
}

/* Follows source_profile from CHAIN's first to its last. */
static int follow_sources(const struct cfr_mounted_case *c, struct chain *chain)
{
    int rc = 0;

    while (rc == 0) {
        struct cfr_mounted_profile *p = &chain->at[chain->last];
        struct cfr_view source = p->source_profile;

        if (p->role_arn.n == 0 || p->token_file.n != 0 || source.n == 0)
            return 0;
        if (chain->last == CFR_AWS_STEPS_MAX + 1)
            return cfr_err_set(c->err, CFR_E_CONFIG,
                               "source_profile in credentials leads over more than %d roles, or in a circle",
                               CFR_AWS_STEPS_MAX + 1);
        chain->last++;
        rc = cfr_mounted_profile_read(c, source, p + 1);
        if (rc == 0 && !p[1].found)
            rc = cfr_err_set(c->err, CFR_E_CONFIG,
                             "source_profile in credentials names a section that it does not have");
        /* A profile that names itself means its own keys. */
        if (rc == 0 && cfr_view_eq(source, p->name)) {
            p[1].role_arn = (struct cfr_view){NULL, 0};
            return 0;
        }
    }
    return rc;
}

int cfr_mounted_aws(const struct cfr_mounted_case *c)
{
    struct chain chain = {.last = 0};
    const struct cfr_mounted_profile *p;
    char name[65];
    int rc = cfr_mounted_profile_choose(c, &chain.at[0]);

    if (rc == 0 && !c->options->pass_on)
        rc = follow_sources(c, &chain);
    if (rc != 0)
        return rc;
    p = &chain.at[chain.last];
    if ((p->role_arn.n != 0) != (p->token_file.n != 0) && !c->options->pass_on)
        return cfr_err_set(c->err, CFR_E_CONFIG, "credentials has %s in [%s]",
                           p->role_arn.n != 0 ? "role_arn without web_identity_token_file or source_profile"
                                              : "web_identity_token_file without role_arn",
                           cfr_view_show(p->name, name, sizeof name));
    if (p->role_arn.n != 0 && p->token_file.n != 0)
        rc = configure_role(c, &chain);
    else if (p->role_arn.n == 0 && p->token_file.n == 0)
        rc = configure_keys(c, &chain);
    return rc == 0 && c->out->provider != NULL ? cfr_aws_check_begin(c->out->config, c->err) : rc;
}
