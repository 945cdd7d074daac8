/* SPDX-License-Identifier: MIT */
/* Subcommand version: number, commit and its date; with --verbose, the libraries of this process. */
#include "agent/cmd/commands_private.h"

#include "agent/http/client.h"
#include "agent/httpd/server.h"
#include "base/json.h"
#include "base/xml.h"
#include "base/yaml.h"

#include "commit.inc"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>

/* By the name of Debian's source package; VERSION is what the library itself says. */
static const struct {
    const char *name;
    const char *(*version)(void);
} libraries[] = {
    {"cjson", cfr_json_library},          {"curl", cfr_http_library},           {"expat", cfr_xml_library},
    {"glibc", gnu_get_libc_version},      {"libmicrohttpd", cfr_httpd_library}, {"libyaml", cfr_yaml_library},
    {"openssl", cfr_http_crypto_library},
};

#ifdef CFR_LIBRARIES
/* What the static program was linked from, compiler's parts included; tools/build-static.sh knows. */
static const struct {
    const char *name;
    const char *version; /* of Debian's source package */
    const char *how;     /* "archive" or "rebuilt" */
} linked[] = {
#include CFR_LIBRARIES
};

static const char *version_of(const char *name)
{
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        if (strcmp(libraries[i].name, name) == 0)
            return libraries[i].version();
    }
    return "-";
}

static void print_libraries(void)
{
    (void)puts("linked statically, from packages of Debian:");
    for (size_t i = 0; i < sizeof linked / sizeof linked[0]; i++)
        (void)printf("  %-13s %-8s %-22s %s\n", linked[i].name, version_of(linked[i].name), linked[i].version,
                     linked[i].how);
}
#else
static void print_libraries(void)
{
    (void)puts("with the libraries of this system:");
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        (void)printf("  %-13s %s\n", libraries[i].name, libraries[i].version());
}
#endif

int cfr_cmd_version(const struct cfr_cli_options *o)
{
    (void)puts("credfresh " CFR_VERSION CFR_COMMIT);
    if (o->verbose)
        print_libraries();
    return fflush(stdout) == 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}
