# SPDX-License-Identifier: MIT
"""Helpers for tests of a rotation that several agents share: agents with one Secret, and what it holds."""
import json
import os
import signal

import pytest

from conftest import Mounted, eventually
from minting import ADMIN, admin, keys_of, minted
from test_secret_target import Kube, b64

SECRET = "credfresh-mint-robot"
TAKEOVER_S = 6


def shared(agent, user="robot", secret=SECRET, **over):
    """The credential of one agent: quick, and with the least takeover."""
    state = {"secret": secret, "namespace": "default", "kubeconfig": agent.cloud.ready["kubeconfig"],
             "takeover": f"{TAKEOVER_S}s", **over.pop("state", {})}
    return minted(agent, user, mint={"state": state, **over.pop("mint", {})}, **over)


def target(agent, name, **over):
    """A Secret of the cluster into which all agents publish."""
    return {"secret": {"namespace": "default", "name": name, "kubeconfig": agent.cloud.ready["kubeconfig"],
                       "keys": [{"name": "aws_access_key_id", "format": "field", "field": "aws_access_key_id"},
                                {"name": "credentials", "format": "aws-credentials"}], **over}}


@pytest.fixture
def kube(cloud):
    found = Kube(cloud)
    found.call("DELETE", SECRET)
    found.make(SECRET)
    return found


@pytest.fixture
def pair(agent_factory, cloud, kube):
    """Two agents with the same configuration, not started."""
    made = [agent_factory(cloud, name) for name in ("one", "two")]
    for agent in made:
        Mounted(agent.dir / "admin").put(ADMIN)
        agent.configure(shared(agent), admin(agent))
    return made


def journal(kube, secret=SECRET):
    return json.loads(kube.data(secret).get("journal") or "{}")


def step(kube, secret=SECRET):
    return journal(kube, secret).get("step")


def current(kube, secret=SECRET):
    return journal(kube, secret).get("current") or ""


def key_of(agent):
    """The key that AGENT publishes; None if it publishes none."""
    try:
        return agent.published()["fields"]["aws_access_key_id"]
    except FileNotFoundError:
        return None


def follow_each_other(agents, kube, but=None):
    """All of AGENTS publish the key of the journal, which is at rest, and is another one than BUT."""
    def done():
        key = current(kube)
        return key not in ("", but) and step(kube) == "rest" and all(key_of(agent) == key for agent in agents)

    eventually(done, lambda: f"{journal(kube)}\n" + "\n\n".join(agent.log for agent in agents))
    return current(kube)


def works(cloud, user="robot"):
    return {name for name, key in keys_of(cloud, user).items() if key["active"]}


def created(cloud):
    return len(cloud.exchanges("CreateAccessKey"))


def stop_signal(agent):
    os.kill(agent.process.pid, signal.SIGSTOP)


def go_on(agent):
    os.kill(agent.process.pid, signal.SIGCONT)
