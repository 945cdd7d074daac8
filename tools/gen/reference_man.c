/* SPDX-License-Identifier: MIT */
/* Configuration reference as the manual page credfresh.yaml(5), in mdoc(7). */
#include "tools/gen/reference_private.h"

#include "files/format/format.h"

#include <ctype.h>
#include <string.h>

#define LINE_MAX_ 78             /* mandoc(1) complains about input lines of more than 80 bytes */
#define WORD_MAX_ ((size_t)1024) /* as roff */

static const char head[] = ".\\\" SPDX-License-Identifier: MIT\n"
                           ".\\\" Made by credfresh-gen from the tables that the parser uses.\n"
                           ".Dd November 21, 2026\n"
                           ".Dt CREDFRESH.YAML 5\n"
                           ".Os\n"
                           ".Sh NAME\n"
                           ".Nm credfresh.yaml\n"
                           ".Nd configuration of credfresh\n"
                           ".Sh DESCRIPTION\n"
                           "The file says which credentials\n"
                           ".Xr credfresh 1\n"
                           "keeps fresh: the token that each begins with, what that is exchanged for,\n"
                           "where the result is published, and which hooks run.\n"
                           "Without such a file the environment that the clouds' webhooks inject is the\n"
                           "configuration, and\n"
                           ".Ql credfresh check\n"
                           "prints it as a file.\n"
                           ".Pp\n";

static const char tail[] = ".Sh FILES\n"
                           ".Bl -tag -width Ds\n"
                           ".It Pa /etc/credfresh/credfresh.yaml\n"
                           "The configuration, unless\n"
                           ".Fl c\n"
                           "or the environment variable\n"
                           ".Ev CREDFRESH_CONFIG\n"
                           "names another one.\n"
                           ".El\n"
                           ".Sh EXAMPLES\n"
                           "A role of AWS for the service account of a pod, published as a credentials file\n"
                           "next to the token; the consumer is notified by a signal:\n"
                           ".Bd -literal -offset indent\n"
                           "version: 1\n"
                           "credentials:\n"
                           "  - name: registry\n"
                           "    token:\n"
                           "      file: /var/run/secrets/tokens/aws\n"
                           "      audience: sts.amazonaws.com\n"
                           "    exchange:\n"
                           "      aws:\n"
                           "        role_arn: \"arn:aws:iam::123456789012:role/registry\"\n"
                           "        region: eu-west-1\n"
                           "    publish:\n"
                           "      directory: /run/credentials/registry\n"
                           "      files:\n"
                           "        - {name: credentials, format: aws-credentials, mode: \"0640\"}\n"
                           "        - {name: token, format: token}\n"
                           "    reload:\n"
                           "      - signal: {executable: /usr/bin/registry, signal: HUP}\n"
                           ".Ed\n"
                           ".Pp\n"
                           "An application of Entra ID, of which one access token is published as JSON:\n"
                           ".Bd -literal -offset indent\n"
                           "version: 1\n"
                           "credentials:\n"
                           "  - name: backup\n"
                           "    token: {file: /var/run/secrets/tokens/azure}\n"
                           "    exchange:\n"
                           "      azure:\n"
                           "        tenant_id: 5f0f1a52-9a3c-4c1e-8f6b-7d2b6c0e4a11\n"
                           "        client_id: 0c9d6a3e-2b7f-4d58-b1a4-9e8f7c6d5b32\n"
                           "        scopes: [https://storage.azure.com/.default]\n"
                           "    publish:\n"
                           "      file: {path: /run/credentials/azure.json, format: json}\n"
                           ".Ed\n"
                           ".Sh SEE ALSO\n"
                           ".Xr credfresh 1 ,\n"
                           ".Xr libcredfresh 3\n";

/* Text on its way to lines of mdoc. */
struct flow {
    struct cfr_str *out;
    size_t column;
    bool code;
    bool term;
};

static void end_line(struct flow *f)
{
    if (f->column != 0)
        cfr_str_addz(f->out, "\n");
    f->column = 0;
}

/* One byte of a text, as roff has it. */
static void add_byte(struct cfr_str *word, const struct flow *f, char c)
{
    if (c == '\\')
        cfr_str_addz(word, "\\e");
    else if (c == '-' && f->code)
        cfr_str_addz(word, "\\-");
    else
        cfr_str_addf(word, "%c", c);
}

static void add_word(struct flow *f, struct cfr_view text)
{
    struct cfr_str word = {.limit = WORD_MAX_};

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '`') {
            f->code = !f->code;
            cfr_str_addz(&word, f->code ? "\\fB" : "\\fP");
        } else if (!f->code && text.p[i] == '*' && i + 1 < text.n && text.p[i + 1] == '*') {
            f->term = !f->term;
            cfr_str_addz(&word, f->term ? "\\fI" : "\\fP");
            i++;
        } else {
            add_byte(&word, f, text.p[i]);
        }
    }
    if (f->column != 0 && f->column + 1 + word.len > LINE_MAX_)
        end_line(f);
    /* At the beginning of a line these would begin a request. */
    cfr_str_addz(f->out, f->column != 0 ? " " : text.p[0] == '.' || text.p[0] == '\'' ? "\\&" : "");
    f->column += word.len + 1;
    cfr_str_add(f->out, cfr_str_view(&word));
    f->out->failed = f->out->failed || word.failed;
    cfr_str_free(&word);
}

static bool ends_sentence(struct cfr_view word)
{
    while (word.n != 0 && strchr(")`\"", word.p[word.n - 1]) != NULL)
        word.n--;
    return word.n != 0 && strchr(".?!", word.p[word.n - 1]) != NULL;
}

/* TEXT as lines: each sentence begins one, as mdoc(7) wants. */
static void add_text(struct cfr_str *out, const char *text)
{
    struct flow f = {.out = out};

    while (*(text += strspn(text, " \n")) != '\0') {
        struct cfr_view word = {text, strcspn(text, " \n")};

        text += word.n;
        add_word(&f, word);
        if (ends_sentence(word))
            end_line(&f);
    }
    end_line(&f);
}

static void add_key(struct cfr_str *out, const struct cfr_gen_reference *all, const struct cfr_gen_reference_section *s,
                    const struct cfr_field *f)
{
    const char *quote = f->type == CFR_FIELD_MODE ? "\"" : "";
    struct cfr_str value = {.limit = 4096};

    cfr_gen_reference_add_value(&value, f);
    if ((f->flags & CFR_FIELD_REQUIRED) != 0)
        cfr_str_addz(&value, "; **required**");
    else if (f->fallback != NULL)
        cfr_str_addf(&value, "; default `%s%s%s`", quote, f->fallback, quote);
    cfr_str_addz(&value, ".\n");
    cfr_str_addf(out, ".It Li %s%s%s\n", s->path, s->path[0] != '\0' ? "." : "", f->key);
    if (value.p != NULL)
        value.p[0] = (char)toupper((unsigned char)value.p[0]);
    cfr_str_addz(&value, f->doc != NULL ? f->doc : "");
    cfr_gen_reference_add_place(&value, all, s, f);
    add_text(out, value.p != NULL ? value.p : "");
    out->failed = out->failed || value.failed;
    cfr_str_free(&value);
}

static void add_section(struct cfr_str *out, const struct cfr_gen_reference *all,
                        const struct cfr_gen_reference_section *s)
{
    struct cfr_field f;

    /* What comes after the path keeps its brackets from being taken for punctuation. */
    cfr_str_addf(out, ".Ss %s\\&\n", s->path[0] != '\0' ? s->path : "The whole file");
    if (s->table->doc != NULL)
        add_text(out, s->table->doc);
    cfr_str_addz(out, ".Bl -tag -width Ds\n");
    for (size_t i = 0; cfr_field_at(s->table, i, &f); i++)
        add_key(out, all, s, &f);
    cfr_str_addz(out, ".El\n");
}

static void add_formats(struct cfr_str *out)
{
    cfr_str_addz(out, ".Sh FORMATS\n.Bl -tag -width Ds\n");
    for (const struct cfr_format *f = cfr_formats; f->name != NULL; f++) {
        struct cfr_str text = {.limit = 4096};

        cfr_str_addf(&text, "%s.%s", f->doc != NULL ? f->doc : "", f->profile ? " It can be a `profile`." : "");
        if (f->needs != NULL)
            cfr_str_addf(&text, " It needs the credential's field `%s`.", cfr_grant_public_name(f->needs));
        if (text.p != NULL)
            text.p[0] = (char)toupper((unsigned char)text.p[0]);
        cfr_str_addf(out, ".It Li %s\n", f->name);
        add_text(out, text.p != NULL ? text.p : "");
        out->failed = out->failed || text.failed;
        cfr_str_free(&text);
    }
    cfr_str_addz(out, ".El\n");
}

static void add_fields(struct cfr_str *out)
{
    cfr_str_addz(out,
                 ".Sh CREDENTIAL FIELDS\nThe formats\n.Li field\nand\n.Li template\ncan also name\n.Li credential ,\n"
                 ".Li generation ,\n.Li identity ,\n.Li issued ,\n.Li expires\nand\n.Li expires_at .\n"
                 ".Bl -tag -width Ds\n");
    for (const struct cfr_grant_name *row = cfr_grant_names; row->field != NULL; row++) {
        /* The zero width space keeps the colon of `secret:` from being taken for punctuation. */
        cfr_str_addf(out, ".It Li %s\\&\n", cfr_grant_public_name(row->field));
        add_text(out, row->doc != NULL ? row->doc : "");
    }
    cfr_str_addz(out, ".El\n");
}

void cfr_gen_reference_man(struct cfr_str *out)
{
    struct cfr_gen_reference all;

    cfr_gen_reference_collect(&all);
    cfr_str_addz(out, head);
    add_text(out, cfr_gen_reference_notation);
    cfr_str_addz(out, ".Sh KEYS\n"
                      "Each key is named by the path that leads to it;\n"
                      ".Ql []\n"
                      "means each element of a list, or its only one.\n");
    for (size_t i = 0; i < all.count; i++)
        add_section(out, &all, &all.items[i]);
    add_formats(out);
    add_fields(out);
    cfr_str_addz(out, tail);
}
