/* SPDX-License-Identifier: MIT */
/* What the output formats share; private to files/format*.c. Render functions are those of struct cfr_format.
 */
#ifndef CFR_FILES_FORMAT_FORMAT_PRIVATE_H
#define CFR_FILES_FORMAT_FORMAT_PRIVATE_H

#include "base/writer.h"
#include "files/format/format.h"

/* A line KEY=VALUE (KEY in capitals), or nothing if VALUE is empty; CODE if VALUE would need quotes. */
void cfr_format_write_env(struct cfr_writer *p, const char *key, struct cfr_view value, int code);

/* The grant's field, or an empty view. */
struct cfr_view cfr_format_get(const struct cfr_format_input *in, const char *field);
/* CFR_E_CONFIG, naming FORMAT and FIELD, if the grant has no such field. */
int cfr_format_need(const struct cfr_format_input *in, const char *format, const char *field, struct cfr_err *err);
/* True for a text that is there and not empty. */
bool cfr_format_given(const char *text);
/* The region that was configured, else the grant's. */
struct cfr_view cfr_format_region(const struct cfr_format_input *in);

typedef int cfr_format_fn(const struct cfr_format_input *in, struct cfr_secret *out, struct cfr_err *err);

/* files/format/format_aws.c */
cfr_format_fn cfr_format_aws_credentials;
cfr_format_fn cfr_format_aws_config;
cfr_format_fn cfr_format_aws_credential_process;
/* files/format/format_azure.c */
cfr_format_fn cfr_format_azure_token_json;
cfr_format_fn cfr_format_azure_env;
/* files/format/format_openstack.c */
cfr_format_fn cfr_format_clouds_yaml;
cfr_format_fn cfr_format_clouds_conf;
cfr_format_fn cfr_format_openstack_token;
/* files/format/format_gcp.c */
cfr_format_fn cfr_format_gcp_external_account;
cfr_format_fn cfr_format_gcp_access_token;
cfr_format_fn cfr_format_gcp_token_json;
cfr_format_fn cfr_format_gcp_service_account_key;
/* files/format/format_docker.c, files/format/format_oauth.c */
cfr_format_fn cfr_format_docker_config;
const char *cfr_format_docker_ignored(struct cfr_view there, struct cfr_view ours);
int cfr_format_docker_merge(struct cfr_view there, struct cfr_secret *content, struct cfr_err *err);
cfr_format_fn cfr_format_oauth_access_token;
/* files/format/format_field.c */
cfr_format_fn cfr_format_field;
cfr_format_fn cfr_format_template;
/* files/format/format_kube.c */
cfr_format_fn cfr_format_kube_ca;
cfr_format_fn cfr_format_kube_namespace;
cfr_format_fn cfr_format_kubeconfig;
/* files/format/format_plain.c */
cfr_format_fn cfr_format_token;
cfr_format_fn cfr_format_env;
cfr_format_fn cfr_format_json;
cfr_format_fn cfr_format_secret_key;
/* files/format/format_service.c */
cfr_format_fn cfr_format_certificate;
cfr_format_fn cfr_format_private_key;
cfr_format_fn cfr_format_ca_bundle;

#endif
