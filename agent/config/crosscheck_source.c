/* SPDX-License-Identifier: MIT */
/* Rules of the configuration about where credentials come from: providers, formats, the service CA, rotated keys and
 * CA files. */
#include "agent/config/config_private.h"
#include "agent/config/crosscheck_private.h"

#include "agent/config/schema_private.h"
#include "agent/config/kinds.h"
#include "agent/http/client.h"
#include "agent/loop/slow_file.h"
#include "files/format/format.h"
#include "files/path.h"
#include "rotation/provider.h"
#include "wire/decode.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ADVICE_MAX 160

static bool lies_below(const char *path, const char *directory)
{
    size_t n = strlen(directory);

    return path != NULL && strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* What is recorded in state_dir is gone when the machine starts again. */
static bool state_passes(const struct cfr_config *config)
{
    return lies_below(config->state_dir, "/run") || lies_below(config->state_dir, "/var/run");
}

void cfr_config_check_service_ca(const struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    bool used = false;

    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(config, i);
        const void *found;
        const struct cfr_config_source_kind *kind = cfr_config_source_kind(c, &found);

        if (kind == NULL || !kind->needs_service_ca)
            continue;
        used = true;
        if (config->service_ca == NULL)
            cfr_config_diagnostics_add(
                problems, c->node.line,
                "credential %s: %s: needs `service_ca` of the whole configuration, with its `store`",
                cfr_config_label(c->name), kind->key(found));
    }
    if (config->service_ca != NULL && !used)
        cfr_config_diagnostics_add(problems, config->service_ca->node.line,
                                   "service_ca: is not used; add a credential with `certificate` or `ca_bundle: true`");
    if (config->service_ca != NULL && state_passes(config))
        cfr_config_diagnostics_add(
            problems, config->service_ca->node.line,
            "service_ca: needs a state_dir that survives a reboot, and %.100s does not: the record that a CA exists is "
            "there, so that a lost store is not mistaken for a first start; write one such as /var/lib/credfresh",
            config->state_dir);
}

static void check_with(const struct cfr_config *config, const struct cfr_config_credential *c,
                       struct cfr_config_diagnostics *ps)
{
    const struct cfr_config_credential *with = c->mint->with != NULL ? cfr_config_find(config, c->mint->with) : NULL;
    const char *name = cfr_config_label(c->name);

    if (c->mint->with == NULL)
        return;
    if (with == NULL)
        cfr_config_diagnostics_add(
            ps, c->mint->node.line,
            "credential %.63s: mint.with: there is no credential %.63s; write the name of another credential", name,
            c->mint->with);
    else if (with->mint != NULL)
        cfr_config_diagnostics_add(ps, c->mint->node.line,
                                   "credential %.63s: mint.with: %.63s is a rotated key itself; write the name of a "
                                   "credential that may create keys",
                                   name, c->mint->with);
}

/* The secret of a minted key, as it is named in configurations. */
static const char *secret_of(const struct cfr_rotation_provider *provider)
{
    size_t i = 0;

    while (provider->grants[i + 1] != NULL && !cfr_grant_is_secret(provider->grants[i]))
        i++;
    return cfr_grant_public_name(provider->grants[i]);
}

/* What is passed on has to have the fields of a minted key, for which the formats are checked. */
static void check_otherwise(const struct cfr_config *config, const struct cfr_config_credential *c,
                            struct cfr_config_diagnostics *ps)
{
    const struct cfr_config_credential *with = c->mint->with != NULL ? cfr_config_find(config, c->mint->with) : NULL;
    const char *name = cfr_config_label(c->name);
    const void *unused;
    const struct cfr_rotation_provider *provider = cfr_config_mint_provider(c->mint, &unused);

    if (c->mint->otherwise == NULL || with == NULL || with->mint != NULL || provider == NULL)
        return;
    if (provider->pass_on == NULL)
        cfr_config_diagnostics_add(ps, c->mint->node.line,
                                   "credential %.63s: mint.or: `with` has %s of %s, and a minted key has %s: it cannot "
                                   "be published instead; remove `or`",
                                   name, provider->admin_has, provider->name, secret_of(provider));
    else if (cfr_config_secret_fate(with) != CFR_CONFIG_PASSED_ON)
        cfr_config_diagnostics_add(
            ps, c->mint->node.line,
            "credential %.63s: mint.or: %.63s is %s, whose session token a minted key does not have; write a mounted "
            "Secret with `pass_on: true`, or remove `or`",
            name, c->mint->with, with->secret != NULL ? "a Secret that is exchanged" : "exchanged");
}

/* Keys without names cannot be distinguished: each credential would remove what the other one lost, and take its room.
 */
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
            cfr_config_diagnostics_add(ps, c->mint->node.line,
                                       "credential %.63s: mint: the keys of %.200s are rotated by %.63s already; add a "
                                       "target to its `publish`, or use another user",
                                       cfr_config_label(c->name), subject, cfr_config_label(before->name));
    }
}

/* Each would take the other's journal for its own. */
static void check_state(const struct cfr_config *config, size_t i, struct cfr_config_diagnostics *ps)
{
    const struct cfr_config_credential *c = cfr_config_at(config, i);
    const struct cfr_config_mint_state *s = c->mint->state;

    for (size_t k = 0; s != NULL && s->secret != NULL && k < i; k++) {
        const struct cfr_config_credential *before = cfr_config_at(config, k);
        const struct cfr_config_mint_state *other = before->mint != NULL ? before->mint->state : NULL;

        if (other != NULL && cfr_view_same(s->secret, other->secret) &&
            cfr_view_same(s->namespace_name, other->namespace_name) &&
            cfr_view_same(s->kubeconfig, other->kubeconfig) && cfr_view_same(s->context, other->context))
            cfr_config_diagnostics_add(
                ps, s->node.line,
                "credential %.63s: mint.state: the Secret %.100s is used by %.63s already; create another one",
                cfr_config_label(c->name), s->secret, cfr_config_label(before->name));
    }
}

void cfr_config_check_mint(const struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    for (size_t i = 0; i < config->credentials.count; i++) {
        const struct cfr_config_credential *c = cfr_config_at(config, i);

        if (c->mint == NULL)
            continue;
        check_with(config, c, problems);
        check_otherwise(config, c, problems);
        check_alone(config, i, problems);
        check_state(config, i, problems);
        if (c->mint->state != NULL)
            continue;
        if (state_passes(config))
            cfr_config_diagnostics_add(problems, c->mint->node.line,
                                       "credential %.63s: mint: needs a state_dir that survives a reboot, and %.100s "
                                       "does not; write one such as /var/lib/credfresh",
                                       cfr_config_label(c->name), config->state_dir);
    }
}

/* Whether FORMAT names a token's path, and none is there for the SDKs of C, which begin with a token. */
static bool lacks_token_path(const struct cfr_config_credential *c, const struct cfr_format *format,
                             const char *token_path, const struct cfr_list *others)
{
    const void *config;
    const struct cfr_sts_provider *provider = cfr_config_provider(c, &config);

    if (!format->needs_token_path || format->holds_token || token_path != NULL || c->secret != NULL ||
        provider == NULL || !cfr_sts_needs_token(provider, config))
        return false;
    for (size_t i = 0; others != NULL && i < others->count; i++) {
        if (cfr_formats[((const struct cfr_config_file *)others->items)[i].format].is_token)
            return false;
    }
    return true;
}

/* The first of the fields that F is made of which C does not have; NULL = it has all. */
static const struct cfr_grant_name *find_missing(const struct cfr_config_credential *c, const struct cfr_config_file *f)
{
    const struct cfr_grant_name *row;
    size_t i = 0;

    while ((row = cfr_config_file_field(f, i)) != NULL && cfr_config_may_have(c, row->field))
        i++;
    return row;
}

/* The registered source that grants FIELD, which no exchange does; its key is NULL if there is none. */
static struct cfr_variant find_only_source(const char *field)
{
    struct cfr_variant kind;
    size_t i = 0;

    while ((kind = cfr_config_source_variant(i)).key != NULL &&
           !((const struct cfr_config_source_kind *)kind.row)->grants(NULL, field))
        i++;
    return kind;
}

/* What to write so that C has FIELD. */
static void write_advice(const struct cfr_config_credential *c, const char *field, char out[ADVICE_MAX])
{
    const struct cfr_sts_provider *provider = cfr_config_provider(c, NULL);
    struct cfr_variant only = find_only_source(field);
    const void *config;

    if (cfr_config_source_kind(c, &config) != NULL)
        (void)snprintf(out, ADVICE_MAX, "write another format");
    else if (only.key != NULL)
        (void)snprintf(out, ADVICE_MAX, "it is issued by %s: write `%s`, or another format",
                       ((const struct cfr_config_source_kind *)only.row)->origin, only.key);
    else if (strcmp(field, CFR_FIELD_REGISTRY_AUTHS) == 0 && provider != NULL && provider->registries != NULL)
        (void)snprintf(out, ADVICE_MAX, "name the registries in `exchange.%s.%s`", provider->name,
                       provider->registries);
    else
        (void)snprintf(out, ADVICE_MAX, "add an `exchange:` that gives it, or write format token");
}

/* What C lacks of the fields that F is made of. */
static void check_fields(const struct cfr_config_credential *c, const struct cfr_config_file *f, const char *key,
                         struct cfr_config_diagnostics *ps)
{
    const char *format = cfr_formats[f->format].name;
    const struct cfr_grant_name *row = find_missing(c, f);
    char advice[ADVICE_MAX];

    if (row == NULL)
        return;
    if (strcmp(row->field, CFR_FIELD_SECRET_PREFIX) == 0 && cfr_config_secret_fate(c) == CFR_CONFIG_EXCHANGED)
        cfr_config_diagnostics_add(
            ps, f->node.line,
            "credential %s: publish.%s.format: %s needs a Secret that is passed on, and this one "
            "is exchanged; write another format, or `pass_on: true`",
            cfr_config_label(c->name), key, format);
    else if (strcmp(row->field, CFR_FIELD_SECRET_PREFIX) == 0)
        cfr_config_diagnostics_add(
            ps, f->node.line,
            "credential %s: publish.%s.format: %s needs a mounted Secret; write `secret:`, or another format",
            cfr_config_label(c->name), key, format);
    else if (cfr_config_secret_fate(c) == CFR_CONFIG_PASSED_ON)
        cfr_config_diagnostics_add(ps, f->node.line,
                                   "credential %s: publish.%s.format: %s needs %s, and a Secret that is passed on has "
                                   "its own keys only; name one as secret:KEY%s",
                                   cfr_config_label(c->name), key, format, cfr_grant_public_name(row->field),
                                   c->secret->pass_on ? ", or remove `pass_on`" : "");
    else if (cfr_view_starts(cfr_view_of(row->field), CFR_FIELD_KUBERNETES_PREFIX))
        cfr_config_diagnostics_add(ps, f->node.line,
                                   "credential %s: publish.%s.format: %s needs %s, which only a token that is "
                                   "requested from the API server brings; write `token.request`, without `file`",
                                   cfr_config_label(c->name), key, format, cfr_grant_public_name(row->field));
    else if (c->mint != NULL)
        cfr_config_diagnostics_add(ps, f->node.line,
                                   "credential %s: publish.%s.format: %s needs %s, which a minted key does not have; "
                                   "write a format of its cloud",
                                   cfr_config_label(c->name), key, format, cfr_grant_public_name(row->field));
    else {
        write_advice(c, row->field, advice);
        cfr_config_diagnostics_add(ps, f->node.line,
                                   "credential %s: publish.%s.format: %s needs %s, which this credential does not "
                                   "have; %s",
                                   cfr_config_label(c->name), key, format, cfr_grant_public_name(row->field), advice);
    }
}

/* OTHERS: the files of the same directory, one of which may be the token; NULL for none. */
static void check_format(const struct cfr_config_credential *c, const struct cfr_config_file *file,
                         const struct cfr_list *others, const char *key, struct cfr_config_diagnostics *ps)
{
    const struct cfr_format *f = &cfr_formats[file->format];

    if (file->node.faulty)
        return;
    if (cfr_config_secret_fate(c) == CFR_CONFIG_PASSED_ON && !f->passes_on)
        cfr_config_diagnostics_add(ps, file->node.line,
                                   "credential %s: publish.%s.format: %s cannot be made of a Secret that is passed on "
                                   "as it is; write secret-key, template or json%s",
                                   cfr_config_label(c->name), key, f->name,
                                   c->secret->pass_on ? ", or remove `pass_on`" : "");
    else if (lacks_token_path(c, f, file->token_path, others) && find_missing(c, file) == NULL)
        cfr_config_diagnostics_add(
            ps, file->node.line,
            "credential %s: publish.%s.format: %s needs the path of a token; write `token_path`, "
            "where the consumer finds its own%s",
            cfr_config_label(c->name), key, f->name,
            others != NULL ? ", or add a file with format token to the directory" : "");
    else if ((f->options & CFR_FORMAT_SERVER) != 0 && file->server == NULL &&
             !cfr_config_may_have(c, CFR_FIELD_KUBERNETES_SERVER))
        cfr_config_diagnostics_add(ps, file->node.line,
                                   "credential %s: publish.%s.format: %s needs the API server's URL; write `server`, "
                                   "or request the token from it",
                                   cfr_config_label(c->name), key, f->name);
    else
        check_fields(c, file, key, ps);
}

/* A target that names nothing holds whatever the Secret holds. */
static void check_all_keys(const struct cfr_config_credential *c, const struct cfr_config_publish *p,
                           struct cfr_config_diagnostics *ps)
{
    if (p->directory != NULL && p->files.count == 0 && c->secret == NULL)
        cfr_config_diagnostics_add(ps, p->node.line,
                                   "credential %s: publish.directory: needs `files`, such as - {name: token, format: "
                                   "token}",
                                   cfr_config_label(c->name));
    if (p->secret != NULL && p->secret->keys.count == 0 && c->secret == NULL)
        cfr_config_diagnostics_add(
            ps, p->secret->node.line,
            "credential %s: publish.secret: needs `keys`, such as - {name: token, format: token}",
            cfr_config_label(c->name));
    if (cfr_config_secret_fate(c) == CFR_CONFIG_EXCHANGED &&
        ((p->directory != NULL && p->files.count == 0) || (p->secret != NULL && p->secret->keys.count == 0)))
        cfr_config_diagnostics_add(ps, p->secret != NULL ? p->secret->node.line : p->node.line,
                                   "credential %s: publish.%s: needs `%s`, because the mounted Secret is exchanged and "
                                   "has no keys to pass on; write them, or `pass_on: true`",
                                   cfr_config_label(c->name), p->secret != NULL ? "secret" : "directory",
                                   p->secret != NULL ? "keys" : "files");
}

static bool is_clear(const struct cfr_node *node)
{
    return node == NULL || !node->unclear;
}

static bool is_sound(const struct cfr_node *node)
{
    return node == NULL || !node->faulty;
}

/* Whether it is known what C grants. Else a key that was reported may be what is missing. */
static bool source_is_clear(const struct cfr_config_credential *c)
{
    const void *provider;
    const void *kind;

    (void)cfr_config_provider(c, &provider);
    (void)cfr_config_source_kind(c, &kind);
    return is_clear(&c->node) && is_clear(c->token != NULL ? &c->token->node : NULL) &&
           is_clear(c->exchange != NULL ? &c->exchange->node : NULL) && is_clear(provider) && is_sound(kind) &&
           is_sound(c->secret != NULL ? &c->secret->node : NULL) && is_sound(c->mint != NULL ? &c->mint->node : NULL);
}

static void check_formats(const struct cfr_config_credential *c, struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; source_is_clear(c) && i < c->publish.count; i++) {
        const struct cfr_config_publish *p = (const struct cfr_config_publish *)c->publish.items + i;
        const struct cfr_config_secret *object = cfr_config_cluster_object(p);
        struct cfr_config_target_use use = {.format = -1};
        const void *config;
        const struct cfr_config_target_kind *kind = cfr_config_target_kind(p, &config);

        if (p->node.unclear)
            continue;
        for (size_t j = 0; j < p->files.count; j++) {
            const struct cfr_config_file *f = (const struct cfr_config_file *)p->files.items + j;

            check_format(c, f, &p->files, "files", ps);
        }
        if (p->file != NULL)
            check_format(c, p->file, NULL, "file", ps);
        if (kind != NULL && is_sound(config))
            kind->describe(config, &use);
        if (use.format >= 0)
            check_format(c, &(struct cfr_config_file){.node = {.line = use.line}, .format = use.format}, NULL,
                         kind->variant.key, ps);
        for (size_t j = 0; object != NULL && j < object->keys.count; j++) {
            const struct cfr_config_file *f = (const struct cfr_config_file *)object->keys.items + j;

            check_format(c, f, NULL, object->type != NULL ? "secret.keys" : "configmap.keys", ps);
        }
        check_all_keys(c, p, ps);
    }
}

static void check_provider(const struct cfr_config_credential *c, const char *(*env)(const char *),
                           struct cfr_config_diagnostics *ps)
{
    const void *config;
    const struct cfr_sts_provider *provider = cfr_config_provider(c, &config);
    struct cfr_err err = {0};
    int rc = 0;

    if (!is_clear(&c->node) || (provider != NULL && (!is_clear(&c->exchange->node) || !is_sound(config))))
        return;
    /* With a mounted Secret it is only a part, and is checked with the rest when the Secret is read. */
    if (provider != NULL && c->secret == NULL && provider->table->late)
        rc = provider->table->check(config, &err);
    if (rc == 0 && provider != NULL && provider->check != NULL && c->secret == NULL)
        rc = provider->check(config, env, &err);
    if (rc == 0 && provider != NULL && c->token == NULL && c->secret == NULL && cfr_sts_needs_token(provider, config))
        rc = cfr_err_set(&err, CFR_E_CONFIG, "needs a token; add `token:`");
    if (c->token != NULL && cfr_config_secret_fate(c) == CFR_CONFIG_PASSED_ON)
        cfr_config_diagnostics_add(ps, c->token->node.line,
                                   "credential %s: token: has no effect next to a Secret that is passed on; remove it, "
                                   "or publish the token by a separate credential",
                                   cfr_config_label(c->name));
    if (c->exchange != NULL && c->secret != NULL && c->secret->pass_on)
        cfr_config_diagnostics_add(
            ps, c->exchange->node.line,
            "credential %s: exchange: has no effect on a Secret that is passed on; remove it, or "
            "`pass_on`",
            cfr_config_label(c->name));
    if (rc == CFR_E_NOMEM)
        ps->nomem = true;
    else if (rc != 0)
        cfr_config_diagnostics_add(ps, ((const struct cfr_node *)config)->line, "credential %s: exchange.%s: %s",
                                   cfr_config_label(c->name), provider->name, err.text);
}

void cfr_config_check_sources(const struct cfr_config *config, const char *(*env)(const char *),
                              struct cfr_config_diagnostics *problems)
{
    for (size_t i = 0; i < config->credentials.count && !problems->nomem; i++) {
        check_formats(cfr_config_at(config, i), problems);
        check_provider(cfr_config_at(config, i), env, problems);
    }
    if (!problems->nomem)
        cfr_config_check_served(config, problems);
    if (!problems->nomem)
        cfr_config_check_images(config, env, problems);
}

/* What the walk through all CA files carries. */
struct ca_walk {
    const char *kind; /* of the credential */
    const char *credential;
    const char *good; /* the latest that was found good: often all credentials have the same */
    struct cfr_config_diagnostics *ps;
};

static const char *describe_no_certificate(struct cfr_view content)
{
    if (cfr_view_trim(content).n == 0)
        return "is empty; write the CA's certificate into it, in PEM form";
    if (cfr_view_find(content, "PRIVATE KEY-----") >= 0)
        return "holds a private key and no certificate; name the CA's certificate";
    return "holds no certificate in PEM form; convert DER with `openssl x509 -inform der -in F -out F.pem`";
}

/* A bundle of a whole system may be larger than the decoder takes. */
static bool holds_whole_certificates(struct cfr_view pem)
{
    struct cfr_secret der;
    size_t count = 0;
    int rc = 0;

    if (pem.n > CFR_DECODE_PEM_MAX)
        return true;
    cfr_secret_init(&der, CFR_DECODE_PEM_MAX);
    do {
        cfr_secret_clear(&der);
        rc = cfr_decode_next_certificate(&pem, &der, NULL);
        count += rc == 0 && der.len != 0;
    } while (rc == 0 && der.len != 0);
    cfr_secret_free(&der);
    return rc == 0 && count != 0;
}

static void check_ca_file(void *ctx, const struct cfr_field_text *ca)
{
    const char *path = ca->text;
    int line = ((const struct cfr_node *)ca->node)->line;
    struct ca_walk *w = ctx;
    struct cfr_secret content;
    struct cfr_err err = {0};
    int rc;

    if (w->good != NULL && strcmp(w->good, path) == 0)
        return;
    cfr_secret_init(&content, CFR_HTTP_CA_FILE_MAX);
    rc = cfr_slow_file_read(path, &content, NULL, &err);
    if (rc == CFR_E_NOMEM)
        w->ps->nomem = true;
    /* The exchange reports one that does not answer. */
    else if (rc != 0 && rc != CFR_E_TIMEOUT)
        cfr_config_diagnostics_add(w->ps, line, "%s %s: %sca_file: cannot be used: %s", w->kind, w->credential,
                                   ca->where, err.text);
    else if (rc == 0 && cfr_view_find(cfr_secret_view(&content), "CERTIFICATE-----") < 0)
        cfr_config_diagnostics_add(w->ps, line, "%s %s: %sca_file: %.200s %s", w->kind, w->credential, ca->where, path,
                                   describe_no_certificate(cfr_secret_view(&content)));
    else if (rc == 0 && !holds_whole_certificates(cfr_secret_view(&content)))
        cfr_config_diagnostics_add(w->ps, line, "%s %s: %sca_file: %.200s has a certificate that is damaged or cut off",
                                   w->kind, w->credential, ca->where, path);
    else if (rc == 0)
        w->good = path;
    cfr_secret_free(&content);
}

/* The agent reads the files of a rotated key again: which key is published, and what its value was before. Only root
 * can that once they are another user's. */
static void check_minted_owners(const struct cfr_config_credential *c, struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; c->mint != NULL && geteuid() != 0 && i < c->publish.count; i++) {
        const struct cfr_config_publish *t = (const struct cfr_config_publish *)c->publish.items + i;

        for (size_t k = 0; t->directory != NULL && k < t->files.count; k++) {
            const struct cfr_config_file *f = (const struct cfr_config_file *)t->files.items + k;
            struct cfr_err none = {0};
            uid_t uid;

            if (f->owner != NULL && cfr_path_uid(f->owner, &uid, &none) == 0 && uid != geteuid())
                cfr_config_diagnostics_add(ps, f->node.line,
                                           "credential %s: publish.files: owner: the agent must be able to read the "
                                           "files of a rotated key again, and only root can read another user's: "
                                           "remove `owner`, and give that user access by `group` and `mode`",
                                           cfr_config_label(c->name));
        }
    }
}

/* Files in a directory that is given to a user are written with that user's rights, who can give none away. */
static void check_file_owners(const struct cfr_config_credential *c, struct cfr_config_diagnostics *ps)
{
    for (size_t i = 0; i < c->publish.count; i++) {
        const struct cfr_config_publish *t = (const struct cfr_config_publish *)c->publish.items + i;
        struct cfr_err none = {0};
        uid_t owner;
        uid_t uid;

        if (t->directory == NULL || t->owner == NULL || cfr_path_uid(t->owner, &owner, &none) != 0 || owner == 0)
            continue;
        for (size_t k = 0; k < t->files.count; k++) {
            const struct cfr_config_file *f = (const struct cfr_config_file *)t->files.items + k;

            if (f->owner != NULL && cfr_path_uid(f->owner, &uid, &none) == 0 && uid != owner)
                cfr_config_diagnostics_add(ps, f->node.line,
                                           "credential %s: publish.files: owner: files in a directory of %s must "
                                           "belong to the same user; remove `owner` here or at the directory",
                                           cfr_config_label(c->name), t->owner);
        }
    }
}

void cfr_config_check_files(const struct cfr_config *config, struct cfr_config_diagnostics *problems)
{
    struct ca_walk walk = {.ps = problems};

    walk.kind = cfr_config_credential_table.name;
    for (size_t i = 0; i < config->credentials.count && !problems->nomem; i++) {
        walk.credential = cfr_config_label(cfr_config_at(config, i)->name);
        cfr_field_each(&cfr_config_credential_table, cfr_config_at(config, i), CFR_FIELD_CA_FILE, check_ca_file, &walk);
        check_file_owners(cfr_config_at(config, i), problems);
        check_minted_owners(cfr_config_at(config, i), problems);
    }
    walk.kind = cfr_config_image_table.name;
    for (size_t i = 0; i < config->image_credentials.count && !problems->nomem; i++) {
        walk.credential = cfr_config_label(cfr_config_image_at(config, i)->name);
        cfr_field_each(&cfr_config_image_table, cfr_config_image_at(config, i), CFR_FIELD_CA_FILE, check_ca_file,
                       &walk);
    }
}
