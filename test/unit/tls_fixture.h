/* SPDX-License-Identifier: MIT */
/* Certificates made on the spot, a volume that is swapped as the kubelet does it, and handshakes in memory. */
#ifndef CFR_TEST_TLS_FIXTURE_H
#define CFR_TEST_TLS_FIXTURE_H

#include <credfresh-tls.h>

#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TLS_UNUSED __attribute__((unused))

/* What cannot fail in a test ends it. */
#define MUST(condition)                                                                                                       \
    do {                                                                                                                      \
        if (!(condition)) {                                                                                                   \
            (void)fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno));                        \
            abort();                                                                                                          \
        }                                                                                                                     \
    } while (0)

enum { TLS_PEM_MAX = 16384, TLS_DAY_S = 86400 };

struct identity {
    X509 *cert;
    EVP_PKEY *key;
};

/* The three files of a volume. An empty text: the file is left out. */
struct files {
    char cert[TLS_PEM_MAX];
    char key[TLS_PEM_MAX];
    char ca[TLS_PEM_MAX];
};

static void extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *extension = NULL;

    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    MUST(extension != NULL && X509_add_ext(cert, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

/* A certificate for KEY valid from BEGIN_S to END_S, counted from now, signed by CA (NULL: by itself, an authority). */
static struct identity identity_of(EVP_PKEY *key, const struct identity *ca, const char *name, long serial, long begin_s,
                                   long end_s)
{
    struct identity id = {X509_new(), key};
    X509 *issuer = ca != NULL ? ca->cert : id.cert;
    X509_NAME *subject = NULL;

    MUST(id.cert != NULL && key != NULL && X509_set_version(id.cert, 2) == 1);
    MUST(ASN1_INTEGER_set(X509_get_serialNumber(id.cert), serial) == 1);
    MUST(X509_gmtime_adj(X509_getm_notBefore(id.cert), begin_s) != NULL);
    MUST(X509_gmtime_adj(X509_getm_notAfter(id.cert), end_s) != NULL);
    subject = X509_get_subject_name(id.cert);
    MUST(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) == 1);
    MUST(X509_set_issuer_name(id.cert, X509_get_subject_name(issuer)) == 1 && X509_set_pubkey(id.cert, key) == 1);
    extend(id.cert, issuer, NID_subject_key_identifier, "hash");
    extend(id.cert, issuer, NID_authority_key_identifier, "keyid:always");
    extend(id.cert, issuer, NID_basic_constraints, ca == NULL ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (ca != NULL)
        extend(id.cert, issuer, NID_subject_alt_name, "DNS:server.test");
    MUST(X509_sign(id.cert, ca != NULL ? ca->key : key, EVP_sha256()) > 0);
    return id;
}

static TLS_UNUSED struct identity authority(const char *name)
{
    return identity_of(EVP_EC_gen("P-256"), NULL, name, 1, -TLS_DAY_S, TLS_DAY_S);
}

static TLS_UNUSED struct identity leaf(const struct identity *ca, long serial)
{
    return identity_of(EVP_EC_gen("P-256"), ca, "server.test", serial, -TLS_DAY_S, TLS_DAY_S);
}

static TLS_UNUSED void identity_free(struct identity *id)
{
    X509_free(id->cert);
    EVP_PKEY_free(id->key);
    *id = (struct identity){NULL, NULL};
}

static void pem_add(char pem[TLS_PEM_MAX], BIO *bio)
{
    char *data = NULL;
    long n = BIO_get_mem_data(bio, &data);
    size_t had = strlen(pem);

    MUST(n > 0 && had + (size_t)n < TLS_PEM_MAX);
    memcpy(pem + had, data, (size_t)n);
    pem[had + (size_t)n] = '\0';
    BIO_free(bio);
}

static TLS_UNUSED void pem_cert(char pem[TLS_PEM_MAX], X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());

    MUST(PEM_write_bio_X509(bio, cert) == 1);
    pem_add(pem, bio);
}

static TLS_UNUSED void pem_key(char pem[TLS_PEM_MAX], EVP_PKEY *key, const char *password)
{
    BIO *bio = BIO_new(BIO_s_mem());
    const EVP_CIPHER *cipher = password != NULL ? EVP_aes_128_cbc() : NULL;
    int n = password != NULL ? (int)strlen(password) : 0;

    MUST(PEM_write_bio_PKCS8PrivateKey(bio, key, cipher, password, n, NULL, NULL) == 1);
    pem_add(pem, bio);
}

/* OWN's certificate and key, and CA's certificate as the bundle. */
static TLS_UNUSED void files_of(struct files *f, const struct identity *own, const struct identity *ca)
{
    memset(f, 0, sizeof *f);
    if (own != NULL) {
        pem_cert(f->cert, own->cert);
        pem_key(f->key, own->key, NULL);
    }
    if (ca != NULL)
        pem_cert(f->ca, ca->cert);
}

struct volume {
    char path[96];
    unsigned long version;
};

static TLS_UNUSED void volume_make(struct volume *v)
{
    const char *base = getenv("TMPDIR");

    memset(v, 0, sizeof *v);
    (void)snprintf(v->path, sizeof v->path, "%.60s/cfr-tls-XXXXXX", base != NULL ? base : "/tmp");
    MUST(mkdtemp(v->path) != NULL);
}

static void write_text(const char *dir, const char *name, const char *text)
{
    char path[256];
    FILE *f = NULL;

    if (text[0] == '\0')
        return;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    MUST(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* The link that a consumer opens; it is there as long as the version has the file. */
static void link_file(const struct volume *v, const char *name, bool there)
{
    char path[256];
    char target[256];

    (void)snprintf(path, sizeof path, "%s/%s", v->path, name);
    (void)snprintf(target, sizeof target, "..data/%s", name);
    if (there)
        MUST(symlink(target, path) == 0 || errno == EEXIST);
    else
        MUST(unlink(path) == 0 || errno == ENOENT);
}

/* Removes a version file by file, as the kubelet does. */
static void remove_flat(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry = NULL;
    char path[512];

    if (d == NULL)
        return;
    while ((entry = readdir(d)) != NULL) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            MUST(unlink(path) == 0);
    }
    (void)closedir(d);
    MUST(rmdir(dir) == 0);
}

/* A new version: its directory, then ..data by rename, then the consumers' links, then the old version goes. */
static TLS_UNUSED void volume_publish(struct volume *v, const struct files *f)
{
    char dir[160];
    char old[160];
    char data[160];
    char temporary[160];
    const char *name = dir + strlen(v->path) + 1;

    (void)snprintf(old, sizeof old, "%s/..2026_11_21_00_00_00.%lu", v->path, 1000 + v->version);
    (void)snprintf(dir, sizeof dir, "%s/..2026_11_21_00_00_00.%lu", v->path, 1000 + ++v->version);
    (void)snprintf(data, sizeof data, "%s/..data", v->path);
    (void)snprintf(temporary, sizeof temporary, "%s/..data_tmp", v->path);
    MUST(mkdir(dir, 0755) == 0);
    write_text(dir, "tls.crt", f->cert);
    write_text(dir, "tls.key", f->key);
    write_text(dir, "ca.crt", f->ca);
    MUST(symlink(name, temporary) == 0 && rename(temporary, data) == 0);
    link_file(v, "tls.crt", f->cert[0] != '\0');
    link_file(v, "tls.key", f->key[0] != '\0');
    link_file(v, "ca.crt", f->ca[0] != '\0');
    remove_flat(old);
}

static TLS_UNUSED void volume_remove(struct volume *v)
{
    char path[160];

    (void)snprintf(path, sizeof path, "%s/..2026_11_21_00_00_00.%lu", v->path, 1000 + v->version);
    remove_flat(path);
    remove_flat(v->path);
}

#endif
