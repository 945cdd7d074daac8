/* SPDX-License-Identifier: MIT */
/* Rules about long-lived keys that are rotated. */
#include "agent/config/crosscheck_private.h"
#include "agent/config/validate_private.h"
#include "agent/config/schema.h"
#include "rotation/providers.h"
#include "rotation/rotation.h"

#include <stdio.h>
#include <string.h>

const struct cfr_rotation_provider *cfr_config_mint_provider(const struct cfr_config_mint *c,
                                                             const void **provider_config)
{
    *provider_config = NULL;
    for (const struct cfr_field *f = cfr_config_mint_table.fields; f->key != NULL; f++) {
        const void *member =
            f->type == CFR_FIELD_MAP ? *(void *const *)(const void *)((const char *)c + f->offset) : NULL;

        if (member != NULL) {
            *provider_config = member;
            return cfr_rotation_find(cfr_view_of(f->key));
        }
    }
    return NULL;
}

void cfr_config_mint_subject(const struct cfr_config_mint *c, char out[CFR_ROTATION_SUBJECT_MAX])
{
    const void *config;
    const struct cfr_rotation_provider *provider = cfr_config_mint_provider(c, &config);
    const char *whose = provider != NULL ? provider->subject(config) : "";

    if (provider == NULL) {
        out[0] = '\0';
        return;
    }
    (void)snprintf(out, CFR_ROTATION_SUBJECT_MAX, "%s/%s%.256s", provider->name, whose == NULL ? "the user of " : "",
                   whose != NULL ? whose : (c->with != NULL ? c->with : ""));
}

int cfr_config_rules_mint(const void *node, struct cfr_err *err)
{
    const struct cfr_config_mint *c = node;
    unsigned count = 0;

    for (const struct cfr_field *f = cfr_config_mint_table.fields; f->key != NULL; f++)
        count += f->type == CFR_FIELD_MAP && *(void *const *)(const void *)((const char *)c + f->offset) != NULL;
    if (count != 1)
        return cfr_err_set(err, CFR_E_CONFIG,
                           count == 0 ? "names no provider; write one such as `aws:` with its keys below it"
                                      : "names more than one provider; write a credential of its own for each");
    if (c->grace_most_ms < c->grace_ms)
        return cfr_err_set(err, CFR_E_CONFIG, "grace_most: must be as long as grace at least");
    if (c->expire_after_ms < 2 * c->grace_ms)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "expire_after: must be twice the grace at least, or a key is old before the one "
                           "before it may go");
    return 0;
}

/* The names that are ours beside those of the files. */
static int check_files(const struct cfr_config_publish *p, struct cfr_err *err)
{
    const struct cfr_config_file *files = p->files.items;
    const size_t n = sizeof CFR_MINT_OLD_SUFFIX - 1;

    if (p->files.count > CFR_MINT_FILES_MAX)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "publish.files: a minted key has %d at the most; write a second target for the others",
                           CFR_MINT_FILES_MAX);
    for (size_t i = 0; i < p->files.count; i++) {
        size_t length = files[i].name != NULL ? strlen(files[i].name) : 0;

        if (length > n && strcmp(files[i].name + length - n, CFR_MINT_OLD_SUFFIX) == 0)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "publish.files: %.200s ends with " CFR_MINT_OLD_SUFFIX
                               ", where what was published before is put; choose another name",
                               files[i].name);
        if (length != 0 && strcmp(files[i].name, CFR_ROTATION_FILE) == 0)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "publish.files: " CFR_ROTATION_FILE
                               " is where the time of minting is put; choose another name");
        if (length > 255 - n)
            return cfr_err_set(err, CFR_E_CONFIG,
                               "publish.files: %.40s... is too long for a name beside it with " CFR_MINT_OLD_SUFFIX,
                               files[i].name);
    }
    return 0;
}

int cfr_config_rules_minted(const struct cfr_config_credential *c, struct cfr_err *err)
{
    int rc = 0;

    if (c->mint == NULL)
        return 0;
    if (c->token != NULL || c->secret != NULL || c->exchange != NULL || cfr_config_is_issued(c))
        return cfr_err_set(err, CFR_E_CONFIG, "mint: makes the credential by itself; remove `%s`",
                           c->token != NULL      ? "token"
                           : c->secret != NULL   ? "secret"
                           : c->exchange != NULL ? "exchange"
                           : c->ca_bundle        ? "ca_bundle"
                                                 : "certificate");
    if (c->allow != NULL)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "allow: a key that is minted is kept in the published files alone, so that it "
                           "cannot be had from memory; "
                           "remove it");
    for (size_t i = 0; rc == 0 && i < c->publish.count; i++) {
        const struct cfr_config_publish *p = (const struct cfr_config_publish *)c->publish.items + i;

        if (p->secret != NULL)
            rc = cfr_err_set(err, CFR_E_CONFIG,
                             "publish.secret: a key that is minted is published on this machine only; write "
                             "`directory`, `file` or "
                             "`profile`");
        else
            rc = check_files(p, err);
    }
    return rc;
}

static bool lies_below(const char *path, const char *directory)
{
    size_t n = strlen(directory);

    return path != NULL && strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static void check_with(const struct cfr_config *config, const struct cfr_config_credential *c,
                       struct cfr_config_diagnostics *ps)
{
    const struct cfr_config_credential *with = c->mint->with != NULL ? cfr_config_find(config, c->mint->with) : NULL;
    const char *name = c->name != NULL ? c->name : "without name";

    if (c->mint->with == NULL)
        return;
    if (with == NULL)
        cfr_config_diagnostics_add(
            ps, c->mint->node.line,
            "credential %.63s: mint.with: there is no credential %.63s; write the name of one that there is", name,
            c->mint->with);
    else if (with->mint != NULL)
        cfr_config_diagnostics_add(
            ps, c->mint->node.line,
            "credential %.63s: mint.with: %.63s is minted itself; write the name of one that may make keys", name,
            c->mint->with);
}

/* Keys without names cannot be told apart: each would remove what the other one lost, and take its room. */
static void check_alone(const struct cfr_config *config, size_t i, struct cfr_config_diagnostics *ps)
{
    const struct cfr_config_credential *c = cfr_config_at(config, i);
    char subject[CFR_ROTATION_SUBJECT_MAX];
    char other[CFR_ROTATION_SUBJECT_MAX];
    const void *unused;
    const struct cfr_rotation_provider *provider = cfr_config_mint_provider(c->mint, &unused);

    if (c->mint->with == NULL || provider == NULL || provider->names)
        return;
    cfr_config_mint_subject(c->mint, subject);
    for (size_t k = 0; k < i; k++) {
        const struct cfr_config_credential *before = cfr_config_at(config, k);

        if (before->mint == NULL || before->mint->with == NULL || strcmp(before->mint->with, c->mint->with) != 0)
            continue;
        cfr_config_mint_subject(before->mint, other);
        if (strcmp(subject, other) == 0)
            cfr_config_diagnostics_add(
                ps, c->mint->node.line,
                "credential %.63s: mint: %.200s is looked after by %.63s already; give it one target more "
                "in `publish` instead, or a user of its own",
                c->name != NULL ? c->name : "without name", subject,
                before->name != NULL ? before->name : "one without name");
    }
}

void cfr_config_check_mint(const struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(config, i);

        if (c->mint == NULL)
            continue;
        check_with(config, c, problems);
        check_alone(config, i, problems);
        if (lies_below(config->state_dir, "/run") || lies_below(config->state_dir, "/var/run"))
            cfr_config_diagnostics_add(problems, c->mint->node.line,
                                       "credential %.63s: mint: needs a state_dir that outlives a restart of the "
                                       "machine, which %.100s does "
                                       "not; write one such as /var/lib/credfresh",
                                       c->name != NULL ? c->name : "without name", config->state_dir);
    }
}
