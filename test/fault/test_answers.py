# SPDX-License-Identifier: MIT
"""Every possible answer of an STS or a proxy: the class of the error, the pace of what follows,
and that what is published stays."""
import calendar
import time

import pytest

from faults import ROLE, agent, agent_factory, cloud, cloud_factory, eventually, snapshot  # noqa: F401

# Code on the wire, HTTP status, our code, our class. Every row of the table of errors in the reference.
ERRORS = [
    ("IDPCommunicationError", 400, "identity-provider", "retry"),
    ("InvalidIdentityToken", 400, "token", "stop"),
    ("ExpiredTokenException", 400, "token-expired", "retry"),
    ("IDPRejectedClaim", 403, "denied", "stop"),
    ("AccessDenied", 403, "denied", "stop"),
    ("MalformedPolicyDocument", 400, "rejected", "stop"),
    ("PackedPolicyTooLarge", 400, "rejected", "stop"),
    ("RegionDisabledException", 403, "denied", "stop"),
    ("ValidationError", 400, "rejected", "stop"),
    ("Throttling", 400, "throttled", "retry"),
    ("ThrottlingException", 400, "throttled", "retry"),
    ("RequestLimitExceeded", 503, "throttled", "retry"),
    ("SlowDown", 503, "throttled", "retry"),
    ("RequestTimeout", 400, "unavailable", "retry"),
    ("InternalFailure", 500, "unavailable", "retry"),
    ("ServiceUnavailable", 503, "unavailable", "retry"),
    ("InvalidAction", 400, "rejected", "stop"),
    ("MalformedInput", 400, "rejected", "stop"),
    ("MissingParameter", 400, "rejected", "stop"),
    ("InvalidParameterValue", 400, "rejected", "stop"),
    ("MalformedQueryString", 400, "rejected", "stop"),
    ("OptInRequired", 403, "denied", "stop"),
    ("IncompleteSignature", 400, "rejected", "stop"),
    ("MissingAuthenticationToken", 403, "rejected", "stop"),
    ("InvalidClientTokenId", 403, "denied", "stop"),
    ("SignatureDoesNotMatch", 403, "rejected", "stop"),
    ("RequestExpired", 400, "rejected", "stop"),
    ("NobodyKnowsThisCode", 502, "unavailable", "retry"),
    ("NobodyKnowsThisCode", 400, "rejected", "stop"),
]
MESSAGES = [
    ("InvalidIdentityToken", "Couldn't retrieve verification key from your identity provider", "identity-provider", "retry"),
    ("InvalidIdentityToken", "Incorrect token audience", "denied", "stop"),
    ("InvalidIdentityToken", "No OpenIDConnect provider found in your account for https://x", "denied", "stop"),
]
# Answers that are no error of STS.
ANSWERS = [
    (dict(kind="status", status=500), "unavailable", "retry"),
    (dict(kind="status", status=502, body="<html>bad gateway</html>"), "unavailable", "retry"),
    (dict(kind="status", status=504), "unavailable", "retry"),
    (dict(kind="status", status=429), "throttled", "retry"),
    (dict(kind="status", status=404), "rejected", "stop"),
    (dict(kind="status", status=403, body="<html>a proxy says no</html>"), "denied", "stop"),
    (dict(kind="status", status=200, body="<html>log in to the hotel's network</html>"), "bad-answer", "retry"),
    (dict(kind="status", status=200, body=""), "bad-answer", "retry"),
    (dict(kind="truncate", bytes=120), "bad-answer", "retry"),
    (dict(kind="truncate", bytes=0), "bad-answer", "retry"),
    (dict(kind="oversize", bytes=4000000), "limit", "local"),
    (dict(kind="malformed"), "bad-answer", "retry"),
    (dict(kind="malformed", body="<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"), "bad-answer", "retry"),
    (dict(kind="malformed", body="<a>" * 5000), "bad-answer", "retry"),
    (dict(kind="malformed", body="{\"AssumeRoleWithWebIdentityResponse\": 7}"), "bad-answer", "retry"),
    (dict(kind="redirect"), "redirect", "stop"),
    (dict(kind="close"), "network", "retry"),
    (dict(kind="expiration", value="omit"), "bad-answer", "retry"),
    (dict(kind="expiration", value="past"), "bad-answer", "retry"),
    (dict(kind="expiration", value="next Tuesday"), "bad-answer", "retry"),
]


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def rotate(agent):  # noqa: F811
    status, answer = agent.request("POST", "/v1/credentials/demo/rotate", "{}")
    assert status == 202, answer


def provoke(agent, fault, code, error_class):  # noqa: F811
    """A renewal that meets FAULT: how it is reported, what stays, when it is tried again, and that it recovers."""
    before = snapshot(agent.out)
    generation = agent.generation()
    agent.cloud.fault(count=-1, **fault)
    rotate(agent)
    eventually(lambda: (agent.status()["last_error"] or {}).get("code") == code,
               f"{code} for {fault}: {agent.status()}")
    now = agent.status()
    assert now["last_error"]["class"] == error_class, fault
    assert now["last_error"]["message"] and "secret" not in now["last_error"]["message"].lower()
    assert now["ready"] and now["generation"] == generation
    assert snapshot(agent.out) == before
    agent.cloud.clear_faults()
    return now


def recover(agent, generation):  # noqa: F811
    rotate(agent)
    agent.wait_generation(generation + 1)
    eventually(lambda: agent.status()["last_error"] is None, "no error")


def first(agent, *credentials):  # noqa: F811
    agent.configure(agent.credential(), *credentials).start()
    agent.wait_generation(1)


def test_each_error_has_its_class_and_pace(agent):  # noqa: F811
    first(agent)
    table = [(dict(kind="error", code=wire, status=status), code, kind) for wire, status, code, kind in ERRORS]
    table += [(dict(kind="error", code=wire, message=text), code, kind) for wire, text, code, kind in MESSAGES]
    for fault, code, error_class in table:
        generation = agent.generation()
        now = provoke(agent, fault, code, error_class)
        if error_class == "stop":  # the first pause is 5 to 10 s; for what mends itself it is at most one
            assert seconds(now["next_refresh"]) - seconds(now["last_error"]["at"]) >= 4, now
        recover(agent, generation)


def test_answers_that_are_no_answer(agent):  # noqa: F811
    first(agent)
    for fault, code, error_class in ANSWERS:
        generation = agent.generation()
        provoke(agent, fault, code, error_class)
        recover(agent, generation)
    assert {entry["action"] for entry in agent.cloud.stats()["log"]} == {"AssumeRoleWithWebIdentity"}


def test_less_life_than_what_is_published_is_refused(agent):  # noqa: F811
    first(agent)
    before = snapshot(agent.out)
    agent.cloud.fault(kind="short_life", s=60, count=-1)
    agent.cloud.admin("/volume/demo/renew", {})
    eventually(lambda: (agent.status()["last_error"] or {}).get("code") == "worse-credential", "a refusal")
    assert agent.status()["last_error"]["class"] == "retry"
    assert snapshot(agent.out) == before and agent.status()["ready"]
    agent.cloud.clear_faults()
    agent.wait_generation(2)  # by itself, and with the new token
    assert snapshot(agent.out)["token"] != before["token"]


def test_a_redirect_is_not_followed(agent):  # noqa: F811
    first(agent)
    agent.cloud.admin("/stats/reset", {})
    provoke(agent, dict(kind="redirect", status=307, location=agent.cloud.http), "redirect", "stop")
    assert [entry["fault"] for entry in agent.cloud.stats()["log"]] == ["redirect"]


def test_a_wrong_content_type_is_no_matter(agent):  # noqa: F811
    first(agent)
    agent.cloud.fault(kind="content_type", value="application/octet-stream")
    rotate(agent)
    agent.wait_generation(2)


def test_slow_and_late_answers_are_waited_for(agent):  # noqa: F811
    first(agent)
    for generation, fault in enumerate([dict(kind="slow", ms_per_byte=0.5), dict(kind="delay", ms=700)], start=2):
        agent.cloud.fault(**fault)
        rotate(agent)
        agent.wait_generation(generation)


@pytest.mark.parametrize("status,header,least", [(429, "120", 119), (503, "90", 89), (503, "nonsense", 0), (429, "-5", 0)])
def test_retry_after_is_honoured(agent, status, header, least):  # noqa: F811
    first(agent)
    now = provoke(agent, dict(kind="status", status=status, headers={"Retry-After": header}),
                  "throttled" if status == 429 else "unavailable", "retry")
    wait = seconds(now["next_refresh"]) - seconds(now["last_error"]["at"])
    assert least <= wait <= least * 1.2 + 3
    recover(agent, 1)


def test_failures_in_a_row_slow_down(agent):  # noqa: F811
    first(agent)
    agent.cloud.fault(kind="status", status=500, count=-1)
    rotate(agent)
    eventually(lambda: agent.status()["consecutive_failures"] >= 3, "three failures")
    tried = len(agent.cloud.exchanges())
    assert tried <= agent.status()["consecutive_failures"] + 2
    agent.cloud.clear_faults()
    agent.wait_generation(2)
    assert agent.status()["consecutive_failures"] == 0


@pytest.mark.parametrize("what", ["expired", "wrong-name", "wrong-ca", "no-ca"])
def test_a_server_that_cannot_be_trusted(agent, what):  # noqa: F811
    credential = agent.credential()
    aws = credential["exchange"]["aws"]
    if what in ("expired", "wrong-name"):
        aws["endpoint"] = agent.cloud.ready["sts_expired_url" if what == "expired" else "sts_wrongname_url"]
    elif what == "wrong-ca":
        aws["ca_file"] = agent.cloud.other_ca
    else:
        aws["ca_file"] = None
        del aws["ca_file"]
    agent.configure(credential).start()
    eventually(lambda: (agent.status().get("last_error") or {}).get("code") == "tls", agent.log)
    now = agent.status()
    assert now["last_error"]["class"] == "stop" and not now["ready"] and not agent.out.exists()
    assert {"expired": "expired", "wrong-name": "another name", "wrong-ca": "other-ca.pem",
            "no-ca": "ca_file"}[what] in now["last_error"]["message"]
    assert agent.cloud.exchanges() == []  # the token never left


def test_one_credentials_trouble_is_its_own(agent):  # noqa: F811
    agent.cloud.admin("/role", {"arn": ROLE.replace("role/demo", "role/other"), "trust": []})
    other = agent.credential("other")
    other["exchange"]["aws"]["role_arn"] = ROLE.replace("role/demo", "role/other")
    agent.cloud.fault(kind="delay", ms=3000, count=-1, match={"role": other["exchange"]["aws"]["role_arn"]})
    first(agent, other)
    assert agent.generation("other") == 0
    for generation in (2, 3):
        rotate(agent)
        agent.wait_generation(generation)
    agent.cloud.clear_faults()
    eventually(lambda: agent.status("other")["last_error"], "the refusal of the other role")
    assert agent.status("other")["last_error"]["code"] == "denied"
    assert agent.status()["last_error"] is None
    rotate(agent)
    agent.wait_generation(4)


def test_no_more_exchanges_at_once_than_allowed(agent):  # noqa: F811
    agent.cloud.fault(kind="delay", ms=60, count=-1)
    names = [f"c{i}" for i in range(20)]
    agent.configure(*[agent.credential(name) for name in names], max_concurrent_exchanges=2).start()
    for name in names:
        agent.wait_generation(1, name)
    stats = agent.cloud.stats()
    assert stats["most_in_flight"] == 2
    assert len(agent.cloud.exchanges()) == 20
