# SPDX-License-Identifier: MIT
"""Tests of the long-lived keys that the local cloud makes: of GCP's service accounts, of Azure's applications through Graph,
Keystone's application credentials, and IBM Cloud's API keys, each rotated as a client would, and each late to be known where the settings want that."""
import base64
import calendar
import json
import time

import pytest

from cloud_client import JWT_TYPE, Cloud, Key, b64url, bearer, document, form, openssl, reset, until

PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
POOL = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo"
PRINCIPAL = "principal:" + POOL + "/subject/system:serviceaccount:default:demo"
PROJECT = "demo-project"
ROBOT, LATE, FULL, CLOSED = (name + "@demo-project.iam.gserviceaccount.com" for name in ("robot", "late", "full", "closed"))
TENANT = "11111111-2222-3333-4444-555555555555"
OWNER, APP, LATE_APP, FULL_APP = ("%d6666666-7777-8888-9999-aaaaaaaaaaaa" % n for n in range(4))
OBJECT = "abcdef00-7777-8888-9999-aaaaaaaaaaaa"
OLD = "0f0f0f0f-7777-8888-9999-aaaaaaaaaaaa"
GRAPH = "https://graph.microsoft.com/.default"
ARM = "https://management.azure.com/.default"
ACCOUNT = "0123456789abcdef0123456789abcdef"
SERVICE, OTHER_SERVICE, LATE_SERVICE = ("iam-ServiceId-" + name for name in ("robot", "other", "late"))
IBM_GRANT = "urn:ibm:params:oauth:grant-type:"
LAG_S = 1.5


@pytest.fixture(scope="module")
def old_key(tmp_path_factory):
    return Key(tmp_path_factory.mktemp("minted"), "old")


@pytest.fixture(scope="module")
def cloud(old_key):
    first = [{"id": "key-1", "public_key_pem": old_key.public}]
    running = Cloud({
        "gcp": {"providers": [{"audience": POOL + "/providers/demo"}], "service_accounts": [
            {"email": ROBOT, "members": [PRINCIPAL], "keys": first},
            {"email": LATE, "key_admins": [PRINCIPAL], "key_delay_s": LAG_S, "list_delay_s": LAG_S, "system_keys": 0},
            {"email": FULL, "key_admins": [PRINCIPAL], "key_limit": 2, "keys": first},
            {"email": CLOSED, "members": [PRINCIPAL], "key_admins": []}]},
        "azure": {"tenants": [{"id": TENANT, "applications": [
            {"client_id": OWNER, "secrets": [{"value": "owner-secret"}]},
            {"client_id": APP, "object_id": OBJECT, "owners": [OWNER], "secrets": [{"id": OLD, "value": "old-secret", "name": "old"}]},
            {"client_id": LATE_APP, "owners": [OWNER], "secret_delay_s": LAG_S, "list_delay_s": LAG_S},
            {"client_id": FULL_APP, "owners": [OWNER], "secret_limit": 1}]}]},
        "ibm": {"account_id": ACCOUNT, "page_limit": 2, "identities": [
            {"iam_id": SERVICE, "admins": ["iam-Profile-p"], "key_limit": 3}, {"iam_id": OTHER_SERVICE},
            {"iam_id": LATE_SERVICE, "admins": ["iam-Profile-p"], "key_delay_s": LAG_S, "list_delay_s": LAG_S}],
            "profiles": [{"id": "Profile-p", "subject": "system:serviceaccount:default:demo", "audience": ["iam"]}]}})
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def clean(cloud):
    yield
    reset(cloud)


# --- GCP --------------------------------------------------------------------------------------------------------------

def federated(cloud, scope=PLATFORM):
    got = form(cloud, "/gcp/v1/token", {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "audience": POOL + "/providers/demo", "scope": scope,
        "requested_token_type": "urn:ietf:params:oauth:token-type:access_token", "subject_token_type": JWT_TYPE,
        "subject_token": cloud.token(audience=[POOL + "/providers/demo"])})
    return document(got)["access_token"]


def keys(cloud, method="GET", account=ROBOT, rest="", body=None, token=None, project=PROJECT, query=""):
    headers = bearer(token or federated(cloud))
    if body is not None:
        headers["Content-Type"] = "application/json"
    return cloud.request(method, f"/gcp/v1/projects/{project}/serviceAccounts/{account}/keys{rest}{query}",
                         None if body is None else json.dumps(body), headers)


def new_key(cloud, account=ROBOT):
    made = document(keys(cloud, "POST", account, body={"privateKeyType": "TYPE_GOOGLE_CREDENTIALS_FILE"}))
    file = json.loads(base64.b64decode(made["privateKeyData"]))
    assert made["name"] == f"projects/{PROJECT}/serviceAccounts/{account}/keys/{file['private_key_id']}"
    return made, file


def ids(cloud, account=ROBOT, query="?keyTypes=USER_MANAGED"):
    return {key["name"].rsplit("/", 1)[1] for key in document(keys(cloud, account=account, query=query)).get("keys", [])}


def sign(file, tmp_path):
    """An assertion for the token endpoint, signed by openssl(1) with what is in the file."""
    path = tmp_path / "signer.pem"
    path.write_text(file["private_key"])
    now = int(time.time())
    claims = {"iss": file["client_email"], "scope": PLATFORM, "aud": file["token_uri"], "iat": now, "exp": now + 3600}
    header = {"alg": "RS256", "typ": "JWT", "kid": file["private_key_id"]}
    text = b64url(json.dumps(header).encode()) + "." + b64url(json.dumps(claims).encode())
    return text + "." + b64url(openssl("dgst", "-sha256", "-sign", str(path), data=text.encode()))


def use(cloud, file, tmp_path):
    return form(cloud, "/gcp/oauth2/token", {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                                             "assertion": sign(file, tmp_path)})


def rpc(answer, code, status, text):
    error = document(answer, code)["error"]
    assert (error["code"], error["status"]) == (code, status) and text in error["message"], error


def test_a_key_from_making_to_deleting(cloud, tmp_path):
    before = ids(cloud)
    made, file = new_key(cloud)
    name = "/" + file["private_key_id"]
    assert (file["type"], file["client_email"], file["project_id"]) == ("service_account", ROBOT, PROJECT)
    assert file["token_uri"] == cloud.ready["gcp_url"] + "/oauth2/token"
    assert made["keyType"] == "USER_MANAGED" and made["validBeforeTime"].startswith("9999-")
    assert abs(calendar.timegm(time.strptime(made["validAfterTime"], "%Y-%m-%dT%H:%M:%SZ")) - time.time()) < 30
    assert ids(cloud) == before | {file["private_key_id"]} and "key-1" in before
    token = document(use(cloud, file, tmp_path))["access_token"]
    assert document(cloud.request("GET", "/gcp/whoami", headers=bearer(token)))["identity"] == ROBOT
    assert "privateKeyData" not in document(keys(cloud, rest=name))
    assert document(keys(cloud, "POST", rest=name + ":disable", body={})) == {}
    assert document(keys(cloud, rest=name))["disabled"] is True
    refused = document(use(cloud, file, tmp_path), 400)
    assert (refused["error"], refused["error_description"]) == ("invalid_grant", "Invalid JWT Signature.")
    assert document(keys(cloud, "POST", rest=name + ":enable", body={})) == {}
    assert use(cloud, file, tmp_path).status == 200
    assert document(keys(cloud, "DELETE", rest=name)) == {}
    assert use(cloud, file, tmp_path).status == 400 and ids(cloud) == before
    # What was got with it lives on.
    assert cloud.request("GET", "/gcp/whoami", headers=bearer(token)).status == 200
    for verb in ("DELETE", "GET"):
        rpc(keys(cloud, verb, rest=name), 404, "NOT_FOUND", "does not exist")
    rpc(keys(cloud, "POST", rest=name + ":disable", body={}), 404, "NOT_FOUND", "does not exist")


def test_keys_that_nobody_can_remove(cloud):
    everything = ids(cloud, query="")
    system = everything - ids(cloud)
    assert len(system) == 2
    for key in system:
        rpc(keys(cloud, "DELETE", rest="/" + key), 400, "FAILED_PRECONDITION", "Precondition check failed")


def test_the_limit_counts_keys_of_the_settings(cloud):
    new_key(cloud, FULL)
    rpc(keys(cloud, "POST", FULL, body={}), 400, "FAILED_PRECONDITION", "Precondition check failed.")
    assert keys(cloud, "DELETE", FULL, rest="/key-1").status == 200
    new_key(cloud, FULL)
    assert "key-1" not in ids(cloud, FULL) and len(ids(cloud, FULL)) == 2
    rpc(keys(cloud, "POST", FULL, body={}), 400, "FAILED_PRECONDITION", "Precondition check failed.")


def test_a_key_of_the_settings_can_be_disabled(cloud, old_key):
    now = int(time.time())
    assertion = old_key.sign({"iss": ROBOT, "scope": PLATFORM, "aud": "https://oauth2.googleapis.com/token", "iat": now, "exp": now + 60},
                             kid="key-1")
    grant = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}
    assert form(cloud, "/gcp/oauth2/token", grant).status == 200
    assert keys(cloud, "POST", rest="/key-1:disable", body={}).status == 200
    assert form(cloud, "/gcp/oauth2/token", grant).status == 400
    assert keys(cloud, "POST", rest="/key-1:enable", body={}).status == 200
    assert form(cloud, "/gcp/oauth2/token", grant).status == 200


def test_new_keys_are_known_later(cloud, tmp_path):
    begun = time.monotonic()
    _, file = new_key(cloud, LATE)
    early = use(cloud, file, tmp_path).status, ids(cloud, LATE)
    if time.monotonic() - begun < LAG_S:
        assert early == (400, set())
    until(lambda: use(cloud, file, tmp_path).status == 200 and ids(cloud, LATE) == {file["private_key_id"]})
    assert time.monotonic() - begun >= LAG_S
    begun = time.monotonic()
    assert keys(cloud, "DELETE", LATE, rest="/" + file["private_key_id"]).status == 200
    until(lambda: use(cloud, file, tmp_path).status == 400 and ids(cloud, LATE) == set())
    assert time.monotonic() - begun >= LAG_S


def test_who_may_manage_keys(cloud):
    rpc(keys(cloud, account=CLOSED), 403, "PERMISSION_DENIED", "iam.serviceAccountKeys.list")
    rpc(keys(cloud, "POST", CLOSED, body={}), 403, "PERMISSION_DENIED", "iam.serviceAccountKeys.create")
    rpc(keys(cloud, "DELETE", CLOSED, rest="/a"), 403, "PERMISSION_DENIED", "iam.serviceAccountKeys.delete")
    rpc(keys(cloud, token="ya29.d.nonsense"), 401, "UNAUTHENTICATED", "invalid authentication")
    narrow = federated(cloud, "https://www.googleapis.com/auth/devstorage.read_only")
    rpc(keys(cloud, token=narrow), 403, "PERMISSION_DENIED", "insufficient authentication scopes")
    assert keys(cloud, token=federated(cloud, "https://www.googleapis.com/auth/iam")).status == 200


def test_accounts_that_there_are_not(cloud):
    nobody = "nobody@demo-project.iam.gserviceaccount.com"
    rpc(keys(cloud, account=nobody), 404, "NOT_FOUND", "Unknown service account")
    rpc(keys(cloud, project="other-project"), 404, "NOT_FOUND", "Unknown service account")
    rpc(keys(cloud, account=nobody, project="-"), 403, "PERMISSION_DENIED", "or it may not exist")
    assert keys(cloud, project="-").status == 200
    assert keys(cloud, account=ROBOT.replace("@", "%40")).status == 200
    rpc(keys(cloud, "POST", body={"keyAlgorithm": "KEY_ALG_RSA_1024"}), 400, "INVALID_ARGUMENT", "invalid argument")
    rpc(keys(cloud, "POST", body={"what": 1}), 400, "INVALID_ARGUMENT", "invalid argument")


def test_an_answer_that_is_lost_leaves_a_key(cloud):
    before = ids(cloud)
    cloud.admin("POST", "/fault", {"kind": "truncate", "bytes": 10, "match": {"action": "gcp.key.create", "role": ROBOT}})
    with pytest.raises(Exception):
        keys(cloud, "POST", body={})
    lost = ids(cloud) - before
    assert len(lost) == 1
    cloud.admin("POST", "/fault", {"kind": "close", "match": {"action": "gcp.key.create"}})
    with pytest.raises(Exception):
        keys(cloud, "POST", body={})
    assert ids(cloud) - before == lost  # this one was never taken
    assert keys(cloud, "DELETE", rest="/" + lost.pop()).status == 200
    minted = cloud.admin("GET", "/minted")
    assert ROBOT in minted and "value" not in json.dumps(minted)


# --- Azure ------------------------------------------------------------------------------------------------------------

def azure_token(cloud, client, secret, scope):
    return form(cloud, f"/azure/{TENANT}/oauth2/v2.0/token", {"grant_type": "client_credentials", "client_id": client,
                                                              "client_secret": secret, "scope": scope})


def owner(cloud, scope=GRAPH):
    return document(azure_token(cloud, OWNER, "owner-secret", scope))["access_token"]


def graph(cloud, verb="", body=None, client=APP, token=None, path=None):
    path = path or f"/graph/v1.0/applications(appId='{client}')"
    headers = {**bearer(token or owner(cloud)), "Content-Type": "application/json"}
    if verb == "":
        return cloud.request("GET", path + "?$select=appId,passwordCredentials", headers=headers)
    return cloud.request("POST", path + "/" + verb, json.dumps(body), headers)


def secrets(cloud, client=APP):
    return {one["keyId"]: one for one in document(graph(cloud, client=client))["passwordCredentials"]}


def new_secret(cloud, name, client=APP, **more):
    return document(graph(cloud, "addPassword", {"passwordCredential": {"displayName": name, **more}}, client))


def graph_error(answer, status, code, text):
    error = document(answer, status)["error"]
    assert error["code"] == code and text in error["message"] and error["innerError"]["request-id"], error


def test_a_secret_from_adding_to_removing(cloud):
    before = set(secrets(cloud))
    made = new_secret(cloud, "mine", endDateTime="2090-01-02T03:04:05Z")
    assert 16 <= len(made["secretText"]) <= 64 and made["hint"] == made["secretText"][:3]
    assert made["displayName"] == "mine" and made["endDateTime"] == "2090-01-02T03:04:05Z"
    listed = secrets(cloud)
    assert set(listed) == before | {made["keyId"]} and OLD in before
    assert listed[made["keyId"]]["displayName"] == "mine" and listed[made["keyId"]]["secretText"] is None
    assert azure_token(cloud, APP, made["secretText"], ARM).status == 200
    assert azure_token(cloud, APP, "old-secret", ARM).status == 200
    assert graph(cloud, "removePassword", {"keyId": made["keyId"]}).status == 204
    refused = document(azure_token(cloud, APP, made["secretText"], ARM), 401)
    assert refused["error_codes"] == [7000215]
    assert set(secrets(cloud)) == before
    graph_error(graph(cloud, "removePassword", {"keyId": made["keyId"]}), 400, "Request_BadRequest", "No password credential found")


def test_a_secret_of_the_settings_can_be_removed(cloud):
    settings = cloud.admin("GET", "/service/azure")
    assert graph(cloud, "removePassword", {"keyId": OLD}).status == 204
    assert azure_token(cloud, APP, "old-secret", ARM).status == 401 and OLD not in secrets(cloud)
    cloud.admin("POST", "/service/azure", settings)  # what was shown can be given back
    assert OLD not in secrets(cloud)


def test_an_application_by_its_object(cloud):
    assert document(graph(cloud, path="/graph/v1.0/applications/" + OBJECT))["appId"] == APP
    assert document(graph(cloud, path=f"/graph/v1.0/applications%28appId%3D%27{APP}%27%29"))["appId"] == APP
    graph_error(graph(cloud, path="/graph/v1.0/applications/" + APP), 404, "Request_ResourceNotFound", "does not exist")


def test_the_limit_of_secrets(cloud):
    new_secret(cloud, "one", FULL_APP)
    graph_error(graph(cloud, "addPassword", {"passwordCredential": {"displayName": "two"}}, FULL_APP), 400, "TooManyAppPasswords",
                "a maximum of 1")


def test_new_secrets_are_known_later(cloud):
    begun = time.monotonic()
    made = new_secret(cloud, "late", LATE_APP)
    early = (azure_token(cloud, LATE_APP, made["secretText"], ARM).status, secrets(cloud, LATE_APP),
             graph(cloud, "removePassword", {"keyId": made["keyId"]}, LATE_APP).status)
    if time.monotonic() - begun < LAG_S:
        assert early == (401, {}, 400)
    until(lambda: azure_token(cloud, LATE_APP, made["secretText"], ARM).status == 200 and made["keyId"] in secrets(cloud, LATE_APP))
    assert time.monotonic() - begun >= LAG_S
    begun = time.monotonic()
    assert graph(cloud, "removePassword", {"keyId": made["keyId"]}, LATE_APP).status == 204
    until(lambda: azure_token(cloud, LATE_APP, made["secretText"], ARM).status == 401 and secrets(cloud, LATE_APP) == {})
    assert time.monotonic() - begun >= LAG_S


def test_who_may_use_graph(cloud):
    graph_error(graph(cloud, token="nonsense"), 401, "InvalidAuthenticationToken", "Invalid JWT")
    graph_error(graph(cloud, token=owner(cloud, ARM)), 401, "InvalidAuthenticationToken", "Invalid audience")
    stranger = new_secret(cloud, "stranger")
    token = document(azure_token(cloud, APP, stranger["secretText"], GRAPH))["access_token"]
    graph_error(graph(cloud, token=token), 403, "Authorization_RequestDenied", "Insufficient privileges")
    graph_error(graph(cloud, client=OLD), 404, "Request_ResourceNotFound", "does not exist")
    assert graph(cloud, client=OWNER).status == 200  # without owners it is its own


@pytest.mark.parametrize("verb,body", [
    ("addPassword", []), ("addPassword", {"what": 1}), ("addPassword", {"passwordCredential": {"secretText": "own"}}),
    ("addPassword", {"passwordCredential": {"endDateTime": "soon"}}),
    ("addPassword", {"passwordCredential": {"endDateTime": "2020-01-01T00:00:00Z"}}),
    ("removePassword", {}), ("removePassword", {"keyId": "x"})])
def test_bad_requests_to_graph(cloud, verb, body):
    graph_error(graph(cloud, verb, body), 400, "Request_BadRequest", "")


def test_a_lost_secret_is_found_by_its_name(cloud):
    before = set(secrets(cloud))
    cloud.admin("POST", "/fault", {"kind": "truncate", "bytes": 10, "match": {"action": "graph.addPassword", "role": APP}})
    with pytest.raises(Exception):
        graph(cloud, "addPassword", {"passwordCredential": {"displayName": "lost"}})
    lost = [one for one in secrets(cloud).values() if one["keyId"] not in before]
    assert [one["displayName"] for one in lost] == ["lost"]
    cloud.admin("POST", "/fault", {"kind": "error", "code": "Service_InternalServerError", "status": 500, "message": "later",
                                   "match": {"action": "graph.*"}})
    graph_error(graph(cloud), 500, "Service_InternalServerError", "later")


# --- Keystone ---------------------------------------------------------------------------------------------------------

def keystone_token(cloud, credential, secret):
    body = {"auth": {"identity": {"methods": ["application_credential"],
                                  "application_credential": {"id": credential, "secret": secret}}}}
    return cloud.request("POST", "/identity/v3/auth/tokens", json.dumps(body), {"Content-Type": "application/json"})


def credentials(cloud, token, method="GET", rest="", body=None):
    headers = {"X-Auth-Token": token, "Content-Type": "application/json"}
    return cloud.request(method, "/identity/v3/users/demo-user/application_credentials" + rest,
                         None if body is None else json.dumps(body), headers)


def named(cloud, token, name):
    return document(credentials(cloud, token, rest="?name=" + name))["application_credentials"]


def test_an_application_credential_takes_the_place_of_another(cloud):
    with_ = keystone_token(cloud, "demo-unrestricted-credential", "demo-unrestricted-secret").headers["X-Subject-Token"]
    made = []
    for name in ("r-1", "r-2"):
        wish = {"application_credential": {"name": name, "unrestricted": False}}
        made.append(document(credentials(cloud, with_, "POST", body=wish), 201)["application_credential"])
        assert document(credentials(cloud, with_, "POST", body=wish), 409)["error"]["title"] == "Conflict"
    old, new = (keystone_token(cloud, one["id"], one["secret"]).headers["X-Subject-Token"] for one in made)
    assert credentials(cloud, new, "POST", body={"application_credential": {"name": "r-3"}}).status == 403
    assert credentials(cloud, new, "DELETE", "/" + made[0]["id"]).status == 403
    assert credentials(cloud, with_, "DELETE", "/" + made[0]["id"]).status == 204
    assert credentials(cloud, old).status == 401 and credentials(cloud, new).status == 200
    assert keystone_token(cloud, made[0]["id"], made[0]["secret"]).status == 404
    assert credentials(cloud, with_, "DELETE", "/" + made[0]["id"]).status == 404
    assert named(cloud, with_, "r-1") == [] and [one["id"] for one in named(cloud, with_, "r-2")] == [made[1]["id"]]


def test_a_lost_application_credential_is_found_by_its_name(cloud):
    with_ = keystone_token(cloud, "demo-unrestricted-credential", "demo-unrestricted-secret").headers["X-Subject-Token"]
    cloud.admin("POST", "/fault", {"kind": "truncate", "bytes": 10, "match": {"action": "keystone.credential.create"}})
    with pytest.raises(Exception):
        credentials(cloud, with_, "POST", body={"application_credential": {"name": "lost"}})
    assert len(named(cloud, with_, "lost")) == 1


# --- settings ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("service,settings,reason", [
    ("gcp", {"service_accounts": [{"email": ROBOT, "key_delay_s": -1}]}, "key_delay_s"),
    ("gcp", {"service_accounts": [{"email": ROBOT, "key_limit": 11}]}, "key_limit"),
    ("azure", {"tenants": [{"id": TENANT, "applications": [{"client_id": APP, "secret_limit": -1}]}]}, "secret_limit"),
    ("azure", {"tenants": [{"id": TENANT, "applications": [{"client_id": APP, "owners": 1}]}]}, "owners")])
def test_settings_that_are_no_good(cloud, service, settings, reason):
    assert reason in cloud.admin("POST", "/service/" + service, settings, status=400)["error"]


# --- IBM Cloud --------------------------------------------------------------------------------------------------------

def ibm_login(cloud, **fields):
    return form(cloud, "/ibm/identity/token", {"grant_type": IBM_GRANT + "apikey", **fields})


def ibm_admin(cloud):
    got = form(cloud, "/ibm/identity/token", {"grant_type": IBM_GRANT + "cr-token", "profile_id": "Profile-p",
                                              "cr_token": cloud.token(audience=["iam"])})
    return document(got)["access_token"]


def api_keys(cloud, method="GET", rest="", body=None, token=None, query=""):
    headers = bearer(token or ibm_admin(cloud))
    if body is not None:
        headers["Content-Type"] = "application/json"
    return cloud.request(method, "/ibm/v1/apikeys" + rest + query, None if body is None else json.dumps(body), headers)


def api_key_ids(cloud, service=SERVICE):
    found, token, pages = [], "", 0
    while token is not None:
        got = document(api_keys(cloud, query=f"?account_id={ACCOUNT}&iam_id={service}&pagesize=100{token}"))
        found += [key["id"] for key in got["apikeys"]]
        assert len(got["apikeys"]) <= 2 and not any(key["apikey"] for key in got["apikeys"])
        token = "&pagetoken=" + got["next"].partition("pagetoken=")[2].partition("&")[0] if "next" in got else None
        pages += 1
    return found, pages


def new_api_key(cloud, service=SERVICE, name="same"):
    return document(api_keys(cloud, "POST", body={"name": name, "iam_id": service, "account_id": ACCOUNT}), 201)


def ibm_refused(answer, status, code):
    error = document(answer, status)
    assert error["status_code"] == str(status) and error["errors"][0]["code"] == code and error["trace"], error


def test_an_api_key_from_making_to_deleting(cloud):
    """Two may have the same name; lists have pages."""
    made = [new_api_key(cloud) for _ in range(3)]
    ids = [key["id"] for key in made]
    assert api_key_ids(cloud) == (ids, 2) and len(set(ids)) == 3
    ibm_refused(api_keys(cloud, "POST", body={"name": "x", "iam_id": SERVICE, "account_id": ACCOUNT}), 400, "limit_exceeded")
    key = made[0]
    assert key["id"].startswith("ApiKey-") and (key["iam_id"], key["account_id"]) == (SERVICE, ACCOUNT)
    assert abs(calendar.timegm(time.strptime(key["created_at"], "%Y-%m-%dT%H:%M+0000")) - time.time()) < 90
    token = document(ibm_login(cloud, apikey=key["apikey"]))
    assert token["token_type"] == "Bearer" and token["expires_in"] == 3600
    # The identity itself may manage its keys; a deactivated one gives no token.
    assert api_keys(cloud, "POST", f"/{ids[0]}/disable", token=token["access_token"]).status == 204
    refused = document(ibm_login(cloud, apikey=key["apikey"]), 400)
    assert refused["errorCode"] == "BXNIM0415E" and "could not be found" in refused["errorMessage"]
    assert api_keys(cloud, "POST", f"/{ids[0]}/enable").status == 204
    assert ibm_login(cloud, apikey=key["apikey"]).status == 200
    for one in ids:
        assert api_keys(cloud, "DELETE", "/" + one).status == 204
        ibm_refused(api_keys(cloud, "DELETE", "/" + one), 404, "BXNIM0102E")
    assert api_key_ids(cloud) == ([], 1) and ibm_login(cloud, apikey=key["apikey"]).status == 400


def test_who_may_manage_api_keys(cloud):
    query = f"?account_id={ACCOUNT}&iam_id="
    ibm_refused(api_keys(cloud, query=query + OTHER_SERVICE), 403, "BXNIM0513E")
    ibm_refused(api_keys(cloud, query=query + "iam-ServiceId-none"), 404, "BXNIM0102E")
    ibm_refused(api_keys(cloud, query="?iam_id=" + SERVICE), 400, "BXNIM0109E")
    ibm_refused(api_keys(cloud, query=query + SERVICE + "&pagesize=101"), 400, "BXNIM0110E")
    ibm_refused(api_keys(cloud, query=query + SERVICE, token="nonsense"), 401, "BXNIM0407E")
    ibm_refused(api_keys(cloud, "POST", body={"name": "x", "iam_id": SERVICE, "account_id": ACCOUNT, "what": 1}), 400, "BXNIM0109E")
    for fields in ({"apikey": None}, {"grant_type": "client_credentials"}, {"grant_type": IBM_GRANT + "cr-token"}):
        assert "errorCode" in document(ibm_login(cloud, **fields), 400)
    other = form(cloud, "/ibm/identity/token", {"grant_type": IBM_GRANT + "cr-token", "profile_id": "Profile-p",
                                                "cr_token": cloud.token(audience=["oauth"])})
    assert document(other, 400)["errorCode"] == "BXNIM0437E"


def test_new_api_keys_are_known_later(cloud):
    begun = time.monotonic()
    key = new_api_key(cloud, LATE_SERVICE)
    early = ibm_login(cloud, apikey=key["apikey"]).status, api_key_ids(cloud, LATE_SERVICE)[0]
    if time.monotonic() - begun < LAG_S:
        assert early == (400, [])
    until(lambda: ibm_login(cloud, apikey=key["apikey"]).status == 200 and api_key_ids(cloud, LATE_SERVICE)[0] == [key["id"]])
    assert time.monotonic() - begun >= LAG_S
