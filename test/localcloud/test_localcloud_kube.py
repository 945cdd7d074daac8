# SPDX-License-Identifier: MIT
"""Tests of the local cloud's Kubernetes API: TokenRequest, who may, Secrets and server-side apply. The binary's path comes
from CFR_LOCALCLOUD."""
import base64
import calendar
import json
import re
import ssl
import stat
import time
import urllib.parse

import pytest

from test_localcloud import Cloud, claims_of, until

API = "https://kubernetes.default.svc"
CONFIG = {
    "volumes": [{"name": "api", "namespace": "apps", "service_account": "operator", "audience": API}],
    "kube": {
        "namespaces": ["empty"],
        "service_accounts": [{"namespace": "apps", "name": "web"}, {"namespace": "apps", "name": "other"}],
        "nodes": [{"name": "worker-1"}, {"name": "worker-2"}],
        "pods": [{"namespace": "apps", "name": "web-0", "service_account": "web", "node": "worker-1",
                  "audiences": ["", "sts.amazonaws.com"]},
                 {"namespace": "apps", "name": "other-0", "service_account": "other", "node": "worker-2"}],
        "tokens": [{"token": "t-admin", "user": "admin", "groups": ["system:masters"]},
                   {"token": "t-agent", "user": "agent"},
                   {"token": "t-node", "user": "system:node:worker-1", "groups": ["system:nodes"]},
                   {"token": "t-writer", "user": "writer"}],
        "secrets": [{"namespace": "apps", "name": "frozen", "immutable": True, "string_data": {"k": "v"}}],
        "rbac": [
            {"user": "agent", "verb": "create", "resource": "serviceaccounts/token", "namespace": "apps",
             "names": ["web"]},
            {"user": "writer", "verb": ["get", "patch", "update"], "resource": "secrets", "namespace": "apps",
             "names": ["creds"]},
            {"user": "system:serviceaccount:apps:operator", "verb": "get", "resource": ["secrets"]},
            {"group": "system:serviceaccounts:apps", "verb": "create", "resource": "secrets"},
        ],
    },
}


class Cluster(Cloud):
    def kube(self, method, path, body=None, token="t-admin", content="application/json", headers=None, **more):
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = "Bearer " + token
        if body is not None:
            headers["Content-Type"] = content
            body = body if isinstance(body, (str, bytes)) else json.dumps(body)
        return self.request(method, "/kube" + path, body, headers, **more)

    def ask(self, sa="web", ns="apps", token="t-admin", metadata=None, connection=None, **spec):
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        if metadata:
            body["metadata"] = metadata
        return self.kube("POST", f"/api/v1/namespaces/{ns}/serviceaccounts/{sa}/token", body, token,
                         connection=connection)

    def secret(self, method, name="creds", body=None, query="", ns="apps", **more):
        path = f"/api/v1/namespaces/{ns}/secrets" + (f"/{name}" if name else "")
        return self.kube(method, path + query, body, **more)

    def apply(self, manager, data, name="creds", force=False, token="t-admin", extra=None, ns="apps", **top):
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **(extra or {})},
                "data": {key: b64(value) for key, value in data.items()}, **top}
        query = "?" + urllib.parse.urlencode({"fieldManager": manager, **({"force": "true"} if force else {})})
        return self.secret("PATCH", name, body, query, ns, content="application/apply-patch+yaml", token=token)

    def merge(self, patch, name="creds", query="", **more):
        return self.secret("PATCH", name, patch, query, content="application/merge-patch+json", **more)

    def uid(self, kind, name, ns="apps"):
        return next(o["uid"] for o in self.admin("GET", "/kube/objects")[kind]
                    if o["name"] == name and o.get("namespace", ns) == ns)


def b64(text):
    return base64.b64encode(text.encode()).decode()


def ok(answer, status=200):
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "application/json" and len(answer.headers["Audit-Id"]) == 36
    return json.loads(answer.body)


def refused(answer, status, reason, text=""):
    """A Status object, exactly."""
    document = ok(answer, status)
    assert document["kind"] == "Status" and document["apiVersion"] == "v1" and document["metadata"] == {}
    assert document["status"] == "Failure" and document["code"] == status and document["reason"] == reason
    assert text in document["message"], document["message"]
    return document


def seconds(stamp):
    return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))


@pytest.fixture(scope="module")
def cloud():
    cloud = Cluster(CONFIG)
    yield cloud
    cloud.stop()


@pytest.fixture(autouse=True)
def clean(request):
    yield
    if "cloud" in request.fixturenames:
        cloud = request.getfixturevalue("cloud")
        cloud.admin("DELETE", "/fault")
        cloud.admin("POST", "/outage", {"on": False})
        for secret in cloud.admin("GET", "/kube/objects")["secrets"]:
            if secret["metadata"]["name"] != "frozen":
                cloud.admin("POST", "/kube/object", {"kind": "Secret", "namespace": secret["metadata"]["namespace"],
                                                     "name": secret["metadata"]["name"], "delete": True})


def test_kubeconfig(cloud):
    assert cloud.ready["kube_url"] == cloud.ready["sts_url"] + "kube"
    path = cloud.state / "kubeconfig"
    assert cloud.ready["kubeconfig"] == str(path) and stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert f'server: "{cloud.ready["kube_url"]}"' in text and 'token: "t-admin"' in text
    ca = base64.b64decode(re.search(r"certificate-authority-data: (\S+)", text).group(1)).decode()
    assert ca == (cloud.state / "ca.pem").read_text()
    ssl.create_default_context(cadata=ca)


def test_discovery(cloud):
    for path in ("/.well-known/openid-configuration", "/openid/v1/jwks"):
        here = cloud.kube("GET", path, token=None)
        there = cloud.request("GET", "/issuer" + path)
        assert here.status == 200 and here.body == there.body
        assert here.headers["Content-Type"] == there.headers["Content-Type"]


def test_token_request(cloud):
    before = int(time.time())
    answer = cloud.ask(audiences=["sts.amazonaws.com"], expirationSeconds=7200, token="t-agent")
    document = ok(answer, 201)
    assert document["kind"] == "TokenRequest" and document["apiVersion"] == "authentication.k8s.io/v1"
    assert document["metadata"]["name"] == "web" and document["metadata"]["namespace"] == "apps"
    assert document["spec"] == {"audiences": ["sts.amazonaws.com"], "expirationSeconds": 7200, "boundObjectRef": None}
    claims = claims_of(document["status"]["token"])
    assert claims["aud"] == ["sts.amazonaws.com"] and claims["sub"] == "system:serviceaccount:apps:web"
    assert claims["exp"] - claims["iat"] == 7200 == seconds(document["status"]["expirationTimestamp"]) - claims["iat"]
    assert before <= claims["iat"] == claims["nbf"] == seconds(document["metadata"]["creationTimestamp"])
    assert claims["kubernetes.io"] == {"namespace": "apps", "serviceaccount": {
        "name": "web", "uid": cloud.uid("service_accounts", "web")}}
    assert "Warning" not in answer.headers
    signing = cloud.admin("GET", "/issuer")["signing"]
    assert json.loads(base64.urlsafe_b64decode(document["status"]["token"].split(".")[0] + "=="))["kid"] == signing
    assert cloud.web({"WebIdentityToken": document["status"]["token"]}).find("Code") == "AccessDenied"


def test_defaults_and_the_smallest_body(cloud):
    document = ok(cloud.kube("POST", "/api/v1/namespaces/apps/serviceaccounts/web/token", "{}"), 201)
    assert document["spec"]["audiences"] == [API] and document["spec"]["expirationSeconds"] == 3600


@pytest.mark.parametrize("asked,text", [
    (599, "Invalid value: 599: may not specify a duration less than 10 minutes"),
    (0, "may not specify a duration less than 10 minutes"),
    (4294967297, "Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"),
])
def test_duration_limits(cloud, asked, text):
    document = refused(cloud.ask(expirationSeconds=asked), 422, "Invalid",
                       'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: ')
    assert text in document["message"]
    assert document["details"]["group"] == "authentication.k8s.io" and document["details"]["kind"] == "TokenRequest"
    assert document["details"]["causes"][0]["field"] == "spec.expirationSeconds"
    assert document["details"]["causes"][0]["reason"] == "FieldValueInvalid"


def test_edges_of_the_duration(cloud):
    assert ok(cloud.ask(expirationSeconds=600), 201)["spec"]["expirationSeconds"] == 600
    assert ok(cloud.ask(expirationSeconds=4294967296), 201)["spec"]["expirationSeconds"] == 4294967296


@pytest.mark.parametrize("body,text", [
    ("nonsense", "not valid JSON"),
    ("[]", "must be a JSON object"),
    ({"kind": "Pod", "apiVersion": "v1"}, "Pod"),
    ({"spec": {"audiences": "sts"}}, "spec.audiences"),
    ({"spec": {"audiences": [1]}}, "spec.audiences"),
    ({"spec": {"expirationSeconds": "3600"}}, "spec.expirationSeconds"),
    ({"spec": {"boundObjectRef": "x"}}, "spec.boundObjectRef"),
])
def test_malformed_requests(cloud, body, text):
    refused(cloud.kube("POST", "/api/v1/namespaces/apps/serviceaccounts/web/token", body), 400, "BadRequest", text)


def test_other_refusals(cloud):
    refused(cloud.ask("nobody"), 404, "NotFound", 'serviceaccounts "nobody" not found')
    refused(cloud.ask("web", "nowhere"), 404, "NotFound")
    refused(cloud.ask(metadata={"name": "other"}), 422, "Invalid", "metadata.name")
    refused(cloud.kube("POST", "/api/v1/namespaces/apps/serviceaccounts/web/token", "x", content="text/plain"), 415,
            "UnsupportedMediaType")
    refused(cloud.kube("GET", "/api/v1/namespaces/apps/serviceaccounts/web/token"), 405, "MethodNotAllowed")
    refused(cloud.kube("GET", "/api/v1/namespaces/apps/configmaps/x"), 404, "NotFound")
    document = refused(cloud.ask("nobody"), 404, "NotFound")
    assert document["details"] == {"name": "nobody", "kind": "serviceaccounts"}


def test_who_calls(cloud):
    refused(cloud.ask(token="wrong"), 401, "Unauthorized", "Unauthorized")
    document = refused(cloud.ask(token=None), 403, "Forbidden", 'User "system:anonymous" cannot create resource '
                       '"serviceaccounts/token" in API group "" in the namespace "apps"')
    assert document["message"].startswith('serviceaccounts "web" is forbidden: ')
    refused(cloud.ask("other", token="t-agent"), 403, "Forbidden", 'User "agent"')
    refused(cloud.secret("GET", token="t-agent"), 403, "Forbidden", 'secrets "creds" is forbidden')


def bound(cloud, kind="Pod", name="web-0", **more):
    return {"kind": kind, "apiVersion": "v1", "name": name, **more}


def test_bound_objects(cloud):
    uid = cloud.uid("pods", "web-0")
    document = ok(cloud.ask(boundObjectRef=bound(cloud, uid=uid)), 201)
    assert document["spec"]["boundObjectRef"] == bound(cloud, uid=uid)
    claim = claims_of(document["status"]["token"])["kubernetes.io"]
    assert claim["pod"] == {"name": "web-0", "uid": uid}
    assert claim["node"] == {"name": "worker-1", "uid": cloud.uid("nodes", "worker-1")}
    assert "pod" in claims_of(ok(cloud.ask(boundObjectRef=bound(cloud)), 201)["status"]["token"])["kubernetes.io"]
    claim = claims_of(ok(cloud.ask(boundObjectRef=bound(cloud, "Node", "worker-2")), 201)["status"]["token"])
    assert claim["kubernetes.io"]["node"]["name"] == "worker-2" and "pod" not in claim["kubernetes.io"]
    claim = claims_of(ok(cloud.ask(boundObjectRef=bound(cloud, "Secret", "frozen")), 201)["status"]["token"])
    assert claim["kubernetes.io"]["secret"]["name"] == "frozen"
    refused(cloud.ask(boundObjectRef=bound(cloud, uid="other")), 409, "Conflict",
            'Operation cannot be fulfilled on Pod "web-0": the UID in the bound object reference (other) does not match')
    refused(cloud.ask(boundObjectRef=bound(cloud, name="nobody")), 404, "NotFound", 'pods "nobody" not found')
    refused(cloud.ask(boundObjectRef=bound(cloud, "Secret", "nobody")), 404, "NotFound", 'secrets "nobody" not found')
    refused(cloud.ask(boundObjectRef=bound(cloud, "Node", "nobody")), 404, "NotFound", 'nodes "nobody" not found')
    refused(cloud.ask(boundObjectRef=bound(cloud, name="other-0")), 400, "BadRequest",
            'cannot bind token for serviceaccount "web" to pod running with different serviceaccount name.')
    refused(cloud.ask(boundObjectRef=bound(cloud, "ConfigMap", "x")), 400, "BadRequest",
            "cannot bind token to object of type /v1, Kind=ConfigMap")
    refused(cloud.ask(boundObjectRef={**bound(cloud), "apiVersion": "apps/v1"}), 400, "BadRequest",
            "cannot bind token to object of type apps/v1, Kind=Pod")


def test_extended_tokens(cloud):
    pod = bound(cloud)
    document = ok(cloud.ask(expirationSeconds=3607, boundObjectRef=pod), 201)
    claims = claims_of(document["status"]["token"])
    assert claims["exp"] - claims["iat"] == 31536000
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert seconds(document["status"]["expirationTimestamp"]) - claims["iat"] == 3607
    for spec in ({"expirationSeconds": 3607}, {"expirationSeconds": 3600, "boundObjectRef": pod},
                 {"expirationSeconds": 3607, "boundObjectRef": pod, "audiences": ["sts.amazonaws.com"]},
                 {"expirationSeconds": 3607, "boundObjectRef": pod, "audiences": [API, "sts.amazonaws.com"]}):
        claims = claims_of(ok(cloud.ask(**spec), 201)["status"]["token"])
        assert claims["exp"] - claims["iat"] < 4000 and "warnafter" not in claims["kubernetes.io"]


def test_node_restriction(cloud):
    uid = cloud.uid("pods", "web-0")
    good = {"boundObjectRef": bound(cloud, uid=uid), "audiences": ["sts.amazonaws.com"]}
    ok(cloud.ask(token="t-node", **good), 201)
    ok(cloud.ask(token="t-node", **{**good, "audiences": []}), 201)
    for changes, text in (({"boundObjectRef": None}, "node requested token not bound to a pod"),
                          ({"boundObjectRef": bound(cloud, "Node", "worker-1")}, "node requested token not bound to a pod"),
                          ({"boundObjectRef": bound(cloud)}, "with a pod binding without a uid"),
                          ({"boundObjectRef": bound(cloud, uid="x")}, "does not match the UID in record"),
                          ({"boundObjectRef": bound(cloud, name="other-0", uid=cloud.uid("pods", "other-0"))},
                           "scheduled on a different node"),
                          ({"audiences": ["vault"]}, 'audience "vault" not found in pod spec volume'),
                          ({"audiences": ["a", "b"]}, "node may only request 0 or 1 audiences")):
        refused(cloud.ask(token="t-node", **{**good, **changes}), 403, "Forbidden", text)
    refused(cloud.ask("other", token="t-node", **good), 403, "Forbidden",
            "no relationship found between node 'worker-1' and this object")
    rules = CONFIG["kube"]["rbac"] + [{"group": "system:nodes", "verb": "request-serviceaccounts-token-audience",
                                       "resource": "vault", "names": ["web"]}]
    cloud.admin("POST", "/kube/rbac", {"rules": rules})
    ok(cloud.ask(token="t-node", **{**good, "audiences": ["vault"]}), 201)
    cloud.admin("POST", "/kube/rbac", {"rules": CONFIG["kube"]["rbac"]})


def test_a_token_of_the_issuer_calls(cloud):
    volume = (cloud.state / "volumes/api/token").read_text()
    assert ok(cloud.secret("GET", "frozen", token=volume))["data"] == {"k": b64("v")}
    wrong = cloud.token(namespace="apps", service_account="operator", audience=["sts.amazonaws.com"])
    refused(cloud.secret("GET", "frozen", token=wrong), 401, "Unauthorized")
    for wish in ({"expires_in_s": -1}, {"stray_key": True}, {"service_account": "stranger"}, {"alg": "none"}):
        token = cloud.token(**{"namespace": "apps", "service_account": "operator", "audience": [API], **wish})
        refused(cloud.secret("GET", "frozen", token=token), 401, "Unauthorized")
    body = {"metadata": {"name": "by-group"}, "stringData": {"a": "b"}}
    assert ok(cloud.secret("POST", None, body, token=volume), 201)["data"] == {"a": b64("b")}


def with_certificate(cloud, pair, tmp_path):
    path = tmp_path / "client.pem"
    path.write_text(pair["certificate"] + pair["key"])
    context = ssl.create_default_context(cafile=cloud.ready["ca_file"])
    context.load_cert_chain(path)
    return cloud.connect(context=context)


def test_client_certificates(cloud, tmp_path):
    def ask(user, groups=(), **more):
        pair = cloud.admin("POST", "/kube/certificate", {"user": user, "groups": list(groups), **more})
        return cloud.ask(token=None, connection=with_certificate(cloud, pair, tmp_path))

    ok(ask("agent"), 201)
    ok(ask("anybody", ["one", "system:masters"]), 201)
    refused(ask("stranger", ["one"]), 403, "Forbidden", 'User "stranger"')
    refused(ask("agent", expires_in_s=-3600), 401, "Unauthorized")
    elsewhere = Cluster(CONFIG, fresh=True)
    pair = elsewhere.admin("POST", "/kube/certificate", {"user": "agent"})
    elsewhere.stop()
    refused(cloud.ask(token=None, connection=with_certificate(cloud, pair, tmp_path)), 401, "Unauthorized")
    cloud.admin("POST", "/kube/certificate", {}, status=400)


def test_deleting_ends_tokens():
    cloud = Cluster(CONFIG)
    token = ok(cloud.ask("operator", boundObjectRef=bound(cloud, name="operator-0")), 201)["status"]["token"]
    free = ok(cloud.ask("operator"), 201)["status"]["token"]
    assert cloud.secret("GET", "frozen", token=token).status == 200
    pod = {"kind": "Pod", "namespace": "apps", "name": "operator-0"}
    cloud.admin("POST", "/kube/object", {**pod, "delete": True})
    refused(cloud.secret("GET", "frozen", token=token), 401, "Unauthorized")
    cloud.admin("POST", "/kube/object", {**pod, "service_account": "operator"})
    refused(cloud.secret("GET", "frozen", token=token), 401, "Unauthorized")
    assert cloud.secret("GET", "frozen", token=free).status == 200
    account = {"kind": "ServiceAccount", "namespace": "apps", "name": "operator"}
    cloud.admin("POST", "/kube/object", {**account, "delete": True})
    refused(cloud.secret("GET", "frozen", token=free), 401, "Unauthorized")
    refused(cloud.ask("operator"), 404, "NotFound")
    cloud.admin("POST", "/kube/object", account)
    refused(cloud.secret("GET", "frozen", token=free), 401, "Unauthorized")
    ok(cloud.ask("operator"), 201)
    cloud.admin("POST", "/kube/object", {**account, "name": "nobody", "delete": True}, status=400)
    cloud.admin("POST", "/kube/object", {"kind": "ConfigMap", "name": "x"}, status=400)
    cloud.stop()


def test_speed_caps_and_rotation():
    cloud = Cluster({"kube": {**CONFIG["kube"], "max_token_expiration_s": 7200, "extend_tokens": False,
                              "api_audiences": ["api"]}}, speed=720)
    answer = cloud.ask(expirationSeconds=86400)
    document = ok(answer, 201)
    assert answer.headers["Warning"] == '299 - "requested expiration of 86400 seconds shortened to 7200 seconds"'
    assert document["spec"]["expirationSeconds"] == 7200 and document["spec"]["audiences"] == ["api"]
    claims = claims_of(document["status"]["token"])
    assert claims["exp"] - claims["iat"] == 10 == seconds(document["status"]["expirationTimestamp"]) - claims["iat"]
    refused(cloud.ask(expirationSeconds=599), 422, "Invalid")
    claims = claims_of(ok(cloud.ask(expirationSeconds=3607, boundObjectRef=bound(cloud)), 201)["status"]["token"])
    assert claims["exp"] - claims["iat"] == 6
    kid = cloud.admin("POST", "/issuer/rotate")["signing"]
    token = ok(cloud.ask(), 201)["status"]["token"]
    assert json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))["kid"] == kid
    cloud.stop()


# Secrets

def test_create_get_delete(cloud):
    refused(cloud.secret("GET"), 404, "NotFound", 'secrets "creds" not found')
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds", "labels": {"a": "b"}},
            "data": {"key": b64("value"), "both": b64("data")}, "stringData": {"text": "plain", "both": "text"}}
    made = ok(cloud.secret("POST", None, body), 201)
    assert made["data"] == {"key": b64("value"), "text": b64("plain"), "both": b64("text")}
    assert made["type"] == "Opaque" and "stringData" not in made and made["kind"] == "Secret"
    metadata = made["metadata"]
    assert metadata["namespace"] == "apps" and metadata["labels"] == {"a": "b"} and metadata["uid"]
    assert int(metadata["resourceVersion"]) > 0 and seconds(metadata["creationTimestamp"])
    assert ok(cloud.secret("GET")) == made
    refused(cloud.secret("POST", None, body), 409, "AlreadyExists", 'secrets "creds" already exists')
    refused(cloud.secret("DELETE", body={"preconditions": {"uid": "other"}}), 409, "Conflict", "Precondition failed")
    gone = ok(cloud.secret("DELETE", body={"preconditions": {"uid": metadata["uid"]}}))
    assert gone["status"] == "Success" and gone["details"] == {"name": "creds", "kind": "secrets", "uid": metadata["uid"]}
    refused(cloud.secret("DELETE"), 404, "NotFound")
    refused(cloud.secret("POST", None, body, ns="nowhere"), 404, "NotFound", 'namespaces "nowhere" not found')
    assert cloud.secret("POST", None, body, ns="empty").status == 201


@pytest.mark.parametrize("changes,field,reason", [
    ({"type": "kubernetes.io/dockerconfigjson"}, "data[.dockerconfigjson]", "FieldValueRequired"),
    ({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": b64("no")}}, "data[.dockerconfigjson]",
     "FieldValueInvalid"),
    ({"type": "kubernetes.io/dockercfg"}, "data[.dockercfg]", "FieldValueRequired"),
    ({"type": "kubernetes.io/tls", "data": {"tls.crt": "aA=="}}, "data[tls.key]", "FieldValueRequired"),
    ({"type": "kubernetes.io/ssh-auth"}, "data[ssh-privatekey]", "FieldValueRequired"),
    ({"type": "kubernetes.io/basic-auth"}, "data[username]", "FieldValueRequired"),
    ({"type": "kubernetes.io/service-account-token"}, "metadata.annotations[kubernetes.io/service-account.name]",
     "FieldValueRequired"),
    ({"data": {"bad key": ""}}, "data[bad key]", "FieldValueInvalid"),
    ({"data": {"..": ""}}, "data[..]", "FieldValueInvalid"),
    ({"metadata": {"name": "Bad_Name"}}, "metadata.name", "FieldValueInvalid"),
    ({"metadata": {}}, "metadata.name", "FieldValueRequired"),
    ({"data": {"a": base64.b64encode(b"x" * 1048577).decode()}}, "data", "FieldValueTooLong"),
])
def test_invalid_secrets(cloud, changes, field, reason):
    document = refused(cloud.secret("POST", None, {"metadata": {"name": "creds"}, **changes}), 422, "Invalid", "is invalid: ")
    cause = document["details"]["causes"][0]
    assert (cause["field"], cause["reason"]) == (field, reason) and document["details"]["kind"] == "Secret"


@pytest.mark.parametrize("changes", [{"data": {"k": "not base64"}}, {"data": {"k": "YQ"}}, {"data": {"k": 1}}, {"data": []},
                                     {"stringData": {"k": 1}}, {"type": 1}, {"immutable": "yes"},
                                     {"metadata": {"name": "creds", "labels": {"a": 1}}}])
def test_secrets_that_cannot_be_decoded(cloud, changes):
    refused(cloud.secret("POST", None, {"metadata": {"name": "creds"}, **changes}), 400, "BadRequest",
            'Secret in version "v1" cannot be handled as a Secret')


@pytest.mark.parametrize("secret", [
    {"type": "kubernetes.io/tls", "stringData": {"tls.crt": "c", "tls.key": "k"}},
    {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}},
    {"type": "kubernetes.io/basic-auth", "stringData": {"password": "x"}},
    {"type": "example.net/own"}, {"data": {"a": base64.b64encode(b"x" * 1048576).decode()}}, {"data": {"a": None}},
])
def test_valid_secrets(cloud, secret):
    ok(cloud.secret("POST", None, {"metadata": {"name": "creds"}, **secret}), 201)


def test_replace(cloud):
    refused(cloud.secret("PUT", body={"metadata": {"name": "creds"}}), 404, "NotFound")
    first = ok(cloud.secret("POST", None, {"metadata": {"name": "creds"}, "stringData": {"a": "1", "b": "2"}}), 201)
    body = {"metadata": {"name": "creds", "resourceVersion": first["metadata"]["resourceVersion"]},
            "stringData": {"a": "3"}}
    second = ok(cloud.secret("PUT", body=body))
    assert second["data"] == {"a": b64("3")} and second["metadata"]["uid"] == first["metadata"]["uid"]
    refused(cloud.secret("PUT", body=body), 409, "Conflict",
            'Operation cannot be fulfilled on secrets "creds": the object has been modified; please apply your changes to '
            "the latest version and try again")
    del body["metadata"]["resourceVersion"]
    third = ok(cloud.secret("PUT", body=body))
    assert third["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]  # nothing changed
    refused(cloud.secret("PUT", body={**body, "type": "example.net/own"}), 422, "Invalid",
            'Secret "creds" is invalid: type: Invalid value: "example.net/own": field is immutable')
    refused(cloud.secret("PUT", body={"metadata": {"name": "other"}}), 400, "BadRequest", "does not match the name on the URL")
    refused(cloud.secret("PUT", body={"metadata": {"namespace": "other"}}), 400, "BadRequest", "namespace")
    refused(cloud.secret("PUT", body={"metadata": {"uid": "other"}}), 409, "Conflict")


def test_merge_patch(cloud):
    refused(cloud.merge({"data": {"a": "aA=="}}), 404, "NotFound")
    ok(cloud.secret("POST", None, {"metadata": {"name": "creds"}, "stringData": {"a": "1", "b": "2"}}), 201)
    after = ok(cloud.merge({"metadata": {"annotations": {"x/y": "z"}}, "data": {"a": b64("new"), "b": None}}))
    assert after["data"] == {"a": b64("new")} and after["metadata"]["annotations"] == {"x/y": "z"}
    assert ok(cloud.merge({"data": {"a": b64("new")}})) == after
    strategic = cloud.secret("PATCH", body={"stringData": {"c": "3"}}, content="application/strategic-merge-patch+json")
    assert ok(strategic)["data"] == {"a": b64("new"), "c": b64("3")}
    refused(cloud.merge({"metadata": {"resourceVersion": "1"}}), 409, "Conflict", "the object has been modified")
    refused(cloud.merge({"type": "x/y"}), 422, "Invalid", "field is immutable")
    refused(cloud.merge({"data": {"a": "%"}}), 400, "BadRequest")
    refused(cloud.merge({}, query="?force=true"), 422, "Invalid",
            "force: Forbidden: may not be specified for non-apply patch")
    refused(cloud.secret("PATCH", body="[]", content="application/json-patch+json"), 415, "UnsupportedMediaType")
    refused(cloud.secret("PATCH", body="{}", content="application/json"), 415, "UnsupportedMediaType")


def test_immutable(cloud):
    backticks = "field is immutable when `immutable` is set"
    document = refused(cloud.merge({"data": {"k": b64("other")}}, "frozen"), 422, "Invalid", "data: Forbidden: " + backticks)
    assert document["details"]["causes"] == [{"reason": "FieldValueForbidden", "message": "Forbidden: " + backticks,
                                              "field": "data"}]
    document = refused(cloud.merge({"immutable": False, "data": {"n": "aA=="}}, "frozen"), 422, "Invalid")
    assert {cause["field"] for cause in document["details"]["causes"]} == {"immutable", "data"}
    refused(cloud.apply("m", {"k": "other"}, "frozen", force=True), 422, "Invalid", backticks)
    ok(cloud.merge({"metadata": {"labels": {"still": "fine"}}}, "frozen"))


def fields_of(secret, manager):
    return next((entry["fieldsV1"] for entry in secret["metadata"]["managedFields"] if entry["manager"] == manager), None)


def test_apply(cloud):
    made = ok(cloud.apply("one", {"a": "1", "b.c": "2"}, extra={"annotations": {"x/y": "z"}}), 201)
    assert made["data"] == {"a": b64("1"), "b.c": b64("2")} and made["type"] == "Opaque"
    assert fields_of(made, "one") == {"f:data": {"f:a": {}, "f:b.c": {}}, "f:metadata": {"f:annotations": {"f:x/y": {}}}}
    entry = made["metadata"]["managedFields"][0]
    assert entry["operation"] == "Apply" and entry["apiVersion"] == "v1" and entry["fieldsType"] == "FieldsV1"
    assert ok(cloud.apply("one", {"a": "1", "b.c": "2"}, extra={"annotations": {"x/y": "z"}})) == made
    # What is left out goes away.
    after = ok(cloud.apply("one", {"a": "3"}))
    assert after["data"] == {"a": b64("3")} and "annotations" not in after["metadata"]
    # Somebody else's field stays.
    both = ok(cloud.apply("two", {"x": "9"}))
    assert both["data"] == {"a": b64("3"), "x": b64("9")}
    assert ok(cloud.apply("one", {"a": "4"}))["data"] == {"a": b64("4"), "x": b64("9")}


def test_apply_conflicts(cloud):
    ok(cloud.apply("one", {"a": "1", "b": "1", "c": "1"}), 201)
    document = refused(cloud.apply("two", {"a": "2"}), 409, "Conflict",
                       'Apply failed with 1 conflict: conflict with "one": .data.a')
    assert document["details"]["causes"] == [{"reason": "FieldManagerConflict", "message": 'conflict with "one"',
                                              "field": ".data.a"}]
    refused(cloud.apply("two", {"a": "2", "b": "2"}), 409, "Conflict",
            'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b')
    # The same value is shared, and then stays when one of the two lets go of it.
    ok(cloud.apply("two", {"a": "1"}))
    assert ok(cloud.apply("one", {"b": "1", "c": "1"}))["data"]["a"] == b64("1")
    forced = ok(cloud.apply("two", {"a": "1", "b": "2"}, force=True))
    assert forced["data"]["b"] == b64("2") and fields_of(forced, "one") == {"f:data": {"f:c": {}}}
    assert ok(cloud.apply("one", {}))["data"] == {"a": b64("1"), "b": b64("2")}
    # An update takes fields away without asking, and is a side of conflicts with its version and time.
    changed = ok(cloud.merge({"data": {"a": b64("5")}}, query="?fieldManager=hand"))
    assert fields_of(changed, "hand") == {"f:data": {".": {}, "f:a": {}}}
    assert fields_of(changed, "two") == {"f:data": {"f:b": {}}}
    document = refused(cloud.apply("two", {"a": "6", "b": "2"}), 409, "Conflict")
    assert re.fullmatch(r'Apply failed with 1 conflict: conflict with "hand" using v1 at \d{4}-\S+Z: \.data\.a',
                        document["message"])
    agent = ok(cloud.merge({"data": {"n": ""}}, headers={"User-Agent": "curl/8.1"}))
    assert fields_of(agent, "curl") is not None


def test_apply_options(cloud):
    refused(cloud.secret("PATCH", body={}, content="application/apply-patch+yaml"), 422, "Invalid",
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch')
    refused(cloud.apply("m" * 129, {}), 422, "Invalid", "may not be more than 128 bytes")
    refused(cloud.apply("m\n", {}), 422, "Invalid", "printable")
    for extra, top, text in (({"managedFields": []}, {}, "metadata.managedFields must be nil"), ({}, {"kind": "Pod"}, "error"),
                             ({"name": "other"}, {}, "does not match the name"), ({"name": ""}, {}, "metadata.name"),
                             ({"namespace": "other"}, {}, "namespace")):
        refused(cloud.apply("m", {}, extra=extra, **top), 400, "BadRequest", text)
    refused(cloud.apply("m", {}, ns="nowhere"), 404, "NotFound", "namespaces")
    refused(cloud.apply("m", {}, extra={"uid": "x"}), 409, "Conflict")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds"}}
    dry = cloud.secret("PATCH", body=secret, query="?fieldManager=m&dryRun=All", content="application/apply-patch+yaml")
    assert dry.status == 201 and cloud.secret("GET").status == 404
    typed = ok(cloud.apply("m", {"tls.crt": "c", "tls.key": "k"}, type="kubernetes.io/tls"), 201)
    assert "f:type" in fields_of(typed, "m")
    refused(cloud.apply("m", {"tls.crt": "c", "tls.key": "k"}), 422, "Invalid", "type: Invalid value")


def test_apply_creates_only_with_the_verb_create(cloud):
    refused(cloud.apply("m", {"a": "1"}, token="t-writer"), 403, "Forbidden",
            'secrets "creds" is forbidden: ')
    ok(cloud.apply("m", {"a": "1"}), 201)
    ok(cloud.apply("m", {"a": "2"}, token="t-writer"))
    refused(cloud.apply("m", {"a": "1"}, name="other", token="t-writer"), 403, "Forbidden", "cannot patch resource")
    refused(cloud.secret("DELETE", token="t-writer"), 403, "Forbidden", "cannot delete resource")
    # By apply the name is known before anything is created, so that a rule may be limited to it; by create it is not.
    ok(cloud.secret("DELETE"))
    rules = CONFIG["kube"]["rbac"] + [{"user": "writer", "verb": "create", "resource": "secrets", "names": ["creds"]}]
    cloud.admin("POST", "/kube/rbac", {"rules": rules})
    ok(cloud.apply("m", {"a": "1"}, token="t-writer"), 201)
    ok(cloud.secret("DELETE"))
    refused(cloud.secret("POST", None, {"metadata": {"name": "creds"}}, token="t-writer"), 403, "Forbidden",
            "cannot create resource")
    cloud.admin("POST", "/kube/rbac", {"rules": CONFIG["kube"]["rbac"]})


def test_admin_objects(cloud):
    cloud.admin("POST", "/kube/object", {"kind": "Secret", "namespace": "apps", "name": "creds", "string_data": {"a": "b"}})
    assert ok(cloud.secret("GET"))["data"] == {"a": b64("b")}
    listed = cloud.admin("GET", "/kube/objects")
    assert "creds" in {secret["metadata"]["name"] for secret in listed["secrets"]}
    assert {"web", "other", "operator"} <= {account["name"] for account in listed["service_accounts"]}
    cloud.admin("POST", "/kube/object", {"kind": "Secret", "name": "x", "type": "kubernetes.io/tls"}, status=400)
    cloud.admin("POST", "/kube/rbac", {"rules": [{"verb": "get"}]}, status=400)


def test_faults_and_statistics(cloud):
    cloud.admin("POST", "/stats/reset")
    cloud.fault("error", code="TooManyRequests", status=429, message="Later.",
                match={"action": "kube.token", "role": "apps/web"})
    cloud.fault("close", match={"action": "kube.secret.get"})
    cloud.fault("status", status=503, body="<html>", match={"action": "kube.secret.apply"})
    refused(cloud.ask(), 429, "TooManyRequests", "Later.")
    with pytest.raises(Exception):
        cloud.secret("GET")
    assert cloud.apply("m", {"a": "1"}).status == 503
    ok(cloud.apply("m", {"a": "1"}), 201)
    cloud.fault("short_life", s=5, match={"action": "kube.token"})
    claims = claims_of(ok(cloud.ask(), 201)["status"]["token"])
    assert claims["exp"] - claims["iat"] == 5
    cloud.fault("expiration", value="past", match={"action": "kube.token"})
    assert seconds(ok(cloud.ask(), 201)["status"]["expirationTimestamp"]) < time.time()
    cloud.admin("POST", "/outage", {"on": True, "service": "kube"})
    assert cloud.ask().status == 503
    cloud.admin("POST", "/outage", {"on": False, "service": "kube"})
    stats = cloud.admin("GET", "/stats")
    assert stats["actions"]["kube.token"] == {"TooManyRequests": 1, "OK": 2, "Outage": 1}
    assert stats["actions"]["kube.secret.apply"] == {"Fault": 1, "OK": 1}
    entry = stats["log"][0]
    assert entry["role"] == "apps/web" and entry["fault"] == "error"


def test_demo(tmp_path):
    cloud = Cluster(speed=600)
    demo = "demo-kube-token"
    token = ok(cloud.ask("demo", "default", demo, audiences=["sts.amazonaws.com"]), 201)["status"]["token"]
    assert cloud.web({"WebIdentityToken": token}).status == 200
    pod = {"kind": "Pod", "apiVersion": "v1", "name": "demo-0"}
    assert claims_of(ok(cloud.ask("demo", "default", demo, boundObjectRef=pod), 201)["status"]["token"])
    refused(cloud.ask("demo", "kube-system", demo), 403, "Forbidden")
    ok(cloud.apply("agent", {"a": "1"}, token=demo, ns="default"), 201)
    projected = cloud.token(audience=[API])
    refused(cloud.secret("GET", ns="default", token=projected), 403, "Forbidden", "system:serviceaccount:default:demo")
    until(lambda: cloud.web({"WebIdentityToken": token}).status == 400)
    assert f"token: \"{demo}\"" in (cloud.state / "kubeconfig").read_text()
    cloud.stop()


@pytest.mark.parametrize("section,reason", [
    ({"rbac": [{"user": "x", "verb": "get"}]}, 'rbac[0] needs'),
    ({"rbac": [{"user": "x", "group": "y", "verb": "get", "resource": "secrets"}]}, 'rbac[0] needs'),
    ({"tokens": [{"user": "x"}]}, '"token" and "user" are needed'),
    ({"pods": [{"name": "a b"}]}, "must be Kubernetes names"),
    ({"secrets": [{"name": "x", "data": {"k": "%"}}]}, "base64"),
    ({"max_token_expiration_s": -1}, "max_token_expiration_s"),
    ({"what": 1}, 'unknown key "what"'),
])
def test_bad_configuration(section, reason):
    with pytest.raises(AssertionError) as caught:
        Cluster({"kube": section})
    assert reason in str(caught.value)
