# SPDX-License-Identifier: MIT
"""The agent's sandbox: what is in force, what each key turns off, and what a reload may not ask for any more."""
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import tempfile

import pytest
import yaml

from conftest import Mounted, eventually, let_others_in, needs_namespace
from endpoint_client import ask, free_port
from processes import ROLE

PARTS = ["no_new_privs", "capabilities", "seccomp", "landlock", "landlock_read"]
# The numbers of linux/capability.h.
CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, BIND = 0, 1, 3, 4, 5, 6, 7, 10


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


def mask(*capabilities):
    return sum(1 << one for one in capabilities)


@pytest.fixture
def outside():
    """A directory that nothing else of a test is in or next to."""
    path = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp")) / "deep"
    path.mkdir()
    yield path
    shutil.rmtree(path.parent)


def of_process(agent):
    text = open(f"/proc/{agent.process.pid}/status").read()
    return {key: value for key, value in re.findall(r"^(\w+):\s+(\S+)$", text, re.M)}


def parts(agent):
    return {one["part"]: one for one in agent.request("GET", "/v1/credentials")[1]["sandbox"]}


def metrics_of(agent):
    return dict(re.findall(r'credfresh_sandbox\{part="(\w+)"\} (\d)', agent.request("GET", "/metrics")[1]))


def hook(agent):
    """A hook that writes down what it may do."""
    return {"exec": ["/bin/sh", "-c", f"cat /proc/self/status > {agent.dir}/hook"], "on_first": "run"}


def seen_by_hook(agent):
    eventually(lambda: "done for generation" in agent.log, lambda: agent.log)
    return dict(re.findall(r"^(NoNewPrivs|Seccomp|CapEff):\s+(\S+)$", (agent.dir / "hook").read_text(), re.M))


def test_all_of_it_is_on(agent):
    agent.configure(agent.credential(reload=[hook(agent)])).start()
    agent.wait_state("fresh")
    on = parts(agent)
    assert list(on) == PARTS
    missing = [part for part, one in on.items() if not one["on"]]
    # What the kernel or this build lacks is reported; anything else is a mistake.
    assert all(re.search("the kernel has no|this build has no", on[part]["why_not"]) for part in missing), on
    assert metrics_of(agent) == {part: "0" if part in missing else "1" for part in PARTS}
    line = next(line for line in agent.log.splitlines() if " sandbox: " in line)
    assert all(part in line for part in PARTS)
    now = of_process(agent)
    assert now["NoNewPrivs"] == "1"
    if "seccomp" not in missing:
        assert now["Seccomp"] == "2"
    # The hook has to end in time, and may be another user's process by then.
    kept = mask(DAC_OVERRIDE, KILL)
    assert int(now["CapEff"], 16) & ~kept == 0
    assert os.geteuid() != 0 or int(now["CapBnd"], 16) & ~kept == 0
    seen = seen_by_hook(agent)
    assert seen["NoNewPrivs"] == "1"
    assert seen["Seccomp"] == re.search(r"^Seccomp:\s+(\d)", open("/proc/self/status").read(), re.M)[1]
    if os.geteuid() == 0:
        assert int(seen["CapEff"], 16) & ~kept != 0 or int(now["CapEff"], 16) == int(seen["CapEff"], 16)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_can_be_turned_off(agent, part):
    agent.configure(agent.credential(reload=[hook(agent)]), sandbox={part: False}).start()
    agent.wait_state("fresh")
    assert parts(agent)[part] == {"part": part, "on": False, "why_not": "turned off in the configuration"}
    assert metrics_of(agent)[part] == "0"
    assert f"sandbox without {part}: turned off in the configuration" in agent.run("status").stdout
    now = of_process(agent)
    if part == "seccomp":
        assert now["Seccomp"] != "2"
    if part == "no_new_privs":
        assert seen_by_hook(agent)["NoNewPrivs"] == "0"
    if part == "capabilities":
        assert now["CapEff"] == re.search(r"^CapEff:\s+(\S+)", open("/proc/self/status").read(), re.M)[1]


def test_a_reload_cannot_ask_for_what_was_given_up(agent, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    agent.configure().start()
    agent.wait_state("fresh")
    if not parts(agent)["landlock"]["on"]:
        pytest.skip("the kernel has no Landlock")
    agent.configure(agent.credential(publish={"file": {"path": str(elsewhere / "creds.json"), "format": "json"}}))
    code, answer = agent.request("POST", "/v1/reload")
    assert code == 400 and f"{elsewhere} is outside of the directories" in json.dumps(answer)
    assert "restart it" in json.dumps(answer)
    agent.stop()
    agent.start()
    eventually((elsewhere / "creds.json").exists, lambda: agent.log)
    # What is turned off stays on until then.
    agent.configure(agent.credential(), sandbox={"landlock": False})
    code, answer = agent.request("POST", "/v1/reload")
    assert code == 400 and "sandbox.landlock cannot be turned off while the agent runs" in json.dumps(answer)


@pytest.mark.parametrize("next_sandbox", [{"seccomp": True, "landlock": False}, {"landlock": False}])
def test_a_reload_cannot_turn_a_part_on(agent, next_sandbox):
    """It would be believed to be on."""
    off = {"seccomp": False, "landlock": False}
    agent.configure(agent.credential(), sandbox=off).start()
    agent.wait_state("fresh")
    agent.configure(agent.credential(), sandbox=next_sandbox)
    code, answer = agent.request("POST", "/v1/reload")
    assert code == 400 and "sandbox.seccomp cannot be turned on while the agent runs: restart it" in json.dumps(answer)
    agent.configure(agent.credential(), sandbox=off, keep_previous="20m")
    assert agent.request("POST", "/v1/reload")[0] == 200


@pytest.mark.parametrize("again", [True, False])
def test_a_directory_that_was_made_again_takes_a_restart(agent, tmp_path, again):
    """As systemd does with a consumer's RuntimeDirectory. The error says so, and so does a reload that needs it now."""
    above = tmp_path / "run"
    authorization = above / "auth"
    above.mkdir()
    demo = agent.credential(publish={"directory": str(above / "out"), "files": [{"name": "token", "format": "token"}]})
    at = f"127.0.0.1:{free_port()}"
    endpoints = [{"listen": at, "aws_container": {"credential": "other", "authorization": {"file": str(authorization)}}}]
    agent.configure(demo, agent.credential("other"), endpoints=endpoints).start()
    if not parts(agent)["landlock"]["on"]:
        pytest.skip("the kernel has no Landlock")
    agent.wait_state("fresh")
    agent.wait_state("fresh", "other")
    above.rename(tmp_path / "gone")  # first, because what the agent puts back meanwhile would be removed, too
    shutil.rmtree(tmp_path / "gone")
    if again:
        above.mkdir()
    words = "removed or made again since the agent started"
    eventually(lambda: words in ((agent.status().get("last_error") or {}).get("message", "")), lambda: agent.log)
    assert "restart it" in agent.status()["last_error"]["message"]
    eventually(lambda: ask(at, "/aws/other", headers={"Authorization": "x"}).status == 503, lambda: agent.log)
    assert any(words in line and str(authorization) in line for line in agent.log.splitlines())
    # What is the consumer's alone to spoil holds up no reload of anything else.
    agent.configure(demo, agent.credential("other"), agent.credential("third"), endpoints=endpoints)
    assert agent.request("POST", "/v1/reload")[0] == 200
    third = agent.credential("third", publish={"file": {"path": str(above / "new" / "creds.json"), "format": "json"}})
    agent.configure(demo, agent.credential("other"), third, endpoints=endpoints)
    code, answer = agent.request("POST", "/v1/reload")
    assert code == 400 and words in json.dumps(answer) and "restart it" in json.dumps(answer)
    agent.stop()
    agent.start()
    agent.wait_state("fresh", "third")
    agent.wait_state("fresh")


def one_file(path):
    return {"file": {"path": str(path), "format": "json"}}


def start(agent, *credentials):
    agent.configure(*credentials).start()
    agent.wait_state("fresh")
    if not parts(agent)["landlock"]["on"]:
        pytest.skip("the kernel has no Landlock")


def reload_refused(agent, *credentials):
    agent.configure(*credentials)
    code, answer = agent.request("POST", "/v1/reload")
    answer = json.dumps(answer)
    assert code == 400 and "is outside of the directories" in answer and "restart it" in answer, answer


def test_missing_directories_open_nothing_above_them(agent, tmp_path):
    """The nearest directory that exists may be /run, or /."""
    demo = agent.credential(publish=one_file(tmp_path / "missing" / "deep" / "creds.json"))
    start(agent, demo)
    assert (tmp_path / "missing" / "deep").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "missing" / "deep" / "creds.json").exists()
    reload_refused(agent, demo, agent.credential("other", publish=one_file(tmp_path / "else" / "creds.json")))
    agent.configure(demo, agent.credential("other", publish=one_file(tmp_path / "missing" / "deep" / "more" / "creds.json")))
    assert agent.request("POST", "/v1/reload")[0] == 200
    agent.wait_state("fresh", "other")


@pytest.mark.skipif(not os.access("/", os.W_OK), reason="writes in /")
def test_a_file_in_the_root_directory_leaves_landlock_out(agent):
    """It would allow to write everywhere, and still be reported as on."""
    path = pathlib.Path(f"/credfresh-test-{os.getpid()}.json")
    try:
        agent.configure(agent.credential(publish=one_file(path))).start()
        agent.wait_state("fresh")
        landlock = parts(agent)["landlock"]
        assert not landlock["on"] and "it would allow to write everywhere" in landlock["why_not"], landlock
        assert metrics_of(agent)["landlock"] == "0"
        line = next(line for line in agent.log.splitlines() if " sandbox: " in line)
        assert "without landlock (it would allow to write everywhere" in line
        assert "sandbox without landlock: it would allow to write everywhere" in agent.run("status").stdout
        assert "it would allow to write everywhere" in agent.run("doctor", "--offline", "-v").stdout
    finally:
        path.unlink(missing_ok=True)


@pytest.mark.skipif(not os.access("/", os.W_OK), reason="writes in /")
def test_a_directory_in_the_root_directory_is_allowed_by_itself(agent, tmp_path):
    path = pathlib.Path(f"/credfresh-test-{os.getpid()}")
    path.mkdir()
    try:
        demo = agent.credential(publish={"directory": str(path), "files": [{"name": "token", "format": "token"}]})
        start(agent, demo)
        assert (path / "token").exists()
        reload_refused(agent, demo, agent.credential("other", publish=one_file(tmp_path / "creds.json")))
    finally:
        agent.stop()
        shutil.rmtree(path)


def test_a_link_below_an_allowed_directory(agent, tmp_path):
    """What its path seems to allow, the kernel refuses."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (agent.dir / "link").symlink_to(elsewhere)
    other = agent.credential("other", publish=one_file(agent.dir / "link" / "creds.json"))
    start(agent, agent.credential())
    reload_refused(agent, agent.credential(), other)
    agent.stop()
    start(agent, agent.credential(), other)
    agent.wait_state("fresh", "other")
    # Later the link leads to yet another place.
    (tmp_path / "third").mkdir()
    (agent.dir / "link").unlink()
    (agent.dir / "link").symlink_to(tmp_path / "third")
    words = "a link leads outside of the directories that the agent may write to since its start (landlock): restart it"
    assert agent.request("POST", "/v1/credentials/other/rotate")[0] == 202
    eventually(lambda: words in ((agent.status("other").get("last_error") or {}).get("message", "")), lambda: agent.log)


# ---- capabilities ----

def given(agent, **over):
    return agent.credential(publish={"file": {"path": str(agent.dir / "creds.json"), "format": "json", **over}})


NEEDS = {
    "nothing": (lambda agent, path: agent.credential(), []),
    "a group": (lambda agent, path: given(agent, group="65534"), [CHOWN, FOWNER, FSETID]),
    "an owner": (lambda agent, path: given(agent, owner="65534"), [CHOWN, FOWNER, FSETID, SETUID, SETGID, KILL]),
    "a directory of another user": (lambda agent, path: agent.credential(publish=one_file(path / "creds.json")),
                                    [SETUID, SETGID, KILL]),
    "a signal": (lambda agent, path: agent.credential(reload=[{"signal": {"signal": "HUP", "pid_file": str(agent.dir / "p")}}]),
                 [KILL]),
    "a program": (lambda agent, path: agent.credential(reload=[{"exec": ["/bin/true"]}]), [KILL]),
    "a request": (lambda agent, path: agent.credential(reload=[{"http": {"url": "http://127.0.0.1:1/"}}]),
                  []),
}
WORDS = {
    "a group": "it gives files to an owner or a group now",
    "an owner": "it gives files to an owner or a group now",
    "a directory of another user": "it has files in directories of other users now",
    "a signal": "it signals processes or runs programs now",
    "a program": "it signals processes or runs programs now",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root's capabilities")
@pytest.mark.parametrize("what", NEEDS)
def test_only_the_capabilities_that_the_configuration_needs(agent, what):
    """And a reload that needs another one is refused, because it would not work."""
    make, needed = NEEDS[what]
    path = agent.dir / "theirs"
    path.mkdir()
    let_others_in(path)
    os.chown(path, 65534, 65534)
    agent.configure().start()
    agent.wait_state("fresh")
    assert int(of_process(agent)["CapEff"], 16) == mask(DAC_OVERRIDE)
    agent.configure(make(agent, path))
    code, answer = agent.request("POST", "/v1/reload")
    if what in WORDS:
        assert code == 400 and WORDS[what] in json.dumps(answer) and "restart it" in json.dumps(answer), answer
    else:
        assert code == 200, answer
    agent.stop()
    agent.start()
    agent.wait_state("fresh")
    assert int(of_process(agent)["CapEff"], 16) == mask(DAC_OVERRIDE, *needed)


def of_nobody(path, text=""):
    path.write_text(text)
    path.chmod(0o600)
    os.chown(path, 65534, 65534)
    return path


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root's capabilities")
def test_a_profile_in_a_file_of_another_user(agent):
    """The file keeps its owner without one in the configuration."""
    path = of_nobody(agent.dir / "credentials", "[other]\nregion = eu-west-1\n")
    agent.configure(agent.credential(publish={"profile": {"path": str(path), "name": "work"}})).start()
    agent.wait_state("fresh")
    assert "[work]" in path.read_text()
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root's capabilities")
def test_a_file_of_another_user_in_place(agent):
    """As one that is mounted alone: it gets its mode, and keeps its owner."""
    needs_namespace("--mount")
    source = of_nobody(agent.dir / "source")
    (agent.dir / "mounted").write_text("")
    agent.configure(given(agent, path=str(agent.dir / "mounted"), in_place=True, mode="0640"))
    script = f"mount --bind {source} {agent.dir}/mounted && exec \"$@\""
    agent.start(wrapper=("unshare", "--mount", "sh", "-c", script, "sh"))
    agent.wait_state("fresh")
    assert source.stat().st_mode & 0o777 == 0o640 and source.stat().st_uid == 65534


def lasting(agent):
    """A program that continues as another user, and the file with its process id."""
    path = agent.dir / "program"
    path.write_text(f"#!/bin/sh\necho $$ > {agent.dir}/number\n"
                    "exec setpriv --reuid=65534 --regid=65534 --clear-groups sleep 600\n")
    path.chmod(0o755)
    return str(path), agent.dir / "number"


def runs_as_nobody(number):
    try:
        status = pathlib.Path(f"/proc/{number.read_text().strip()}/status").read_text()
    except OSError:
        return False
    return "State:\tZ" not in status and re.search(r"^Uid:\t65534", status, re.M) is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root's capabilities")
def test_a_program_of_another_user_is_ended(agent):
    program, number = lasting(agent)
    config = yaml.safe_load(pathlib.Path(agent.cloud.ready["kubeconfig"]).read_text())
    config["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": program,
                                           "interactiveMode": "Never"}}
    (agent.dir / "kubeconfig").write_text(json.dumps(config))
    over = {"token": {"request": {"service_account": "demo", "namespace": "default", "audiences": ["sts.amazonaws.com"],
                                  "kubeconfig": str(agent.dir / "kubeconfig")}}}
    agent.configure(agent.credential(publish=one_file(agent.dir / "creds.json"), **over)).start()
    eventually(lambda: number.exists() and runs_as_nobody(number), lambda: agent.log)
    agent.stop()
    try:
        eventually(lambda: not runs_as_nobody(number), "the end of the program")
    finally:
        if runs_as_nobody(number):
            os.kill(int(number.read_text()), signal.SIGKILL)


# ---- reading ----

def start_reading(agent, *credentials):
    agent.configure(*credentials).start()
    part = parts(agent)["landlock_read"]
    if not part["on"] and "the kernel has no" in part["why_not"]:
        pytest.skip("the kernel has no Landlock")
    assert part["on"], part


def message(agent, name="demo"):
    return (agent.status(name).get("last_error") or {}).get("message", "")


def with_token(agent, path, name="demo"):
    return agent.credential(name, token={"file": str(path)})


def copy_token(agent, path):
    shutil.copy(agent.cloud.volumes["demo"] / "token", path)


def test_a_reload_that_reads_elsewhere(agent, outside):
    copy_token(agent, outside / "token")
    start_reading(agent, agent.credential())
    agent.wait_state("fresh")
    agent.configure(agent.credential(), with_token(agent, outside / "token", "other"))
    code, answer = agent.request("POST", "/v1/reload")
    assert code == 400 and f"{outside}/token is outside of the directories that the agent may read" in json.dumps(answer)
    assert "sandbox.landlock_read: false" in json.dumps(answer)
    agent.stop()
    agent.start()
    agent.wait_state("fresh", "other")


def test_reading_without_limits(agent, outside):
    """`landlock_read: false`, next to the other parts."""
    copy_token(agent, outside / "token")
    off = {"landlock_read": False}
    agent.configure(agent.credential(), sandbox=off).start()
    agent.wait_state("fresh")
    assert not parts(agent)["landlock_read"]["on"]
    agent.configure(agent.credential(), with_token(agent, outside / "token", "other"), sandbox=off)
    assert agent.request("POST", "/v1/reload")[0] == 200
    agent.wait_state("fresh", "other")


def test_a_link_that_leads_elsewhere_later(agent, outside):
    """Where it led at the start can be read; by another path nothing can, not even by root."""
    private = outside / "private"
    private.mkdir()
    (private / "one").mkdir()
    copy_token(agent, private / "one" / "token")
    link = agent.dir / "token"
    link.symlink_to(private / "one" / "token")
    start_reading(agent, with_token(agent, link))
    agent.wait_state("fresh")
    other = outside / "other"
    other.mkdir()
    copy_token(agent, other / "token")
    link.unlink()
    link.symlink_to(other / "token")
    words = "it is or leads outside of the directories that the agent may read since its start (landlock_read): restart it"
    eventually(lambda: words in message(agent), lambda: agent.log)
    agent.stop()
    agent.start()
    agent.wait_state("fresh")
    eventually(lambda: not message(agent), lambda: agent.log)


def test_a_directory_of_a_source_may_be_made_again(agent, outside):
    """As one that is mounted later. One above it may not: that takes a restart, and the error says so."""
    directory = outside / "source" / "tokens"
    directory.mkdir(parents=True)
    copy_token(agent, directory / "token")
    start_reading(agent, with_token(agent, directory / "token"))
    agent.wait_state("fresh")
    generation = agent.generation()

    def make_again(path):
        path.rename(outside / "gone")
        shutil.rmtree(outside / "gone")
        directory.mkdir(parents=True)
        (directory / "token").write_text(agent.cloud.token())

    make_again(directory)
    agent.wait_generation(generation + 1)
    make_again(outside / "source")
    eventually(lambda: "removed or made again since the agent started" in message(agent), lambda: agent.log)
    assert "(landlock_read) lets it read the old one only: restart it" in message(agent)
    agent.stop()
    agent.start()
    agent.wait_state("fresh")
    eventually(lambda: not message(agent), lambda: agent.log)


def test_what_a_kubeconfig_names_can_be_read(agent, outside):
    """At the start; names of later ones only below what could be read before."""
    (outside / "ca").mkdir()
    kubeconfig = json.loads(json.dumps(yaml.safe_load(pathlib.Path(agent.cloud.ready["kubeconfig"]).read_text())))
    cluster = kubeconfig["clusters"][0]["cluster"]
    pem = base64.b64decode(cluster.pop("certificate-authority-data")) if "certificate-authority-data" in cluster else (
        pathlib.Path(cluster["certificate-authority"]).read_bytes())
    (outside / "ca" / "ca.crt").write_bytes(pem)
    cluster["certificate-authority"] = str(outside / "ca" / "ca.crt")
    mine = agent.dir / "kubeconfig"
    mine.write_text(json.dumps(kubeconfig))
    start_reading(agent, agent.credential(publish={"secret": {"name": "sandbox", "namespace": "default",
                                                              "kubeconfig": str(mine), "keys": [{"name": "token", "format": "token"}]}}))
    agent.wait_state("fresh")
    eventually(lambda: "holds generation" in agent.log, lambda: agent.log)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_link_of_another_user_opens_nothing(agent, outside):
    """A restart would not help, so that the error says what does."""
    let_others_in(agent.dir)
    outside.parent.chmod(0o755)
    directory = agent.dir / "theirs"
    directory.mkdir()
    copy_token(agent, outside / "token")
    (outside / "token").chmod(0o644)
    (directory / "token").symlink_to(outside / "token")
    os.lchown(directory / "token", 65534, 65534)
    os.chown(directory, 65534, 65534)
    start_reading(agent, with_token(agent, directory / "token"))
    eventually(lambda: "if one leads elsewhere, name the real path" in message(agent), lambda: agent.log, 20)


def test_a_mounted_secret_whose_directory_was_made_again(agent, outside):
    """Before it was there."""
    directory = outside / "mounts" / "secrets" / "keys"
    directory.parent.mkdir(parents=True)
    start_reading(agent, agent.credential(token=None, exchange=None, publish=one_file(agent.dir / "creds.json"),
                                          secret={"directory": str(directory), "pass_on": True}))
    eventually(lambda: message(agent), lambda: agent.log)
    (outside / "mounts").rename(outside / "gone")
    Mounted(directory).put({"aws_access_key_id": "AKIAADMINADMINADMIN0", "aws_secret_access_key": "admin-secret"})
    eventually(lambda: "(landlock_read) lets it read the old one only: restart it" in message(agent), lambda: agent.log, 30)


def test_a_descriptor_that_the_agent_was_started_with(agent, outside):
    copy_token(agent, outside / "token")
    agent.configure(with_token(agent, "/dev/fd/9")).start(wrapper=("sh", "-c", f'exec "$@" 9<{outside}/token', "sh"))
    agent.wait_state("fresh", limit_s=20)


def test_a_relative_configuration_that_is_a_link(agent, outside):
    """It may lead elsewhere later, or be a file."""
    directory = outside / "one" / "work"
    directory.mkdir(parents=True)
    (directory / "credfresh.yaml").symlink_to(agent.configure().config_path)
    agent.start(wrapper=("sh", "-c", f'cd {directory} && exec "$1" "$2" "$3" credfresh.yaml', "sh"))
    (directory / "credfresh.yaml").unlink()
    shutil.copy(agent.config_path, directory / "credfresh.yaml")
    code, answer = agent.request("POST", "/v1/reload")
    assert code == 200, answer


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
@pytest.mark.parametrize("relative", [False, True])
def test_a_resolver_that_starts_later(agent, outside, relative):
    """/etc/resolv.conf leads to what is not there yet: what is next to it shows what can be read."""
    needs_namespace("--mount")
    etc = agent.dir / "etc"
    shutil.copytree("/etc", etc, symlinks=True, ignore_dangling_symlinks=True)
    (etc / "resolv.conf").unlink(missing_ok=True)
    later = outside / "network" / "resolver"
    (etc / "resolv.conf").symlink_to((".." if relative else "") + str(later / "resolv.conf"))
    script = f"mount --bind {etc} /etc && exec \"$@\""
    agent.configure().start(wrapper=("unshare", "--mount", "sh", "-c", script, "sh"))
    agent.wait_state("fresh")
    if not parts(agent)["landlock_read"]["on"]:
        pytest.skip("the kernel has no Landlock")
    later.mkdir(parents=True)
    copy_token(agent, later / "token")
    agent.configure(agent.credential(), with_token(agent, later / "token", "other"))
    code, answer = agent.request("POST", "/v1/reload")
    assert code == 200, answer
    agent.wait_state("fresh", "other")


@pytest.mark.skipif(not os.access("/", os.W_OK), reason="writes in /")
def test_a_directory_in_the_root_directory_can_be_read(agent, outside):
    """By itself: it is no reason to leave reading as it was."""
    path, out = (pathlib.Path(f"/credfresh-{what}-{os.getpid()}") for what in ("read", "out"))
    path.mkdir()
    out.mkdir()
    try:
        copy_token(agent, path / "token")
        demo = agent.credential(token={"file": str(path / "token")},
                                publish={"directory": str(out), "files": [{"name": "token", "format": "token"}]})
        start_reading(agent, demo, agent.credential("other"))
        agent.wait_state("fresh")
        copy_token(agent, outside / "token")
        agent.configure(demo, with_token(agent, outside / "token", "other"))
        code, answer = agent.request("POST", "/v1/reload")
        assert code == 400 and f"{outside}/token is outside of the directories" in json.dumps(answer), answer
    finally:
        agent.stop()
        shutil.rmtree(path)
        shutil.rmtree(out)


@pytest.mark.skipif(not os.access("/", os.W_OK), reason="writes in /")
def test_a_source_without_a_directory_leaves_reading_as_it_was(agent):
    """Nothing less than everything would let it be read once it is there."""
    directory = pathlib.Path(f"/credfresh-source-{os.getpid()}")
    try:
        agent.configure(agent.credential(), with_token(agent, directory / "deep" / "token", "other")).start()
        agent.wait_state("fresh")
        part = parts(agent)["landlock_read"]
        assert not part["on"] and f"it would allow to read everywhere, for {directory}/deep/token" in part["why_not"], part
        assert f"sandbox without landlock_read: it would allow to read everywhere, for {directory}" in agent.run("status").stdout
        assert parts(agent)["landlock"]["on"] or "kernel" in parts(agent)["landlock"]["why_not"]
        (directory / "deep").mkdir(parents=True)
        copy_token(agent, directory / "deep" / "token")
        agent.wait_state("fresh", "other", limit_s=90)
    finally:
        agent.stop()
        shutil.rmtree(directory, ignore_errors=True)


def test_a_directory_in_a_volume_with_fsgroup(agent):
    """The kubelet makes such a volume set-group-id, and what is made in it is so, too."""
    volume = agent.dir / "volume"
    volume.mkdir()
    volume.chmod(0o2775)
    agent.configure(agent.credential(publish={"directory": str(volume / "app"), "files": [{"name": "token", "format": "token"}]})).start()
    agent.wait_state("fresh")
    assert (volume / "app").stat().st_mode & 0o7777 == 0o2755, agent.log
