/* SPDX-License-Identifier: MIT */
#include "kube/answer_private.h"

int cfr_k8s_answer_parse(struct cfr_view body, struct cfr_json **out, struct cfr_err *err)
{
    int rc = cfr_json_parse(body, out, err);

    return rc == 0 || rc == CFR_E_NOMEM ? rc : cfr_err_prefix(err, "the API server's answer");
}
