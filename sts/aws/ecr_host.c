/* SPDX-License-Identifier: MIT */
/* The names of registries. */
#include "sts/aws/ecr_private.h"

#include "wire/aws.h"

#include <string.h>

static bool skip_prefix(struct cfr_view *rest, const char *text)
{
    if (!cfr_view_starts(*rest, text))
        return false;
    rest->p += strlen(text);
    rest->n -= strlen(text);
    return true;
}

/* `ACCOUNT.dkr.ecr[-fips].REGION.DOMAIN`, or with `dkr-ecr` for the names that have IPv6 addresses too. */
bool cfr_aws_ecr_host_parse(struct cfr_view host, struct cfr_aws_ecr_host *out)
{
    struct cfr_view rest = host;
    size_t n = 0;

    *out = (struct cfr_aws_ecr_host){0};
    while (n < rest.n && rest.p[n] >= '0' && rest.p[n] <= '9')
        n++;
    if (n != 12)
        return false;
    out->account = (struct cfr_view){rest.p, n};
    rest = (struct cfr_view){rest.p + n, rest.n - n};
    if (!skip_prefix(&rest, ".dkr.ecr") && !skip_prefix(&rest, ".dkr-ecr"))
        return false;
    out->fips = skip_prefix(&rest, "-fips");
    if (!skip_prefix(&rest, "."))
        return false;
    for (n = 0; n < rest.n && rest.p[n] != '.';)
        n++;
    if (n == rest.n || !cfr_wire_aws_region_ok((struct cfr_view){rest.p, n}))
        return false;
    memcpy(out->region, rest.p, n);
    rest = (struct cfr_view){rest.p + n + 1, rest.n - n - 1};
    return cfr_wire_aws_registry_domain_ok(out->region, rest);
}

const char *const cfr_aws_ecr_public_hosts[] = {"public.ecr.aws", "ecr-public.aws.com", NULL};

bool cfr_aws_ecr_host_is_public(struct cfr_view host)
{
    for (const char *const *name = cfr_aws_ecr_public_hosts; *name != NULL; name++) {
        if (cfr_view_is(host, *name))
            return true;
    }
    return false;
}
