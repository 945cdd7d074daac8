# SPDX-License-Identifier: MIT
"""How soon credentials are back after an outage that outlasted them, by the local cloud's books.

Lives are divided by 300, so that what an hour's session holds is over in 12 s; pauses are those of real time."""
import time

import pytest

from conftest import eventually
from test_endpoints import aws, serve_one, wait_served

LATE_S = 5  # a busy machine is late


@pytest.fixture
def agent(agent_factory, cloud_factory):
    return agent_factory(cloud_factory(speed=300))


def outlast(agent, seconds, ask=lambda: None):
    """An outage that goes on for SECONDS after what was held is over; the books since then, and when it ended."""
    agent.cloud.admin("/outage", {"on": True})
    eventually(lambda: not agent.status()["ready"], "the end of what is held")
    over = time.time()
    while time.time() < over + seconds:
        ask()
        time.sleep(1)  # a client's pace, not a wait
    ended = time.time()
    agent.cloud.admin("/outage", {"on": False})
    return over, ended


def back_after(agent, ended, ask=lambda: None):
    """How long after the outage the cloud granted something again, and the times of all requests."""
    def granted():
        ask()
        return [e["t"] for e in agent.cloud.exchanges() if e["status"] == 200 and e["t"] > ended]

    first = eventually(granted, lambda: "a grant:\n" + agent.log, 40, 0.5)[0]
    return first - ended


def pauses(agent, since, until):
    times = [e["t"] for e in agent.cloud.exchanges() if since <= e["t"] <= until]
    return [b - a for a, b in zip(times, times[1:])], len(times)


def test_a_client_that_asks_is_served_soon_after_an_outage(agent):
    at = serve_one(agent)
    wait_served(agent, at)

    def ask():
        aws(agent, at)

    over, ended = outlast(agent, 25, ask)
    assert aws(agent, at).status == 503
    assert back_after(agent, ended, ask) <= 5 + LATE_S
    between, count = pauses(agent, over, ended)
    assert max(between) <= 5 + LATE_S, between
    # Not one request for each client's, as tools make that ask the cloud themselves; the first few come quickly, and
    # each new token is tried at once.
    assert count <= 20, between


def test_without_a_client_it_is_back_too(agent):
    agent.configure().start()
    agent.wait_generation(1)
    over, ended = outlast(agent, 35)
    assert back_after(agent, ended) <= 15 + LATE_S
    between, count = pauses(agent, over, ended)
    assert max(between) <= 15 + LATE_S, between
    assert count <= 15, between
