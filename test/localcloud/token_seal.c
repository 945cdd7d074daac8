/* SPDX-License-Identifier: MIT */
/* Opaque access tokens: each contains its own data, encrypted. */
#include "token_seal.h"

#include "crypto.h"

#include <stdlib.h>
#include <string.h>

static void key_for(const struct lc_cloud *cloud, const char *purpose, unsigned char out[LC_SHA256_BYTES])
{
    unsigned char step[LC_SHA256_BYTES];

    lc_hmac256(cloud->session_key, sizeof cloud->session_key, "access token", 12, step);
    lc_hmac256(step, sizeof step, purpose, strlen(purpose), out);
}

char *lc_token_seal(const struct lc_cloud *cloud, const char *purpose, const char *prefix, json_t *content)
{
    unsigned char key[LC_SHA256_BYTES];
    struct lc_buf sealed = {0};
    struct lc_buf token = {0};
    char *text = json_dumps(content, JSON_COMPACT);

    key_for(cloud, purpose, key);
    if (text != NULL && lc_seal(key, text, strlen(text), &sealed)) {
        lc_buf_text(&token, prefix);
        lc_base64(&token, sealed.at, sealed.len, true);
    }
    free(text);
    lc_buf_free(&sealed);
    if (token.broken) {
        lc_buf_free(&token);
    }
    return token.at;
}

json_t *lc_token_open(const struct lc_cloud *cloud, const char *purpose, const char *prefix, const char *token)
{
    unsigned char key[LC_SHA256_BYTES];
    size_t head = strlen(prefix);
    struct lc_buf sealed = {0};
    struct lc_buf text = {0};
    json_t *content = NULL;

    key_for(cloud, purpose, key);
    if (strncmp(token, prefix, head) == 0 && lc_unbase64(&sealed, token + head, strlen(token + head), true) &&
        lc_unseal(key, sealed.at, sealed.len, &text)) {
        content = json_loadb(text.at, text.len, 0, NULL);
    }
    lc_buf_free(&sealed);
    lc_buf_free(&text);
    return content;
}
