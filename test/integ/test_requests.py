# SPDX-License-Identifier: MIT
"""Tokens from the API server (TokenRequest): alone, for an exchange, and in place of a file that is not renewed."""
import base64
import calendar
import json
import os
import time

import pytest

from conftest import eventually
from test_doctor import doctor

AUDIENCE = "sts.amazonaws.com"


def claims_of(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def last_error(agent):
    return agent.status().get("last_error") or {}


def request(cloud, **over):
    wish = {"service_account": "demo", "namespace": "default", "kubeconfig": cloud.ready["kubeconfig"], **over}
    return {key: value for key, value in wish.items() if value is not None}


def asked(agent, file=None, exchange=None, **over):
    """A credential that begins with a request."""
    token = {"audience": AUDIENCE, "request": request(agent.cloud, **over)}
    if file is not None:
        token["file"] = str(file)
    more = {} if exchange is not None else {"exchange": None}
    credential = agent.credential(token=token, **more)
    if exchange is not None and exchange != "aws":
        credential["exchange"] = exchange
    if exchange is None:
        credential["publish"]["files"] = [{"name": "token", "format": "token"}, {"name": "creds.json", "format": "json"}]
    return credential


@pytest.fixture
def agent(agent_factory, shared_cloud):
    cloud = shared_cloud
    cloud.admin("/volume/demo/resume", {})
    cloud.admin("/volume/demo/renew", {})
    return agent_factory(cloud)


def test_a_requested_token_is_published_while_its_exchange_fails_and_lives_as_long_as_both(agent):
    """What was published with the first token ends with that; with the next one it ends with the session."""
    agent.cloud.fault(kind="short_life", s=8, match={"action": "kube.token"}, count=1)
    agent.configure(asked(agent, exchange="aws")).start()
    agent.wait_generation(1)
    first = agent.status()["expires"]
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "AssumeRoleWithWebIdentity"})
    agent.wait_generation(2)
    assert "the new token, with the last session" in agent.log
    assert seconds(agent.status()["expires"]) > seconds(first) + 600 and agent.status()["ready"]
    assert claims_of((agent.out / "token").read_text())["exp"] > seconds(first)


def token_requests(agent):
    return agent.cloud.exchanges("kube.token")


def test_the_token_itself_is_published(agent):
    agent.configure(asked(agent, expiration="20m")).start().wait_generation(1)
    token = (agent.out / "token").read_text()
    claims = claims_of(token)
    assert claims["aud"] == [AUDIENCE] and claims["sub"] == "system:serviceaccount:default:demo"
    assert 1190 <= claims["exp"] - claims["iat"] <= 1210
    status = agent.status()
    assert status["token"]["requested"] and status["ready"] and status["provider"] == "token"
    assert agent.published()["identity"] == "system:serviceaccount:default:demo"
    assert token not in agent.log
    agent.wait_state("fresh")
    status = agent.status()
    # The kubelet's rule: 80 % of the lifetime, and up to 10 s of jitter.
    wait = seconds(status["next_refresh"]) - seconds(status["issued"])
    assert -12 <= wait - (seconds(status["expires"]) - seconds(status["issued"])) * 0.8 <= 2, status
    assert agent.run("rotate", "demo").returncode == 0
    agent.wait_generation(2)
    assert (agent.out / "token").read_text() != token


def test_a_shorter_life_counts(agent):
    agent.cloud.fault(kind="short_life", s=4, match={"action": "kube.token"}, count=2)
    agent.configure(asked(agent)).start()
    agent.wait_generation(3)  # renewed within the four seconds, twice, and not after the hour that was asked for
    assert len(token_requests(agent)) == 3


def test_the_api_servers_warning_is_shown(agent_factory, cloud_factory):
    kube = {"service_accounts": [{"namespace": "default", "name": "demo"}], "max_token_expiration_s": 1200,
            "tokens": [{"token": "demo-kube-token", "user": "demo", "groups": ["system:masters"]}]}
    agent = agent_factory(cloud_factory(config={"kube": kube}))
    text = "requested expiration of 3600 seconds shortened to 1200 seconds"
    agent.configure(asked(agent)).start().wait_generation(1)
    assert agent.run("rotate", "demo").returncode == 0
    agent.wait_generation(2)
    assert agent.log.count(text) == 1 and f"the API server gave a token and warns: {text}" in agent.log
    assert agent.status()["token"]["note"] == text
    report = doctor(agent)
    assert text in report.one("token.request", "warning")["text"]
    agent.configure(asked(agent, expiration="20m"))
    assert agent.run("reload").returncode == 0
    eventually(lambda: "note" not in agent.status()["token"] or agent.status()["token"]["note"] is None, agent.log)


def test_with_an_exchange(agent):
    agent.configure(asked(agent, exchange="aws")).start().wait_generation(1)
    doc = agent.published()
    assert ":assumed-role/demo/" in doc["identity"]
    assert claims_of((agent.out / "token").read_text())["aud"] == [AUDIENCE]
    assert len(token_requests(agent)) == 1 and len(agent.cloud.exchanges()) == 1
    assert doc["fields"]["aws_session_token"]


def test_a_session_ends_with_the_token_next_to_it(agent):
    """Where the token is published, too, it is the one of the two that expires first that counts."""
    both = asked(agent, exchange="aws", expiration="10m")
    alone = {**both, "name": "alone", "publish": {"directory": str(agent.dir / "alone"),
                                                  "files": [{"name": "credentials", "format": "aws-credentials"}]}}
    agent.configure(both, alone).start().wait_generation(1)
    agent.wait_generation(1, "alone")
    token_ends = claims_of((agent.out / "token").read_text())["exp"]
    assert abs(token_ends - time.time() - 600) < 60
    assert abs(seconds(agent.status()["expires"]) - token_ends) <= 5
    assert abs(seconds(agent.status("alone")["expires"]) - time.time() - 3600) < 60


def test_bound_to_a_pod_of_the_environment(agent):
    credential = asked(agent, bound_to={"kind": "Pod", "name_env": "POD_NAME"})
    agent.configure(credential).start(env={"POD_NAME": "demo-0"}).wait_generation(1)
    assert claims_of((agent.out / "token").read_text())["kubernetes.io"]["pod"]["name"] == "demo-0"
    agent.stop()
    agent.configure(asked(agent, bound_to={"kind": "Pod", "name_env": "POD_NAME"}, expiration="30m"))
    done = agent.run("once")
    assert done.returncode != 0 and "POD_NAME is not set" in done.stderr


def test_a_missing_file_is_stood_in_for_and_taken_when_it_comes(agent):
    agent.cloud.admin("/volume", {"name": "late", "service_account": "demo", "paused": True})
    late = agent.dir / "late"
    agent.configure(asked(agent, file=late / "token", exchange="aws")).start().wait_generation(1)
    assert agent.status()["token"]["requested"]
    assert "now requesting tokens from the API server" in agent.log
    late.mkdir()
    (late / "new").write_text(agent.cloud.token())
    os.rename(late / "new", late / "token")
    agent.wait_generation(2)
    eventually(lambda: not agent.status()["token"]["requested"], agent.log)
    assert f"the token file {late}/token is good again" in agent.log
    assert len(token_requests(agent)) == 1


def oauth(agent):
    secret = agent.dir / "client-secret"
    secret.write_text("demo-secret")
    return {"oauth": {"token_url": agent.cloud.ready["oauth_url"] + "/token", "audience": ["api"], "client_id": "demo",
                      "client_authentication": "basic", "client_secret_file": str(secret),
                      "ca_file": agent.cloud.ca}}


def stall(agent, provider, issued_ago_s, **over):
    """A kubelet that renews no longer, with the token that it left."""
    cloud = agent.cloud
    volume, audience = ("demo", AUDIENCE) if provider == "aws" else ("oauth", "oauth")
    cloud.admin(f"/volume/{volume}/pause", {})
    cloud.admin(f"/volume/{volume}/write", {"content": cloud.token(audience=[audience], issued_ago_s=issued_ago_s,
                                                                  expires_in_s=3600 - issued_ago_s)})
    credential = asked(agent, file=cloud.volumes[volume] / "token",
                       exchange="aws" if provider == "aws" else oauth(agent), **over)
    credential["token"]["audience"] = audience
    credential["publish"]["files"] = [{"name": "creds.json", "format": "json"}]
    agent.configure(credential).start()

    def renew():
        cloud.admin(f"/volume/{volume}/resume", {})
        cloud.admin(f"/volume/{volume}/renew", {})

    return renew


@pytest.mark.parametrize("provider", ["aws", "oauth"])
def test_a_kubelet_that_stalls_is_stood_in_for(agent, provider):
    renew = stall(agent, provider, 2997)  # three seconds before somebody should have renewed it
    agent.wait_generation(1)
    assert not agent.status()["token"]["requested"]
    agent.wait_generation(2)
    assert agent.status()["token"]["requested"]
    assert "past 80 % of its lifetime" in agent.log
    renew()
    agent.wait_generation(3)
    eventually(lambda: not agent.status()["token"]["requested"], agent.log)
    assert "is good again and is used instead of requests" in agent.log
    assert len(token_requests(agent)) == 1


@pytest.mark.parametrize("provider", ["aws", "oauth"])
def test_a_kubelet_that_stalled_before_is_stood_in_for_at_once(agent, provider):
    renew = stall(agent, provider, 3400)
    agent.wait_generation(1)
    assert agent.status()["token"]["requested"] and len(token_requests(agent)) == 1
    assert "the token file was not renewed; using tokens requested from the API server" in agent.run("status").stdout
    renew()
    agent.wait_generation(2)
    assert not agent.status()["token"]["requested"] and len(token_requests(agent)) == 1


@pytest.mark.parametrize("provider", ["aws", "oauth"])
def test_a_stalled_token_is_used_where_none_is_given(agent, provider):
    stall(agent, provider, 3400, namespace="kube-system")  # where the agent has no right
    agent.wait_generation(1)
    agent.wait_state("fresh")
    eventually(lambda: not agent.status()["token"]["requested"], agent.log)
    assert "renewed at last" not in agent.log and "is good again" not in agent.log
    assert len(token_requests(agent)) <= 2, agent.log


def test_forbidden_says_which_rule_is_missing(agent):
    agent.configure(asked(agent, namespace="kube-system")).start()
    eventually(lambda: last_error(agent).get("class") == "stop", agent.log)
    text = last_error(agent)["message"]
    assert "serviceaccounts/token" in text and "create" in text and "kube-system" in text, text
    assert "demo-kube-token" not in agent.log
    agent.stop()
    done = agent.run("once")
    assert done.returncode != 0 and "serviceaccounts/token" in done.stderr


def test_a_service_account_that_is_not_there(agent):
    rules = [{"user": "demo", "verb": "create", "resource": "serviceaccounts/token"}]
    agent.cloud.admin("/kube/rbac", {"rules": rules + [{"user": "demo", "verb": "*", "resource": "secrets"}]})
    agent.configure(asked(agent, service_account="nobody")).start()
    eventually(lambda: last_error(agent).get("class") == "stop", agent.log)
    assert "nobody" in last_error(agent)["message"]


def test_throttling_is_honoured(agent):
    agent.cloud.fault(kind="status", status=429, headers={"Retry-After": "3"}, match={"action": "kube.token"}, body="")
    agent.configure(asked(agent)).start().wait_generation(1)
    first, second = token_requests(agent)
    assert first["status"] == 429 and second["t"] - first["t"] >= 2.9


def test_an_outage_is_waited_out(agent):
    agent.configure(asked(agent)).start().wait_generation(1)
    before = (agent.out / "token").read_text()
    agent.cloud.admin("/outage", {"on": True, "service": "kube"})
    assert agent.run("rotate", "demo").returncode == 0
    agent.wait_state("backoff")
    assert (agent.out / "token").read_text() == before and agent.status()["ready"]
    agent.cloud.admin("/outage", {"on": False, "service": "kube"})
    agent.wait_generation(2)
