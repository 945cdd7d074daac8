# SPDX-License-Identifier: MIT
"""A file system that does not answer, frozen or hung: it keeps only its own credential waiting."""
import ctypes
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import eventually
from endpoint_client import ask
from test_hostile import (  # noqa: F401
    HANG_S, a_directory, as_consumer, children, cloud, error_of, home, lacking, one_file, root_only,
    served_by, slowest_answer, wait_error)


@pytest.fixture
def frozen(tmp_path):
    """An ext4 on a loop device, and how to freeze it."""
    image, point = tmp_path / "disk.img", tmp_path / "disk"
    point.mkdir()
    subprocess.run(["truncate", "-s", "16M", str(image)], check=True)
    try:
        for argv in (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(point)]):
            subprocess.run(argv, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        lacking(f"no ext4 on a loop device: {error}")
    yield point
    subprocess.run(["fsfreeze", "-u", str(point)], capture_output=True)
    eventually(lambda: subprocess.run(["umount", str(point)], capture_output=True).returncode == 0, "the unmount")


@root_only
def test_a_frozen_file_system_keeps_nobody_else_waiting(agent, frozen):
    agent.configure(agent.credential(publish=one_file(frozen / "creds.json")), agent.credential("other")).start()
    agent.wait_state("fresh")
    agent.wait_state("fresh", "other")
    subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    before = agent.generation("other")
    for name in ("demo", "other"):
        assert agent.request("POST", f"/v1/credentials/{name}/rotate")[0] == 202
    assert slowest_answer(agent, lambda: "has not answered for 10 s" in error_of(agent)) < HANG_S
    assert agent.generation("other") > before
    assert "creds.json" in error_of(agent)
    # The end does not wait for it either.
    began = time.monotonic()
    agent.stop()
    assert time.monotonic() - began < 8
    subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
    agent.start()
    agent.wait_state("fresh")


@root_only
@pytest.mark.parametrize("kind", ["file", "profile"])
def test_what_was_killed_at_a_frozen_file_system_leaves_nothing(agent, frozen, kind):
    path = frozen / "creds"
    agent.configure(agent.credential(publish=one_file(path) if kind == "file" else {"profile": {"path": str(path)}})).start()
    agent.wait_state("fresh")
    before = agent.generation()
    subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    wait_error(agent, "has not answered for 10 s")
    subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
    eventually(lambda: agent.generation() > before, lambda: agent.log)
    agent.wait_state("fresh")
    assert [p.name for p in frozen.iterdir() if "credfresh-" in p.name] == []


def hang(point, mode=0o40000):
    """Mounts a FUSE whose server never answers. Once the descriptor is closed all calls that wait get an error."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        lacking(f"no FUSE: {error}")
    options = f"fd={device},rootmode={mode:o},user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"hung", str(point).encode(), b"fuse", 0, options) != 0:
        lacking(f"no FUSE mount: {os.strerror(ctypes.get_errno())}")
    return device


@pytest.fixture
def hung(tmp_path):
    """A FUSE file system whose server never answers."""
    point = tmp_path / "hung"
    point.mkdir()
    device = hang(point)
    yield point
    os.close(device)
    subprocess.run(["umount", "-l", str(point)], capture_output=True)


@pytest.fixture
def mirror(tmp_path):
    """A FUSE file system that answers, and the process that does: once that is stopped, it hangs."""
    point, root = tmp_path / "mirror", tmp_path / "mirrored"
    point.mkdir()
    root.mkdir(mode=0o755)
    device = hang(point)
    server = subprocess.Popen(["/usr/bin/python3", os.path.join(os.path.dirname(__file__), "fuse_mirror.py"), str(root), str(device)],
                              pass_fds=[device])
    yield point, server
    server.kill()
    server.wait()
    os.close(device)
    subprocess.run(["umount", "-l", str(point)], capture_output=True)


class Disk:
    """An ext4 on a loop device, of which nothing is in memory, and whose device can stop answering."""

    def __init__(self, point, loop, server):
        self.point, self.loop, self.server = point, loop, server

    def forget(self):
        """What is in memory of it leaves that."""
        subprocess.run(["umount", str(self.point)], check=True)
        subprocess.run(["mount", self.loop, str(self.point)], check=True)

    def drop(self):
        """The same while it is in use, as when memory is short. No other disk's: other tests count what waits for those."""
        subprocess.run(["sync", "-f", str(self.point)], check=True)
        for path in self.point.rglob("*"):
            if path.is_file():
                with open(path, "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        subprocess.run(["mount", "-o", "remount", str(self.point)], check=True)
        subprocess.run(["blockdev", "--flushbufs", self.loop], check=True)

    def hang(self):
        self.server.send_signal(signal.SIGSTOP)

    def answer(self):
        self.server.send_signal(signal.SIGCONT)


@pytest.fixture
def disk(mirror, tmp_path):
    shown, server = mirror
    point = tmp_path / "disk"
    point.mkdir()
    image = tmp_path / "mirrored" / "disk.img"
    loop = None
    try:
        for argv in (["truncate", "-s", "16M", str(image)], ["mkfs.ext4", "-q", str(image)]):
            subprocess.run(argv, check=True, capture_output=True)
        loop = subprocess.run(["losetup", "-f", "--show", str(shown / "disk.img")], check=True, capture_output=True,
                              text=True).stdout.strip()
        subprocess.run(["mount", loop, str(point)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        lacking(f"no ext4 on a loop device on FUSE: {error}")
    yield Disk(point, loop, server)
    server.send_signal(signal.SIGCONT)
    eventually(lambda: subprocess.run(["umount", str(point)], capture_output=True).returncode == 0, "the unmount")
    subprocess.run(["losetup", "-d", loop], check=True)


def on_disk(agent, below, kind):
    """The credential demo with one thing on the disk."""
    demo = agent.credential()
    below.mkdir(parents=True)
    if kind == "token":
        (below / "token").write_bytes((agent.cloud.volumes["demo"] / "token").read_bytes())
        demo["token"] = {"file": str(below / "token")}
    elif kind == "ca_file":
        (below / "ca.pem").write_bytes(pathlib.Path(agent.cloud.ca).read_bytes())
        demo["exchange"]["aws"]["ca_file"] = str(below / "ca.pem")
    else:
        demo["publish"] = one_file(below / "creds.json") if kind == "file" else a_directory(below / "out")
    return demo


def check_others(agent, disk, before):
    """Nobody waits for the disk but demo, if it has to: its generation is BEFORE. All is well once the disk answers."""
    assert slowest_answer(agent, lambda: "has not answered" in error_of(agent) or agent.generation() > before) < HANG_S
    others = agent.generation("other")
    assert agent.request("POST", "/v1/credentials/other/rotate")[0] == 202
    assert slowest_answer(agent, lambda: agent.generation("other") > others) < HANG_S
    disk.answer()
    eventually(lambda: agent.generation() > before, lambda: agent.log)
    agent.wait_state("fresh")


@root_only
@pytest.mark.parametrize("kind", ["token", "ca_file"])
def test_a_reload_waits_for_no_disk(agent, disk, kind):
    """It brings a file of which nothing is in memory."""
    demo = on_disk(agent, disk.point / "a" / "b", kind)
    agent.configure(agent.credential("other")).start()
    agent.wait_state("fresh", "other")
    disk.forget()
    disk.hang()
    agent.configure(demo, agent.credential("other"))
    agent.process.send_signal(signal.SIGHUP)
    check_others(agent, disk, 0)
    agent.stop()


@root_only
@pytest.mark.parametrize("kind", ["token", "ca_file", "file", "directory"])
def test_nobody_waits_for_a_disk_that_hangs_once_memory_is_short(agent, disk, kind):
    """What was in memory of it is not there any more."""
    demo = on_disk(agent, disk.point / "a" / "b", kind)
    agent.configure(demo, agent.credential("other")).start()
    agent.wait_state("fresh")
    agent.wait_state("fresh", "other")
    disk.drop()
    disk.hang()
    before = agent.generation()
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    check_others(agent, disk, before)
    agent.stop()


def waits_for_disk(agent):
    return pathlib.Path(f"/proc/{agent.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "D"


@root_only
def test_what_a_slow_disk_leads_to_at_the_start_can_be_read(agent, disk, tmp_path_factory):
    """A link on it leads to a directory that the agent may read only because it is known at the start."""
    demo = on_disk(agent, disk.point / "a" / "b", "ca_file")
    link, real = disk.point / "a" / "b" / "ca.pem", tmp_path_factory.mktemp("real") / "ca.pem"
    real.write_bytes(link.read_bytes())
    link.unlink()
    link.symlink_to(real)
    agent.configure(demo)
    disk.forget()
    disk.hang()
    agent.start(wait=False)
    eventually(lambda: agent.socket.exists() or waits_for_disk(agent), "the agent")
    disk.answer()
    eventually(lambda: agent.socket.exists() and agent.generation() > 0, lambda: agent.log)
    agent.stop()


@root_only
def test_a_hung_file_system_keeps_nobody_else_waiting(agent, hung):
    agent.configure(agent.credential(publish={"directory": str(hung / "out"), "files": [{"name": "t", "format": "token"}]}),
                    agent.credential("other")).start()
    agent.wait_state("fresh", "other")
    assert slowest_answer(agent, lambda: "has not answered for 10 s" in error_of(agent)) < HANG_S
    began = time.monotonic()
    agent.stop()
    assert time.monotonic() - began < 8


@root_only
@pytest.mark.parametrize("kind", ["file", "directory"])
def test_many_targets_that_hang_hold_up_no_other_at_the_start(agent, hung, kind):
    """More than there are children at a time, slow ones among them."""
    target = one_file if kind == "file" else a_directory
    agent.configure(*[agent.credential(f"demo-{i}", publish=target(hung / f"out-{i}")) for i in range(80)],
                    agent.credential("other")).start()
    agent.wait_state("fresh", "other")
    others = [c for c in agent.request("GET", "/v1/credentials")[1]["credentials"] if c["name"] != "other"]
    assert not any(c.get("last_error") for c in others), "it waited until the first ones were given up"


@root_only
def test_directories_that_cannot_be_made_hold_up_the_start_once(agent, frozen):
    """Landlock wants those that the files are to be in."""
    subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    try:
        began = time.monotonic()
        agent.configure(*[agent.credential(f"demo-{i}", publish=a_directory(frozen / f"{i}" / "in" / "out")) for i in range(40)],
                        agent.credential("other")).start()
        agent.wait_state("fresh", "other")
        assert time.monotonic() - began < 15, "each took half a second"
        assert agent.log.count("cannot make") == 40
    finally:
        subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
    eventually(lambda: all(agent.status(f"demo-{i}").get("state") == "fresh" for i in range(40)), lambda: agent.log)


@root_only
def test_a_target_that_hangs_holds_back_no_other(agent, frozen, hung):
    """It has its turn after those that answer; so has one that did not answer the last time."""
    good = agent.dir / "good.json"
    agent.configure(agent.credential(publish=[one_file(hung / "x"), one_file(frozen / "creds.json"), one_file(good)])).start()
    eventually(good.exists, lambda: agent.log)
    wait_error(agent, "has not answered for 10 s")
    assert (frozen / "creds.json").exists()
    subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    for limit_s in (30, 8):
        agent.wait_state("backoff")
        before = good.read_bytes()
        assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
        eventually(lambda: good.read_bytes() != before, lambda: agent.log, limit_s)


@root_only
@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_link_to_a_hung_file_system_keeps_nobody_else_waiting(agent, home, hung, kind):
    """The consumer's own link leads there from a disk that answers."""
    as_consumer("ln", "-s", str(hung), str(home / "linked"))
    path = home / "linked" / "creds"
    agent.configure(agent.credential(publish=one_file(path) if kind == "file" else a_directory(path)),
                    agent.credential("other")).start()
    agent.wait_state("fresh", "other")
    assert slowest_answer(agent, lambda: "has not answered for 10 s" in error_of(agent)) < HANG_S


@pytest.fixture
def memory():
    """A directory in memory, where the agent writes itself."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="credfresh-test-") as path:
        yield pathlib.Path(path)


PLACES = ("file", "lock", "directory", "generation", "file in it", "acknowledge")


def published_at(agent, here, at):
    """The credential AT, which a consumer reads in HERE, and where that consumer can mount something, after a publish."""
    path, acknowledged = here / at / "out", here / at / "acknowledged"
    acknowledged.parent.mkdir()
    acknowledged.write_text("0")
    publish = ({"profile": {"path": str(path)}} if at == "lock" else one_file(path) if at in ("file", "acknowledge") else a_directory(path))
    point = {"lock": path.with_name("out.lock"), "generation": path / "..data", "file in it": path / "token",
             "acknowledge": acknowledged}.get(at, path)
    return agent.credential(at.replace(" ", "-"), publish=publish, acknowledge=[{"file": str(acknowledged)}]), point


@root_only
@pytest.mark.parametrize("where", ["disk", "memory"])
def test_hung_mounts_at_targets_keep_nobody_else_waiting(agent, memory, where):
    """A user may mount FUSE at what is its own: a file, its lock, a directory or what is in it. Of what lies in memory the agent
    writes itself, and all of it is looked at once a minute."""
    made = [published_at(agent, memory if where == "memory" else agent.dir, at) for at in PLACES]
    names = [credential["name"] for credential, _ in made] + ["other"]
    agent.configure(*(credential for credential, _ in made), agent.credential("other")).start()
    for name in names:
        agent.wait_state("fresh", name)
    started = time.monotonic()
    points = [point.resolve() for _, point in made]
    devices = []
    try:
        for point in points:
            devices.append(hang(point, 0o40000 if point.is_dir() else 0o100000))
        before = agent.generation("other")
        for name in names:
            assert agent.request("POST", f"/v1/credentials/{name}/rotate")[0] == 202
            end = time.monotonic() + 0.5
            assert slowest_answer(agent, lambda: time.monotonic() > end) < HANG_S, name
        eventually(lambda: agent.generation("other") > before, lambda: agent.log)
        assert slowest_answer(agent, lambda: time.monotonic() > started + 62, 70) < HANG_S
    finally:
        for device, point in zip(devices, points):
            os.close(device)
            subprocess.run(["umount", "-l", str(point)], capture_output=True)


@root_only
@pytest.mark.parametrize("kind", ["ours", "existing", "there"])
def test_an_authorization_file_on_a_hung_file_system_keeps_nobody_waiting(agent, home, hung, kind):
    """The consumer replaces the file by a link that leads there; or it is said to lie there."""
    path = hung / "auth" if kind == "there" else home / "auth"
    at, endpoints = served_by(path, **({"mode": "0644"} if kind == "ours" else {"existing": True}))
    if kind == "existing":
        path.write_text("A" * 43)
    agent.configure(agent.credential(), agent.credential("other"), endpoints=endpoints).start()
    agent.wait_state("fresh")
    if kind != "there":
        secret = path.read_text()
        eventually(lambda: ask(at, "/aws/demo", headers={"Authorization": secret}).status == 200, lambda: agent.log)
        as_consumer("rm", "-f", str(path))
        as_consumer("ln", "-s", str(hung / "auth"), str(path))
    assert slowest_answer(agent, lambda: ask(at, "/aws/demo", headers={"Authorization": "x"}).status == 503) < HANG_S
    assert f"the content of {path} are not served" in agent.log
    agent.wait_state("fresh", "other")


@root_only
def test_clients_are_served_while_the_disk_of_their_authorization_file_hangs(agent, disk):
    path = disk.point / "auth"
    path.write_text("A" * 43)
    path.chmod(0o600)
    at, endpoints = served_by(path, existing=True)
    agent.configure(agent.credential(), endpoints=endpoints).start()
    agent.wait_state("fresh")
    served = lambda: ask(at, "/aws/demo", headers={"Authorization": "A" * 43}).status  # noqa: E731
    eventually(lambda: served() == 200, lambda: agent.log)
    disk.drop()
    disk.hang()
    end = time.monotonic() + 4
    assert slowest_answer(agent, lambda: served() != 200 or time.monotonic() > end) < HANG_S
    assert served() == 200, agent.log
    disk.answer()
    agent.stop()


@root_only
@pytest.mark.parametrize("when", ["start", "request"])
def test_an_authorization_file_on_a_frozen_file_system_keeps_nobody_waiting(agent, frozen, when):
    """It is to be made at the start, or again after it was removed: a frozen disk is noticed by who writes."""
    path = frozen / "auth"
    at, endpoints = served_by(path)
    agent.configure(agent.credential(), agent.credential("other"), endpoints=endpoints)
    secret = "x"
    if when == "request":
        agent.start()
        agent.wait_state("fresh")
        eventually(path.exists, lambda: agent.log)
        secret = path.read_text()
        path.unlink()
    subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    if when == "start":
        agent.start(wait=False)
        eventually(agent.socket.exists, lambda: agent.log)
    answers = []
    ended = lambda: "its file system has not answered for 10 s" in agent.log  # noqa: E731
    assert slowest_answer(agent, lambda: answers.append(ask(at, "/aws/demo", headers={"Authorization": secret}).status) or ended()) < HANG_S
    agent.wait_state("fresh", "other")
    # A second is what a file that was read holds.
    assert set(answers) <= ({503} if when == "start" else {200, 503}) and answers[-1] == 503
    assert len(children(agent)) <= 2, children(agent)
    subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
    eventually(lambda: path.exists() and ask(at, "/aws/demo", headers={"Authorization": path.read_text()}).status == 200,
               lambda: agent.log)
    assert when == "start" or path.read_text() == secret


@root_only
def test_a_directory_that_becomes_such_a_link_keeps_nobody_waiting(agent, home, hung):
    """After the publish, and watched: the watch moves to what is there now."""
    out = home / "creds"
    agent.configure(agent.credential(publish=a_directory(out))).start()
    agent.wait_state("fresh")
    as_consumer("/usr/bin/python3", "-c", f"import os; os.rename({str(out)!r}, {str(home / 'away')!r}); "
                f"os.symlink({str(hung / 'x')!r}, {str(out)!r})")
    assert slowest_answer(agent, lambda: agent.status().get("state") not in ("fresh", None)) < HANG_S
    end = time.monotonic() + 2
    assert slowest_answer(agent, lambda: time.monotonic() > end) < HANG_S


@root_only
def test_a_hook_program_on_a_hung_file_system_keeps_nobody_waiting(agent, hung):
    """The hook ends by its timeout; what waits behind it runs."""
    hooked = agent.dir / "hooked"
    agent.configure(agent.credential(reload=[{"exec": [str(hung / "program")], "timeout": "1s", "on_first": "run"}]),
                    agent.credential("other", reload=[{"exec": ["/usr/bin/touch", str(hooked)], "on_first": "run"}])).start()
    agent.wait_state("fresh", "other")
    assert slowest_answer(agent, lambda: "took longer than its timeout of 1000 ms" in agent.log) < HANG_S
    eventually(hooked.exists, lambda: agent.log)
    began = time.monotonic()
    agent.stop()
    assert time.monotonic() - began < 8


@root_only
@pytest.mark.parametrize("kind", ["token", "ca_file", "both"])
def test_a_source_on_a_hung_file_system_keeps_nobody_waiting(agent, hung, kind):
    """The file is read by a child, which ends once the file system answers, here with an error."""
    demo = agent.credential()
    if kind != "ca_file":
        demo["token"] = {"file": str(hung / "token")}
    if kind != "token":
        demo["exchange"]["aws"]["ca_file"] = str(hung / "ca.pem")
    agent.configure(demo, agent.credential("other")).start()
    agent.wait_state("fresh", "other")
    assert slowest_answer(agent, lambda: "its file system has not answered" in error_of(agent)) < HANG_S
    assert str(hung) in error_of(agent)
    end = time.monotonic() + 3
    assert slowest_answer(agent, lambda: time.monotonic() > end) < HANG_S
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert len(children(agent)) <= 4, children(agent)
    began = time.monotonic()
    agent.stop()
    assert time.monotonic() - began < 8


@root_only
def test_a_token_that_a_child_reads_is_looked_at_once_a_minute(agent, home):
    """It may lie on a file system that hangs, so nothing announces its changes."""
    volume = home / "volume"
    volume.mkdir()
    issued = agent.cloud.volumes["demo"] / "token"
    (volume / "token").write_bytes(issued.read_bytes())
    as_consumer("ln", "-s", str(volume), str(home / "link"))
    passed_on = agent.credential(token={"file": str(home / "link" / "token")}, exchange=None,
                                 publish={"directory": str(agent.out), "files": [{"name": "t", "format": "token"}]})
    agent.configure(passed_on).start()
    agent.wait_generation(1)
    assert "polling once a minute" in agent.log
    agent.cloud.admin("/volume/demo/renew", {})
    (volume / "token").write_bytes(issued.read_bytes())
    agent.wait_generation(2, limit_s=90)
    assert (agent.out / "t").read_bytes().strip() == issued.read_bytes().strip()


@root_only
@pytest.mark.parametrize("kind", ["there", "link"])
def test_a_pid_file_on_a_hung_file_system_keeps_nobody_waiting(agent, home, hung, kind):
    """The agent is to end with the process that it names."""
    path = hung / "pid" if kind == "there" else home / "pid"
    if kind == "link":
        as_consumer("ln", "-s", str(hung / "pid"), str(path))
    agent.configure(exit_with={"pid_file": str(path)}).start()
    assert slowest_answer(agent, lambda: f"exit_with: {path}" in agent.log) < HANG_S
    agent.wait_state("fresh")
    end = time.monotonic() + 1
    assert slowest_answer(agent, lambda: time.monotonic() > end) < HANG_S


@root_only
def test_a_reload_meanwhile_changes_nothing_at_the_next_target(agent, hung):
    """What was rendered waits for the first target to answer while the configuration is replaced."""
    out, name = agent.dir / "second", "the-token-of-the-second-target"
    demo = agent.credential(publish=[one_file(hung / "creds.json"), a_directory(out, name)])
    agent.configure(demo).start()
    agent.wait_state("publishing")
    for count in range(4):
        agent.configure(demo, *[agent.credential(f"other-{i}") for i in range(count)])
        assert agent.request("POST", "/v1/reload")[0] == 200
    wait_error(agent, "has not answered for 10 s")
    assert (out / name).stat().st_size > 0
    assert [p.name for p in out.iterdir() if not p.name.startswith("..")] == [name]


@root_only
def test_what_a_reload_has_left_behind_is_reaped(agent, frozen):
    """The credential goes while its child hangs in the kernel, which ends it only later."""
    subprocess.run(["fsfreeze", "-f", str(frozen)], check=True)
    try:
        agent.configure(agent.credential(publish=one_file(frozen / "creds.json")), agent.credential("other")).start()
        eventually(lambda: "D" in children(agent), lambda: agent.log)
        agent.configure(agent.credential("other"))
        assert agent.request("POST", "/v1/reload")[0] == 200
        assert "D" in children(agent)
    finally:
        subprocess.run(["fsfreeze", "-u", str(frozen)], check=True)
    eventually(lambda: not {"D", "Z"} & set(children(agent)), lambda: str(children(agent)))
