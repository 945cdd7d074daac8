/* SPDX-License-Identifier: MIT */
/* The XML reader: paths, entities, and its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"
#include "base/xml.h"

#include <string.h>

static int note(void *context, const char *path, struct cfr_view text, struct cfr_err *err)
{
    struct cfr_str *out = context;

    if (strcmp(path, "/stop") == 0 || strcmp(path, "/a/stop") == 0)
        return cfr_err_set(err, CFR_E_REJECTED, "stopped");
    cfr_str_addf(out, "%s=%.*s;", path, (int)text.n, text.p != NULL ? text.p : "");
    return 0;
}

static void reads(const char *xml, const char *expected)
{
    struct cfr_str out = {.limit = 200000};
    struct cfr_err err = {0};

    if (cfr_xml_read(cfr_view_of(xml), note, &out, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(out.p, expected);
    cfr_str_free(&out);
}

static void refuses_view(struct cfr_view xml, int code, const char *why)
{
    struct cfr_str out = {.limit = 200000};
    struct cfr_err err = {0};

    assert_int_equal(cfr_xml_read(xml, note, &out, &err), code);
    if (strstr(err.text, why) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", why, err.text);
    assert_int_equal(cfr_xml_read(xml, note, &out, NULL), code);
    cfr_str_free(&out);
}

static void refuses(const char *xml, int code, const char *why)
{
    refuses_view(cfr_view_of(xml), code, why);
}

static void leaves(void **state)
{
    (void)state;
    reads("<a>x</a>", "/a=x;");
    reads("<a/>", "/a=;");
    reads("<a><b>1</b><c><d>2</d>ignored</c><e/></a>", "/a/b=1;/a/c/d=2;/a/e=;");
    reads("<n:a xmlns:n='urn:x'><n:b k='v'>1</n:b></n:a>", "/a/b=1;");
    reads("<a xmlns='http://one'><b xmlns='http://two'>1</b></a>", "/a/b=1;");
    reads("<?xml version='1.0' encoding='UTF-8'?><!-- c --><?pi x?><a>1<!-- c -->2</a>", "/a=12;");
}

static void entities(void **state)
{
    (void)state;
    reads("<a>&amp;&lt;&gt;&quot;&apos;&#65;&#x42;</a>", "/a=&<>\"'AB;");
    reads("<a><![CDATA[<b>&amp;</b>]]></a>", "/a=<b>&amp;</b>;");
    reads("<a>&#233;</a>", "/a=\xc3\xa9;");
    refuses("<a>&nbsp;</a>", CFR_E_ANSWER, "not XML");
    refuses("<a>&#0;</a>", CFR_E_ANSWER, "not XML");
}

static void no_document_type(void **state)
{
    (void)state;
    refuses("<!DOCTYPE a><a/>", CFR_E_ANSWER, "document type");
    refuses("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", CFR_E_ANSWER, "document type");
    refuses("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", CFR_E_ANSWER, "document type");
}

static void malformed(void **state)
{
    static const char *const cases[] = {"<",           "<a",          "<a>",       "<a></b>",  "<a/><b/>", "x",
                                        "<a>\x01</a>", "<a>\xff</a>", "<a b></a>", "<a>&</a>", "{}",       "<a:b:c/>x"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuses(cases[i], CFR_E_ANSWER, "not XML");
    refuses("", CFR_E_ANSWER, "empty");
}

static void depth(void **state)
{
    struct cfr_str xml = {.limit = 1000};

    (void)state;
    for (int i = 0; i < 32; i++)
        cfr_str_addz(&xml, "<a>");
    for (int i = 0; i < 32; i++)
        cfr_str_addz(&xml, "</a>");
    reads(xml.p, "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a=;");
    cfr_str_free(&xml);
    for (int i = 0; i < 33; i++)
        cfr_str_addz(&xml, "<a>");
    refuses(xml.p, CFR_E_ANSWER, "nested too deeply");
    cfr_str_free(&xml);
}

/* One element with N bytes of text. */
static struct cfr_str element_of(size_t n)
{
    struct cfr_str xml = {.limit = 200000};

    cfr_str_addf(&xml, "<a>%0*d</a>", (int)n, 0);
    return xml;
}

static void sizes(void **state)
{
    struct cfr_str xml = element_of(CFR_XML_TEXT_MAX);
    struct cfr_str out = {.limit = 200000};

    (void)state;
    assert_int_equal(cfr_xml_read(cfr_str_view(&xml), note, &out, NULL), 0);
    assert_int_equal(out.len, CFR_XML_TEXT_MAX + 4);
    cfr_str_free(&out);
    cfr_str_free(&xml);
    xml = element_of(CFR_XML_TEXT_MAX + 1);
    refuses_view(cfr_str_view(&xml), CFR_E_ANSWER, "more than 65536 bytes");
    cfr_str_free(&xml);
    cfr_str_addf(&xml, "<a%03000d/>", 0);
    refuses_view(cfr_str_view(&xml), CFR_E_ANSWER, "nested too deeply");
    cfr_str_free(&xml);
}

static void the_callback_can_stop(void **state)
{
    (void)state;
    refuses("<stop/>", CFR_E_REJECTED, "stopped");
    refuses("<a><stop/><b/><stop/></a>", CFR_E_REJECTED, "stopped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves),
        cmocka_unit_test(entities),
        cmocka_unit_test(no_document_type),
        cmocka_unit_test(malformed),
        cmocka_unit_test(depth),
        cmocka_unit_test(sizes),
        cmocka_unit_test(the_callback_can_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
