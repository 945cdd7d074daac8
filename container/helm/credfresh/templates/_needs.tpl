{{- /*
What the configuration needs of the cluster, as YAML:
  tokens      name of the file in /var/run/secrets/credfresh: audience
  state       the directory of the state, and of the service CA's store
  persistent  whether it must survive the pod
  port        that of listen, if there is one
  rules       each {namespace, kind, name, group, resource, verbs}; without a namespace it is for the cluster
*/}}
{{- define "credfresh.needs" -}}
{{- $config := fromYaml (required "config is empty: give the configuration with --set-file config=credfresh.yaml" .Values.config) }}
{{- if hasKey $config "Error" }}
{{- fail (printf "config is not valid YAML: %s" $config.Error) }}
{{- end }}
{{- $here := .Release.Namespace }}
{{- $applied := list "get" "patch" "create" "list" "watch" }}
{{- $defaults := $config.defaults | default dict }}
{{- $tokens := dict }}
{{- $rules := list }}
{{- range $c := $config.credentials }}
{{- $token := $c.token | default dict }}
{{- if hasPrefix "/var/run/secrets/credfresh/" ($token.file | default "") }}
{{- $_ := set $tokens (trimPrefix "/var/run/secrets/credfresh/" $token.file) (required (printf "config: credential %s: write the audience of the token that the pod gets (token.audience)" $c.name) $token.audience) }}
{{- end }}
{{- with $token.request }}{{ if not .kubeconfig }}
{{- $rules = append $rules (dict "namespace" (.namespace | default $here) "kind" "token" "name" .service_account "group" "" "resource" "serviceaccounts/token" "verbs" (list "create")) }}
{{- end }}{{ end }}
{{- if and $c.mint (not ($c.mint | default dict).state) (eq $.Values.kind "DaemonSet") }}
{{- fail (printf "config: credential %s: mint needs the kind Deployment, or mint.state: else each node would replace the key of the others" $c.name) }}
{{- end }}
{{- with ($c.mint | default dict).state }}{{ if not .kubeconfig }}
{{- $rules = append $rules (dict "namespace" (.namespace | default $here) "kind" "shared-rotation" "name" .secret "group" "" "resource" "secrets" "verbs" (list "get" "list" "watch" "patch")) }}
{{- end }}{{ end }}
{{- $targets := $c.publish | default list }}
{{- range $target := kindIs "map" $targets | ternary (list $targets) $targets }}
{{- range $kind := list "secret" "configmap" }}
{{- with get $target $kind }}{{ if not .kubeconfig }}
{{- $rules = append $rules (dict "namespace" (.namespace | default $here) "kind" $kind "name" .name "group" "" "resource" (printf "%ss" $kind) "verbs" $applied) }}
{{- if .events }}
{{- $rules = append $rules (dict "namespace" (.namespace | default $here) "kind" "events" "name" "" "group" "events.k8s.io" "resource" "events" "verbs" (list "create")) }}
{{- end }}
{{- end }}{{ end }}
{{- end }}
{{- end }}
{{- range $hook := hasKey $c "reload" | ternary $c.reload $defaults.reload }}
{{- with $hook.rollout }}{{ if not .kubeconfig }}
{{- $kind := lower .kind }}
{{- $rules = append $rules (dict "namespace" (.namespace | default $here) "kind" (printf "rollout-%s" $kind) "name" .name "group" "apps" "resource" (printf "%ss" $kind) "verbs" (list "get" "patch")) }}
{{- end }}{{ end }}
{{- end }}
{{- end }}
{{- $ca := $config.service_ca | default dict }}
{{- range $entry := $ca.inject }}{{ if not $entry.kubeconfig }}
{{- $group := get (dict "ValidatingWebhookConfiguration" "admissionregistration.k8s.io" "MutatingWebhookConfiguration" "admissionregistration.k8s.io" "APIService" "apiregistration.k8s.io" "CustomResourceDefinition" "apiextensions.k8s.io" "ClusterTrustBundle" "certificates.k8s.io") $entry.kind }}
{{- $verbs := list "get" "patch" }}
{{- if $entry.annotated }}
{{- $verbs = append $verbs "list" }}
{{- else if eq $entry.kind "ClusterTrustBundle" }}
{{- $verbs = append $verbs "create" }}
{{- $signer := splitList ":" $entry.name }}
{{- $rules = append $rules (dict "kind" "signer" "name" (printf "%s/%s" (index $signer 0) (index $signer 1)) "group" $group "resource" "signers" "verbs" (list "attest")) }}
{{- end }}
{{- $rules = append $rules (dict "kind" $entry.kind "name" ($entry.name | default "") "group" $group "resource" (printf "%ss" (lower $entry.kind)) "verbs" $verbs) }}
{{- end }}{{ end }}
{{- range $entry := $ca.pod_certificates }}{{ if not $entry.kubeconfig }}
{{- $group := "certificates.k8s.io" }}
{{- $rules = append $rules (dict "kind" "requests" "name" "" "group" $group "resource" "podcertificaterequests" "verbs" (list "get" "list" "watch")) }}
{{- $rules = append $rules (dict "kind" "requests" "name" "" "group" $group "resource" "podcertificaterequests/status" "verbs" (list "update")) }}
{{- $rules = append $rules (dict "kind" "signer" "name" $entry.signer "group" $group "resource" "signers" "verbs" (list "sign")) }}
{{- end }}{{ end }}
{{- $state := $config.state_dir | default "/run/credfresh" }}
{{- $volume := "^(/run|/var/lib)/credfresh(/|$)" }}
{{- $root := regexFind $volume $state | trimSuffix "/" }}
{{- if not $root }}
{{- fail (printf "config: state_dir %s is on no volume: put it in /run/credfresh, which is in memory, or in /var/lib/credfresh, which survives the pod" $state) }}
{{- else if and $ca.store (ne $root (regexFind $volume $ca.store | trimSuffix "/")) }}
{{- fail (printf "config: service_ca.store %s is not on the volume of state_dir: put it in %s" $ca.store $root) }}
{{- else if and $ca (eq .Values.kind "DaemonSet") }}
{{- fail "config: service_ca needs the kind Deployment: with a DaemonSet each node would make a CA of its own" }}
{{- end }}
{{- toYaml (dict "tokens" $tokens "state" $root "persistent" (hasPrefix "/var/" $root) "port" (regexFind "[0-9]+$" ($config.listen | default "")) "rules" (uniq $rules)) }}
{{- end }}
