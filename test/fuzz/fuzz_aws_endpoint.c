/* SPDX-License-Identifier: MIT */
/* Any text as a custom endpoint: what is accepted goes nowhere but where it says, and never in the clear. */
#include "fuzz.h"

#include "base/str.h"
#include "wire/aws_settings.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* ::1 in any spelling, in brackets. */
static bool is_loopback(const char *host)
{
    char text[INET6_ADDRSTRLEN] = "";
    struct in6_addr address;

    return sscanf(host, "[%45[0-9a-fA-F:.]]", text) == 1 && inet_pton(AF_INET6, text, &address) == 1 &&
           IN6_IS_ADDR_LOOPBACK(&address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cfr_wire_aws_endpoint e;
    struct cfr_err err = {0};
    char *url = cfr_str_dup((struct cfr_view){(const char *)data, size});
    int rc;

    if (url == NULL)
        return 0;
    rc = cfr_wire_aws_endpoint_parse(url, &e, &err);
    CFR_FUZZ_MUST(rc == 0 || (rc == CFR_E_CONFIG && err.text[0] != '\0'));
    if (rc == 0) {
        CFR_FUZZ_MUST(e.host[0] != '\0' && e.path[0] == '/');
        CFR_FUZZ_MUST(strpbrk(e.host, "@/?#%\\ \t\r\n") == NULL && strpbrk(e.path, "@?#%\\ \t\r\n:") == NULL);
        CFR_FUZZ_MUST(e.tls || strncmp(e.host, "127.", 4) == 0 || is_loopback(e.host) ||
                      strncmp(e.host, "localhost", 9) == 0);
        CFR_FUZZ_MUST(e.region[0] == '\0' || cfr_wire_aws_region_ok(cfr_view_of(e.region)));
    }
    (void)cfr_wire_aws_region_ok((struct cfr_view){(const char *)data, size});
    (void)cfr_wire_aws_partition(url);
    free(url);
    return 0;
}
