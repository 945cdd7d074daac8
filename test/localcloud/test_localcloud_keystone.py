# SPDX-License-Identifier: MIT
"""Tests of the local cloud's OpenStack Keystone: authentication, tokens, application credentials, federation. The
binary's path comes from CFR_LOCALCLOUD."""
import datetime
import json
import re
import urllib.parse

import pytest

from test_localcloud import Cloud, claims_of, until

ACCESS = [{"path": "/v2.1/servers", "method": "GET", "service": "compute"}]
CONFIG = {
    "keystone": {
        "users": [
            {"id": "u-robot", "name": "robot", "password": "robot-pw",
             "projects": [{"id": "p-one", "name": "one"}, {"id": "p-two", "name": "two"}],
             "roles": ["member", "reader"]},
            {"id": "u-admin", "name": "root", "domain": "Ops", "password": "admin-pw",
             "projects": [{"id": "p-ops", "name": "ops"}], "roles": ["admin"]},
            {"id": "u-bare", "name": "bare", "password": "bare-pw"},
        ],
        "application_credentials": [
            {"id": "c-plain", "name": "plain", "secret": "plain-secret", "user": "robot"},
            {"id": "c-free", "name": "free", "secret": "free-secret", "user": "robot", "unrestricted": True},
            {"id": "c-old", "name": "old", "secret": "old-secret", "user": "robot", "expires_in_s": -1},
            {"id": "c-soon", "name": "soon", "secret": "soon-secret", "user": "robot", "expires_in_s": 1000},
            {"id": "c-two", "name": "two", "secret": "two-secret", "user": "robot", "project": "two",
             "roles": ["reader"]},
            {"id": "c-rules", "name": "rules", "secret": "rules-secret", "user": "robot", "access_rules": ACCESS},
        ],
        "identity_providers": [
            {"id": "cluster", "protocol": "openid", "audience": ["openstack"],
             "mapping": [{"subject": "system:serviceaccount:apps:*", "projects": [{"id": "p-one", "name": "one"}],
                          "roles": ["member"]}]},
        ],
        "user_limit": 100,
    },
}


class Stack(Cloud):
    def call(self, method, path, body=None, token=None, headers=None, content="application/json", **more):
        headers = dict(headers or {})
        if token is not None:
            headers["X-Auth-Token"] = token
        if body is not None:
            body = body if isinstance(body, (str, bytes)) else json.dumps(body)
            headers["Content-Type"] = content
        return self.request(method, "/identity" + path, body, headers, **more)

    def auth(self, identity, scope=None, query=""):
        auth = {"identity": identity}
        if scope is not None:
            auth["scope"] = scope
        return self.call("POST", "/v3/auth/tokens" + query, {"auth": auth})

    def by_credential(self, id="c-plain", secret="plain-secret", scope=None, query="", **more):
        inside = {"secret": secret, **more}
        if id is not None:
            inside["id"] = id
        return self.auth({"methods": ["application_credential"], "application_credential": inside}, scope, query)

    def by_password(self, user="robot", password="robot-pw", project="p-one", domain="Default"):
        scope = None if project is None else {"project": {"id": project}}
        return self.auth({"methods": ["password"], "password": {
            "user": {"name": user, "domain": {"name": domain}, "password": password}}}, scope)

    def by_token(self, token, scope=None):
        return self.auth({"methods": ["token"], "token": {"id": token}}, scope)

    def validate(self, subject, token=None, method="GET", **headers):
        return self.call(method, "/v3/auth/tokens", token=token or subject,
                         headers={"X-Subject-Token": subject, **headers})

    def credentials(self, user="u-robot", id=None, query=""):
        return f"/v3/users/{user}/application_credentials" + (f"/{id}" if id else "") + query

    def create(self, token, user="u-robot", **fields):
        return self.call("POST", self.credentials(user), {"application_credential": fields}, token)


def token_of(answer):
    assert answer.status == 201, answer.body
    token = answer.headers["X-Subject-Token"]
    assert re.fullmatch(r"gAAAA[A-Za-z0-9_-]{80,}", token)
    return token


def body_of(answer, status=201):
    assert answer.status == status, answer.body
    return json.loads(answer.body)["token"]


def refused(answer, status, text):
    """Keystone's error object, exactly."""
    assert answer.status == status, answer.body
    error = json.loads(answer.body)["error"]
    titles = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
              409: "Conflict", 413: "Request Entity Too Large", 503: "Service Unavailable"}
    assert error["code"] == status and error["title"] == titles[status] and text in error["message"], error
    assert answer.headers["Vary"] == "X-Auth-Token" and answer.headers["x-openstack-request-id"].startswith("req-")
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    if status == 401:
        assert re.fullmatch(r'Keystone uri="https://127.0.0.1:\d+/identity"', answer.headers["WWW-Authenticate"])
    return error


@pytest.fixture(scope="module")
def cloud():
    cloud = Stack(CONFIG)
    yield cloud
    cloud.stop()


@pytest.fixture(autouse=True)
def no_faults_left(request):
    yield
    if "cloud" in request.fixturenames:
        cloud = request.getfixturevalue("cloud")
        cloud.admin("DELETE", "/fault")
        cloud.admin("POST", "/outage", {"on": False})


REQUIRES = "The request you have made requires authentication."


def test_ready_names_the_url(cloud):
    assert cloud.ready["keystone_url"] == cloud.ready["sts_url"] + "identity/v3"


def test_version_documents(cloud):
    root = cloud.call("GET", "")
    assert root.status == 300
    value = json.loads(root.body)["versions"]["values"][0]
    assert value["links"] == [{"rel": "self", "href": cloud.ready["keystone_url"] + "/"}]
    v3 = cloud.call("GET", "/v3")
    assert v3.status == 200 and json.loads(v3.body)["version"] == value
    assert cloud.call("GET", "/").status == 300 and cloud.call("GET", "/v3/").status == 200


def test_application_credential_by_id(cloud):
    answer = cloud.by_credential()
    token_of(answer)
    body = body_of(answer)
    assert body["methods"] == ["application_credential"]
    assert body["user"] == {"id": "u-robot", "name": "robot", "domain": {"id": "default", "name": "Default"},
                            "password_expires_at": None}
    assert body["project"] == {"id": "p-one", "name": "one", "domain": {"id": "default", "name": "Default"}}
    assert sorted(role["name"] for role in body["roles"]) == ["member", "reader"]
    assert body["application_credential"] == {"id": "c-plain", "name": "plain", "restricted": True}
    assert len(body["audit_ids"]) == 1 and len(body["audit_ids"][0]) == 22
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
    assert re.fullmatch(stamp, body["expires_at"]) and re.fullmatch(stamp, body["issued_at"])
    life = datetime.datetime.fromisoformat(body["expires_at"][:-1]) - datetime.datetime.fromisoformat(
        body["issued_at"][:-1])
    assert life == datetime.timedelta(hours=1)
    identity = body["catalog"][0]
    assert identity["type"] == "identity"
    assert {e["interface"] for e in identity["endpoints"]} == {"public", "internal", "admin"}
    assert identity["endpoints"][0]["url"] == cloud.ready["keystone_url"]
    assert "catalog" not in body_of(cloud.by_credential(query="?nocatalog"))


@pytest.mark.parametrize("user", [{"id": "u-robot"}, {"name": "robot", "domain": {"id": "default"}},
                                  {"name": "robot", "domain": {"name": "Default"}}])
def test_application_credential_by_name(cloud, user):
    body = body_of(cloud.by_credential(None, "two-secret", name="two", user=user))
    assert body["project"]["id"] == "p-two" and [r["name"] for r in body["roles"]] == ["reader"]


def test_an_unrestricted_credential_says_so(cloud):
    assert body_of(cloud.by_credential("c-free", "free-secret"))["application_credential"]["restricted"] is False


@pytest.mark.parametrize("ask,status,text", [
    ({"secret": "wrong"}, 401, REQUIRES),
    ({"secret": ""}, 401, REQUIRES),
    ({"id": "c-old", "secret": "old-secret"}, 401, REQUIRES),
    ({"id": "nobody"}, 404, "Could not find Application Credential: nobody."),
    ({"id": None, "name": "nobody", "user": {"id": "u-robot"}}, 401, REQUIRES),
    ({"id": None, "name": "plain", "user": {"id": "nobody"}}, 401, REQUIRES),
    ({"id": None, "name": "plain", "user": {"name": "robot", "domain": {"name": "Other"}}}, 401, REQUIRES),
    ({"id": None}, 400, "Expecting to find id or name in application credential."),
    ({"id": None, "name": "plain"}, 400, "Expecting to find user in application credential."),
    ({"id": None, "name": "plain", "user": {"name": "robot"}}, 400, "Expecting to find domain in user."),
    ({"scope": {"project": {"id": "p-one"}}}, 401, "Application credentials cannot request a scope."),
    ({"scope": "unscoped"}, 401, "Application credentials cannot request a scope."),
])
def test_application_credential_refusals(cloud, ask, status, text):
    error = refused(cloud.by_credential(**ask), status, text)
    assert ("identity" in error) == ("scope" in ask)


def test_an_id_overrides_the_user(cloud):
    assert body_of(cloud.by_credential(user={"id": "u-admin"}))["user"]["id"] == "u-robot"


@pytest.mark.parametrize("body,text", [
    ("{}", "'auth' is a required property"),
    ('{"auth":{}}', "Expecting to find identity in auth."),
    ('{"auth":{"identity":{}}}', "Expecting to find methods in identity."),
    ('{"auth":{"identity":{"methods":["password"]}}}', "Expecting to find user in password."),
    ('{"auth":{"identity":{"methods":["token"]}}}', "Expecting to find id in token."),
    ("nonsense", "Expecting to find valid JSON in request body."),
])
def test_malformed_requests(cloud, body, text):
    refused(cloud.call("POST", "/v3/auth/tokens", body), 400, text)
    refused(cloud.call("POST", "/v3/auth/tokens", body, content="text/plain"), 400, "Content-Type header")


def test_unknown_methods(cloud):
    error = refused(cloud.auth({"methods": ["totp"], "totp": {}}), 401, "unsupported method")
    assert error["identity"] == {"methods": ["password", "token", "application_credential"]}


def test_password_and_scopes(cloud):
    scoped = body_of(cloud.by_password())
    assert scoped["methods"] == ["password"] and scoped["project"]["id"] == "p-one" and "catalog" in scoped
    assert "application_credential" not in scoped
    unscoped = body_of(cloud.by_password(project=None))
    assert "project" not in unscoped and "roles" not in unscoped and "catalog" not in unscoped
    by_name = cloud.auth({"methods": ["password"], "password": {"user": {"id": "u-robot", "password": "robot-pw"}}},
                         {"project": {"name": "two", "domain": {"name": "Default"}}})
    assert body_of(by_name)["project"]["id"] == "p-two"
    for answer in (cloud.by_password(password="wrong"), cloud.by_password(user="nobody"),
                   cloud.by_password(domain="Ops"), cloud.by_password(project="p-ops"),
                   cloud.by_password(project="nowhere"), cloud.by_password("bare", "bare-pw", "p-one")):
        refused(answer, 401, REQUIRES)


def test_rescoping_keeps_expiry_and_chain(cloud):
    first = cloud.by_password(project=None)
    before = body_of(first)
    second = cloud.by_token(token_of(first), {"project": {"id": "p-two"}})
    after = body_of(second)
    assert after["methods"] == ["token", "password"] and after["project"]["id"] == "p-two"
    assert after["expires_at"] == before["expires_at"]
    assert len(after["audit_ids"]) == 2 and after["audit_ids"][1] == before["audit_ids"][0]
    third = body_of(cloud.by_token(token_of(second), "unscoped"))
    assert "project" not in third and third["audit_ids"][1] == before["audit_ids"][0]
    refused(cloud.by_token("gAAAAAnonsense", {"project": {"id": "p-two"}}), 404, "Failed to validate token")


def test_tokens_of_credentials_keep_to_their_project(cloud):
    token = token_of(cloud.by_credential())
    assert body_of(cloud.by_token(token))["project"]["id"] == "p-one"
    refused(cloud.by_token(token, {"project": {"id": "p-two"}}), 401, REQUIRES)
    refused(cloud.by_token(token, {"system": {"all": True}}), 403, "You are not authorized")


def test_validate_and_revoke(cloud):
    answer = cloud.by_credential()
    token = token_of(answer)
    good = cloud.validate(token)
    assert good.headers["X-Subject-Token"] == token
    assert body_of(good, 200)["audit_ids"] == body_of(answer)["audit_ids"]
    assert cloud.validate(token, method="HEAD").status == 200
    admin = token_of(cloud.by_password("root", "admin-pw", "p-ops", "Ops"))
    assert cloud.validate(token, admin).status == 200
    refused(cloud.validate(admin, token), 403, "identity:validate_token")
    refused(cloud.validate("gAAAAAnonsense", admin), 404, "Failed to validate token")
    refused(cloud.call("GET", "/v3/auth/tokens", token=admin), 404, "Failed to validate token")
    refused(cloud.validate(token, "gAAAAAnonsense"), 401, REQUIRES)
    refused(cloud.call("GET", "/v3/auth/tokens", headers={"X-Subject-Token": token}), 401, REQUIRES)
    other = token_of(cloud.by_credential())
    assert cloud.validate(token, method="DELETE").status == 204
    refused(cloud.validate(token, admin), 404, "Failed to validate token")
    refused(cloud.validate(token), 401, REQUIRES)
    assert cloud.validate(other).status == 200


def test_access_rules_need_a_service_that_keeps_them(cloud):
    answer = cloud.by_credential("c-rules", "rules-secret")
    token = token_of(answer)
    assert body_of(answer)["application_credential"]["access_rules"][0]["service"] == "compute"
    refused(cloud.validate(token), 404, "Failed to validate token")
    assert cloud.validate(token, **{"OpenStack-Identity-Access-Rules": "1.0"}).status == 200


def test_expiry_is_cut_to_the_credential(cloud):
    answer = cloud.by_credential("c-soon", "soon-secret")
    cut = body_of(answer)["expires_at"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?", cut), cut
    left = datetime.datetime.fromisoformat(cut) - datetime.datetime.utcnow()
    assert datetime.timedelta(seconds=900) < left <= datetime.timedelta(seconds=1000)
    assert body_of(cloud.validate(token_of(answer)), 200)["expires_at"].endswith("Z")
    whole = (datetime.datetime.utcnow() + datetime.timedelta(minutes=20)).replace(microsecond=0)
    made = json.loads(cloud.create(token_of(cloud.by_password()), name="whole",
                                   expires_at=whole.isoformat() + "Z").body)["application_credential"]
    assert made["expires_at"] == whole.isoformat() + ".000000"
    assert body_of(cloud.by_credential(made["id"], made["secret"]))["expires_at"] == whole.isoformat()


def test_create_list_show_delete(cloud):
    token = token_of(cloud.by_password())
    answer = cloud.create(token, name="rotate-1", description="first", roles=[{"name": "reader"}])
    assert answer.status == 201, answer.body
    made = json.loads(answer.body)["application_credential"]
    assert len(made["secret"]) == 86 and made["unrestricted"] is False and made["expires_at"] is None
    assert made["project_id"] == "p-one" and made["description"] == "first"
    assert [role["name"] for role in made["roles"]] == ["reader"]
    assert made["links"]["self"].endswith(f"/v3/users/u-robot/application_credentials/{made['id']}")
    inside = token_of(cloud.by_credential(made["id"], made["secret"]))
    assert [r["name"] for r in body_of(cloud.validate(inside), 200)["roles"]] == ["reader"]
    listed = json.loads(cloud.call("GET", cloud.credentials(query="?name=rotate-1"), token=token).body)
    assert [c["id"] for c in listed["application_credentials"]] == [made["id"]] and "links" in listed
    assert "secret" not in listed["application_credentials"][0]
    shown = cloud.call("GET", cloud.credentials(id=made["id"]), token=inside)
    assert shown.status == 200 and "secret" not in json.loads(shown.body)["application_credential"]
    assert len(json.loads(cloud.call("GET", cloud.credentials(), token=token).body)["application_credentials"]) >= 7
    refused(cloud.create(token, name="rotate-1"), 409, "Duplicate entry found with name rotate-1.")
    assert cloud.call("DELETE", cloud.credentials(id=made["id"]), token=token).status == 204
    # Validation reads the credential again, so that its tokens end with it.
    refused(cloud.validate(inside, token), 404, "Failed to validate token")
    refused(cloud.validate(inside), 401, REQUIRES)
    refused(cloud.by_credential(made["id"], made["secret"]), 404, "Could not find Application Credential")
    refused(cloud.call("GET", cloud.credentials(id=made["id"]), token=token), 404, "Could not find")
    refused(cloud.call("DELETE", cloud.credentials(id=made["id"]), token=token), 404, "Could not find")
    assert cloud.create(token, name="rotate-1").status == 201


def test_own_secret_and_its_72_bytes(cloud):
    token = token_of(cloud.by_password())
    made = json.loads(cloud.create(token, name="own", secret="s" * 72 + "tail").body)["application_credential"]
    assert made["secret"] == "s" * 72 + "tail"
    token_of(cloud.by_credential(made["id"], "s" * 72))
    refused(cloud.by_credential(made["id"], "s" * 71), 401, REQUIRES)


@pytest.mark.parametrize("fields,status,text", [
    ({}, 400, "'name' is a required property"),
    ({"name": ""}, 400, "'name'"),
    ({"name": "x" * 256}, 400, "'name'"),
    ({"name": 5}, 400, "'name'"),
    ({"name": "n", "unrestricted": "yes"}, 400, "'unrestricted'"),
    ({"name": "n", "expires_at": "2020-01-01T00:00:00"}, 400, "The 'expires_at' must not be before now."),
    ({"name": "n", "expires_at": "tomorrow"}, 400, "Timestamp not in expected format."),
    ({"name": "n", "expires_at": "2031-02-30T00:00:00Z"}, 400, "Timestamp not in expected format."),
    ({"name": "n", "roles": [{"name": "admin"}]}, 400, "Invalid application credential: Could not find role assignment"),
    ({"name": "n", "access_rules": [{"path": "no-slash", "method": "GET", "service": "compute"}]}, 400, "access_rules"),
    ({"name": "n", "access_rules": [{"path": "/x", "method": "SHOUT", "service": "compute"}]}, 400, "access_rules"),
])
def test_create_refusals(cloud, fields, status, text):
    refused(cloud.create(token_of(cloud.by_password()), **fields), status, text)


def test_who_may_manage(cloud):
    restricted = token_of(cloud.by_credential())
    free = token_of(cloud.by_credential("c-free", "free-secret"))
    admin = token_of(cloud.by_password("root", "admin-pw", "p-ops", "Ops"))
    method = "Using method 'application_credential' is not allowed for managing additional application credentials"
    refused(cloud.create(restricted, name="n"), 403, method)
    refused(cloud.call("DELETE", cloud.credentials(id="c-two"), token=restricted), 403, method)
    assert cloud.call("GET", cloud.credentials(), token=restricted).status == 200
    made = json.loads(cloud.create(free, name="by-free", unrestricted=True).body)["application_credential"]
    own = token_of(cloud.by_credential(made["id"], made["secret"]))
    assert cloud.call("DELETE", cloud.credentials(id=made["id"]), token=own).status == 204
    refused(cloud.create(admin, name="n"), 403, "identity:create_application_credential")
    assert cloud.call("GET", cloud.credentials(), token=admin).status == 200
    refused(cloud.call("GET", cloud.credentials("u-admin"), token=free), 403, "identity:list_application_credentials")
    refused(cloud.call("GET", cloud.credentials("u-admin", "x"), token=free), 403, "identity:get_application_credential")
    refused(cloud.create(token_of(cloud.by_password(project=None)), name="n"), 400, "not scoped")
    refused(cloud.create("gAAAAAnonsense", name="n"), 401, REQUIRES)
    refused(cloud.call("PATCH", cloud.credentials(id="c-two"), "{}", free), 405, "")


def test_users_change_underneath():
    cloud = Stack({"keystone": {**CONFIG["keystone"], "user_limit": 7}})
    token = token_of(cloud.by_credential())
    cloud.admin("POST", "/keystone/user", {"id": "u-robot", "roles": ["reader"]})
    assert [r["name"] for r in body_of(cloud.validate(token), 200)["roles"]] == ["reader"]
    cloud.admin("POST", "/keystone/user", {"id": "u-robot", "roles": []})
    refused(cloud.by_credential(), 401, REQUIRES)
    refused(cloud.validate(token), 401, REQUIRES)
    cloud.admin("POST", "/keystone/user", {"id": "u-robot", "roles": ["member", "reader"], "enabled": False})
    refused(cloud.by_credential(), 401, REQUIRES)
    refused(cloud.by_password(), 401, REQUIRES)
    cloud.admin("POST", "/keystone/user", {"id": "u-robot", "enabled": True})
    assert cloud.validate(token).status == 200
    password = token_of(cloud.by_password())
    assert cloud.create(password, name="seventh").status == 201
    refused(cloud.create(password, name="eighth"), 403, "maximum of 7 already exceeded")
    cloud.admin("POST", "/keystone/application_credential", {"id": "c-plain", "delete": True})
    refused(cloud.by_credential(), 404, "Could not find")
    cloud.admin("POST", "/keystone/application_credential",
                {"id": "c-plain", "name": "plain", "secret": "plain-secret", "user": "u-robot"})
    token_of(cloud.by_credential())
    names = {c["name"] for c in cloud.admin("GET", "/keystone")["application_credentials"]}
    assert "seventh" in names and "eighth" not in names
    cloud.admin("POST", "/keystone/user", {"id": "u-robot", "delete": True})
    refused(cloud.by_credential(), 404, "Could not find")
    cloud.admin("POST", "/keystone/user", {"id": "u-robot"}, status=400)
    cloud.stop()


FEDERATED = "/v3/OS-FEDERATION/identity_providers/cluster/protocols/openid/auth"


def jwt(cloud, **more):
    return cloud.token(**{"namespace": "apps", "service_account": "web", "audience": ["openstack"], **more})


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_federation(cloud, method):
    answer = cloud.call(method, FEDERATED, headers={"Authorization": "Bearer " + jwt(cloud)})
    token = token_of(answer)
    body = body_of(answer)
    assert body["methods"] == ["openid"] and "project" not in body
    assert body["user"]["name"] == "system:serviceaccount:apps:web"
    assert body["user"]["OS-FEDERATION"] == {"groups": [], "identity_provider": {"id": "cluster"},
                                             "protocol": {"id": "openid"}}
    scoped = cloud.by_token(token, {"project": {"id": "p-one"}})
    assert body_of(scoped)["methods"] == ["token", "openid"] and body_of(scoped)["roles"][0]["name"] == "member"
    assert cloud.validate(token_of(scoped)).status == 200
    refused(cloud.by_token(token, {"project": {"id": "p-two"}}), 401, REQUIRES)
    # A mapping's roles come by group, which is no assignment that a credential could be made of.
    refused(cloud.create(token_of(scoped), body["user"]["id"], name="n"), 400, "Could not find role assignment")


@pytest.mark.parametrize("wish", [{"audience": ["other"]}, {"expires_in_s": -1}, {"stray_key": True}, {"alg": "none"},
                                  {"alg": "HS256"}, {"extra_claims": {"iss": "https://elsewhere.example"}}])
def test_the_web_server_refuses_in_html(cloud, wish):
    answer = cloud.call("POST", FEDERATED, headers={"Authorization": "Bearer " + jwt(cloud, **wish)})
    assert answer.status == 401 and answer.headers["Content-Type"].startswith("text/html")
    assert b"<title>401 Unauthorized</title>" in answer.body
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
    assert cloud.call("POST", FEDERATED).status == 401


def test_federation_behind_the_web_server(cloud):
    header = {"Authorization": "Bearer " + jwt(cloud, namespace="other")}
    refused(cloud.call("POST", FEDERATED, headers=header), 401, REQUIRES)
    refused(cloud.call("POST", FEDERATED.replace("cluster", "nobody"), headers=header), 404, "nobody")
    refused(cloud.call("POST", FEDERATED.replace("openid", "saml2"), headers=header), 404, "saml2")


def test_other_paths(cloud):
    assert cloud.call("GET", "/v3/projects").status == 404
    assert cloud.call("PUT", "/v3/auth/tokens", "{}").status == 405


def test_faults_and_statistics(cloud):
    cloud.admin("POST", "/stats/reset")
    cloud.fault("error", code="Unauthorized", status=401, message="Go away.",
                match={"action": "keystone.auth", "role": "c-plain"})
    token_of(cloud.by_credential("c-free", "free-secret"))
    refused(cloud.by_credential(), 401, "Go away.")
    cloud.fault("status", status=503, headers={"Retry-After": "7"}, match={"action": "keystone.auth"})
    assert cloud.by_credential().headers["Retry-After"] == "7"
    cloud.fault("expiration", value="past", match={"action": "keystone.auth"})
    assert body_of(cloud.by_credential())["expires_at"] < datetime.datetime.utcnow().isoformat()
    cloud.fault("expiration", value="omit", match={"action": "keystone.auth"})
    assert "expires_at" not in body_of(cloud.by_credential())
    cloud.fault("short_life", s=1, match={"action": "keystone.auth"})
    token = token_of(cloud.by_credential())
    until(lambda: cloud.validate(token).status == 401, 5)
    cloud.admin("POST", "/outage", {"on": True, "service": "keystone"})
    assert cloud.by_credential().status == 503
    assert cloud.web().status != 503
    cloud.admin("POST", "/outage", {"on": False, "service": "keystone"})
    stats = cloud.admin("GET", "/stats")
    assert stats["actions"]["keystone.auth"]["Unauthorized"] == 1
    assert stats["actions"]["keystone.auth"]["OK"] >= 4 and stats["actions"]["keystone.auth"]["Outage"] == 1
    entry = [e for e in stats["log"] if e["action"] == "keystone.auth"][0]
    assert entry["role"] == "c-free" and entry["session_name"] == "p-one" and len(entry["access_key_id"]) == 16


def test_demo_and_speed():
    cloud = Stack(speed=3600)
    answer = cloud.by_credential("demo-app-credential", "demo-secret")
    token = token_of(answer)
    body = body_of(answer)
    assert body["user"]["id"] == "demo-user" and body["project"]["id"] == "demo-project"
    until(lambda: cloud.validate(token).status == 401, 5)
    free = token_of(cloud.by_credential("demo-unrestricted-credential", "demo-unrestricted-secret"))
    assert cloud.create(free, "demo-user", name="next").status == 201
    subject = cloud.token(audience=["openstack"])
    path = "/v3/OS-FEDERATION/identity_providers/demo/protocols/openid/auth"
    assert cloud.call("POST", path, headers={"Authorization": "Bearer " + subject}).status == 201
    cloud.stop()


@pytest.mark.parametrize("section,reason", [
    ({"users": [{"id": "x"}]}, '"name" is missing'),
    ({"user": []}, 'unknown key "user"'),
    ({"users": {}}, '"users" must be an array'),
    ({"application_credentials": [{"name": "n", "secret": "s", "user": "nobody"}]}, "there is no such user"),
    ({"identity_providers": [{"id": "x"}]}, '"id" and "audience" are needed'),
    ({"token_expiration_s": 0}, "token_expiration_s"),
])
def test_bad_configuration(tmp_path, section, reason):
    with pytest.raises(AssertionError) as caught:
        Stack({"keystone": section})
    assert reason in str(caught.value)


def test_the_expired_listener_speaks_too(cloud):
    url = urllib.parse.urlsplit(cloud.ready["http_url"])
    answer = cloud.call("GET", "/v3", url=urllib.parse.urlunsplit(url))
    assert answer.status == 200
    assert claims_of(jwt(cloud))["aud"] == ["openstack"]
