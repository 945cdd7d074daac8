# SPDX-License-Identifier: MIT
"""Tests of the local cloud's Entra ID (federated tokens, secrets, certificates, AD FS) and its container registry."""
import base64
import json
import pathlib
import sys
import time
import urllib.parse
import uuid

import pytest

from cloud_client import (BEARER_ASSERTION, Cloud, Key, basic, bearer, claims_of, document, form, openssl, own_claims, reset,
                          thumbprint)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integ"))
from shifted_clock import ShiftedClock  # noqa: E402

TENANT = "11111111-2222-3333-4444-555555555555"
OTHER_TENANT = "99999999-2222-3333-4444-555555555555"
CLIENT = "66666666-7777-8888-9999-aaaaaaaaaaaa"
CERTIFIED = "77777777-7777-8888-9999-aaaaaaaaaaaa"
DISABLED = "88888888-7777-8888-9999-aaaaaaaaaaaa"
MANAGED = "99999999-7777-8888-9999-aaaaaaaaaaaa"
EXCHANGE = "api://AzureADTokenExchange"
SUBJECT = "system:serviceaccount:default:demo"
ARM = "https://management.azure.com"
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return Key(tmp_path_factory.mktemp("azure"), "app")


@pytest.fixture(scope="module")
def certificate(key):
    return key.certificate()


@pytest.fixture(scope="module")
def cloud(certificate):
    federated = [{"subject": "system:serviceaccount:images:*", "audience": EXCHANGE}, {"subject": SUBJECT, "audience": EXCHANGE}]
    secrets = [{"value": "first~._-+&=%"}, {"value": "second", "expires_in_s": 3600}, {"value": "old", "expires_in_s": -1}]
    certified = {"client_id": CERTIFIED, "certificates": [certificate]}
    running = Cloud({
        "azure": {"tenants": [
            {"id": TENANT, "domains": ["demo.onmicrosoft.com"], "applications": [
                {"client_id": CLIENT, "federated": federated, "secrets": secrets}, certified,
                {"client_id": DISABLED, "secrets": secrets, "disabled": True},
                {"client_id": MANAGED, "secrets": secrets, "lifetime_s": 86400, "resources": ["api://own"]}]},
            {"id": OTHER_TENANT, "applications": [{"client_id": CLIENT, "secrets": secrets}]},
            {"id": "adfs", "applications": [certified, {"client_id": CLIENT, "secrets": secrets}]}]},
        "acr": {"registries": [
            {"service": "demo.azurecr.io", "tenant": TENANT, "identities": [CLIENT]},
            {"service": "strict.azurecr.io", "tenant": TENANT, "identities": [CLIENT], "arm_audience": False},
            {"service": "*", "tenant": TENANT, "identities": [CLIENT]}]}})
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def clean(cloud):
    yield
    reset(cloud)


def path_of(tenant=TENANT):
    return "/azure/adfs/oauth2/token" if tenant == "adfs" else f"/azure/{tenant}/oauth2/v2.0/token"


def ask(cloud, changes=None, tenant=TENANT, headers=None):
    """A request with a good secret, changed: None takes one away."""
    fields = {"grant_type": "client_credentials", "client_id": CLIENT, "scope": ARM + "/.default", "client_secret": "second"}
    fields.update(changes or {})
    return form(cloud, path_of(tenant), fields, headers)


def assert_with(cloud, assertion, tenant=TENANT, **changes):
    return ask(cloud, {"client_secret": None, "client_assertion_type": BEARER_ASSERTION, "client_assertion": assertion,
                       **changes}, tenant)


def federated(cloud, changes=None, **wish):
    return assert_with(cloud, cloud.token(**{"audience": [EXCHANGE], **wish}), **(changes or {}))


def url_of(cloud, tenant=TENANT):
    return cloud.ready["sts_url"].rstrip("/") + path_of(tenant)


def certified(cloud, key, certificate, tenant=TENANT, header=None, **claims):
    token = key.sign(own_claims(CERTIFIED, url_of(cloud, tenant), **claims),
                     **(header or {"alg": "PS256", "x5t#S256": thumbprint(certificate, "sha256")}))
    return assert_with(cloud, token, tenant, client_id=CERTIFIED)


def refused(answer, number, error, text="", status=400):
    got = document(answer, status)
    assert got["error"] == error and got["error_codes"] == [number], got
    assert got["error_description"].startswith(f"AADSTS{number}: ") and text in got["error_description"], got
    assert f"Trace ID: {got['trace_id']} Correlation ID: {got['correlation_id']} Timestamp: {got['timestamp']}" in \
        got["error_description"]
    assert got["error_uri"] == f"https://login.microsoftonline.com/error?code={number}"
    time.strptime(got["timestamp"], "%Y-%m-%d %H:%M:%SZ")
    assert uuid.UUID(got["trace_id"]) and answer.headers["x-ms-request-id"] == got["trace_id"]
    return got


def whoami(cloud, token, resource=ARM):
    return cloud.request("GET", "/azure/whoami?resource=" + urllib.parse.quote(resource, safe=""), headers=bearer(token))


# --- what is granted --------------------------------------------------------------------------------------------------

def test_federated(cloud):
    answer = federated(cloud)
    got = document(answer)
    assert set(got) == {"token_type", "expires_in", "ext_expires_in", "access_token"}
    assert (got["token_type"], got["expires_in"], got["ext_expires_in"]) == ("Bearer", 3599, 3599)
    assert "no-store" in answer.headers["Cache-Control"]
    claims = claims_of(got["access_token"])
    assert claims["aud"] == ARM and claims["tid"] == TENANT and claims["appid"] == CLIENT and claims["appidacr"] == "2"
    assert 3599 <= claims["exp"] - claims["iat"] <= 3600
    who = document(whoami(cloud, got["access_token"]))
    assert who["identity"] == CLIENT and who["scopes"] == [ARM + "/.default"] and 3590 < who["expires_in"] <= 3599
    keys = document(cloud.request("GET", f"/azure/{TENANT}/discovery/v2.0/keys"))["keys"]
    assert keys[0]["kid"] == json.loads(base64.urlsafe_b64decode(got["access_token"].split(".")[0] + "=="))["kid"]


def test_the_built_in_identity():
    demo = Cloud()
    try:
        token = (demo.state / "volumes" / "azure" / "token").read_text()
        access = document(assert_with(demo, token))["access_token"]
        assert document(ask(demo, {"client_secret": "demo-client-secret"}, "adfs"))["token_type"] == "bearer"
        refresh = document(form(demo, "/acr/oauth2/exchange", {"grant_type": "access_token", "service": "demo.azurecr.io",
                                                               "tenant": TENANT, "access_token": access}))
        assert claims_of(refresh["refresh_token"])["aud"] == "demo.azurecr.io"
        base = demo.ready["sts_url"]
        assert (demo.ready["azure_url"], demo.ready["acr_url"]) == (base + "azure", base + "acr")
    finally:
        demo.stop()


def test_secrets(cloud):
    assert claims_of(document(ask(cloud))["access_token"])["appidacr"] == "1"
    assert ask(cloud, {"client_secret": "first~._-+&=%"}).status == 200
    assert ask(cloud, {"client_secret": None}, headers=basic(CLIENT, "first~._-+&=%")).status == 200
    assert ask(cloud, {"client_secret": None, "client_id": None}, headers=basic(CLIENT, "second")).status == 200
    refused(ask(cloud, {"client_secret": "wrong"}), 7000215, "invalid_client", "secret value", 401)
    refused(ask(cloud, {"client_secret": "Second"}), 7000215, "invalid_client", "", 401)
    refused(ask(cloud, {"client_secret": "old"}), 7000222, "invalid_client", "expired", 401)
    refused(ask(cloud, {"client_secret": None}, headers=basic(CLIENT, "wrong")), 7000215, "invalid_client", "", 401)
    refused(ask(cloud, {"client_secret": None}), 7000218, "invalid_client", "client_assertion", 401)


def test_tenants_and_names(cloud):
    assert ask(cloud, tenant="demo.onmicrosoft.com").status == 200
    assert ask(cloud, {"client_id": CLIENT.upper()}).status == 200
    assert document(whoami(cloud, document(ask(cloud, tenant=OTHER_TENANT))["access_token"]))["tenant"] == OTHER_TENANT
    refused(ask(cloud, tenant="00000000-2222-3333-4444-555555555555"), 90002, "invalid_request", "not found")
    refused(ask(cloud, tenant="common"), 90019, "invalid_request")
    refused(ask(cloud, {"client_id": CERTIFIED}, OTHER_TENANT), 700016, "unauthorized_client", "wrong tenant")
    refused(ask(cloud, {"client_id": DISABLED}), 7000112, "unauthorized_client", "disabled")


@pytest.mark.parametrize("changes,number,error", [
    ({"grant_type": None}, 900144, "invalid_request"), ({"client_id": None}, 900144, "invalid_request"),
    ({"grant_type": "password"}, 70003, "unsupported_grant_type"),
    ({"scope": None}, 90014, "invalid_request"), ({"scope": "openid"}, 70011, "invalid_scope"),
    ({"scope": ARM}, 1002012, "invalid_scope"), ({"scope": ARM + "/user_impersonation"}, 1002012, "invalid_scope"),
    ({"scope": "/.default"}, 1002012, "invalid_scope"),
    ({"scope": ARM + "/.default https://vault.azure.net/.default"}, 700022, "invalid_scope"),
    ({"scope": "https://unknown.example/.default"}, 500011, "invalid_resource"),
    ({"client_assertion": "x", "client_assertion_type": BEARER_ASSERTION}, 90023, "invalid_request"),
])
def test_parameters(cloud, changes, number, error):
    refused(ask(cloud, changes), number, error)


def test_what_else_a_request_may_look_like(cloud):
    assert ask(cloud, {"scope": f"openid {ARM}/.default offline_access profile", "client_info": "1"}).status == 200
    assert claims_of(document(ask(cloud, {"scope": ARM + "//.default"}))["access_token"])["aud"] == ARM + "/"
    body = urllib.parse.urlencode({"grant_type": "client_credentials"})
    refused(cloud.request("POST", path_of(), body, {"Content-Type": "text/plain"}), 900144, "invalid_request", "grant_type")
    refused(cloud.request("POST", path_of(), "grant_type=%zz", {"Content-Type": "application/x-www-form-urlencoded"}), 90023,
            "invalid_request")
    refused(ask(cloud, headers=basic(CLIENT, "second")), 90023, "invalid_request", "more than one")
    refused(ask(cloud, headers=bearer("x")), 90023, "invalid_request")
    assert cloud.request("GET", path_of()).status == 405
    mine = str(uuid.uuid4())
    got = refused(ask(cloud, {"scope": None}, headers={"client-request-id": mine}), 90014, "invalid_request")
    assert got["correlation_id"] == mine


def test_long_lives_say_when_to_refresh(cloud):
    got = document(ask(cloud, {"client_id": MANAGED, "scope": "api://own/.default"}))
    assert (got["expires_in"], got["refresh_in"]) == (86400, 43200)
    refused(ask(cloud, {"client_id": MANAGED}), 500011, "invalid_resource")


# --- federated tokens -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wish,number,text", [
    ({"extra_claims": {"iss": "https://elsewhere"}}, 700211, "issuer 'https://elsewhere'"),
    ({"service_account": "other"}, 700213, "subject 'system:serviceaccount:default:other'"),
    ({"namespace": "images"}, 700213, "subject"), ({"audience": ["sts.amazonaws.com"]}, 700212, "audience 'sts.amazonaws.com'"),
    ({"audience": [EXCHANGE.lower()]}, 700212, "audience"), ({"service_account": "Demo"}, 7002138, "case-sensitive"),
    ({"expires_in_s": -5, "issued_ago_s": 3600}, 700024, "valid time range"),
    ({"issued_ago_s": -1000, "expires_in_s": 7200}, 700024, "valid time range"),
    ({"stray_key": True}, 700027, "invalid signature"), ({"kid": "unknown"}, 7000272, "unknown"),
    ({"alg": "RS512"}, 5002738, "RS512"), ({"alg": "HS256"}, 5002738, "HS256"), ({"alg": "none"}, 5002738, "none"),
    ({"extra_claims": {"exp": None}}, 50027, "exp"), ({"extra_claims": {"iat": 1.5}}, 50027, "iat"),
])
def test_federated_refusals(cloud, wish, number, text):
    refused(federated(cloud, **wish), number, "invalid_client", text, 401)


def test_federated_forms(cloud):
    token = cloud.token(audience=[EXCHANGE])
    for bad in ("x", "a.b.c", token + "\n", token + " "):
        refused(assert_with(cloud, bad), 50027, "invalid_client", "malformed", 401)
    refused(assert_with(cloud, token, client_assertion_type=None), 900144, "invalid_request", "client_assertion_type")
    refused(assert_with(cloud, token, client_assertion_type="jwt"), 90023, "invalid_request")
    refused(assert_with(cloud, token, client_id=CERTIFIED), 700211, "invalid_client", "", 401)
    assert assert_with(cloud, token).status == assert_with(cloud, token).status == 200


def test_credentials_come_and_go(cloud):
    before = cloud.admin("GET", "/service/azure")
    try:
        cloud.admin("POST", "/service/azure", {"tenants": [{"id": TENANT, "applications": [{"client_id": CLIENT}]}]})
        refused(federated(cloud), 700211, "invalid_client", "", 401)
        cloud.admin("POST", "/service/azure", {"tenants": [{"id": TENANT, "applications": [
            {"client_id": CLIENT, "federated": [{"subject": SUBJECT, "audience": EXCHANGE}]}]}]})
        assert federated(cloud).status == 200
    finally:
        cloud.admin("POST", "/service/azure", before)
    refused(ask(cloud, {"client_secret": "old"}), 7000222, "invalid_client", "expired", 401)


# --- certificates -----------------------------------------------------------------------------------------------------

def test_certificates(cloud, key, certificate):
    access = document(certified(cloud, key, certificate))["access_token"]
    assert claims_of(access)["appid"] == CERTIFIED and claims_of(access)["appidacr"] == "2"
    sha1 = {"alg": "RS256", "x5t": thumbprint(certificate, "sha1")}
    assert certified(cloud, key, certificate, header=sha1).status == 200
    padded = base64.b64encode(base64.urlsafe_b64decode(thumbprint(certificate, "sha256") + "=")).decode()
    assert certified(cloud, key, certificate, header={"alg": "PS256", "x5t#S256": padded}).status == 200
    assert document(certified(cloud, key, certificate, "adfs", sha1))["expires_in"] == 3599


def test_certificate_refusals(cloud, key, certificate, tmp_path):
    stranger = Key(tmp_path, "stranger")
    sha256 = thumbprint(certificate, "sha256")
    no = lambda answer, number, text="": refused(answer, number, "invalid_client", text, 401)
    no(certified(cloud, stranger, certificate), 700027, "invalid signature")
    no(certified(cloud, stranger, stranger.certificate()), 700027, "key was not found")
    no(certified(cloud, key, certificate, header={"alg": "PS256"}), 50027, "thumbprint")
    no(certified(cloud, key, certificate, header={"alg": "PS256", "x5t": thumbprint(certificate, "sha1")}), 50027, "SHA-256")
    no(certified(cloud, key, certificate, header={"alg": "RS512", "x5t#S256": sha256}), 5002738, "RS512")
    no(certified(cloud, key, certificate, aud="https://login.microsoftonline.com/x"), 700023, "audience")
    no(certified(cloud, key, certificate, aud=url_of(cloud, OTHER_TENANT)), 700023, "audience")
    no(certified(cloud, key, certificate, sub=CLIENT), 700021, "client_id")
    no(certified(cloud, key, certificate, life_s=-5), 700024, "time range")
    no(certified(cloud, key, certificate, life_s=3600), 700024, "10 minutes")
    no(certified(cloud, key, certificate, nbf=int(time.time()) + 400), 700024)
    no(certified(cloud, key, certificate, exp=None), 50027, "exp")
    no(certified(cloud, key, certificate, jti=None), 50027, "jti")
    jti = str(uuid.uuid4())
    assert certified(cloud, key, certificate, jti=jti).status == 200
    no(certified(cloud, key, certificate, jti=jti), 50027, "used before")
    answer = document(certified(cloud, key, certificate, "adfs"), 401)
    assert answer["error"] == "invalid_client" and set(answer) == {"error", "error_description"}


def test_an_expired_certificate(cloud, key, tmp_path):
    request = openssl("req", "-new", "-key", key.path, "-subj", "/CN=old")
    # None that ends before it begins: openssl(1) of version 3.5 makes no such certificate.
    old, expired = (openssl("x509", "-req", "-days", "1", "-signkey", key.path, data=request, env=env).decode()
                    for env in ({}, ShiftedClock(tmp_path, -2 * 86400).env))
    before = cloud.admin("GET", "/service/azure")
    applications = [{"client_id": CERTIFIED, "certificates": [old, expired]}]
    cloud.admin("POST", "/service/azure", {"tenants": [{"id": TENANT, "applications": applications}]})
    try:
        assert certified(cloud, key, old).status == 200
        refused(certified(cloud, key, expired), 700027, "invalid_client", "expired", 401)
    finally:
        cloud.admin("POST", "/service/azure", before)


# --- AD FS, use, speed, faults ----------------------------------------------------------------------------------------

def test_adfs(cloud):
    got = document(ask(cloud, {"scope": None, "resource": "https://graph.microsoft.com"}, "adfs"))
    assert set(got) == {"access_token", "expires_in", "token_type"}
    assert whoami(cloud, got["access_token"], "https://graph.microsoft.com").status == 200
    assert ask(cloud, tenant="adfs").status == 200
    assert claims_of(document(ask(cloud, {"scope": "https://graph.microsoft.com/"}, "adfs"))["access_token"])["aud"] == \
        "https://graph.microsoft.com/"
    assert document(ask(cloud, {"scope": ARM + " https://vault.azure.net"}, "adfs"), 400)["error"] == "invalid_scope"
    assert set(document(ask(cloud, {"client_secret": "x"}, "adfs"), 401)) == {"error", "error_description"}


@pytest.mark.parametrize("prefix", ["/azure", ""])
def test_an_authority_describes_itself(cloud, prefix):
    base = cloud.ready["sts_url"].rstrip("/") + prefix
    find = lambda tenant, version="/v2.0": cloud.request("GET", f"{prefix}/{tenant}{version}/.well-known/openid-configuration")
    for tenant in (TENANT, "demo.onmicrosoft.com"):
        found = document(find(tenant))
        assert found["issuer"] == f"{base}/{TENANT}/v2.0"
        assert found["token_endpoint"] == f"{base}/{TENANT}/oauth2/v2.0/token"
        assert found["jwks_uri"] == f"{base}/{TENANT}/discovery/v2.0/keys"
        assert found["authorization_endpoint"] == f"{base}/{TENANT}/oauth2/v2.0/authorize"
    adfs = document(find("adfs", ""))
    assert (adfs["issuer"], adfs["token_endpoint"]) == (base + "/adfs", base + "/adfs/oauth2/token")
    refused(find(NOBODY), 90002, "invalid_request", "not found")
    fields = {"grant_type": "client_credentials", "client_id": CLIENT, "scope": ARM + "/.default", "client_secret": "second"}
    assert document(form(cloud, f"{prefix}/{TENANT}/oauth2/v2.0/token", fields))["token_type"] == "Bearer"
    assert document(form(cloud, f"{prefix}//{TENANT}/oauth2/v2.0/token", fields))["token_type"] == "Bearer"
    assert document(form(cloud, f"{prefix}/adfs/oauth2/token", fields))["token_type"] == "bearer"
    assert document(form(cloud, f"{prefix}/adfs/oauth2/token", {**fields, "client_secret": "x"}), 401).keys() == \
        {"error", "error_description"}
    assert document(cloud.request("GET", f"{prefix}/{TENANT}/discovery/v2.0/keys"))["keys"]
    assert cloud.request("GET", "/" + TENANT).status == 404


def test_whoami(cloud):
    token = document(ask(cloud))["access_token"]
    assert whoami(cloud, token, ARM + "/").status == 200
    code = lambda answer, status=401: document(answer, status)["error"]["code"]
    answer = whoami(cloud, token, "https://vault.azure.net")
    assert code(answer) == "InvalidAuthenticationTokenAudience"
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]
    assert code(whoami(cloud, token[:-4] + "AAAA")) == "InvalidAuthenticationToken"
    assert code(whoami(cloud, cloud.token())) == "InvalidAuthenticationToken"
    assert code(cloud.request("GET", "/azure/whoami?resource=x")) == "AuthenticationFailed"
    assert code(cloud.request("GET", "/azure/whoami", headers=bearer(token)), 400) == "MissingParameter"


def test_speed_divides_lifetimes():
    fast = Cloud(speed=3600)
    try:
        got = document(ask(fast, {"client_secret": "demo-client-secret"}))
        assert got["expires_in"] == 1
        end = time.monotonic() + 10
        while whoami(fast, got["access_token"]).status == 200:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert document(whoami(fast, got["access_token"]), 401)["error"]["code"] == "ExpiredAuthenticationToken"
    finally:
        fast.stop()


@pytest.mark.parametrize("code,status,error", [
    (90033, 503, "temporarily_unavailable"), (50196, 400, "invalid_grant"), (700213, 401, "invalid_client"),
    (90055, 429, "temporarily_unavailable"), (70021, 401, "invalid_client"), (123456, 400, "invalid_request"),
    (123456, 503, "temporarily_unavailable"),
])
def test_any_code_on_request(cloud, code, status, error):
    cloud.fault("error", code=f"AADSTS{code}", status=status, message="As asked.", headers={"Retry-After": "3"},
                match={"action": "azure.token", "role": CLIENT})
    answer = ask(cloud)
    refused(answer, code, error, "As asked.", status)
    assert answer.headers["Retry-After"] == "3"
    assert ask(cloud).status == 200


def test_other_faults(cloud):
    cloud.fault("error", code="temporarily_unavailable", status=503, type="server_error")
    got = document(ask(cloud), 503)
    assert got["error"] == "server_error" and "error_codes" not in got
    cloud.fault("expiration", value="omit")
    assert "expires_in" not in document(ask(cloud))
    cloud.fault("expiration", value="3599")
    assert document(ask(cloud))["expires_in"] == "3599"
    cloud.fault("short_life", s=5)
    assert document(ask(cloud))["expires_in"] == 5
    token = document(ask(cloud))["access_token"]
    cloud.admin("POST", "/outage", {"on": True, "service": "azure"})
    assert ask(cloud).status == 503 and whoami(cloud, token).status == 200
    stats = cloud.admin("GET", "/stats")["log"]
    assert stats[-2]["code"] == "Outage" and stats[-1]["role"] == CLIENT


# --- ACR --------------------------------------------------------------------------------------------------------------

def login(cloud, changes=None, scope=ARM + "/.default"):
    fields = {"grant_type": "access_token", "service": "demo.azurecr.io", "tenant": TENANT}
    fields.update(changes or {})
    if "access_token" not in fields:
        fields["access_token"] = document(ask(cloud, {"scope": scope}))["access_token"]
    return form(cloud, "/acr/oauth2/exchange", fields)


def acr_refused(answer, code, status, text=""):
    errors = document(answer, status)["errors"]
    assert errors[0]["code"] == code and text in errors[0]["message"] and errors[0]["detail"] is None, errors
    return answer


def test_acr(cloud):
    got = document(login(cloud))
    assert set(got) == {"refresh_token"}
    claims = claims_of(got["refresh_token"])
    assert claims["aud"] == "demo.azurecr.io" and claims["grant_type"] == "refresh_token"
    assert abs(claims["exp"] - time.time() - 10800) < 30
    docker = {"Authorization": "Basic " + base64.b64encode(f"{NOBODY}:{got['refresh_token']}".encode()).decode()}
    assert document(cloud.request("GET", "/acr/v2/", headers=docker))["identity"] == CLIENT
    fields = {"grant_type": "refresh_token", "service": "demo.azurecr.io", "scope": "repository:a/b:pull",
              "refresh_token": got["refresh_token"]}
    access = document(form(cloud, "/acr/oauth2/token", fields))["access_token"]
    assert claims_of(access)["access"] == [{"type": "repository", "name": "a/b", "actions": ["pull"]}]
    assert cloud.request("GET", "/acr/v2/", headers=bearer(access)).status == 200
    query = "/acr/oauth2/token?service=demo.azurecr.io&scope=repository:a:pull"
    assert document(cloud.request("GET", query, headers=docker))["access_token"]
    acr_refused(cloud.request("GET", query), "UNAUTHORIZED", 401)
    acr_refused(form(cloud, "/acr/oauth2/token", {**fields, "service": "strict.azurecr.io"}), "UNAUTHORIZED", 401)
    acr_refused(form(cloud, "/acr/oauth2/token", {**fields, "scope": "x"}), "INVALID_REQUEST", 400)
    acr_refused(form(cloud, "/acr/oauth2/token", {**fields, "refresh_token": access}), "UNAUTHORIZED", 401)


def test_acr_refusals(cloud):
    acr_refused(login(cloud, {"grant_type": "refresh_token"}), "INVALID_REQUEST", 400, "grant_type")
    acr_refused(login(cloud, {"service": None}), "INVALID_REQUEST", 400, "service")
    acr_refused(login(cloud, {"service": "gone.azurecr.io"}), "NAME_UNKNOWN", 404)
    acr_refused(login(cloud, {"tenant": OTHER_TENANT}), "UNAUTHORIZED", 401, "tenant")
    acr_refused(login(cloud, {"access_token": "x"}), "UNAUTHORIZED", 401, "not valid")
    acr_refused(login(cloud, scope="https://vault.azure.net/.default"), "UNAUTHORIZED", 401, "audience")
    acr_refused(login(cloud, {"service": "strict.azurecr.io"}), "UNAUTHORIZED", 401, "audience")
    own = "https://containerregistry.azure.net/.default"
    assert login(cloud, {"service": "strict.azurecr.io"}, own).status == 200
    foreign = document(ask(cloud, tenant=OTHER_TENANT))["access_token"]
    acr_refused(login(cloud, {"access_token": foreign}), "UNAUTHORIZED", 401, "tenant")
    managed = document(ask(cloud, {"client_id": MANAGED, "scope": "api://own/.default"}))["access_token"]
    acr_refused(login(cloud, {"access_token": managed}), "UNAUTHORIZED", 401, "audience")
    answer = acr_refused(cloud.request("GET", "/acr/v2/"), "UNAUTHORIZED", 401)
    assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="https://127.0.0.1')
    assert 'service="127.0.0.1' in answer.headers["WWW-Authenticate"]


def test_acr_of_any_host(cloud, key, certificate):
    host = urllib.parse.urlsplit(cloud.ready["acr_url"]).netloc
    assert claims_of(document(login(cloud, {"service": host, "tenant": None}))["refresh_token"])["aud"] == host
    access = document(certified(cloud, key, certificate))["access_token"]
    acr_refused(login(cloud, {"access_token": access}), "DENIED", 403, CERTIFIED)


def test_acr_faults(cloud):
    cloud.fault("error", code="TOOMANYREQUESTS", status=429, match={"action": "acr.exchange"})
    acr_refused(login(cloud), "TOOMANYREQUESTS", 429)
    cloud.fault("expiration", value="past", match={"action": "acr.exchange"})
    refresh = document(login(cloud))["refresh_token"]
    assert claims_of(refresh)["exp"] < time.time()
    docker = {"Authorization": "Basic " + base64.b64encode(f"{NOBODY}:{refresh}".encode()).decode()}
    acr_refused(cloud.request("GET", "/acr/v2/", headers=docker), "UNAUTHORIZED", 401)
    cloud.admin("POST", "/outage", {"on": True, "service": "acr"})
    assert login(cloud).status == 503
    assert ask(cloud).status == 200


# --- configuration ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("tenant,reason", [
    ({"id": "x"}, "GUID"), ({"what": 1}, "unknown key"), ({"id": TENANT, "applications": {}}, "must be an array"),
    ({"id": TENANT, "applications": [{}]}, '"client_id" is missing'),
    ({"id": TENANT, "applications": [{"client_id": CLIENT, "federated": [{"subject": "x"}]}]}, '"audience"'),
    ({"id": TENANT, "applications": [{"client_id": CLIENT, "federated": [{"subject": "x" * 601, "audience": "a"}]}]}, "600"),
    ({"id": TENANT, "applications": [{"client_id": CLIENT, "federated": [{"subject": "x", "audience": "a"}] * 21}]}, "20"),
    ({"id": TENANT, "applications": [{"client_id": CLIENT, "secrets": [{}]}]}, '"value"'),
    ({"id": TENANT, "applications": [{"client_id": CLIENT, "certificates": ["-----BEGIN x"]}]}, "certificate"),
    ({"id": TENANT, "applications": [{"client_id": CLIENT, "certificates": ["/no/such"]}]}, "/no/such"),
    ({"id": TENANT, "applications": [{"client_id": CLIENT, "lifetime_s": 86401}]}, "from 300 to 86400"),
])
def test_bad_configuration(cloud, tenant, reason):
    assert reason in cloud.admin("POST", "/service/azure", {"tenants": [tenant]}, 400)["error"]


def test_bad_registries(cloud):
    assert "service" in cloud.admin("POST", "/service/acr", {"registries": [{}]}, 400)["error"]
    assert "array" in cloud.admin("POST", "/service/acr", {"registries": {}}, 400)["error"]
    cloud.admin("GET", "/service/nothing", status=404)
    cloud.admin("GET", "/service/sts", status=404)
    cloud.admin("DELETE", "/service/acr", status=405)
