/* SPDX-License-Identifier: MIT */
/* XML reader, by expat. */
#include "base/xml.h"

#include "base/secret.h"
#include "base/wipealloc.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

#define PATH_MAX_BYTES 1024

struct reader {
    XML_Parser parser;
    cfr_xml_leaf *leaf;
    void *context;
    struct cfr_secret text;
    char path[PATH_MAX_BYTES];
    size_t lengths[CFR_XML_DEPTH_MAX]; /* of path before each open element */
    unsigned depth;
    bool is_leaf; /* the innermost open element has had no child */
    int rc;
    struct cfr_err *err;
};

/* The first refusal is kept; expat may still deliver a callback or two after it. */
static void stop(struct reader *r, int rc)
{
    if (r->rc != 0)
        return;
    r->rc = rc;
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static const char *local_name(const char *name)
{
    const char *colon = strrchr(name, ':');

    return colon != NULL ? colon + 1 : name;
}

static void XMLCALL on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
    struct reader *r = user;
    const char *local = local_name(name);
    size_t len = strlen(r->path);
    size_t n = strlen(local);

    (void)attributes;
    if (r->rc != 0)
        return;
    if (r->depth == CFR_XML_DEPTH_MAX || n + 2 > sizeof r->path - len) {
        stop(r, cfr_err_set(r->err, CFR_E_ANSWER, "the XML is nested too deeply"));
        return;
    }
    r->lengths[r->depth++] = len;
    r->path[len] = '/';
    memcpy(r->path + len + 1, local, n + 1);
    cfr_secret_clear(&r->text);
    r->is_leaf = true;
}

static void XMLCALL on_end(void *user, const XML_Char *name)
{
    struct reader *r = user;

    (void)name;
    if (r->rc != 0)
        return;
    if (r->is_leaf) {
        int rc = r->leaf(r->context, r->path, cfr_secret_view(&r->text), r->err);

        if (rc != 0)
            stop(r, rc);
    }
    r->path[r->lengths[--r->depth]] = '\0';
    r->is_leaf = false;
    cfr_secret_clear(&r->text);
}

static void XMLCALL on_text(void *user, const XML_Char *text, int n)
{
    struct reader *r = user;
    int rc;

    /* Text between child elements is layout. */
    if (r->rc != 0 || !r->is_leaf)
        return;
    rc = cfr_secret_append(&r->text, (struct cfr_view){text, (size_t)n}, r->err);
    if (rc == CFR_E_LIMIT)
        rc =
            cfr_err_set(r->err, CFR_E_ANSWER, "an element of the XML has more than %d bytes of text", CFR_XML_TEXT_MAX);
    if (rc != 0)
        stop(r, rc);
}

static void XMLCALL on_doctype(void *user, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                               int internal)
{
    struct reader *r = user;

    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    stop(r, cfr_err_set(r->err, CFR_E_ANSWER, "the XML has a document type, which no answer needs"));
}

/* The plain one is deprecated where there is one for large files. */
static long long error_at(XML_Parser parser)
{
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
    return XML_GetCurrentByteIndex64(parser);
#else
    return XML_GetCurrentByteIndex(parser);
#endif
}

static int parse(struct reader *r, struct cfr_view document)
{
    enum XML_Error code;

    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_start, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
    if (XML_Parse(r->parser, document.p, (int)document.n, 1) == XML_STATUS_OK || r->rc != 0)
        return r->rc;
    code = XML_GetErrorCode(r->parser);
    if (code == XML_ERROR_NO_MEMORY)
        return cfr_err_set(r->err, CFR_E_NOMEM, "out of memory while reading XML");
    return cfr_err_set(r->err, CFR_E_ANSWER, "not XML: %s near byte %lld of %zu", XML_ErrorString(code),
                       error_at(r->parser), document.n);
}

int cfr_xml_read(struct cfr_view document, cfr_xml_leaf *leaf, void *context, struct cfr_err *err)
{
    /* Answers hold secrets. */
    static const XML_Memory_Handling_Suite memory = {cfr_wipealloc_malloc, cfr_wipealloc_realloc, cfr_wipealloc_free};
    struct cfr_err local = {0};
    struct reader r = {.leaf = leaf, .context = context, .err = err != NULL ? err : &local};
    int rc;

    if (document.n == 0 || document.n > INT_MAX)
        return cfr_err_set(err, CFR_E_ANSWER, "not XML: %s", document.n == 0 ? "it is empty" : "it is too long");
    r.parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    if (r.parser == NULL)
        return cfr_err_set(err, CFR_E_NOMEM, "out of memory while reading XML");
    cfr_secret_init(&r.text, CFR_XML_TEXT_MAX);
    rc = parse(&r, document);
    XML_ParserFree(r.parser);
    cfr_secret_free(&r.text);
    return rc;
}

const char *cfr_xml_library(void)
{
    return XML_ExpatVersion() + strlen("expat_");
}
