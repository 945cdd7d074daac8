# SPDX-License-Identifier: MIT
"""Tests of the local cloud's authorization server: RFC 8693, RFC 7523, client credentials and client authentication."""
import time

import pytest

from cloud_client import (BEARER_ASSERTION, JWT_TYPE, Cloud, Key, basic, bearer, claims_of, document, form, own_claims,
                          reset)

GRANT = "urn:ietf:params:oauth:grant-type:"
TYPE = "urn:ietf:params:oauth:token-type:"
SUBJECT = "system:serviceaccount:default:demo"


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    directory = tmp_path_factory.mktemp("oauth")
    return {"rsa": Key(directory, "rsa"), "ec": Key(directory, "ec", "EC")}


@pytest.fixture(scope="module")
def cloud(keys):
    running = Cloud({"oauth": {
        "clients": [
            {"id": "secretive", "secrets": ["first", "se:cond %+&"]},
            {"id": "keyed", "keys": [{"id": "r", "public_key_pem": keys["rsa"].public},
                                     {"id": "e", "public_key_pem": keys["ec"].public}]},
            {"id": "federated", "federated": [{"subject": SUBJECT, "audience": "oauth"}]}],
        "subjects": [{"subject": "system:serviceaccount:default:*", "audience": ["oauth", "https://as.example"]}],
        "audiences": ["api", "https://second.example"], "scopes": ["read", "write"], "lifetime_s": 1200}})
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def clean(cloud):
    yield
    reset(cloud)


def exchange(cloud, changes=None, headers=None, **wish):
    fields = {"grant_type": GRANT + "token-exchange", "subject_token_type": JWT_TYPE}
    fields.update(changes or {})
    if "subject_token" not in fields:
        fields["subject_token"] = cloud.token(**{"audience": ["oauth"], **wish})
    return form(cloud, "/oauth/token", fields, headers)


def credentials(cloud, changes=None, headers=None):
    return form(cloud, "/oauth/token", {"grant_type": "client_credentials", **(changes or {})}, headers)


def with_assertion(cloud, assertion, **changes):
    return credentials(cloud, {"client_assertion_type": BEARER_ASSERTION, "client_assertion": assertion, **changes})


def refused(answer, error, text="", status=400):
    got = document(answer, status)
    assert got["error"] == error and text in got["error_description"], got
    assert answer.headers["Cache-Control"] == "no-store"
    return answer


def url_of(cloud):
    return cloud.ready["oauth_url"] + "/token"


def test_token_exchange(cloud):
    answer = exchange(cloud, {"scope": "read write", "audience": "api"})
    got = document(answer)
    assert answer.headers["Cache-Control"] == "no-store"
    assert (got["issued_token_type"], got["token_type"], got["expires_in"]) == (TYPE + "access_token", "Bearer", 1200)
    assert got["scope"] == "read write"
    who = document(cloud.request("GET", "/oauth/whoami", headers=bearer(got["access_token"])))
    assert who["identity"] == SUBJECT and who["scopes"] == ["read", "write"] and who["audience"] == ["api"]
    assert 1190 < who["expires_in"] <= 1200
    got = document(exchange(cloud, {"requested_token_type": TYPE + "jwt"}))
    assert (got["issued_token_type"], got["token_type"]) == (TYPE + "jwt", "N_A")
    assert claims_of(got["access_token"])["aud"] == ["api"]
    assert exchange(cloud, {"subject_token_type": TYPE + "id_token"}, audience=["https://as.example"]).status == 200


def test_several_targets(cloud):
    pairs = [("grant_type", GRANT + "token-exchange"), ("subject_token_type", JWT_TYPE),
             ("subject_token", cloud.token(audience=["oauth"])), ("audience", "api"), ("resource", "https://second.example")]
    got = document(form(cloud, "/oauth/token", pairs))
    assert claims_of(got["access_token"])["aud"] == ["api", "https://second.example"]
    refused(form(cloud, "/oauth/token", pairs + [("scope", "read"), ("scope", "write")]), "invalid_request", "scope occurs twice")


@pytest.mark.parametrize("changes,error,text", [
    ({"grant_type": None}, "invalid_request", "grant_type"), ({"grant_type": "password"}, "unsupported_grant_type", "password"),
    ({"subject_token": None}, "invalid_request", "subject_token"), ({"subject_token_type": None}, "invalid_request", "subject_token"),
    ({"subject_token_type": "jwt"}, "invalid_request", "subject_token_type"),
    ({"subject_token_type": TYPE + "saml2"}, "invalid_request", "subject_token_type"),
    ({"requested_token_type": TYPE + "refresh_token"}, "invalid_request", "requested_token_type"),
    ({"actor_token": "x"}, "invalid_request", "actor_token_type"),
    ({"actor_token": "x", "actor_token_type": JWT_TYPE}, "invalid_request", "not supported"),
    ({"audience": "elsewhere"}, "invalid_target", "elsewhere"), ({"resource": "https://elsewhere"}, "invalid_target", "elsewhere"),
    ({"resource": "api"}, "invalid_target", "absolute"), ({"scope": "read admin"}, "invalid_scope", "admin"),
    ({"subject_token": "x"}, "invalid_request", "JWT"), ({"client_assertion": "x"}, "invalid_request", "client_assertion_type"),
])
def test_parameters(cloud, changes, error, text):
    refused(exchange(cloud, changes), error, text)


def test_the_body_is_a_form(cloud):
    refused(cloud.request("POST", "/oauth/token", "{}", {"Content-Type": "application/json"}), "invalid_request", "form")
    refused(cloud.request("POST", "/oauth/token", "a=%ff", {"Content-Type": "application/x-www-form-urlencoded"}),
            "invalid_request", "form")
    assert cloud.request("GET", "/oauth/token").status == 405


@pytest.mark.parametrize("wish,text", [
    ({"audience": ["other"]}, "no setting trusts"), ({"namespace": "kube-system"}, "no setting trusts"),
    ({"extra_claims": {"iss": "https://elsewhere"}}, "no setting trusts"), ({"stray_key": True}, "signature"),
    ({"kid": "x"}, "signature"), ({"alg": "none"}, "JWT"), ({"alg": "HS256"}, "JWT"),
    ({"expires_in_s": -5, "issued_ago_s": 60}, "expired"), ({"issued_ago_s": -1000, "expires_in_s": 3600}, "not valid yet"),
    ({"extra_claims": {"exp": None}}, "exp and iat"),
])
def test_subject_tokens(cloud, wish, text):
    refused(exchange(cloud, **wish), "invalid_request", text)
    token = cloud.token(**{"audience": ["oauth"], **wish})
    refused(form(cloud, "/oauth/token", {"grant_type": GRANT + "jwt-bearer", "assertion": token}), "invalid_grant", text)


def test_jwt_bearer(cloud):
    fields = {"grant_type": GRANT + "jwt-bearer", "assertion": cloud.token(audience=["oauth"])}
    got = document(form(cloud, "/oauth/token", fields))
    assert got["token_type"] == "Bearer" and "issued_token_type" not in got
    refused(form(cloud, "/oauth/token", {**fields, "assertion": None}), "invalid_request", "assertion")


def test_client_secrets(cloud):
    for secret in ("first", "se:cond %+&"):
        assert credentials(cloud, headers=basic("secretive", secret)).status == 200
        assert credentials(cloud, {"client_id": "secretive", "client_secret": secret}).status == 200
    assert credentials(cloud, {"client_id": "secretive"}, basic("secretive", "first")).status == 200
    got = document(credentials(cloud, {"scope": "read"}, basic("secretive", "first")))
    assert claims_of(got["access_token"])["sub"] == "secretive"
    answer = refused(credentials(cloud, headers=basic("secretive", "third")), "invalid_client", "", 401)
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    refused(credentials(cloud, headers=basic("nobody", "first")), "invalid_client", "", 401)
    refused(credentials(cloud, {"client_id": "secretive", "client_secret": "x"}), "invalid_client", "", 401)
    refused(credentials(cloud, {"client_secret": "first"}), "invalid_request", "client_id")
    refused(credentials(cloud, {"client_id": "secretive"}), "invalid_client", "did not authenticate", 401)
    refused(credentials(cloud), "invalid_client", "needs client authentication", 401)
    refused(credentials(cloud, {"client_id": "x"}, basic("secretive", "first")), "invalid_request", "Basic")
    refused(credentials(cloud, {"client_secret": "first"}, basic("secretive", "first")), "invalid_request", "several")
    refused(credentials(cloud, headers=bearer("x")), "invalid_client", "Basic", 401)
    assert exchange(cloud, headers=basic("secretive", "first")).status == 200
    refused(exchange(cloud, headers=basic("secretive", "x")), "invalid_client", "", 401)


@pytest.mark.parametrize("kind,header", [("rsa", {"kid": "r"}), ("rsa", {}), ("rsa", {"alg": "PS256"}), ("ec", {"kid": "e"})])
def test_private_key_jwt(cloud, keys, kind, header):
    assertion = keys[kind].sign(own_claims("keyed", url_of(cloud)), **header)
    assert claims_of(document(with_assertion(cloud, assertion))["access_token"])["client_id"] == "keyed"
    refused(with_assertion(cloud, assertion), "invalid_client", "used before", 401)


def test_private_key_jwt_refusals(cloud, keys, tmp_path):
    no = lambda text, key=None, header=None, **claims: refused(
        with_assertion(cloud, (key or keys["rsa"]).sign(own_claims("keyed", **{"audience": url_of(cloud), **claims}), **(header or {}))),
        "invalid_client", text, 401)
    no("signature", Key(tmp_path, "stranger"))
    no("signature", header={"kid": "e"})
    no("aud", audience="https://elsewhere/token")
    no("expired", life_s=-5)
    no("more than an hour", life_s=4000)
    no("not valid yet", nbf=int(time.time()) + 400)
    no("jti", jti=None)
    refused(with_assertion(cloud, keys["rsa"].sign(own_claims("nobody", url_of(cloud)))), "invalid_client", "not known", 401)
    refused(with_assertion(cloud, keys["rsa"].sign(own_claims("keyed", url_of(cloud), sub="x")), client_id="keyed"),
            "invalid_client", "sub", 401)
    refused(with_assertion(cloud, "x"), "invalid_client", "JWT", 401)
    assert with_assertion(cloud, keys["rsa"].sign(own_claims("keyed", [cloud.ready["oauth_url"]]))).status == 200


def test_federated_client_assertion(cloud):
    token = cloud.token(audience=["oauth"])
    assert with_assertion(cloud, token, client_id="federated").status == 200
    refused(with_assertion(cloud, token, client_id="keyed"), "invalid_client", "no client trusts", 401)
    refused(with_assertion(cloud, token), "invalid_client", "not known", 401)
    stray = cloud.token(audience=["oauth"], stray_key=True)
    refused(with_assertion(cloud, stray, client_id="federated"), "invalid_client", "signature", 401)


def test_a_client_can_be_required(cloud):
    before = cloud.admin("GET", "/service/oauth")
    cloud.admin("POST", "/service/oauth", {**before, "client_required": True})
    try:
        refused(exchange(cloud), "invalid_client", "did not authenticate", 401)
        assert exchange(cloud, headers=basic("secretive", "first")).status == 200
    finally:
        cloud.admin("POST", "/service/oauth", before)
    assert exchange(cloud).status == 200


def test_the_built_in_identity():
    demo = Cloud(speed=3600)
    try:
        token = (demo.state / "volumes" / "oauth" / "token").read_text()
        got = document(exchange(demo, {"subject_token": token, "audience": "api"}))
        assert got["expires_in"] == 1
        assert credentials(demo, headers=basic("demo", "demo-secret")).status == 200
        assert with_assertion(demo, demo.token(audience=["oauth"]), client_id="demo").status == 200
        end = time.monotonic() + 10
        while demo.request("GET", "/oauth/whoami", headers=bearer(got["access_token"])).status == 200:
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        demo.stop()


def test_whoami_refusals(cloud):
    for headers in ({}, bearer("x"), bearer(cloud.token())):
        answer = cloud.request("GET", "/oauth/whoami", headers=headers)
        assert document(answer, 401)["error"] == "invalid_token"
        assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]
    assert document(cloud.request("GET", "/oauth/jwks"))["keys"][0]["crv"] == "P-256"


def test_faults_and_outage(cloud):
    cloud.fault("error", code="server_error", status=500, match={"action": "oauth.token"})
    refused(exchange(cloud), "server_error", "", 500)
    cloud.fault("expiration", value="omit")
    assert "expires_in" not in document(exchange(cloud))
    cloud.fault("delay", ms=5)
    token = document(exchange(cloud))["access_token"]
    cloud.admin("POST", "/outage", {"on": True, "service": "oauth"})
    assert exchange(cloud).status == 503
    assert cloud.request("GET", "/oauth/whoami", headers=bearer(token)).status == 200


def test_what_comes_from_outside_cannot_break_an_answer(cloud):
    refused(exchange(cloud, {"audience": "x" + "é" * 300}), "invalid_target", "x????")
    assert cloud.request("POST", "/oauth/%ff%00").status == 404
    got = document(exchange(cloud, headers={"Host": "a\xff\""}))
    assert claims_of(got["access_token"])["iss"] == "https://localhost/oauth"


@pytest.mark.parametrize("oauth,reason", [
    ({"x": 1}, "unknown key"), ({"clients": {}}, "arrays"), ({"clients": [{}]}, '"id"'),
    ({"clients": [{"id": "a", "keys": [{"id": "k", "public_key_pem": "x"}]}]}, "public_key_pem"),
    ({"clients": [{"id": "a", "federated": [{"subject": "x"}]}]}, "missing"), ({"subjects": [{"subject": "x"}]}, "missing"),
    ({"audiences": "api"}, "array"), ({"lifetime_s": 1}, "from 60"), ({"client_required": 1}, "true or false"),
])
def test_bad_configuration(cloud, oauth, reason):
    assert reason in cloud.admin("POST", "/service/oauth", oauth, 400)["error"]
