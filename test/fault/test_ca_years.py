# SPDX-License-Identifier: MIT
"""Ten years of the agent's service CA by a clock that is set forward, and an agent that runs on while it is: OpenSSL
verifies what is published, and what consumers have that read it more than a year late."""
import json
import subprocess

import pytest

from faults import agent_factory, eventually, needs, own_clock  # noqa: F401
from shifted_clock import ShiftedClock
from trust import HOST, Authority

DAY_S = 86400
LATE_DAYS = 400


def verify(bundle, certificate, at):
    """Nothing, or why OpenSSL does not trust it at that time."""
    done = subprocess.run(["openssl", "verify", "-attime", str(at), "-CAfile", str(bundle), "-no-CApath", "-no-CAstore",
                           "-purpose", "sslserver", "-verify_hostname", HOST, "-untrusted", str(certificate),
                           str(certificate)], capture_output=True, text=True, timeout=20)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def check_all(kept, at, days):
    """Every reader of what was published at most LATE_DAYS ago; a certificate while it lives."""
    *late, newest = [one for one in kept if days - one[0] <= LATE_DAYS]
    for day, there in [*late, newest]:
        assert verify(there / "ca.crt", newest[1] / "tls.crt", at) == "", (day, days)
        why = verify(newest[1] / "ca.crt", there / "tls.crt", at)
        assert why == "" or days - day > 60 and "certificate has expired" in why, (day, days, why)


@own_clock
def test_ten_years(agent_factory, tmp_path):  # noqa: F811
    needs("openssl")
    authority = Authority(agent_factory(None)).configure()
    clock = ShiftedClock(tmp_path)
    kept = []
    for days in range(0, 3650, 61):
        clock.set(days * DAY_S)
        authority.once(env=clock.env)
        kept.append((days, authority.keep(tmp_path / str(days))))
        check_all(kept, clock.now(), days)
    store = json.loads((authority.store / "authority.json").read_text())
    assert 8 <= store["number"] <= 10 and len(store["generations"]) <= 3


@own_clock
@pytest.mark.parametrize("before", [1, 2])
def test_a_clock_that_was_wrong(agent_factory, tmp_path, before):  # noqa: F811
    """Forward by years, and right again, when there have been one or two CAs before: nobody notices but who connects
    meanwhile."""
    needs("openssl")
    authority = Authority(agent_factory(None)).configure()
    clock = ShiftedClock(tmp_path)
    agent = authority.agent
    agent.start(env=clock.env)
    kept = []
    for number in range(1, before + 1):
        if number > 1:
            authority.configure(force={"reason": "a usual rotation"})
            assert agent.request("POST", "/v1/reload")[0] == 200
        agent.wait_generation(number, "tls")
        agent.wait_generation(number, "trust")
        kept.append((0, authority.keep(tmp_path / str(number))))
    for days in (5000, 0):
        clock.set(days * DAY_S)
        agent.request("GET", "/v1/credentials")
        agent.wait_generation(before + (2 if days == 0 else 1), "tls")
    assert agent.request("GET", "/v1/credentials")[1]["service_ca"]["number"] == before + 1
    eventually(lambda: agent.request("GET", "/v1/credentials")[1]["service_ca"]["generations"] ==
               authority.bundle().count("BEGIN CERT") == before + 1, agent.log)
    kept.append((0, authority.keep(tmp_path / "back")))
    check_all(kept, clock.now(), 0)
    assert agent.request("GET", "/v1/credentials")[1]["service_ca"]["error"] is None


@own_clock
def test_a_running_agent(agent_factory, tmp_path):  # noqa: F811
    """The clock is set forward by more than a year, three times: everything is issued again at once."""
    needs("openssl")
    authority = Authority(agent_factory(None)).configure()
    clock = ShiftedClock(tmp_path)
    agent = authority.agent
    agent.start(env=clock.env)
    agent.wait_generation(1, "tls")
    agent.wait_generation(1, "trust")
    kept = [(0, authority.keep(tmp_path / "0"))]
    for i in range(1, 4):
        clock.set(i * LATE_DAYS * DAY_S)
        agent.request("GET", "/v1/credentials")  # something for it to wake up for
        eventually(lambda: agent.request("GET", "/v1/credentials")[1]["service_ca"]["number"] == i + 1, agent.log)
        agent.wait_generation(i + 1, "tls")
        agent.wait_generation(i + 1, "trust")
        kept.append((i * LATE_DAYS, authority.keep(tmp_path / str(i))))
        check_all(kept, clock.now(), i * LATE_DAYS)
