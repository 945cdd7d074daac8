/* SPDX-License-Identifier: MIT */
/* Matching image names by the kubelet's rule. */
#include "unit.h"

#include "kube/image_match_private.h"

struct match_case {
    const char *pattern;
    const char *image;
    bool fits;
};

static const struct match_case cases[] = {
    {"registry.example.net", "registry.example.net/app", true},
    {"registry.example.net", "registry.example.net/team/app:1.2@sha256:0123", true},
    {"registry.example.net", "registry.example.net", true},
    {"registry.example.net", "registry.example.com/app", false},
    {"registry.example.net", "x.registry.example.net/app", false},
    {"registry.example.net", "Registry.example.net/app", false},
    /* as many parts */
    {"*.example.net", "a.example.net/app", true},
    {"*.example.net", "example.net/app", false},
    {"*.example.net", "a.b.example.net/app", false},
    {"*", "localhost/app", true},
    {"*", "a.b/app", false},
    {"*.*", "a.b/app", true},
    {"k8s.*.io", "k8s.gcr.io/pause", true},
    {"k8s.*.io", "k8s.a.b.io/pause", false},
    {"*.dkr.ecr.*.amazonaws.com", "123456789012.dkr.ecr.eu-west-1.amazonaws.com/app:1", true},
    {"*.dkr.ecr.*.amazonaws.com", "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/app", false},
    {"*.dkr.ecr.*.amazonaws.com", "123456789012.dkr.eks.eu-west-1.amazonaws.com/app", false},
    {"*.azurecr.io", "team.azurecr.io/app", true},
    {"*-docker.pkg.dev", "europe-west1-docker.pkg.dev/p/r/app", true},
    /* within a part */
    {"foo*.bar", "foo.bar/app", true},
    {"foo*.bar", "foobar.bar/app", true},
    {"foo*.bar", "fo.bar/app", false},
    {"foo*.bar", "foo.x.bar/app", false},
    {"*foo*bar*.io", "afoobbarc.io/app", true},
    {"*foo*bar*.io", "barfoo.io/app", false},
    {"a*a*a.io", "aaa.io/x", true},
    {"a*a*a.io", "aa.io/x", false},
    {"a**b.io", "ab.io/x", true},
    {"*aab.io", "aaab.io/x", true},
    /* ports */
    {"registry.example.net:5000", "registry.example.net:5000/app", true},
    {"registry.example.net:5000", "registry.example.net/app", false},
    {"registry.example.net", "registry.example.net:5000/app", false},
    {"registry.example.net:5000", "registry.example.net:5001/app", false},
    {"registry.example.net:5000", "registry.example.net:05000/app", false},
    {"*.example.net:5000", "a.example.net:5000/app", true},
    {"localhost:5000", "localhost:5000/app", true},
    {"[::1]:5000", "[::1]:5000/app", true},
    {"[::1]:5000", "[::2]:5000/app", false},
    {"*:5000", "[::1]:5000/app", true},
    {"*1:5000", "[::1]:5000/app", true},
    {"[::ffff:1.2.3.4]:5000", "[::ffff:1.2.3.4]:5000/app", true},
    {"[::ffff:1.2.3.4]:5000", "[::ffff:1.2.3]:5000/app", false},
    {"registry.example.net", "registry.example.net:/app", false},
    /* paths: text, as the kubelet compares them */
    {"registry.example.net/team", "registry.example.net/team/app", true},
    {"registry.example.net/team", "registry.example.net/team", true},
    {"registry.example.net/team", "registry.example.net/teamwork/app", true},
    {"registry.example.net/team/", "registry.example.net/teamwork/app", false},
    {"registry.example.net/team", "registry.example.net/tea", false},
    {"registry.example.net/team", "registry.example.net", false},
    {"registry.example.net/team", "registry.example.net/Team/app", false},
    {"registry.example.net:5000/team", "registry.example.net:5000/team/app", true},
    {"registry.example.net/", "registry.example.net/app", true},
    {"registry.example.net/", "registry.example.net", false},
    /* what no image is */
    {"registry.example.net", "", false},
    {"registry.example.net", "/app", false},
    {"*.example.net", "user@a.example.net/app", false},
    {"*.example.net", ".example.net/app", true},
    {"registry.example.net", "registry.example.net/a?b", false},
    {"registry.example.net", "registry.example.net/a%2fb", false},
    {"registry.example.net", "https://registry.example.net/a", false},
    {"nginx", "nginx:latest", false},
    /* what is no pattern */
    {"", "registry.example.net/app", false},
    {"https://registry.example.net", "registry.example.net/app", false},
    {"registry.example.net/*", "registry.example.net/*", false},
    {"registry.example.net:*", "registry.example.net:5000/app", false},
    {"reg[ai]stry.example.net", "registry.example.net/app", false},
};

static void tells_images_of_a_registry_apart_by_their_path(void **state)
{
    static const struct match_case by_path[] = {
        {"reg.example.net/team", "reg.example.net/team/app:1", true},
        {"*.example.net/team", "reg.example.net/other/app:1", true},
        {"reg.example.net:5000/team", "reg.example.net:5000/app", true},
        {"reg.example.net", "reg.example.net/team/app", false},
        {"reg.example.net/", "reg.example.net/team/app", false},
        {"reg.example.net:5000/team", "reg.example.net/team/app", false},
        {"another.example.net/team", "reg.example.net/team/app", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(by_path); i++) {
        if (cfr_k8s_image_match_by_path(by_path[i].pattern, cfr_view_of(by_path[i].image)) != by_path[i].fits)
            fail_msg("\"%s\" and \"%s\"", by_path[i].pattern, by_path[i].image);
    }
}

static void matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cfr_k8s_image_match(cases[i].pattern, cfr_view_of(cases[i].image)) != cases[i].fits)
            fail_msg("\"%s\" and \"%s\"", cases[i].pattern, cases[i].image);
    }
    assert_false(cfr_k8s_image_match(NULL, cfr_view_of("a")));
    assert_false(cfr_k8s_image_match("a", (struct cfr_view){NULL, 0}));
    assert_true(cfr_k8s_image_match("a", (struct cfr_view){"a/b", 1}));
}

struct check_case {
    const char *pattern;
    const char *text; /* NULL = good */
};

static const struct check_case checks[] = {
    {"*.dkr.ecr.*.amazonaws.com", NULL},
    {"registry.example.net:5000/team/app_1-x.y", NULL},
    {"localhost", NULL},
    {"[::1]:5000/x", NULL},
    {"[2001:db8::1]:65535", NULL},
    {"*", NULL},
    {"", "it is empty"},
    {"https://registry.example.net", "leave out everything before the host"},
    {"/team", "it has no host"},
    {":5000", "it has no host"},
    {"registry.example.net:", "port must be a number from 1 to 65535"},
    {"registry.example.net:0", "port must be a number"},
    {"registry.example.net:65536", "port must be a number"},
    {"registry.example.net:*", "port must be a number"},
    {"registry.example.net:+5", "port must be a number"},
    {"[::1]", "only with a port"},
    {"[::1", "its host may have"},
    {"[]:5", "its host may have"},
    {"[ab]:5", "its host may have"},
    {"a:b:5", "its host may have"},
    {"reg?stry.example.net", "its host may have"},
    {"a..b", "its host may have"},
    {".a", "its host may have"},
    {"a.", "its host may have"},
    {"a b", "its host may have"},
    {"a@b", "its host may have"},
    {"a\\*", "its host may have"},
    {"registry.example.net/team/*", "is allowed in the host only"},
    {"registry.example.net/a?b", "no image name has"},
    {"registry.example.net/a b", "no image name has"},
    {"registry.example.net/\xc3\xa9", "no image name has"},
};

static void patterns(void **state)
{
    char text[1026];

    (void)state;
    for (size_t i = 0; i < COUNT(checks); i++) {
        struct cfr_err err = {0};
        int rc = cfr_k8s_image_match_check(checks[i].pattern, &err);

        if (rc != (checks[i].text != NULL ? CFR_E_CONFIG : 0) || (rc != 0 && strstr(err.text, checks[i].text) == NULL))
            fail_msg("\"%s\": %s", checks[i].pattern, err.text);
    }
    memset(text, 'a', 1025);
    text[1025] = '\0';
    assert_int_equal(cfr_k8s_image_match_check(text, NULL), CFR_E_CONFIG);
}

static void registries(void **state)
{
    (void)state;
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("registry.example.net/app:1")), "registry.example.net");
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("registry:5000/app")), "registry:5000");
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("[::1]:5000/app")), "[::1]:5000");
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("localhost/app")), "localhost");
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("Team/app")), "Team");
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("docker.io/library/nginx")), "docker.io");
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("library/nginx:1.25")), "docker.io");
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("nginx")), "docker.io");
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("nginx:1.25")), "docker.io");
    assert_view(cfr_k8s_image_match_registry(cfr_view_of("nginx@sha256:0123")), "docker.io");
    assert_view(cfr_k8s_image_match_registry((struct cfr_view){NULL, 0}), "docker.io");
}

/* A pattern full of asterisks must not take for ever. */
static void many_asterisks(void **state)
{
    char pattern[1024];
    char image[4096];

    (void)state;
    for (size_t i = 0; i + 2 < sizeof pattern; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[sizeof pattern - 2] = 'b';
    pattern[sizeof pattern - 1] = '\0';
    memset(image, 'a', sizeof image);
    assert_false(cfr_k8s_image_match(pattern, (struct cfr_view){image, sizeof image}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_images_of_a_registry_apart_by_their_path),
        cmocka_unit_test(matches),
        cmocka_unit_test(patterns),
        cmocka_unit_test(registries),
        cmocka_unit_test(many_asterisks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
