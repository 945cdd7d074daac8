/* SPDX-License-Identifier: MIT */
/* Field tables: values, their errors, defaults, suggestions and freeing. */
#include "unit.h"

#include "base/field_private.h"

static const char *const colours[] = {"red", "green", "dark-blue", NULL};

struct inner {
    struct cfr_node node;
    char *text;
};

struct outer {
    struct cfr_node node;
    char *text;
    char *path;
    char *name;
    bool flag;
    int64_t number;
    int64_t duration_ms;
    int64_t unset_ms;
    int64_t mode;
    int64_t no_mode;
    int colour;
    struct cfr_strings strings;
    struct cfr_pairs pairs;
    struct inner *map;
    struct cfr_list list;
};

static const struct cfr_field inner_fields[] = {
    {.key = "text", .type = CFR_FIELD_STRING, .offset = offsetof(struct inner, text), .fallback = "x"}, {.key = NULL}};
static const struct cfr_table inner_table = {.name = "inner", .size = sizeof(struct inner), .fields = inner_fields};

#define AT(member) offsetof(struct outer, member)
static const struct cfr_field fields[] = {
    {.key = "text", .type = CFR_FIELD_STRING, .offset = AT(text), .min = 2, .max = 5},
    {.key = "path", .type = CFR_FIELD_STRING, .offset = AT(path), .flags = CFR_FIELD_PATH, .fallback = "/run/x"},
    {.key = "name", .type = CFR_FIELD_STRING, .offset = AT(name), .flags = CFR_FIELD_FILE_NAME},
    {.key = "flag", .type = CFR_FIELD_BOOL, .offset = AT(flag), .fallback = "true"},
    {.key = "number", .type = CFR_FIELD_INT, .offset = AT(number), .fallback = "7", .min = 1, .max = 10},
    {.key = "duration",
     .type = CFR_FIELD_DURATION,
     .offset = AT(duration_ms),
     .fallback = "1m",
     .min = 100,
     .max = 600000},
    {.key = "unset",
     .type = CFR_FIELD_DURATION,
     .offset = AT(unset_ms),
     .flags = CFR_FIELD_UNSET,
     .min = 0,
     .max = 1000},
    {.key = "mode", .type = CFR_FIELD_MODE, .offset = AT(mode), .fallback = "0640"},
    {.key = "no_mode", .type = CFR_FIELD_MODE, .offset = AT(no_mode)},
    {.key = "colour", .type = CFR_FIELD_ENUM, .offset = AT(colour), .fallback = "green", .choices = colours},
    {.key = "strings", .type = CFR_FIELD_STRINGS, .offset = AT(strings)},
    {.key = "pairs", .type = CFR_FIELD_PAIRS, .offset = AT(pairs)},
    {.key = "map", .type = CFR_FIELD_MAP, .offset = AT(map), .table = &inner_table},
    {.key = "list", .type = CFR_FIELD_LIST, .offset = AT(list), .table = &inner_table},
    {.key = NULL}};
#undef AT
static const struct cfr_table table = {.name = "outer", .size = sizeof(struct outer), .fields = fields};

static int store(struct outer *o, const char *key, struct cfr_view text, bool quoted, struct cfr_err *err)
{
    const struct cfr_field *f = cfr_field_find(&table, cfr_view_of(key));

    assert_non_null(f);
    return cfr_field_store(f, o, text, quoted, err);
}

static void defaults(void **state)
{
    struct outer o = {0};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_field_defaults(&table, &o, &err), 0);
    assert_null(o.text);
    assert_string_equal(o.path, "/run/x");
    assert_true(o.flag);
    assert_int_equal(o.number, 7);
    assert_int_equal(o.duration_ms, 60000);
    assert_int_equal(o.unset_ms, -1);
    assert_int_equal(o.mode, 0640);
    assert_int_equal(o.no_mode, -1);
    assert_int_equal(o.colour, 1);
    assert_null(o.map);
    cfr_field_free(&table, &o);
    assert_null(o.path);
}

/* A registry as a mapping's keys: rows that a table names by a function alone. */
struct toy {
    struct cfr_node node;
    struct cfr_one_of kind;
    char *after;
};

static const char *const toy_rows[] = {"red", "blue"};

static struct cfr_variant toy_variant(size_t index)
{
    return index < 2 ? (struct cfr_variant){.key = toy_rows[index],
                                            .table = &inner_table,
                                            .doc = "A colour.",
                                            .row = &toy_rows[index]}
                     : (struct cfr_variant){.key = NULL};
}

/* Of a flat row the table's keys are keys of the mapping. */
static struct cfr_variant flat_variant(size_t index)
{
    struct cfr_variant v = toy_variant(index == 0 ? 0 : 2);

    v.flat = true;
    return v;
}

static void a_flat_row_has_its_keys_in_the_mapping(void **state)
{
    static const struct cfr_field flat_fields[] = {
        {.key = "kind", .type = CFR_FIELD_ANY_OF, .offset = offsetof(struct toy, kind), .variant = flat_variant},
        {.key = "after", .type = CFR_FIELD_STRING, .offset = offsetof(struct toy, after)},
        {.key = NULL}};
    static const struct cfr_table flat_table = {.name = "toy", .size = sizeof(struct toy), .fields = flat_fields};
    struct cfr_variant found = {.key = NULL};
    struct cfr_field f;
    size_t n = 0;

    (void)state;
    for (const struct cfr_field *own = inner_table.fields; own->key != NULL; own++, n++) {
        assert_true(cfr_field_at(&flat_table, n, &f));
        assert_string_equal(f.key, own->key);
        assert_int_equal(f.type, own->type);
        assert_ptr_equal(cfr_field_find_variant(&flat_table, cfr_view_of(own->key), &found), &flat_fields[0]);
        assert_ptr_equal(found.row, &toy_rows[0]);
    }
    assert_true(n > 0);
    assert_true(cfr_field_at(&flat_table, n, &f));
    assert_string_equal(f.key, "after");
    assert_false(cfr_field_at(&flat_table, n + 1, &f));
    assert_null(cfr_field_find_variant(&flat_table, cfr_view_of("red"), &found));
}

static void a_registry_gives_the_keys(void **state)
{
    static const struct cfr_field toy_fields[] = {
        {.key = "kind", .type = CFR_FIELD_ONE_OF, .offset = offsetof(struct toy, kind), .variant = toy_variant},
        {.key = "after", .type = CFR_FIELD_STRING, .offset = offsetof(struct toy, after)},
        {.key = NULL}};
    static const struct cfr_table toy_table = {.name = "toy", .size = sizeof(struct toy), .fields = toy_fields};
    static const char *const keys[] = {"red", "blue", "after"};
    struct cfr_variant found = {.key = NULL};
    struct toy from = {.after = strdup("x")};
    struct toy to = {.after = NULL};
    struct cfr_field f;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(cfr_field_at(&toy_table, i, &f));
        assert_string_equal(f.key, keys[i]);
        assert_int_equal(f.type, i < 2 ? CFR_FIELD_MAP : CFR_FIELD_STRING);
    }
    assert_false(cfr_field_at(&toy_table, 3, &f));
    assert_string_equal(cfr_field_suggest(&toy_table, cfr_view_of("bleu")), "blue");
    /* The field's own key is no key of the mapping. */
    assert_null(cfr_field_find(&toy_table, cfr_view_of("kind")));
    assert_null(cfr_field_find(&toy_table, cfr_view_of("blue")));
    assert_null(cfr_field_find_variant(&toy_table, cfr_view_of("kind"), &found));
    assert_ptr_equal(cfr_field_find_variant(&toy_table, cfr_view_of("blue"), &found), &toy_fields[0]);
    assert_ptr_equal(found.row, &toy_rows[1]);
    from.kind.variant = found;
    from.kind.config = calloc(1, sizeof(struct inner));
    assert_int_equal(cfr_field_defaults(&inner_table, from.kind.config, NULL), 0);
    assert_int_equal(cfr_field_copy(&toy_table, &from, &to, NULL), 0);
    cfr_field_free(&toy_table, &from);
    assert_null(from.kind.config);
    assert_ptr_equal(to.kind.variant.row, &toy_rows[1]);
    assert_string_equal(((struct inner *)to.kind.config)->text, "x");
    assert_string_equal(to.after, "x");
    cfr_field_free(&toy_table, &to);
    assert_null(to.kind.config);
}

static void a_bad_default_is_our_own_mistake(void **state)
{
    static const struct cfr_field bad[] = {
        {.key = "number", .type = CFR_FIELD_INT, .offset = offsetof(struct outer, number), .fallback = "x"},
        {.key = NULL}};
    static const struct cfr_table bad_table = {.name = "bad", .size = sizeof(struct outer), .fields = bad};
    struct outer o = {0};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(cfr_field_defaults(&bad_table, &o, &err), CFR_E_INTERNAL);
    assert_contains(err.text, "number");
}

static void good_values(void **state)
{
    struct outer o = {0};
    struct cfr_err err = {0};

    (void)state;
    assert_int_equal(store(&o, "text", LITERAL("true"), false, &err), 0);
    assert_string_equal(o.text, "true");
    assert_int_equal(store(&o, "text", LITERAL("a\nb\t"), true, &err), 0);
    assert_int_equal(store(&o, "path", LITERAL("/a/..data/.b"), false, &err), 0);
    assert_string_equal(o.path, "/a/..data/.b");
    assert_int_equal(store(&o, "name", LITERAL(".hidden"), false, &err), 0);
    assert_int_equal(store(&o, "flag", LITERAL("true"), false, &err), 0);
    assert_true(o.flag);
    assert_int_equal(store(&o, "flag", LITERAL("false"), false, &err), 0);
    assert_false(o.flag);
    assert_int_equal(store(&o, "number", LITERAL("10"), false, &err), 0);
    assert_int_equal(o.number, 10);
    assert_int_equal(store(&o, "duration", LITERAL("1m30s"), false, &err), 0);
    assert_int_equal(o.duration_ms, 90000);
    assert_int_equal(store(&o, "unset", LITERAL("0s"), true, &err), 0);
    assert_int_equal(o.unset_ms, 0);
    assert_int_equal(store(&o, "mode", LITERAL("755"), true, &err), 0);
    assert_int_equal(o.mode, 0755);
    assert_int_equal(store(&o, "colour", LITERAL("dark-blue"), true, &err), 0);
    assert_int_equal(o.colour, 2);
    cfr_field_free(&table, &o);
}

static void bad_values_say_what_to_write(void **state)
{
    static const struct {
        const char *key;
        struct cfr_view text;
        bool quoted;
        const char *says;
    } cases[] = {
        {"text", {"", 0}, true, "is empty"},
        {"text", {"a", 1}, false, "shorter than 2"},
        {"text", {"abcdef", 6}, false, "longer than 5"},
        {"text", {"a\0b", 3}, true, "0x00 at position 2"},
        {"text", {"a\x1b", 2}, true, "0x1b at position 2"},
        {"path", {"a/b", 3}, false, "begins with /"},
        {"path", {"/a/../b", 7}, false, "component .."},
        {"path", {"/a/./b", 6}, false, "component ."},
        {"path", {"/..", 3}, false, "component .."},
        {"path", {"/a//b", 5}, false, "without the double slash"},
        {"path", {"//a", 3}, false, "without the double slash"},
        {"path", {"/a/", 3}, false, "without the slash at its end"},
        {"path", {"/", 1}, false, "without the slash at its end"},
        {"path", {"/a\nb", 4}, true, "0x0a"},
        {"path", {"/a\0b", 4}, true, "0x00"},
        {"name", {"a/b", 3}, false, "not a file name"},
        {"name", {"../b", 4}, false, "not a file name"},
        {"name", {"..", 2}, false, "begin it with .."},
        {"name", {"..data", 6}, false, "begin it with .."},
        {"name", {".", 1}, false, "cannot be a file name"},
        {"name", {"a\tb", 3}, true, "0x09"},
        {"flag", {"yes", 3}, false, "write true"},
        {"flag", {"Off", 3}, false, "write false"},
        {"flag", {"TRUE", 4}, false, "write true"},
        {"flag", {"true", 4}, true, "write true without quotes"},
        {"flag", {"1", 1}, false, "write one of the two"},
        {"number", {"0", 1}, false, "from 1 to 10"},
        {"number", {"11", 2}, false, "from 1 to 10"},
        {"number", {"5", 1}, true, "write 5 without them"},
        {"number", {"0x5", 3}, false, "decimal digits"},
        {"number", {"05", 2}, false, "decimal digits"},
        {"number", {"+5", 2}, false, "decimal digits"},
        {"number", {"1_0", 3}, false, "decimal digits"},
        {"number", {"5.0", 3}, false, "decimal digits"},
        {"number", {"99999999999999999999", 20}, false, "decimal digits"},
        {"duration", {"90", 2}, false, "write 90s"},
        {"duration", {"1.5h", 4}, false, "such as 90s"},
        {"duration", {"1w", 2}, false, "such as 90s"},
        {"duration", {"99ms", 4}, false, "from 100ms to 10m"},
        {"duration", {"11m", 3}, false, "from 100ms to 10m"},
        {"unset", {"2s", 2}, false, "from 0s to 1s"},
        {"mode", {"0640", 4}, false, "in quotes: \"0640\""},
        {"mode", {"640", 3}, false, "in quotes: \"0640\""},
        {"mode", {"416", 3}, false, "in quotes: \"0640\""},
        {"mode", {"420", 3}, false, "in quotes: \"0644\""},
        {"mode", {"384", 3}, false, "in quotes: \"0600\""},
        {"mode", {"0o640", 5}, false, "such as \"0640\""},
        {"mode", {"rw-r-----", 9}, true, "such as \"0640\""},
        {"mode", {"0888", 4}, true, "such as \"0640\""},
        {"mode", {"64", 2}, true, "such as \"0640\""},
        {"mode", {"4755", 4}, true, "write \"0755\""},
        {"mode", {"1777", 4}, true, "write \"0775\""},
        {"mode", {"0666", 4}, true, "write \"0664\""},
        {"mode", {"0002", 4}, true, "world-writable"},
        {"colour", {"Red", 3}, false, "did you mean red?"},
        {"colour", {"dark_blue", 9}, false, "did you mean dark-blue?"},
        {"colour", {"gren", 4}, false, "did you mean green?"},
        {"colour", {"rgeen", 5}, false, "did you mean green?"},
        {"colour", {"magenta", 7}, false, "write one of: red, green, dark-blue"},
        {"strings", {"x", 1}, false, "holds no scalar"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct outer o = {.number = 42, .colour = 42};
        struct cfr_err err = {0};
        int rc = store(&o, cases[i].key, cases[i].text, cases[i].quoted, &err);

        if (rc != CFR_E_CONFIG && rc != CFR_E_INTERNAL)
            fail_msg("case %zu (%s) was accepted", i, cases[i].key);
        assert_int_equal(err.code, rc);
        assert_contains(err.text, cases[i].says);
        assert_true(cfr_view_printable(cfr_view_of(err.text)));
        assert_true(o.text == NULL && o.path == NULL && o.name == NULL && o.number == 42 && o.colour == 42);
    }
}

static void long_values(void **state)
{
    struct outer o = {0};
    struct cfr_err err = {0};
    char text[5000];

    (void)state;
    memset(text, 'a', sizeof text);
    text[0] = '/';
    assert_int_equal(store(&o, "path", (struct cfr_view){text, 4096}, false, &err), CFR_E_CONFIG);
    assert_contains(err.text, "4095");
    assert_int_equal(store(&o, "path", (struct cfr_view){text, 257}, false, &err), CFR_E_CONFIG);
    assert_contains(err.text, "255");
    assert_int_equal(store(&o, "path", (struct cfr_view){text, 256}, false, &err), 0);
    assert_int_equal(store(&o, "name", (struct cfr_view){text + 1, 256}, false, &err), CFR_E_CONFIG);
    assert_int_equal(store(&o, "name", (struct cfr_view){text + 1, 255}, false, &err), 0);
    assert_int_equal(store(&o, "colour", (struct cfr_view){text, sizeof text}, false, &err), CFR_E_CONFIG);
    assert_int_equal(store(&o, "number", (struct cfr_view){text, sizeof text}, false, &err), CFR_E_CONFIG);
    assert_true(strlen(err.text) < 200);
    cfr_field_free(&table, &o);
}

static void suggestions(void **state)
{
    static const struct {
        const char *text;
        const char *key;
    } cases[] = {
        {"durtion", "duration"},
        {"duraiton", "duration"},
        {"Duration", "duration"},
        {"colours", "colour"},
        {"no-mode", "no_mode"},
        {"mod", "mode"},
        {"moed", "mode"},
        {"string", "strings"},
        {"file_path", "path"},
        {"xyzzy", NULL},
        {"", NULL},
        {"a", NULL},
        {"ma", "map"},
    };
    char longest[200];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *like = cfr_field_suggest(&table, cfr_view_of(cases[i].text));

        if ((like == NULL) != (cases[i].key == NULL) || (like != NULL && strcmp(like, cases[i].key) != 0))
            fail_msg("%s: %s", cases[i].text, like != NULL ? like : "(nothing)");
    }
    memset(longest, 'm', sizeof longest);
    assert_null(cfr_field_suggest(&table, (struct cfr_view){longest, sizeof longest}));
    assert_string_equal(cfr_field_suggest_choice((const char *const[]){"HUP", "USR1", NULL}, LITERAL("SIGHUP")), "HUP");
    assert_null(cfr_field_find(&table, LITERAL("Mode")));
    assert_null(cfr_field_find(&table, LITERAL("mode\0")));
    assert_ptr_equal(cfr_field_find(&table, LITERAL("mode"))->key, fields[7].key);
}

static char *copy(const char *text)
{
    char *p = strdup(text);

    assert_non_null(p);
    return p;
}

/* The leak checker is what fails when something is forgotten here. */
static void everything_is_freed(void **state)
{
    struct outer o = {0};
    struct cfr_err err = {0};
    struct inner *items;

    (void)state;
    assert_int_equal(cfr_field_defaults(&table, &o, &err), 0);
    o.strings = (struct cfr_strings){calloc(2, sizeof(char *)), 2};
    assert_non_null(o.strings.items);
    o.strings.items[0] = copy("a");
    o.strings.items[1] = copy("");
    o.pairs = (struct cfr_pairs){calloc(1, sizeof(struct cfr_pair)), 1};
    assert_non_null(o.pairs.items);
    o.pairs.items[0] = (struct cfr_pair){copy("k"), copy("v")};
    o.map = calloc(1, sizeof *o.map);
    assert_non_null(o.map);
    assert_int_equal(cfr_field_defaults(&inner_table, o.map, &err), 0);
    items = calloc(3, sizeof *items);
    assert_non_null(items);
    o.list = (struct cfr_list){items, 3};
    for (size_t i = 0; i < 3; i++)
        items[i].text = copy("t");
    cfr_field_free(&table, &o);
    assert_true(o.strings.items == NULL && o.strings.count == 0 && o.pairs.items == NULL && o.map == NULL &&
                o.list.items == NULL && o.list.count == 0);
    cfr_field_free(&table, &o);
}

/* ---- copies ---- */

static char *text_of(const char *text)
{
    char *copy = strdup(text);

    assert_non_null(copy);
    return copy;
}

/* Everything that a table can describe, twice nested. */
static void fill(struct outer *o)
{
    struct inner *items = calloc(2, sizeof *items);

    assert_non_null(items);
    assert_int_equal(cfr_field_defaults(&table, o, NULL), 0);
    o->node.line = 42;
    o->text = text_of("abc");
    o->flag = false;
    o->number = 9;
    o->duration_ms = 123;
    o->unset_ms = 0;
    o->mode = 0600;
    o->colour = 2;
    o->strings = (struct cfr_strings){calloc(2, sizeof(char *)), 2};
    o->strings.items[0] = text_of("one");
    o->strings.items[1] = text_of("two");
    o->pairs = (struct cfr_pairs){calloc(1, sizeof(struct cfr_pair)), 1};
    o->pairs.items[0] = (struct cfr_pair){text_of("k"), text_of("v")};
    o->map = calloc(1, sizeof *o->map);
    o->map->node.line = 43;
    o->map->text = text_of("inside");
    items[0] = (struct inner){{.line = 44}, text_of("first")};
    items[1] = (struct inner){{.line = 45}, NULL};
    o->list = (struct cfr_list){items, 2};
}

static void copies_are_deep(void **state)
{
    struct outer from = {0};
    struct outer to = {0};
    const struct inner *items;

    (void)state;
    fill(&from);
    assert_int_equal(cfr_field_copy(&table, &from, &to, NULL), 0);
    assert_ptr_not_equal(from.text, to.text);
    /* What it was copied from may go. */
    cfr_field_free(&table, &from);
    assert_int_equal(to.node.line, 42);
    assert_string_equal(to.text, "abc");
    assert_string_equal(to.path, "/run/x");
    assert_null(to.name);
    assert_false(to.flag);
    assert_int_equal(to.number, 9);
    assert_int_equal(to.duration_ms, 123);
    assert_int_equal(to.unset_ms, 0);
    assert_int_equal(to.mode, 0600);
    assert_int_equal(to.no_mode, -1);
    assert_int_equal(to.colour, 2);
    assert_int_equal(to.strings.count, 2);
    assert_string_equal(to.strings.items[1], "two");
    assert_int_equal(to.pairs.count, 1);
    assert_string_equal(to.pairs.items[0].key, "k");
    assert_string_equal(to.pairs.items[0].value, "v");
    assert_int_equal(to.map->node.line, 43);
    assert_string_equal(to.map->text, "inside");
    items = to.list.items;
    assert_int_equal(to.list.count, 2);
    assert_int_equal(items[0].node.line, 44);
    assert_string_equal(items[0].text, "first");
    assert_null(items[1].text);
    cfr_field_free(&table, &to);
}

static void a_copy_of_nothing(void **state)
{
    struct outer from = {0};
    struct outer to = {0};

    (void)state;
    assert_int_equal(cfr_field_copy(&table, &from, &to, NULL), 0);
    assert_null(to.text);
    assert_null(to.map);
    assert_null(to.strings.items);
    assert_null(to.list.items);
    cfr_field_free(&table, &to);
}

static long fuse = -1; /* allocations until one fails; negative: none does */

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t size);
char *__wrap_strdup(const char *text);

static bool burnt(void)
{
    return fuse >= 0 && fuse-- == 0;
}

void *__wrap_malloc(size_t n)
{
    return burnt() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return burnt() ? NULL : __real_calloc(count, size);
}

char *__wrap_strdup(const char *text)
{
    return burnt() ? NULL : __real_strdup(text);
}

/* Whichever allocation fails, what there is can be freed. */
static void a_copy_without_memory(void **state)
{
    struct outer from = {0};
    long n = 0;
    bool failed;

    (void)state;
    fill(&from);
    do {
        struct outer to = {0};
        struct cfr_err err = {0};
        int rc;

        fuse = n++;
        rc = cfr_field_copy(&table, &from, &to, &err);
        failed = fuse < 0;
        fuse = -1;
        assert_int_equal(rc, failed ? CFR_E_NOMEM : 0);
        cfr_field_free(&table, &to);
    } while (failed);
    assert_int_equal(n, 13); /* eight texts, three arrays, one mapping, and the try that succeeds */
    cfr_field_free(&table, &from);
}

/* ---- contents ---- */

static void contents_are_paths_or_variables(void **state)
{
    static const struct cfr_field f = {
        .key = "secret_file", .type = CFR_FIELD_STRING, .flags = CFR_FIELD_PATH | CFR_FIELD_CONTENT};
    static const char *const good[] = {"/run/secret", "env:X", "env:_a9", "env:CLIENT_SECRET", "env:a"};
    static const char *const bad[] = {"env:",   "env:9A", "env:A B", "env:A=B",      "env:A-B",
                                      "env:$A", "ENV:A",  "secret",  "env:\xc3\xa4", "env:A\n"};
    char *to = NULL;
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(cfr_field_store(&f, &to, cfr_view_of(good[i]), false, &err), 0);
        assert_string_equal(to, good[i]);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (cfr_field_store(&f, &to, cfr_view_of(bad[i]), false, &err) != CFR_E_CONFIG)
            fail_msg("%s is taken", bad[i]);
    }
    assert_string_equal(to, "env:a");
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_deep),
        cmocka_unit_test(a_copy_of_nothing),
        cmocka_unit_test(a_copy_without_memory),
        cmocka_unit_test(contents_are_paths_or_variables),
        cmocka_unit_test(defaults),
        cmocka_unit_test(a_registry_gives_the_keys),
        cmocka_unit_test(a_flat_row_has_its_keys_in_the_mapping),
        cmocka_unit_test(a_bad_default_is_our_own_mistake),
        cmocka_unit_test(good_values),
        cmocka_unit_test(bad_values_say_what_to_write),
        cmocka_unit_test(long_values),
        cmocka_unit_test(suggestions),
        cmocka_unit_test(everything_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
