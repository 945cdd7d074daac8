# SPDX-License-Identifier: MIT
"""Clocks that are set, clocks that are wrong, and time that passes during suspend."""
import calendar
import os
import signal
import time

import pytest

from faults import (agent, agent_factory, as_root, cloud, cloud_factory, eventually, needs, own_clock, plain_binary,  # noqa: F401
                    snapshot)
from endpoint_client import free_port
from shifted_clock import ShiftedClock
from test_endpoints import aws, container

DAY_S = 86400


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def without_tls(credential, cloud):  # noqa: F811
    """Certificates have their own opinion of the time."""
    aws = credential["exchange"]["aws"]
    aws["endpoint"] = cloud.http
    del aws["ca_file"]
    return credential


def long_token(agent):  # noqa: F811
    """A token that is good on all the days that the clock may show, and a connection without certificates."""
    path = agent.dir / "token"
    path.write_text(agent.cloud.token(issued_ago_s=3 * DAY_S, expires_in_s=30 * DAY_S))
    return agent.configure(without_tls(agent.credential(token={"file": str(path)}), agent.cloud))


def check_schedule(agent, clock):  # noqa: F811
    """The next refresh is 30 to 40 minutes away, by the agent's own clock."""
    wait = seconds(agent.status()["next_refresh"]) - clock.now()
    assert 1780 < wait < 2410, agent.status()
    assert agent.status()["ready"]


def is_calm(agent, most):  # noqa: F811
    """No hot loop: while many events are handled there are no more than MOST exchanges."""
    for _ in range(30):
        agent.status()
    assert len(agent.cloud.exchanges()) <= most
    ticks = cpu_ticks(agent)
    for _ in range(30):
        agent.status()
        time.sleep(0.01)
    assert cpu_ticks(agent) - ticks < 25  # of a hundred each second


def cpu_ticks(agent):  # noqa: F811
    fields = open(f"/proc/{agent.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@own_clock
@pytest.mark.parametrize("by_s", [DAY_S, -DAY_S], ids=["forward", "back"])
def test_a_step_of_a_day_refreshes_at_once(agent, by_s):  # noqa: F811
    clock = ShiftedClock(long_token(agent).dir)
    agent.start(env=clock.env)
    agent.wait_generation(1)
    check_schedule(agent, clock)
    clock.set(by_s)
    agent.wait_generation(2)
    assert f"the clock was set {'forward' if by_s > 0 else 'back'}" in agent.log
    assert agent.status()["last_error"] is None
    check_schedule(agent, clock)
    is_calm(agent, most=2)
    clock.set(0)  # and it is set right
    agent.wait_generation(3)
    check_schedule(agent, clock)
    is_calm(agent, most=3)


@own_clock
@pytest.mark.parametrize("offset_s", [DAY_S, -DAY_S], ids=["ahead", "behind"])
def test_a_clock_that_was_always_wrong_gives_the_right_schedule(agent, offset_s):  # noqa: F811
    clock = ShiftedClock(long_token(agent).dir, offset_s)
    agent.start(env=clock.env)
    agent.wait_generation(1)
    check_schedule(agent, clock)
    is_calm(agent, most=1)
    agent.stop()
    clock.set(0)  # set right while nothing ran: what is written down is of another time
    agent.start(env=clock.env)
    agent.wait_generation(2)
    check_schedule(agent, clock)
    is_calm(agent, most=2)


@own_clock
@pytest.mark.parametrize("offset_s, words", [(DAY_S, "by this machine's clock, which may be ahead"),
                                             (-DAY_S, "behind that; trying it anyway: check the clocks")], ids=["ahead", "behind"])
def test_the_clouds_clock_judges_a_token(agent, offset_s, words):  # noqa: F811
    """By ours it has expired long ago, or was issued tomorrow."""
    clock = ShiftedClock(agent.dir, offset_s)
    agent.configure(without_tls(agent.credential(), agent.cloud)).start(env=clock.env)
    agent.wait_generation(1)
    check_schedule(agent, clock)
    is_calm(agent, most=1)
    assert agent.log.count(words) == 1
    clock.set(0)
    agent.wait_generation(2)
    check_schedule(agent, clock)


@own_clock
def test_a_token_from_the_future_is_passed_on(agent):  # noqa: F811
    clock = ShiftedClock(agent.dir, -DAY_S)
    token = agent.credential()
    del token["exchange"]
    token["publish"]["files"] = [{"name": "token", "format": "token"}]
    agent.configure(token).start(env=clock.env)
    agent.wait_generation(1)
    life = seconds(agent.status()["expires"]) - clock.now()
    assert agent.status()["ready"] and 0 < life < 3602
    is_calm(agent, most=0)
    clock.set(0)
    eventually(lambda: seconds(agent.status()["expires"]) > clock.now(), "a lifetime by the right clock")
    assert agent.generation() == 1


def served(agent, where):  # noqa: F811
    return aws(agent, where).json


@own_clock
def test_a_clock_that_was_set_back_does_not_lengthen_a_lifetime(agent):  # noqa: F811
    """What clients are served, and people are shown, in an outage and while nothing can be published."""
    clock = ShiftedClock(long_token(agent).dir, DAY_S)
    where = f"127.0.0.1:{free_port()}"
    credential = without_tls(agent.credential(token={"file": str(agent.dir / "token")}, allow={}), agent.cloud)
    agent.configure(credential, endpoints=[{"listen": where, "aws_container": container(agent)}])
    agent.start(env=clock.env)
    agent.wait_generation(1)
    first = served(agent, where)
    assert seconds(first["Expiration"]) > time.time() + DAY_S
    agent.cloud.admin("/outage", {"on": True})
    clock.set(0)
    most = time.time() + 3600  # the lifetime of what the cloud grants
    eventually(lambda: agent.status()["last_error"] is not None, "a refusal")
    for expires in (served(agent, where)["Expiration"], agent.status()["expires"],
                    agent.request("GET", "/v1/token/demo")[1]["expires"]):
        assert most - 300 < seconds(expires) < most + 1
    assert seconds(agent.status()["issued"]) < most - 3590
    # A new one that cannot be published is served, though its expiry was the earlier one by the clock of then.
    agent.out.rename(agent.out.with_suffix(".away"))
    agent.out.write_text("in the way")
    agent.cloud.admin("/outage", {"on": False})
    eventually(lambda: served(agent, where)["AccessKeyId"] != first["AccessKeyId"], "the new key")
    assert most - 300 < seconds(served(agent, where)["Expiration"]) < most + 300


@own_clock
@pytest.mark.parametrize("by_s", [400 * DAY_S, -DAY_S], ids=["forward", "back"])
def test_the_start_is_not_moved_by_a_clock_that_is_set(agent, by_s):  # noqa: F811
    """As on a machine whose clock is right only after NTP has set it."""
    begun = time.time()
    clock = ShiftedClock(long_token(agent).dir, -by_s)
    agent.start(env=clock.env)
    eventually(lambda: agent.run("reload").returncode == 0, lambda: agent.log)
    clock.set(0)
    eventually(lambda: "the clock was set" in agent.log, "the step")
    _, doc = agent.request("GET", "/v1/credentials")
    for instant in (doc["agent"]["started"], doc["agent"]["config"]["loaded"]):
        assert begun - 2 < seconds(instant) < time.time() + 2


@plain_binary
@as_root
def test_boot_time_of_another_machine_changes_nothing(agent):  # noqa: F811
    needs("unshare")
    agent.start()
    agent.wait_generation(1)
    agent.stop()
    agent.start(wrapper=["unshare", "-T", "--boottime", str(40 * DAY_S), "--monotonic", str(40 * DAY_S)])
    agent.wait_state("fresh")
    wait = seconds(agent.status()["next_refresh"]) - time.time()
    assert 540 < wait < 2410, agent.status()
    agent.cloud.admin("/volume/demo/renew", {})
    agent.wait_generation(2)
    assert len(agent.cloud.exchanges()) == 2


def test_stopped_across_the_refresh_it_refreshes_at_once(cloud_factory, agent_factory):  # noqa: F811
    cloud = cloud_factory(speed=1200)  # noqa: F811 an hour lasts three seconds
    agent = agent_factory(cloud)  # noqa: F811
    path = agent.dir / "token"
    path.write_text(cloud.token(expires_in_s=DAY_S))
    agent.configure(agent.credential(token={"file": str(path)})).start()
    agent.wait_generation(1)
    due = agent.status()["expires"]
    os.kill(agent.process.pid, signal.SIGSTOP)
    before = len(cloud.exchanges())
    eventually(lambda: time.time() > seconds(due) + 1, "the end of the session")
    assert len(cloud.exchanges()) == before
    os.kill(agent.process.pid, signal.SIGCONT)
    eventually(lambda: len(cloud.exchanges()) > before, "an exchange", limit_s=5)
    agent.wait_generation(2)
    assert agent.status()["ready"]


@own_clock
def test_a_restart_after_a_long_time(agent):  # noqa: F811
    clock = ShiftedClock(long_token(agent).dir)
    agent.start(env=clock.env)
    agent.wait_generation(1)
    agent.stop()
    before = snapshot(agent.out)
    clock.set(20 * DAY_S)
    agent.start(env=clock.env)
    agent.wait_generation(2)
    assert snapshot(agent.out) != before
    check_schedule(agent, clock)
    is_calm(agent, most=2)
