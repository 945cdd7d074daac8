/* SPDX-License-Identifier: MIT */
/* Reads roles and IAM keys out of configuration objects. */
#include "trust_read.h"

#include "volume.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STATEMENTS = 100, MOST_JWKS_BYTES = 1 << 20 };

bool lc_trust_split_arn(const char *arn, const char *kind, char account[LC_ACCOUNT_BYTES], const char **name)
{
    const char *at = strchr(arn, ':');
    const char *service = at == NULL ? NULL : strchr(at + 1, ':');
    size_t kind_len = strlen(kind);

    if (!lc_text_starts(arn, "arn:aws") || service == NULL || !lc_text_starts(service, ":iam::")) {
        return false;
    }
    at = service + strlen(":iam::");
    if (strspn(at, "0123456789") != 12 || at[12] != ':' || strncmp(at + 13, kind, kind_len) != 0 ||
        at[13 + kind_len] != '/') {
        return false;
    }
    memcpy(account, at, 12);
    account[12] = '\0';
    *name = strrchr(at, '/') + 1;
    return **name != '\0' && strlen(*name) <= 64 && lc_text_only(*name, "_+=,.@-") && strlen(arn) <= 2048;
}

static void free_statement(struct lc_statement *statement)
{
    free(statement->issuer);
    json_decref(statement->audience);
    free(statement->subject);
    free(statement->principal);
    free(statement->external_id);
}

void lc_role_free(struct lc_role *role)
{
    if (role == NULL) {
        return;
    }
    for (size_t i = 0; i < role->count; i++) {
        free_statement(&role->statements[i]);
    }
    free(role->statements);
    free(role->arn);
    free(role->partition);
    free(role->name);
    free(role);
}

void lc_role_reading_free(struct lc_role_reading *reading)
{
    lc_role_free(reading->role);
    for (size_t i = 0; i < reading->count; i++) {
        lc_key_list_free(&reading->keys[i]);
    }
    free(reading->keys);
    *reading = (struct lc_role_reading){0};
}

int lc_jwks_read(json_t *object, struct lc_key_list *keys, struct lc_fail *fail)
{
    const char *path = NULL;
    json_t *jwks = NULL;
    struct lc_buf text = {0};
    struct lc_fail why = {""};
    json_t *loaded = NULL;
    int result = 0;

    if (lc_json_text(object, "trust", "jwks_file", &path, fail) != 0 ||
        lc_json_object(object, "trust", "jwks", &jwks, fail) != 0) {
        return -1;
    }
    if (path != NULL && jwks != NULL) {
        return lc_fail_set(fail, "trust: give \"jwks\" or \"jwks_file\", not both");
    }
    if (path != NULL) {
        if (lc_volume_get_file(path, MOST_JWKS_BYTES, &text, fail) != 0) {
            lc_buf_free(&text);
            return -1;
        }
        loaded = lc_json_parse(text.at, text.len, &why);
        lc_buf_free(&text);
        if (loaded == NULL) {
            return lc_fail_set(fail, "%s: %.400s", path, why.text);
        }
        jwks = loaded;
    }
    if (jwks != NULL && lc_key_list_read(jwks, keys, &why) != 0) {
        result = lc_fail_set(fail, "%s: %.400s", path == NULL ? "trust: \"jwks\"" : path, why.text);
    }
    json_decref(loaded);
    return result;
}

static int read_federated(json_t *object, const char *own_issuer, struct lc_statement *statement,
                          struct lc_key_list *keys, struct lc_fail *fail)
{
    static const char *const known[] = {"federated_issuer", "audience", "subject", "allow_tags",
                                        "jwks_file",        "jwks",     NULL};
    const char *issuer = own_issuer;
    const char *subject = NULL;
    json_t *audience = NULL;

    if (lc_json_keys(object, "trust", known, fail) != 0 ||
        lc_json_text(object, "trust", "federated_issuer", &issuer, fail) != 0 ||
        lc_json_text(object, "trust", "subject", &subject, fail) != 0 ||
        lc_json_array(object, "trust", "audience", &audience, fail) != 0 ||
        lc_json_bool(object, "trust", "allow_tags", &statement->allow_tags, fail) != 0 ||
        lc_jwks_read(object, keys, fail) != 0) {
        return -1;
    }
    if (subject == NULL || *subject == '\0') {
        return lc_fail_set(fail, "trust: \"subject\" is missing (for example \"system:serviceaccount:default:demo\")");
    }
    if (!lc_text_starts(issuer, "https://") || issuer[8] == '\0') {
        return lc_fail_set(fail, "trust: \"federated_issuer\" must be an https:// URL");
    }
    if (audience != NULL && json_array_size(audience) == 0) {
        return lc_fail_set(fail, "trust: \"audience\" must not be empty");
    }
    statement->issuer = strdup(issuer);
    statement->subject = strdup(subject);
    statement->audience = audience != NULL ? json_incref(audience) : json_pack("[s]", "sts.amazonaws.com");
    return statement->issuer == NULL || statement->subject == NULL || statement->audience == NULL
               ? lc_fail_set(fail, "out of memory")
               : 0;
}

static int read_principal(json_t *object, struct lc_statement *statement, struct lc_fail *fail)
{
    static const char *const known[] = {"aws_principal", "external_id", "require_source_identity", "allow_tags", NULL};
    const char *principal = NULL;
    const char *external_id = NULL;

    if (lc_json_keys(object, "trust", known, fail) != 0 ||
        lc_json_text(object, "trust", "aws_principal", &principal, fail) != 0 ||
        lc_json_text(object, "trust", "external_id", &external_id, fail) != 0 ||
        lc_json_bool(object, "trust", "require_source_identity", &statement->require_source_identity, fail) != 0 ||
        lc_json_bool(object, "trust", "allow_tags", &statement->allow_tags, fail) != 0) {
        return -1;
    }
    if (principal == NULL || *principal == '\0') {
        return lc_fail_set(fail, "trust: \"aws_principal\" must not be empty");
    }
    statement->principal = strdup(principal);
    statement->external_id = external_id == NULL ? NULL : strdup(external_id);
    return statement->principal == NULL ? lc_fail_set(fail, "out of memory") : 0;
}

static int read_statements(json_t *trust, const char *own_issuer, struct lc_role_reading *out, struct lc_fail *fail)
{
    json_t *item = NULL;
    size_t index = 0;

    if (!json_is_array(trust) || json_array_size(trust) > MOST_STATEMENTS) {
        return lc_fail_set(fail, "role: \"trust\" must be an array of at most %d statements", MOST_STATEMENTS);
    }
    out->role->statements = calloc(json_array_size(trust) + 1, sizeof *out->role->statements);
    out->keys = calloc(json_array_size(trust) + 1, sizeof *out->keys);
    if (out->role->statements == NULL || out->keys == NULL) {
        return lc_fail_set(fail, "out of memory");
    }
    json_array_foreach(trust, index, item)
    {
        struct lc_statement *statement = &out->role->statements[out->role->count++];
        struct lc_key_list *keys = &out->keys[out->count++];
        int result = json_object_get(item, "aws_principal") != NULL
                         ? read_principal(item, statement, fail)
                         : read_federated(item, own_issuer, statement, keys, fail);
        if (result != 0) {
            return -1;
        }
    }
    return 0;
}

int lc_role_read(json_t *object, const char *own_issuer, struct lc_role_reading *out, struct lc_fail *fail)
{
    static const char *const known[] = {"arn", "max_session_s", "trust", NULL};
    const char *arn = NULL;
    const char *name = NULL;
    struct lc_role *role = calloc(1, sizeof *role);

    out->role = role;
    if (role == NULL) {
        return lc_fail_set(fail, "out of memory");
    }
    role->max_session_s = 3600;
    if (lc_json_keys(object, "role", known, fail) != 0 || lc_json_text(object, "role", "arn", &arn, fail) != 0 ||
        lc_json_integer(object, "role", "max_session_s", 3600, 43200, &role->max_session_s, fail) != 0) {
        return -1;
    }
    if (arn == NULL || !lc_trust_split_arn(arn, "role", role->account, &name)) {
        return lc_fail_set(fail, "role: \"arn\" must look like arn:aws:iam::123456789012:role/NAME");
    }
    role->arn = strdup(arn);
    role->name = strdup(name);
    role->partition = strndup(arn + 4, strcspn(arn + 4, ":"));
    if (role->arn == NULL || role->name == NULL || role->partition == NULL) {
        return lc_fail_set(fail, "out of memory");
    }
    return read_statements(json_object_get(object, "trust"), own_issuer, out, fail);
}

struct lc_iam_key *lc_iam_key_read(json_t *object, struct lc_fail *fail)
{
    static const char *const known[] = {"access_key_id", "secret_access_key", "arn", NULL};
    const char *id = "";
    const char *secret = "";
    const char *arn = "";
    const char *name = NULL;
    struct lc_iam_key *key = calloc(1, sizeof *key);

    if (key == NULL || lc_json_keys(object, "iam_keys", known, fail) != 0 ||
        lc_json_text(object, "iam_keys", "access_key_id", &id, fail) != 0 ||
        lc_json_text(object, "iam_keys", "secret_access_key", &secret, fail) != 0 ||
        lc_json_text(object, "iam_keys", "arn", &arn, fail) != 0) {
        free(key);
        return NULL;
    }
    if (strlen(id) < 16 || strlen(id) > 128 || !lc_text_only(id, "") || *secret == '\0' ||
        !lc_trust_split_arn(arn, "user", key->account, &name)) {
        (void)lc_fail_set(fail, "iam_keys: \"access_key_id\" has 16-128 letters and digits, \"secret_access_key\" is "
                                "not empty, \"arn\" looks like arn:aws:iam::123456789012:user/NAME");
        free(key);
        return NULL;
    }
    key->access_key_id = strdup(id);
    key->secret = strdup(secret);
    key->arn = strdup(arn);
    if (key->access_key_id == NULL || key->secret == NULL || key->arn == NULL) {
        (void)lc_fail_set(fail, "out of memory");
        free(key->access_key_id);
        free(key->secret);
        free(key->arn);
        free(key);
        return NULL;
    }
    return key;
}
