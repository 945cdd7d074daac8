# SPDX-License-Identifier: MIT
"""Tests of the local cloud's Google Cloud: STS, impersonation, service-account keys, and who may use what."""
import calendar
import json
import time
import urllib.parse

import pytest

from cloud_client import JWT_TYPE, Cloud, Key, basic, bearer, claims_of, document, form, reset

POOL = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo"
DEMO = POOL + "/providers/demo"
NARROW = POOL + "/providers/narrow"
WORKFORCE = "//iam.googleapis.com/locations/global/workforcePools/people/providers/corp"
CLOSED = POOL + "/providers/closed"
SUBJECT = "system:serviceaccount:default:demo"
PRINCIPAL = "principal:" + POOL + "/subject/" + SUBJECT
SA = "demo@demo-project.iam.gserviceaccount.com"
LONG = "long@demo-project.iam.gserviceaccount.com"
FIRST = "first@demo-project.iam.gserviceaccount.com"
LAST = "last@demo-project.iam.gserviceaccount.com"
PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return Key(tmp_path_factory.mktemp("gcp"), "sa")


@pytest.fixture(scope="module")
def cloud(key):
    running = Cloud({"gcp": {
        "providers": [
            {"audience": DEMO},
            {"audience": NARROW, "allowed_audiences": ["openshift"], "subject": "assertion.name",
             "attribute_condition": "system:serviceaccount:images:*"},
            {"audience": CLOSED, "disabled": True},
            {"audience": WORKFORCE, "user_project": "42", "clients": [{"id": "app:1", "secret": "hush%+"}]}],
        "service_accounts": [
            {"email": SA, "members": [PRINCIPAL], "keys": [{"id": "key-1", "public_key_pem": key.public}]},
            {"email": LONG, "members": ["principalSet:" + POOL + "/*"], "max_lifetime_s": 43200},
            {"email": FIRST, "members": [PRINCIPAL], "unique_id": "112233445566778899001"},
            {"email": LAST, "members": ["serviceAccount:" + FIRST]}]}})
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def clean(cloud):
    yield
    reset(cloud)


def fields(cloud, changes=None, **wish):
    """Good parameters of an exchange, changed: None takes one away."""
    all_fields = {"grant_type": GRANT, "audience": DEMO, "scope": PLATFORM, "requested_token_type": ACCESS_TOKEN,
                  "subject_token_type": JWT_TYPE}
    all_fields.update(changes or {})
    if "subject_token" not in all_fields:
        all_fields["subject_token"] = cloud.token(**{"audience": [DEMO], **wish})
    return all_fields


def exchange(cloud, changes=None, headers=None, **wish):
    return form(cloud, "/gcp/v1/token", fields(cloud, changes, **wish), headers)


def federated(cloud, changes=None):
    return document(exchange(cloud, changes))["access_token"]


def refused(answer, error, text, status=400):
    got = document(answer, status)
    assert got["error"] == error and text in got["error_description"], got


def impersonate(cloud, account=SA, token=None, verb="generateAccessToken", headers=None, **body):
    if verb == "generateAccessToken":
        body = {"scope": [PLATFORM], **body}
    path = f"/gcp/v1/projects/-/serviceAccounts/{account}:{verb}"
    body = {name: value for name, value in body.items() if value is not None}
    headers = headers if headers is not None else bearer(token or federated(cloud))
    return cloud.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})


def rpc(answer, code, status, text):
    error = document(answer, code)["error"]
    assert (error["code"], error["status"]) == (code, status) and text in error["message"], error
    return error


def whoami(cloud, token, status=200):
    return document(cloud.request("GET", "/gcp/whoami", headers=bearer(token)), status)


# --- STS --------------------------------------------------------------------------------------------------------------

def test_exchange(cloud):
    answer = exchange(cloud)
    got = document(answer)
    assert answer.headers["Content-Type"].startswith("application/json")
    assert (got["issued_token_type"], got["token_type"], got["expires_in"]) == (ACCESS_TOKEN, "Bearer", 3600)
    assert set(got) == {"access_token", "issued_token_type", "token_type", "expires_in"}
    who = whoami(cloud, got["access_token"])
    assert who["identity"] == PRINCIPAL and who["scopes"] == [PLATFORM] and 3590 < who["expires_in"] <= 3600


def test_the_volume_and_the_https_audience_are_taken(cloud):
    assert exchange(cloud, audience=["https:" + DEMO]).status == 200
    demo = Cloud()
    try:
        for name in ("gcp", "azure", "oauth", "demo"):
            assert (demo.state / "volumes" / name / "token").exists()
        token = (demo.state / "volumes" / "gcp" / "token").read_text()
        access = document(exchange(demo, {"subject_token": token + "\n"}))["access_token"]
        assert document(impersonate(demo, token=access))["accessToken"].startswith("ya29.c.")
        assert demo.ready["gcp_url"] == demo.ready["sts_url"] + "gcp"
    finally:
        demo.stop()


def test_json_with_the_names_of_the_rest_surface(cloud):
    names = {"grant_type": "grantType", "requested_token_type": "requestedTokenType", "subject_token": "subjectToken",
             "subject_token_type": "subjectTokenType"}
    body = {names.get(name, name): value for name, value in fields(cloud).items()}
    send = lambda text: cloud.request("POST", "/gcp/v1/token", text, {"Content-Type": "application/json"})
    assert send(json.dumps(body)).status == 200
    rpc(send(json.dumps({**body, "what": "x"})), 400, "INVALID_ARGUMENT", 'Unknown name "what"')
    rpc(send(json.dumps({**body, "scope": 1})), 400, "INVALID_ARGUMENT", "scope")
    rpc(send("{"), 400, "INVALID_ARGUMENT", "Unexpected token")
    rpc(cloud.request("POST", "/gcp/v1/token", urllib.parse.urlencode(fields(cloud)), {"Content-Type": "text/plain"}),
        400, "INVALID_ARGUMENT", "Unexpected token")


@pytest.mark.parametrize("changes,error,text", [
    ({"grant_type": None}, "invalid_request", "grant_type"), ({"grant_type": ""}, "invalid_request", "grant_type"),
    ({"grant_type": "client_credentials"}, "unsupported_grant_type", "client_credentials"),
    ({"audience": None}, "invalid_request", "audience"), ({"scope": None}, "invalid_scope", "scope"),
    ({"scope": "cloud-platform"}, "invalid_scope", "cloud-platform"),
    ({"requested_token_type": None}, "invalid_request", "requested_token_type"),
    ({"requested_token_type": JWT_TYPE}, "invalid_request", "requested_token_type"),
    ({"subject_token": None}, "invalid_request", "subject_token"),
    ({"subject_token_type": None}, "invalid_request", "subject_token_type"),
    ({"subject_token_type": "urn:ietf:params:oauth:token-type:id-token"}, "invalid_request", "subject_token_type"),
    ({"subject_token_type": "urn:ietf:params:oauth:token-type:saml2"}, "invalid_request", "subject_token_type"),
    ({"audience": "https:" + DEMO}, "invalid_request", 'Invalid value for "audience"'),
    ({"audience": DEMO.replace("123456789", "demo-project")}, "invalid_request", 'Invalid value for "audience"'),
    ({"audience": DEMO + "/"}, "invalid_request", 'Invalid value for "audience"'),
    ({"audience": DEMO.replace("global", "eu")}, "invalid_request", 'Invalid value for "audience"'),
    ({"audience": POOL}, "invalid_request", 'Invalid value for "audience"'),
    ({"audience": POOL + "/providers/gone"}, "invalid_target", "doesn't exist"),
    ({"audience": CLOSED}, "invalid_target", "disabled"),
    ({"options": "{"}, "invalid_request", "options"), ({"options": '{"x":1}'}, "invalid_request", "options"),
    ({"options": '{"userProject":"42"}'}, "invalid_request", "only for workforce"),
])
def test_parameters(cloud, changes, error, text):
    refused(exchange(cloud, changes), error, text)


def test_unknown_parameters_are_refused_and_idle_ones_are_not(cloud):
    rpc(exchange(cloud, {"client_id": "x"}), 400, "INVALID_ARGUMENT", 'Unknown name "client_id"')
    assert exchange(cloud, {"resource": "", "actor_token": "", "options": "{}"}).status == 200
    assert exchange(cloud, {"subject_token_type": "urn:ietf:params:oauth:token-type:id_token"}).status == 200


def test_authorization(cloud):
    rpc(exchange(cloud, headers=bearer("x")), 401, "UNAUTHENTICATED", "invalid authentication")
    refused(exchange(cloud, headers=basic("app:1", "hush%+")), "invalid_client", "client", 401)


@pytest.mark.parametrize("wish,text", [
    ({"expires_in_s": -5, "issued_ago_s": 3600}, "is stale to sign-in"),
    ({"expires_in_s": 172800}, "48 hours"), ({"issued_ago_s": -1000, "expires_in_s": 7200}, "not valid yet"),
    ({"audience": ["sts.amazonaws.com"]}, "does not match the expected audience " + DEMO),
    ({"audience": [DEMO + "/"]}, "does not match the expected audience"),
    ({"extra_claims": {"iss": "https://elsewhere"}}, "issuer in ID Token https://elsewhere"),
    ({"stray_key": True}, "signature is invalid"), ({"kid": "unknown"}, "key was not found"),
    ({"alg": "HS256"}, "RS256 or ES256"), ({"alg": "none"}, "RS256 or ES256"), ({"alg": "RS512"}, "RS256 or ES256"),
    ({"extra_claims": {"exp": None}}, "exp and iat"), ({"extra_claims": {"iat": "1"}}, "exp and iat"),
    ({"extra_claims": {"sub": None}}, "google.subject"),
])
def test_subject_tokens(cloud, wish, text):
    refused(exchange(cloud, **wish), "invalid_grant", text)


def test_a_token_of_almost_two_days_is_taken(cloud):
    assert exchange(cloud, expires_in_s=172790).status == 200


def test_the_subject_has_127_bytes_at_most(cloud):
    name = "n" * (127 - len("system:serviceaccount::demo"))
    assert exchange(cloud, namespace=name).status == 200
    refused(exchange(cloud, namespace=name + "n"), "invalid_request", "127 bytes")


def test_no_jwt_at_all(cloud):
    for token in ("x", "a.b.c", "..", "ey.ey."):
        refused(exchange(cloud, {"subject_token": token}), "invalid_grant", "JWT")


def test_mapping_audiences_and_condition(cloud):
    good = {"audience": ["openshift"], "namespace": "images", "extra_claims": {"name": "builder"}}
    token = document(exchange(cloud, {"audience": NARROW}, **good))["access_token"]
    assert whoami(cloud, token)["identity"].endswith("/subject/builder")
    refused(exchange(cloud, {"audience": NARROW}, **{**good, "namespace": "default"}), "unauthorized_client",
            "rejected by the attribute condition", 401)
    refused(exchange(cloud, {"audience": NARROW}, **{**good, "audience": [NARROW]}), "invalid_grant", "openshift")
    refused(exchange(cloud, {"audience": NARROW}, **{**good, "extra_claims": {}}), "invalid_grant", "google.subject")


def test_workforce_pools(cloud):
    ask = lambda options=None, headers=None: exchange(cloud, {"audience": WORKFORCE, "options": options}, headers,
                                                      audience=[WORKFORCE])
    project = json.dumps({"userProject": "42"})
    token = document(ask(project))["access_token"]
    assert whoami(cloud, token)["identity"] == ("principal://iam.googleapis.com/locations/global/workforcePools/people/"
                                                "subject/" + SUBJECT)
    assert ask(urllib.parse.quote(project)).status == 200
    assert ask(None, basic("app:1", "hush%+")).status == 200
    refused(ask(), "invalid_request", "userProject")
    refused(ask(json.dumps({"userProject": "1" * 33})), "invalid_request", "32 characters")
    refused(ask(json.dumps({"userProject": "43"})), "unauthorized_client", "43", 403)
    refused(ask(None, basic("app:1", "wrong")), "invalid_client", "client", 401)
    refused(ask(None, {"Authorization": "Basic !"}), "invalid_client", "client", 401)


def test_another_issuer_and_es256(cloud, tmp_path):
    other = Key(tmp_path, "ec", "EC")
    cloud.admin("POST", "/issuers", {"issuer": "https://other.example", "jwks": {"keys": [other.jwk("k1")]}})
    assert "https://" in cloud.admin("POST", "/issuers", {"issuer": "x"}, 400)["error"]
    before = cloud.admin("GET", "/service/gcp")
    elsewhere = POOL + "/providers/elsewhere"
    cloud.admin("POST", "/service/gcp", {"providers": [{"audience": elsewhere, "issuer": "https://other.example"}]})
    try:
        now = int(time.time())
        claims = {"iss": "https://other.example", "sub": "me", "aud": elsewhere, "iat": now, "exp": now + 60}
        answer = exchange(cloud, {"audience": elsewhere, "subject_token": other.sign(claims, kid="k1")})
        assert whoami(cloud, document(answer)["access_token"])["identity"].endswith("/subject/me")
        refused(exchange(cloud), "invalid_target", "")
    finally:
        cloud.admin("POST", "/service/gcp", before)
    assert exchange(cloud).status == 200


# --- impersonation ----------------------------------------------------------------------------------------------------

def test_impersonation(cloud):
    got = document(impersonate(cloud, lifetime="1800s"))
    assert set(got) == {"accessToken", "expireTime"}
    expires = calendar.timegm(time.strptime(got["expireTime"], "%Y-%m-%dT%H:%M:%SZ"))
    assert abs(expires - time.time() - 1800) < 10
    who = whoami(cloud, got["accessToken"])
    assert who["identity"] == SA and who["scopes"] == [PLATFORM]
    assert impersonate(cloud, urllib.parse.quote(SA)).status == 200


def test_impersonation_lifetimes(cloud):
    assert impersonate(cloud, lifetime="3600s").status == 200
    assert impersonate(cloud, lifetime="3599.5s").status == 200
    for lifetime in ("3601s", "0s", "3600", "1h", "s", "-5s", "3600.s", 3600, "1.1234567890s"):
        rpc(impersonate(cloud, lifetime=lifetime), 400, "INVALID_ARGUMENT", "lifetime")
    assert impersonate(cloud, LONG, lifetime="43200s").status == 200
    rpc(impersonate(cloud, LONG, lifetime="43201s"), 400, "INVALID_ARGUMENT", "43200")


@pytest.mark.parametrize("body", [{"scope": None}, {"scope": []}, {"scope": PLATFORM}, {"scope": ["x"]}, {"scope": [1]},
                                  {"what": 1}, {"delegates": "x"}, {"delegates": ["x"]},
                                  {"delegates": ["projects/demo/serviceAccounts/" + FIRST]}])
def test_impersonation_bodies(cloud, body):
    rpc(impersonate(cloud, **body), 400, "INVALID_ARGUMENT", "")


def test_null_in_json_is_as_absent(cloud):
    path = f"/gcp/v1/projects/-/serviceAccounts/{SA}:generateAccessToken"
    token = federated(cloud)
    ask = lambda body: cloud.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **bearer(token)})
    assert ask({"scope": [PLATFORM], "delegates": None, "lifetime": None}).status == 200  # google-auth sends so
    rpc(ask({"scope": None, "delegates": None}), 400, "INVALID_ARGUMENT", "scope is required")
    rpc(ask({"scope": [PLATFORM], "unknown": None}), 400, "INVALID_ARGUMENT", "Unknown name")
    identity = cloud.request("POST", path.replace("AccessToken", "IdToken"),
                             json.dumps({"audience": "https://app", "includeEmail": None, "delegates": None}), bearer(token))
    assert "token" in document(identity)
    rpc(cloud.request("POST", path.replace("AccessToken", "IdToken"), json.dumps({"audience": None}), bearer(token)), 400,
        "INVALID_ARGUMENT", "audience")


def test_impersonation_needs_the_wildcard_and_json(cloud):
    token = federated(cloud)
    path = f"/gcp/v1/projects/demo-project/serviceAccounts/{SA}:generateAccessToken"
    rpc(cloud.request("POST", path, json.dumps({"scope": [PLATFORM]}), bearer(token)), 400, "INVALID_ARGUMENT", "wildcard")
    rpc(cloud.request("POST", path.replace("demo-project/", "-/", 1), "scope=x", bearer(token)), 400, "INVALID_ARGUMENT",
        "JSON")


def test_impersonation_refusals(cloud):
    permission = "iam.serviceAccounts.getAccessToken"
    for account in ("nobody@demo-project.iam.gserviceaccount.com", LAST):
        error = rpc(impersonate(cloud, account), 403, "PERMISSION_DENIED", permission)
        assert error["details"][0]["reason"] == "IAM_PERMISSION_DENIED"
        assert error["details"][0]["metadata"] == {"permission": permission}
    rpc(impersonate(cloud, headers={}), 401, "UNAUTHENTICATED", "missing required authentication credential")
    for token in ("x", "ya29.d.AAAA", "ya29.c." + federated(cloud)[7:]):
        rpc(impersonate(cloud, token=token), 401, "UNAUTHENTICATED", "invalid authentication credentials")
    narrow = federated(cloud, {"scope": "https://www.googleapis.com/auth/devstorage.read_only"})
    rpc(impersonate(cloud, token=narrow), 403, "PERMISSION_DENIED", "insufficient authentication scopes")
    assert impersonate(cloud, token=federated(cloud, {"scope": "https://www.googleapis.com/auth/iam"})).status == 200


def test_delegates(cloud):
    chain = ["projects/-/serviceAccounts/" + FIRST]
    assert whoami(cloud, document(impersonate(cloud, LAST, delegates=chain))["accessToken"])["identity"] == LAST
    by_id = ["projects/-/serviceAccounts/112233445566778899001"]
    assert impersonate(cloud, LAST, delegates=by_id).status == 200
    rpc(impersonate(cloud, LAST, delegates=["projects/-/serviceAccounts/" + SA]), 403, "PERMISSION_DENIED",
        "getAccessToken")
    rpc(impersonate(cloud, LAST, delegates=["projects/-/serviceAccounts/" + LAST]), 403, "PERMISSION_DENIED",
        "implicitDelegation")
    # what an account's own token may do: the link by hand
    first = document(impersonate(cloud, FIRST))["accessToken"]
    assert impersonate(cloud, LAST, token=first).status == 200


def test_id_tokens(cloud):
    token = document(impersonate(cloud, FIRST, verb="generateIdToken", audience="https://app", includeEmail=True))["token"]
    claims = claims_of(token)
    assert claims["iss"] == "https://accounts.google.com" and claims["aud"] == "https://app"
    assert claims["sub"] == "112233445566778899001" and claims["email"] == FIRST and claims["email_verified"] is True
    assert claims["exp"] - claims["iat"] == 3600
    assert "email" not in claims_of(document(impersonate(cloud, FIRST, verb="generateIdToken", audience="a"))["token"])
    rpc(impersonate(cloud, FIRST, verb="generateIdToken"), 400, "INVALID_ARGUMENT", "audience")
    rpc(impersonate(cloud, LAST, verb="generateIdToken", audience="a"), 403, "PERMISSION_DENIED", "getOpenIdToken")
    assert whoami(cloud, token, 401)["error"]["status"] == "UNAUTHENTICATED"
    keys = document(cloud.request("GET", "/gcp/oauth2/v3/certs"))["keys"]
    assert keys[0]["kty"] == "EC" and keys[0]["alg"] == "ES256"


# --- keys -------------------------------------------------------------------------------------------------------------

def bearer_grant(cloud, key, life_s=3600, ago_s=0, kid="key-1", **changes):
    now = int(time.time()) - ago_s
    claims = {"iss": SA, "scope": PLATFORM, "aud": cloud.ready["gcp_url"] + "/oauth2/token", "iat": now, "exp": now + life_s}
    claims.update(changes)
    token = key.sign({name: value for name, value in claims.items() if value is not None}, kid=kid)
    return form(cloud, "/gcp/oauth2/token", {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": token})


def test_jwt_bearer(cloud, key):
    got = document(bearer_grant(cloud, key))
    assert got["expires_in"] == 3599 and got["token_type"] == "Bearer"
    assert whoami(cloud, got["access_token"])["identity"] == SA
    assert bearer_grant(cloud, key, aud="https://oauth2.googleapis.com/token").status == 200
    got = document(bearer_grant(cloud, key, scope=None, target_audience="https://app"))
    assert set(got) == {"id_token"} and claims_of(got["id_token"])["aud"] == "https://app"


def test_jwt_bearer_refusals(cloud, key, tmp_path):
    refused(bearer_grant(cloud, Key(tmp_path, "stranger")), "invalid_grant", "Invalid JWT Signature.")
    refused(bearer_grant(cloud, key, kid="gone"), "invalid_grant", "Invalid JWT Signature.")
    refused(bearer_grant(cloud, key, iss=LONG), "invalid_grant", "Invalid JWT Signature.")
    refused(bearer_grant(cloud, key, iss="x@y.iam.gserviceaccount.com"), "invalid_grant", "account not found")
    refused(bearer_grant(cloud, key, aud="https://elsewhere"), "invalid_grant", "Failed audience check")
    for wrong in ({"life_s": 3601}, {"ago_s": 3601}, {"ago_s": -400}):
        refused(bearer_grant(cloud, key, **wrong), "invalid_grant", "short-lived token (60 minutes)")
    refused(bearer_grant(cloud, key, scope=None), "invalid_scope", "Empty or missing scope")
    refused(bearer_grant(cloud, key, scope="what"), "invalid_scope", "")
    refused(bearer_grant(cloud, key, target_audience="a"), "invalid_request", "not both")
    refused(bearer_grant(cloud, key, sub="someone@else"), "unauthorized_client", "", 401)
    refused(form(cloud, "/gcp/oauth2/token", {"assertion": "x"}), "invalid_request", "grant_type")
    refused(form(cloud, "/gcp/oauth2/token", {"grant_type": "x", "assertion": "x"}), "unsupported_grant_type", "x")


def test_self_signed_tokens(cloud, key):
    now = int(time.time())
    claims = {"iss": SA, "sub": SA, "iat": now, "exp": now + 3600}
    sign = lambda **more: key.sign({**claims, **more}, kid="key-1")
    assert whoami(cloud, sign(aud="https://storage.googleapis.com/"))["identity"] == SA
    assert whoami(cloud, sign(scope=PLATFORM))["scopes"] == [PLATFORM]
    for wrong in ({}, {"aud": "https://storage.googleapis.com/", "scope": PLATFORM}, {"aud": "https://elsewhere/"},
                  {"scope": PLATFORM, "exp": now + 3599}, {"scope": PLATFORM, "sub": LONG}):
        whoami(cloud, sign(**wrong), 401)
    whoami(cloud, key.sign({**claims, "scope": PLATFORM}, kid="gone"), 401)


# --- whoami, speed, faults --------------------------------------------------------------------------------------------

def test_whoami_refusals(cloud):
    answer = cloud.request("GET", "/gcp/whoami")
    rpc(answer, 401, "UNAUTHENTICATED", "missing required")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
    answer = cloud.request("GET", "/gcp/whoami", headers=bearer("ya29.d.x"))
    rpc(answer, 401, "UNAUTHENTICATED", "invalid authentication")
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def test_a_deleted_account_loses_its_tokens(cloud):
    token = document(impersonate(cloud))["accessToken"]
    before = cloud.admin("GET", "/service/gcp")
    cloud.admin("POST", "/service/gcp", {"providers": before["providers"]})
    try:
        whoami(cloud, token, 401)
        rpc(impersonate(cloud), 403, "PERMISSION_DENIED", "")
    finally:
        cloud.admin("POST", "/service/gcp", before)
    whoami(cloud, token)


def test_speed_divides_lifetimes():
    fast = Cloud(speed=3600)
    try:
        got = document(exchange(fast, expires_in_s=3600))
        assert got["expires_in"] == 1
        end = time.monotonic() + 10
        while fast.request("GET", "/gcp/whoami", headers=bearer(got["access_token"])).status == 200:
            assert time.monotonic() < end
            time.sleep(0.05)
        document(impersonate(fast, token=got["access_token"]), 401)
    finally:
        fast.stop()


def test_faults_speak_the_dialect(cloud):
    cloud.fault("error", code="internal_failure", status=503, message="later", headers={"Retry-After": "2"},
                match={"action": "gcp.token"})
    answer = exchange(cloud)
    refused(answer, "internal_failure", "later", 503)
    assert answer.headers["Retry-After"] == "2"
    token = federated(cloud)
    cloud.fault("error", code="RESOURCE_EXHAUSTED", status=429, match={"action": "gcp.generate*"})
    rpc(impersonate(cloud, token=token), 429, "RESOURCE_EXHAUSTED", "")
    cloud.fault("error", code="PERMISSION_DENIED", status=403, type="SERVICE_DISABLED", match={"role": SA})
    assert rpc(impersonate(cloud, token=token), 403, "PERMISSION_DENIED", "")["details"][0]["reason"] == "SERVICE_DISABLED"
    cloud.fault("expiration", value="omit")
    assert "expires_in" not in document(exchange(cloud))
    cloud.fault("expiration", value="past")
    assert document(exchange(cloud))["expires_in"] < 0
    cloud.fault("expiration", value="soon", match={"action": "gcp.generateAccessToken"})
    assert document(impersonate(cloud, token=token))["expireTime"] == "soon"
    cloud.fault("short_life", s=7)
    assert document(exchange(cloud))["expires_in"] == 7
    cloud.fault("malformed")
    assert exchange(cloud).body == b'{"access_token":'
    assert cloud.admin("GET", "/fault") == {"faults": []}


def test_faults_without_a_name_do_not_hit_the_use_of_credentials(cloud):
    token = federated(cloud)
    cloud.fault("status", status=500)
    whoami(cloud, token)
    assert exchange(cloud).status == 500
    cloud.fault("status", status=500, match={"action": "gcp.whoami"})
    assert cloud.request("GET", "/gcp/whoami", headers=bearer(token)).status == 500


def test_outages_by_service(cloud):
    token = federated(cloud)
    assert cloud.admin("POST", "/outage", {"on": True, "service": "gcp"}) == {"on": True, "service": "gcp"}
    answer = exchange(cloud)
    assert answer.status == 503 and answer.headers["Retry-After"] == "1"
    whoami(cloud, token)
    assert cloud.web().status == 200
    cloud.admin("POST", "/outage", {"on": False, "service": "gcp"})
    assert exchange(cloud).status == 200
    cloud.admin("POST", "/outage", {"on": True})
    assert exchange(cloud).status == cloud.web().status == 503
    cloud.admin("POST", "/outage", {"on": False, "service": "sts"})
    assert (exchange(cloud).status, cloud.web().status) == (503, 200)
    cloud.admin("POST", "/outage", {"on": True, "service": "issuer"})
    assert cloud.request("GET", "/issuer/openid/v1/jwks").status == 503
    cloud.admin("POST", "/outage", {"on": False})
    assert exchange(cloud).status == cloud.request("GET", "/issuer/openid/v1/jwks").status == 200
    assert "gcp" in cloud.admin("POST", "/outage", {"on": True, "service": "gpc"}, 400)["error"]


def test_statistics(cloud):
    cloud.admin("POST", "/stats/reset")
    token = federated(cloud)
    exchange(cloud, {"scope": None})
    impersonate(cloud, token=token)
    stats = cloud.admin("GET", "/stats")
    assert stats["actions"] == {"gcp.token": {"OK": 1, "invalid_scope": 1}, "gcp.generateAccessToken": {"OK": 1}}
    assert stats["exchanges"] == 2
    first, second, third = stats["log"]
    assert first["role"] == DEMO and first["session_name"] == SUBJECT and len(first["access_key_id"]) == 16
    assert (second["status"], second["code"], second["access_key_id"]) == (400, "invalid_scope", "")
    assert third["role"] == SA


def test_paths_and_methods(cloud):
    assert cloud.request("GET", "/gcp/v1/token").status == 405
    assert cloud.request("POST", "/gcp/nothing").status == 404
    assert cloud.request("GET", "/gcp").status == 404


@pytest.mark.parametrize("gcp,reason", [
    ([], '"gcp" must be an object'), ({"x": 1}, 'unknown key "x"'), ({"providers": {}}, '"providers" must be an array'),
    ({"providers": [{"audience": "demo"}]}, "full resource name"),
    ({"providers": [{"audience": DEMO}, {"audience": DEMO}]}, "occurs twice"),
    ({"providers": [{"audience": DEMO, "subject": "sub"}]}, "assertion.CLAIM"),
    ({"providers": [{"audience": DEMO, "user_project": "1"}]}, "workforce pools only"),
    ({"providers": [{"audience": DEMO, "clients": [{"id": "x"}]}]}, "must not be empty"),
    ({"service_accounts": [{"email": "me@example.com"}]}, "gserviceaccount.com"),
    ({"service_accounts": [{"email": SA, "max_lifetime_s": 43201}]}, "from 3600 to 43200"),
    ({"service_accounts": [{"email": SA, "keys": [{"id": "k", "public_key_pem": "x"}]}]}, "public_key_pem"),
])
def test_bad_configuration(cloud, gcp, reason):
    if isinstance(gcp, dict):
        assert reason in cloud.admin("POST", "/service/gcp", gcp, 400)["error"]
    else:
        assert "must be a JSON object" in cloud.admin("POST", "/service/gcp", gcp, 400)["error"]
