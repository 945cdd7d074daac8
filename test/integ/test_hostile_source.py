# SPDX-License-Identifier: MIT
"""What credentials are made from lies where another user has a hand in the path: root's files are not read for that user, and a
file system that does not answer keeps nobody else waiting."""
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import AS_NOBODY, Mounted, let_others_in, read_text
from test_hostile import CONSUMER, HANG_S, as_consumer, cloud, error_of, home, root_only, slowest_answer, wait_error  # noqa: F401
from test_hung_disk import hang, hung  # noqa: F401

pytestmark = root_only
WHOLE = {"landlock_read": False, "capabilities": False}  # so that a reload may add files of others

MINE = "ROOTS-OWN-SECRET"


@pytest.fixture
def victim(agent):
    """A directory with a secret that root alone can read."""
    made = agent.dir / "victim"
    made.mkdir(mode=0o700)
    for name in ("token", "aws_access_key_id", "aws_secret_access_key"):
        (made / name).write_text(MINE)
        (made / name).chmod(0o600)
    return made


def consumer_reads(directory):
    return as_consumer("sh", "-c", f"cat {directory}/* 2>/dev/null; true")


def passed_on(agent, home, **source):  # noqa: F811
    as_consumer("mkdir", "-p", str(home / "out"))
    return agent.credential(exchange=None, publish={"directory": str(home / "out/c")}, **{"token": None, **source})


@pytest.mark.parametrize("wrapper", [(), AS_NOBODY], ids=["root", "another user"])
def test_a_volume_that_everybody_may_write(agent, wrapper):
    """As the kubelet makes one for a ConfigMap, and mounts it read-only: its links lead to what is beneath."""
    agent.keep_state_in(agent.dir / "state")
    volume = Mounted(agent.dir / "volume").put({"ca.pem": read_text(agent.cloud.ca), "token": agent.cloud.token()})
    volume.dir.chmod(0o777)
    let_others_in(agent.dir)
    agent.dir.chmod(0o755)
    for directory in (agent.state, agent.out):
        directory.mkdir(mode=0o700)
        os.chown(directory, *(65534, 65534) if wrapper else (0, 0))
    demo = agent.credential(token={"file": str(volume.dir / "token")})
    demo["exchange"]["aws"]["ca_file"] = str(volume.dir / "ca.pem")
    demo["publish"] = {"directory": str(agent.out / "c"), "files": demo["publish"]["files"]}
    agent.configure(demo).start(wrapper=wrapper)
    agent.wait_state("fresh")
    # A new version is noticed.
    volume.put({"ca.pem": read_text(agent.cloud.ca), "token": agent.cloud.token()})
    agent.wait_generation(2)


@pytest.mark.parametrize("kind", ["the file", "its directory"])
def test_a_token_behind_a_link_of_the_consumers(agent, home, victim, kind):  # noqa: F811
    """Read with the consumer's rights, who cannot."""
    if kind == "the file":
        as_consumer("ln", "-s", str(victim / "token"), str(home / "token"))
        path = home / "token"
    else:
        as_consumer("ln", "-s", str(victim), str(home / "dir"))
        path = home / "dir/token"
    demo = passed_on(agent, home, token={"file": str(path)})
    demo["publish"]["files"] = [{"name": "t", "format": "token"}]
    agent.configure(demo, agent.credential("other")).start()
    agent.wait_state("fresh", "other")
    wait_error(agent, "user's rights are used", f"user {CONSUMER}")
    assert MINE not in consumer_reads(home / "out/c") and MINE not in agent.log


@pytest.mark.parametrize("kind", ["..data", "..data of two steps", "the directory"])
def test_a_secret_behind_a_link_of_the_authors(agent, home, victim, kind):  # noqa: F811
    if kind == "the directory":
        as_consumer("ln", "-s", str(victim), str(home / "secret"))
    else:
        as_consumer("mkdir", str(home / "secret"))
        as_consumer("ln", "-s", "../../victim" if kind != "..data" else str(victim), str(home / "secret/..data"))
    demo = passed_on(agent, home, secret={"directory": str(home / "secret"), "pass_on": True})
    agent.configure(demo, agent.credential("other")).start()
    agent.wait_state("fresh", "other")
    wait_error(agent, "user's rights are used" if kind == "the directory" else "not a directory next to it")
    assert MINE not in consumer_reads(home / "out/c") and MINE not in agent.log


def test_what_is_the_consumers_is_read_behind_its_links(agent, home):  # noqa: F811
    """Links of a user to what that user can read lead there."""
    as_consumer("mkdir", str(home / "real"))
    as_consumer("sh", "-c", f"printf %s KEY >{home}/real/key")
    as_consumer("ln", "-s", str(home / "real"), str(home / "secret"))
    agent.configure(passed_on(agent, home, secret={"directory": str(home / "secret"), "pass_on": True})).start()
    agent.wait_generation(1)
    assert consumer_reads(home / "out/c") == "KEY"


def kubeconfig(agent, text):
    path = agent.dir / "kubeconfig"
    path.write_text(text)
    return str(path)


def sources(agent, home, hung):  # noqa: F811
    """{name: what the credential begins with}, each of which leads to the file system that hangs."""
    as_consumer("mkdir", str(home / "secret"))
    as_consumer("ln", "-s", str(hung), str(home / "linked"))
    mounted = Mounted(agent.dir / "mounted").put({"credentials": f"[default]\nrole_arn = arn:aws:iam::123456789012:role/demo\n"
                                                                 f"region = us-east-1\nweb_identity_token_file = {hung}/token"})
    text = open(agent.cloud.ready["kubeconfig"], encoding="utf-8").read()
    request = {"service_account": "demo", "namespace": "default", "audiences": ["sts.amazonaws.com"]}
    with_token = kubeconfig(agent, re.sub(r"token: .*", f"tokenFile: {hung}/token", text))
    return {"secret": {"secret": {"directory": str(hung / "s"), "pass_on": True}},
            "linked secret": {"secret": {"directory": str(home / "linked/s"), "pass_on": True}},
            "token_directory": {"secret": {"directory": str(mounted.dir), "token_directory": str(hung)}},
            "kubeconfig": {"token": {"request": {**request, "kubeconfig": str(hung / "kc")}}},
            "tokenFile": {"token": {"request": {**request, "kubeconfig": with_token}}}}


@pytest.mark.parametrize("kind", ["secret", "linked secret", "token_directory", "kubeconfig", "tokenFile"])
def test_a_source_that_hangs(agent, home, hung, kind):  # noqa: F811
    source = {"token": None, **sources(agent, home, hung)[kind]}
    publish = {"directory": str(agent.out)}
    if kind != "secret" and kind != "linked secret":
        publish["files"] = [{"name": "j", "format": "json"}]
    over = {"exchange": None} if "secret" in source else {}
    agent.configure(agent.credential("other"), sandbox=WHOLE).start()
    agent.wait_state("fresh", "other")
    agent.configure(agent.credential(publish=publish, **over, **source), agent.credential("other"), sandbox=WHOLE)
    os.kill(agent.process.pid, signal.SIGHUP)
    assert slowest_answer(agent, lambda: "its file system has not answered" in error_of(agent)) < HANG_S
    end = time.monotonic() + 2
    assert slowest_answer(agent, lambda: time.monotonic() > end) < HANG_S


def test_a_token_that_is_exchanged_for_a_link_over_and_over(agent, home, hung):  # noqa: F811
    """What was judged is what is read."""
    token = home / "token"
    token.write_bytes((agent.cloud.volumes["demo"] / "token").read_bytes())
    os.chown(token, CONSUMER, CONSUMER)
    as_consumer("ln", "-s", str(hung / "x"), str(home / "evil"))
    code = (f"import ctypes, time\nlibc = ctypes.CDLL(None)\na, b = {str(token)!r}.encode(), {str(home / 'evil')!r}.encode()\n"
            "while True:\n for _ in range(1001): libc.renameat2(-100, a, -100, b, 2)\n time.sleep(0.0005)")
    racer = subprocess.Popen(["setpriv", f"--reuid={CONSUMER}", f"--regid={CONSUMER}", "--clear-groups", "/usr/bin/python3", "-c",
                              code])
    try:
        agent.configure(agent.credential(token={"file": str(token)}), agent.credential("other")).start()
        agent.wait_state("fresh", "other")
        end = time.monotonic() + 10
        assert slowest_answer(agent, lambda: time.monotonic() > end) < HANG_S
    finally:
        racer.kill()
        racer.wait()


def test_a_reload_with_many_that_hang(agent, tmp_path):
    """The agent answers meanwhile. unit_agent_loop_slow_file proves that it waits once, not for one after the other."""
    points = []
    try:
        for i in range(8):
            point = tmp_path / f"hung-{i}"
            point.mkdir()
            points.append((point, hang(point)))
        agent.configure(agent.credential("other"), sandbox=WHOLE).start()
        agent.wait_state("fresh", "other")
        agent.configure(agent.credential("other"), sandbox=WHOLE,
                        *[agent.credential(f"c{i}", token={"file": str(point / "token")}) for i, (point, _) in enumerate(points)])
        os.kill(agent.process.pid, signal.SIGHUP)
        hanging = "its file system has not answered"
        assert slowest_answer(agent, lambda: all(hanging in error_of(agent, f"c{i}") for i in range(8))) < HANG_S
    finally:
        for point, device in points:
            os.close(device)
            subprocess.run(["umount", "-l", str(point)], capture_output=True)
