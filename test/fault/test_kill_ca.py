# SPDX-License-Identifier: MIT
"""SIGKILL at every system call of a rotation of the service CA: what consumers see is trusted at each point, the next run
mends the rest, and nothing is done twice."""
import json
import shutil

from faults import CREDFRESH, agent_factory, needs, plain_binary, read_text  # noqa: F401
from kills import calls_of, killed_at
from trust import Authority, shake_hands


@plain_binary
def test_service_ca_killed_at_every_call(agent_factory, tmp_path):  # noqa: F811
    needs("strace")
    authority = Authority(agent_factory(None)).configure()
    agent = authority.agent
    authority.once()
    authority.configure(force={"reason": "why not"})
    base = tmp_path / "base"
    old = authority.keep(tmp_path / "old")
    shutil.copytree(agent.dir, base, symlinks=True)
    argv = [CREDFRESH, "once", "-c", str(agent.config_path)]
    calls = calls_of(argv, tmp_path / "log", '"store"', network=False)
    numbers = set()

    def look():
        authority.check()
        shake_hands((old / "ca.crt").read_text(), *authority.published())
        shake_hands(authority.bundle(), old / "tls.crt", old / "tls.key")
        numbers.add(json.loads((authority.store / "authority.json").read_text())["number"])

    def recover():
        for _ in range(2):  # and once is enough
            authority.once()
            assert json.loads((authority.store / "authority.json").read_text())["number"] == 2
        look()
        assert authority.bundle() == (authority.tls / "ca.crt").read_text() != (old / "ca.crt").read_text()
        left = [path for path in agent.dir.rglob("*") if ".credfresh-" in path.name]
        assert not left, left

    killed_at(calls, argv, agent.dir, base, look, recover)
    assert numbers == {1, 2}


@plain_binary
def test_the_first_ca_killed_at_every_call(agent_factory, tmp_path):  # noqa: F811
    """A beginning that was interrupted is taken up: there is never a second first CA."""
    needs("strace")
    authority = Authority(agent_factory(None)).configure()
    agent = authority.agent
    base = tmp_path / "base"
    shutil.copytree(agent.dir, base, symlinks=True)
    argv = [CREDFRESH, "once", "-c", str(agent.config_path)]
    calls = calls_of(argv, tmp_path / "log", '"store"', network=False)

    def look():
        if (authority.trust / "ca.crt").exists() and (authority.tls / "tls.crt").exists():
            authority.check()

    def recover():
        kept = read_text(authority.store / "authority.json")
        authority.once()
        authority.check()
        assert kept in ("", read_text(authority.store / "authority.json"))

    killed_at(calls, argv, agent.dir, base, look, recover)
