/* SPDX-License-Identifier: MIT */
/* Subcommand inspect: explains a token. */
#include "agent/cmd/commands_private.h"

#include "agent/cli/token_input.h"
#include "agent/loop/clock.h"
#include "base/json.h"
#include "sts/providers.h"
#include "token/claims.h"
#include "token/inspect.h"

#include <stdio.h>

static int explain(const struct cfr_cli_options *o, struct cfr_view file)
{
    struct cfr_str report = {.limit = 65536};
    struct cfr_claims claims;
    struct cfr_err err = {0};
    struct cfr_inspect_subject subject = {
        .file = file,
        .claims = &claims,
        .now_s = cfr_clock_now().wall_ms / 1000,
        .audience = o->audience,
        .rules = cfr_sts_find(cfr_view_of("aws"))->token_rules, /* the strictest that there are */
    };
    unsigned problems;

    if (cfr_claims_read(cfr_view_trim(file), &claims, &err) != 0) {
        cfr_cli_complain("%s: %s", o->args[0], err.text);
        return CFR_EXIT_FAILED;
    }
    problems = cfr_inspect_write(&subject, &report);
    (void)fwrite(report.p, 1, report.len, stdout);
    cfr_claims_free(&claims);
    cfr_str_free(&report);
    return problems == 0 ? CFR_EXIT_OK : CFR_EXIT_FAILED;
}

int cfr_cmd_inspect(const struct cfr_cli_options *o)
{
    struct cfr_secret raw;
    struct cfr_err err = {0};
    int status = CFR_EXIT_FAILED;

    cfr_json_setup();
    cfr_secret_init(&raw, CFR_TOKEN_MAX + 1);
    if (cfr_cli_read_token(o->args[0], false, &raw, &err) != 0)
        cfr_cli_complain("%s", err.text);
    else
        status = explain(o, cfr_secret_view(&raw));
    cfr_secret_free(&raw);
    return status;
}
