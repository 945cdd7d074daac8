# SPDX-License-Identifier: MIT
"""Defaults for credentials in a running agent: hooks that several have, and what a change of them causes."""
import json

import pytest

from conftest import eventually, read_text
from minting import IAM, admin, cloud, configured, iam_cloud, keys_of, minted, published_key, wait_complete  # noqa: F401
from test_doctor import doctor
from test_mint_adopt import by_hand, ini


@pytest.fixture
def hooked(agent_factory, shared_cloud, tmp_path):
    """An agent of three credentials: two with the default hook, one with its own. Each hook appends its credential to a file."""
    def note(file):
        return [{"exec": ["/bin/sh", "-c", f'echo "$CREDFRESH_CREDENTIAL" >> {tmp_path / file}']}]

    def configure(file):
        return agent.configure(agent.credential("one"), agent.credential("two"), agent.credential("three", reload=note("own")),
                               agent.credential("four", reload=[]), defaults={"reload": note(file)})

    agent = agent_factory(shared_cloud)
    agent.use_hook = configure
    agent.ran = lambda file: sorted((read_text(tmp_path / file) or "").split())
    return configure("first")


def wait_ran(agent, file, names):
    eventually(lambda: agent.ran(file) == sorted(names.split()), lambda: f"{file}: {agent.ran(file)}\n{agent.log}")


def test_a_hook_of_several_credentials(hooked):
    agent = hooked
    agent.start()
    wait_ran(agent, "first", "one two")
    wait_ran(agent, "own", "three")
    agent.wait_generation(1, "four")
    assert [len(agent.status(name).get("hooks") or []) for name in ("one", "two", "three", "four")] == [1, 1, 1, 0]
    exchanges = len(agent.cloud.exchanges())
    # Another default is in use from the reload on; nothing is exchanged, published or run again for that.
    agent.use_hook("second")
    assert agent.run("reload").returncode == 0
    assert [agent.generation(name) for name in ("one", "two", "three", "four")] == [1] * 4
    for name in ("one", "three"):
        assert agent.request("POST", f"/v1/credentials/{name}/rotate")[0] == 202
        agent.wait_generation(2, name)
    wait_ran(agent, "second", "one")
    wait_ran(agent, "own", "three three")
    assert agent.ran("first") == ["one", "two"]
    assert agent.generation("two") == agent.generation("four") == 1
    assert len(agent.cloud.exchanges()) == exchanges + 2


def test_writing_a_default_out_changes_nothing(hooked):
    agent = hooked
    agent.start()
    wait_ran(agent, "first", "one two")
    config = json.loads(agent.config_path.read_text())
    hooks = config.pop("defaults")["reload"]
    for credential in config["credentials"]:
        credential.setdefault("reload", hooks)
    agent.config_path.write_text(json.dumps(config))
    exchanges = len(agent.cloud.exchanges())
    agent.stop()
    agent.start()
    for name in ("one", "two", "three", "four"):
        agent.wait_state("fresh", name)
        assert agent.generation(name) == 1
    assert len(agent.cloud.exchanges()) == exchanges and agent.ran("first") == ["one", "two"]


@pytest.mark.parametrize("where", ["default", "own key"])
def test_times_of_a_rotation(configured, where):
    """The age of a key is in use from the reload on, without a restart."""
    agent = configured
    agent.cloud.admin("/service/iam", {**IAM, "made_before_s": 7200})
    key = by_hand(agent)
    agent.cloud.admin("/service/iam", IAM)
    (agent.dir / "old").write_text(ini(key))

    def configure(age):
        times = {"expire_after": age}
        own = times if where == "own key" else {}
        agent.configure(minted(agent, mint={"adopt": str(agent.dir / "old"), **own}), admin(agent),
                        **({} if own else {"defaults": {"mint": times}}))

    configure("60d")
    agent.start()
    agent.wait_generation(1, "robot")
    wait_complete(agent)
    assert published_key(agent) == key[0]
    configure("1h")
    assert agent.run("reload").returncode == 0
    agent.wait_generation(2, "robot")
    wait_complete(agent)
    assert list(keys_of(agent.cloud)) == [published_key(agent)] != [key[0]]


def test_what_check_reports(hooked):
    agent = hooked
    config = json.loads(agent.config_path.read_text())
    agent.configure(*config["credentials"], defaults={**config["defaults"], "mint": {"grace": "1h", "verify_every": "5m"}})
    done = agent.run("check", "--strict")
    line = agent.config_path.read_text().splitlines().index('  "mint": {') + 1
    for key in ("grace", "verify_every"):
        assert f"{agent.config_path}:{line}: agent: defaults.mint.{key}: has no effect" in done.stdout, done.stdout
    assert done.returncode == 1 and "defaults.reload" not in done.stdout
    # Where each credential has its own, no default is left.
    for credential in config["credentials"]:
        credential.setdefault("reload", [])
    agent.configure(*config["credentials"], defaults=config["defaults"])
    assert "defaults.reload: has no effect" in agent.run("check").stdout
    assert agent.run("check").returncode == 0, "a warning is no error"


def test_what_doctor_shows(hooked):
    found = doctor(hooked, "-v", "--offline").all("config.defaults")
    assert [(finding["credential"], finding["level"]) for finding in found] == [("one", "note"), ("two", "note")]
    assert "has from `defaults`: `reload` (line" in found[0]["text"]


def test_a_default_that_is_wrong_for_one(configured):
    agent = configured
    agent.configure(minted(agent, mint={"expire_after": "1h"}), admin(agent), defaults={"mint": {"verify_every": "1h", "grace": "3h"}})
    assert agent.run("check").returncode == 0, "the credential has a grace of its own"
    robot = minted(agent, mint={"expire_after": "5h", "grace_most": "9h"})
    del robot["mint"]["grace"]
    agent.configure(robot, admin(agent), defaults={"mint": {"verify_every": "1h", "grace": "3h"}})
    done = agent.run("check")
    lines = [line.strip().rstrip(",") for line in agent.config_path.read_text().splitlines()]
    own, default = lines.index('"expire_after": "5h"') + 1, lines.index('"grace": "3h"') + 1
    assert done.returncode == 3, done.stdout
    assert f"{agent.config_path}:{own}: credential robot: mint.expire_after: must be twice the grace" in done.stdout
    assert f"(`grace` is that of `defaults`, line {default})" in done.stdout
