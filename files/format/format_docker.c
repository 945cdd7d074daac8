/* SPDX-License-Identifier: MIT */
/* The output format of container registries' logins: docker's config.json, which podman, skopeo, buildah,
 * containerd's tools and Kubernetes' secrets of type kubernetes.io/dockerconfigjson read too. */
#include "files/format/format_private.h"

int cfr_format_docker_config(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_writer p = {
        .secret = out, .err = err, .rc = cfr_format_need(in, "docker-config", CFR_FIELD_REGISTRY_AUTHS, err)};

    cfr_writer_object(&p, NULL);
    cfr_writer_object(&p, "auths");
    cfr_writer_view(&p, cfr_format_get(in, CFR_FIELD_REGISTRY_AUTHS));
    cfr_writer_close(&p);
    cfr_writer_close(&p);
    cfr_writer_text(&p, "\n");
    return p.rc;
}
