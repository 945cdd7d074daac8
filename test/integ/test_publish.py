# SPDX-License-Identifier: MIT
"""Publishing: targets, formats, modes, and obstacles."""
import configparser
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from conftest import AS_NOBODY, CREDFRESH, ROLE, Mounted, eventually, let_others_in, needs_namespace

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


def publishing(agent, publish, **over):
    return agent.configure(agent.credential(publish=publish, **over))


def error_of(agent):
    return (agent.status().get("last_error") or {}).get("message", "")


def wait_error(agent, *words):
    eventually(lambda: all(word in error_of(agent) for word in words), f"{words} in: {error_of(agent)}\n{agent.log}")


def once(agent, status=0):
    done = agent.run("once", "--timeout", "20s")
    assert done.returncode == status, done.stderr
    return done.stderr


def rotate(agent):
    before = agent.generation()
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    agent.wait_generation(before + 1)


def token_only(agent, volume="demo", **over):
    """A credential without an exchange: the token is what is published."""
    over.setdefault("publish", {"directory": str(agent.out), "files": [{"name": "token", "format": "token"},
                                                                       {"name": "doc", "format": "json"}]})
    return agent.credential(exchange=None, token={"file": str(agent.cloud.volumes[volume] / "token")}, **over)


def mode(path):
    return oct(path.stat().st_mode & 0o7777)


# ---- targets and formats ----

def test_a_file_of_another_program_is_announced_before_it_is_replaced(agent_factory, cloud):
    """By check, doctor and the first publish. credfresh's own file is not, even if state_dir was lost, as /run is at boot."""
    agent = agent_factory(cloud)
    path = agent.dir / "credentials"
    publishing(agent, {"file": {"path": str(path), "format": "aws-credentials"}})
    words = f"{path} exists, was not written by credfresh, and will be replaced (57 bytes, last changed 2020-01-02T03:04:05Z)"

    def told():
        return [" ".join(agent.run(*argv).stdout.split()).count(words) for argv in (["check"], ["doctor", "--offline"])]

    assert told() == [0, 0]
    path.write_text("[default]\naws_access_key_id = A\n[mine]\nregion=eu-west-1\n\n")
    os.utime(path, (1577934245, 1577934245))
    assert told() == [1, 1]
    assert once(agent).count(words) == 1
    assert "[mine]" not in path.read_text()
    for lost in (False, True):
        if lost:
            shutil.rmtree(agent.state)
        assert told() == [0, 0]
        assert "was not written by" not in once(agent)
    path.write_text("")
    assert "was not written by" not in once(agent)


def test_a_docker_config_with_a_helper_is_announced(agent_factory, cloud):
    agent = agent_factory(cloud)
    path = agent.dir / "config.json"
    path.write_text('{"credsStore": "desktop", "auths": {}}')
    publishing(agent, {"file": {"path": str(path), "format": "docker-config"}},
               exchange={"aws": {"role_arn": ROLE, "region": "eu-west-1", "endpoint": cloud.http, "ecr": {"registries": [
                   "123456789012.dkr.ecr.eu-west-1.amazonaws.com"]}}})
    words = f"{path} has credsStore: docker asks that helper and ignores the logins that credfresh writes"
    for argv in (["check"], ["doctor", "--offline"]):
        assert words in " ".join(agent.run(*argv).stdout.split())
    path.write_text("{}")
    assert "docker asks" not in agent.run("check").stdout


def test_every_format_in_one_directory(agent):
    publishing(agent, {"directory": str(agent.out), "files": [
        {"name": "credentials", "format": "aws-credentials", "profile": "work"},
        {"name": "config-role", "format": "aws-config", "role_arn": ROLE, "token_path": "/run/token",
         "session_name": "me", "region": "eu-west-1"},
        {"name": "config-command", "format": "aws-config", "command": "/usr/bin/cat /run/x.json", "profile": "p"},
        {"name": "process.json", "format": "aws-credential-process"},
        {"name": "token", "format": "token"},
        {"name": "env", "format": "env"},
        {"name": "doc.json", "format": "json"}]})
    once(agent)
    doc = agent.published("doc.json")
    fields = doc["fields"]
    ini = configparser.ConfigParser()
    ini.read(agent.out / "credentials")
    assert dict(ini["work"]) == {"aws_account_id": "123456789012", **{
        key: fields[key] for key in ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")}}
    ini = configparser.ConfigParser()
    ini.read([agent.out / "config-role", agent.out / "config-command"])
    assert ini["default"]["role_arn"] == ROLE and ini["default"]["web_identity_token_file"] == "/run/token"
    assert ini["default"]["role_session_name"] == "me" and ini["default"]["region"] == "eu-west-1"
    assert ini["profile p"]["credential_process"] == "/usr/bin/cat /run/x.json"
    process = agent.published("process.json")
    assert process["Version"] == 1 and process["SessionToken"] == fields["aws_session_token"]
    assert process["AccessKeyId"] == fields["aws_access_key_id"] and process["Expiration"].endswith("Z")
    shell = subprocess.run(["/bin/sh", "-c", f". {agent.out}/env; printf '%s %s %s' $AWS_ACCESS_KEY_ID $AWS_REGION "
                            "$AWS_SESSION_TOKEN"], capture_output=True, text=True, check=True, env={}).stdout
    assert shell == f"{fields['aws_access_key_id']} us-east-1 {fields['aws_session_token']}"
    assert (agent.out / "token").read_text() == (agent.cloud.volumes["demo"] / "token").read_text()
    assert doc["credential"] == "demo" and doc["generation"] == 1
    for path in agent.out.iterdir():
        if not path.name.startswith(".."):
            assert os.readlink(path) == f"..data/{path.name}"


def test_a_single_file(agent):
    path = agent.dir / "deep" / "down" / "credentials"
    publishing(agent, {"file": {"path": str(path), "format": "aws-credentials", "mode": "0440"}})
    agent.start()
    agent.wait_generation(1)
    inode, text = path.stat().st_ino, path.read_text()
    rotate(agent)
    assert path.stat().st_ino != inode and path.read_text() != text and mode(path) == "0o440"
    assert [p.name for p in path.parent.iterdir()] == ["credentials"]


FOREIGN = (b"# mine; do not touch\r\n[other]\r\naws_access_key_id = AKIAOTHER\r\n aws_secret_access_key=x  \r\n\r\n"
           b"[work]\r\n; a comment\r\n%s\r\n# the end\r\n[last]\r\nregion\t= eu-west-1")


def test_a_profile_in_somebody_elses_file(agent):
    path = agent.dir / "credentials"
    path.write_bytes(FOREIGN % b"aws_access_key_id = OLD\r\naws_secret_access_key = OLD\r\n")
    path.chmod(0o604)
    publishing(agent, {"profile": {"path": str(path), "name": "work"}})
    agent.start()
    agent.wait_generation(1)
    for _ in range(2):
        text = path.read_bytes()
        before, after = FOREIGN.split(b"%s")
        assert text.startswith(before) and text.endswith(after), text
        ours = text[len(before):-len(after)].decode().split()
        assert ours[0] == "aws_access_key_id" and ours[2].startswith("ASIA") and "OLD" not in ours
        ini = configparser.ConfigParser()
        ini.read(path)
        assert set(ini["work"]) == {"aws_access_key_id", "aws_secret_access_key", "aws_session_token",
                                    "aws_account_id"}
        assert mode(path) == "0o600"
        rotate(agent)
    assert f"{path} could be read by other users (mode 0604): its mode is now 0600" in agent.log
    path.chmod(0o640)  # a group was given it on purpose
    rotate(agent)
    assert mode(path) == "0o640"


def test_a_profile_that_others_can_read(agent):
    path, config = agent.dir / "credentials", agent.dir / "config"
    for file in (path, config):
        file.write_text("[other]\nregion = eu-west-1\n")
        file.chmod(0o644)
    publishing(agent, [{"profile": {"path": str(path)}}, {"profile": {"path": str(config), "format": "aws-config",
                                                                     "role_arn": ROLE, "token_path": "/run/token"}}])
    for argv in (["check"], ["doctor", "--offline"]):
        said = " ".join(agent.run(*argv).stdout.split())
        assert f"{path} can be read by other users (mode 0644); it gets mode 0600 when it is published" in said, said
    agent.start()
    agent.wait_generation(1)
    assert (mode(path), mode(config)) == ("0o600", "0o644")


def test_a_profile_is_added_at_the_end_and_the_file_made(agent):
    path, new = agent.dir / "credentials", agent.dir / "new" / "config"
    path.write_bytes(b"[other]\na = b")
    publishing(agent, [{"profile": {"path": str(path), "name": "work"}},
                       {"profile": {"path": str(path), "name": "second"}},
                       {"profile": {"path": str(new), "name": "work", "format": "aws-config", "mode": "0640",
                                    "role_arn": ROLE, "token_path": "/run/token"}}])
    once(agent)
    assert path.read_bytes().startswith(b"[other]\na = b\n\n[work]\naws_access_key_id = ")
    ini = configparser.ConfigParser()
    ini.read([path, new])
    assert ini["work"]["aws_access_key_id"] == ini["second"]["aws_access_key_id"]
    assert ini["profile work"]["role_arn"] == ROLE and mode(new) == "0o640"


@pytest.mark.parametrize("text, words", [
    (b"[work]\na = b\n[work]\nc = d\n", ["line 3", "second time"]),
    (b"a\0b\n", ["line 1", "NUL"]),
    (b"\xef\xbb\xbf[work]\n", ["byte order mark"]),
])
def test_a_profile_file_that_is_a_matter_of_opinion(agent, text, words):
    path = agent.dir / "credentials"
    path.write_bytes(text)
    publishing(agent, {"profile": {"path": str(path), "name": "work"}})
    agent.start()
    wait_error(agent, str(path), *words)
    assert path.read_bytes() == text


def test_two_targets_have_the_same(agent):
    single = agent.dir / "single.json"
    publishing(agent, [{"directory": str(agent.out), "files": [{"name": "creds.json", "format": "json"}]},
                       {"file": {"path": str(single), "format": "json"}}])
    agent.start()
    for generation in (1, 2):
        agent.wait_generation(generation)
        assert agent.published() == json.loads(single.read_text()) and agent.published()["generation"] == generation
        if generation == 1:
            rotate(agent)


@root_only
def dress(path):
    st = path.stat()
    return mode(path), st.st_uid, st.st_gid


def test_modes_and_owners(agent):
    """The same at each publish, not only where everything is made."""
    let_others_in(agent.dir)
    agent.configure(agent.credential(keep_previous="1s", publish=[
        {"directory": str(agent.out), "directory_mode": "0750", "owner": "daemon", "group": "1234", "files": [
            {"name": "a", "format": "token", "mode": "0400", "owner": "1", "group": "4321"},
            {"name": "b", "format": "token", "mode": "0640", "group": "1234"},
            {"name": "c", "format": "token"}]},
        {"directory": str(agent.dir / "ours"), "group": "1234", "files": [
            {"name": "a", "format": "token", "mode": "0400", "owner": "nobody", "group": "daemon"},
            {"name": "b", "format": "token", "mode": "0644", "owner": "4321"}]},
        {"file": {"path": str(agent.dir / "single"), "format": "token", "mode": "0440", "group": "1234"}}])).start()
    for generation in 1, 2, 3:
        agent.wait_generation(generation)
        agent.wait_state("fresh")
        assert dress(agent.out) == ("0o750", 1, 1234)
        assert dress((agent.out / "..data").resolve()) == ("0o750", 1, 1234)
        assert dress(agent.out / "a") == ("0o400", 1, 4321)
        assert dress(agent.out / "b") == ("0o640", 1, 1234)
        assert dress(agent.out / "c")[:2] == ("0o600", 1)
        assert dress(agent.dir / "ours") == ("0o755", 0, 1234)
        assert dress(agent.dir / "ours/a") == ("0o400", 65534, 1)
        assert dress(agent.dir / "ours/b") == ("0o644", 4321, 0)
        assert dress(agent.dir / "single") == ("0o440", 0, 1234)
        eventually(lambda: len([d for d in agent.out.iterdir() if d.name.startswith("..2")]) == 1,
                   "the end of the previous generation:\n" + agent.log)
        agent.cloud.admin("/volume/demo/renew", {})
    assert " warn " not in agent.log and " error " not in agent.log, agent.log


def test_an_owner_that_a_given_directory_cannot_have(agent):
    publishing(agent, [{"directory": str(agent.out), "owner": "daemon", "files": [
        {"name": "a", "format": "token", "owner": "1"}, {"name": "b", "format": "token", "owner": "nobody"}]}])
    done = agent.run("check")
    assert done.returncode == 3 and done.stdout.count("must belong to the same") == 1, done.stdout


def test_only_root_gives_a_directory_away(agent):
    """Also with the right to change owners: what it gave away is closed to it."""
    let_others_in(agent.dir)
    place, source = agent.dir / "place", agent.dir / "token"
    for made in place, agent.state:
        made.mkdir(mode=0o700)
        os.chown(made, 65534, 65534)
    source.write_text(agent.cloud.token())
    source.chmod(0o644)
    agent.configure(agent.credential(exchange=None, token={"file": str(source)}, publish={
        "directory": str(place / "out"), "owner": "daemon", "files": [{"name": "a", "format": "token"}]}))
    done = subprocess.run([*AS_NOBODY, CREDFRESH, "once", "-c", agent.config_path, "--timeout", "2s"], capture_output=True, text=True)
    assert done.returncode == 4 and "only root can publish in a directory that it gives to another user" in done.stderr
    assert not (place / "out").exists()


# ---- the token itself ----

def test_a_token_alone_is_passed_through(agent):
    agent.configure(token_only(agent)).start()
    agent.wait_generation(1)
    source = agent.cloud.volumes["demo"] / "token"
    assert (agent.out / "token").read_text() == source.read_text()
    status = agent.status()
    assert status["provider"] == "token" and status["identity"] == "system:serviceaccount:default:demo"
    assert status["expires"] == status["token"]["expires"] and status["ready"]
    agent.cloud.admin("/volume/demo/renew", {})
    agent.wait_generation(2)
    assert (agent.out / "token").read_text() == source.read_text()
    assert agent.cloud.exchanges() == []


def test_an_empty_key_of_a_mounted_secret_is_passed_on(agent):
    mounted = Mounted(agent.dir / "mounted").put({"user": "bob", "extra": ""})
    files = [{"name": name, "format": "secret-key"} for name in ("user", "extra")]
    agent.configure({"name": "demo", "secret": {"directory": str(mounted.dir), "pass_on": True},
                     "publish": {"directory": str(agent.out), "files": files}})
    checked = agent.run("check")
    assert checked.returncode == 0, checked.stderr
    agent.start()
    agent.wait_generation(1)
    assert (agent.out / "user").read_text() == "bob" and (agent.out / "extra").read_text() == ""
    agent.stop()
    agent.start()
    eventually(lambda: "generation 1 is still good" in agent.log, lambda: agent.log)


def test_a_copied_secret_that_was_removed_is_not_ready(agent):
    """Its copy stays; also after a restart."""
    mounted = Mounted(agent.dir / "mounted").put({"user": "bob"})
    agent.configure({"name": "demo", "secret": {"directory": str(mounted.dir), "pass_on": True},
                     "publish": {"directory": str(agent.out)}}).start()
    agent.wait_generation(1)
    assert agent.run("status", "--exit-code").returncode == 0
    away = mounted.dir.with_name("away")
    mounted.dir.rename(away)
    eventually(lambda: agent.run("status", "--exit-code").returncode == 1, lambda: agent.log)
    agent.stop()
    agent.start()
    eventually(lambda: "published, but its source was removed: " in agent.request("GET", "/readyz")[1], lambda: agent.log)
    assert 'credfresh_source_missing{credential="demo"} 1' in agent.request("GET", "/metrics")[1]
    assert (agent.out / "user").read_text() == "bob" and agent.generation() == 1
    away.rename(mounted.dir)
    eventually(lambda: agent.run("status", "--exit-code").returncode == 0, lambda: agent.log)
    assert 'credfresh_source_missing{credential="demo"} 0' in agent.request("GET", "/metrics")[1]


def test_identical_content_is_no_swap_and_no_hook(agent):
    runs, source = agent.dir / "runs", agent.dir / "token"
    source.write_text(agent.cloud.token())
    agent.configure(agent.credential(
        exchange=None, token={"file": str(source)}, reload=[{"exec": ["/bin/sh", "-c", f"echo run >> {runs}"]}],
        publish={"directory": str(agent.out), "files": [{"name": "token", "format": "token"}]}))
    agent.start()
    agent.wait_state("fresh")
    data = os.readlink(agent.out / "..data")
    for _ in range(3):
        beside = source.with_name("beside")
        beside.write_text(source.read_text())
        beside.rename(source)
        # Nor by a rotation, which a token that is only followed has none of.
        assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 400
        eventually(lambda: agent.status().get("state") == "fresh", "rest")
    assert os.readlink(agent.out / "..data") == data and runs.read_text() == "run\n" and agent.generation() == 1


# ---- generations ----

def generations(agent):
    return sorted(p.name for p in agent.out.iterdir() if p.name.startswith("..2"))


def test_the_previous_generation_is_kept_and_then_wiped(agent):
    agent.configure(agent.credential(keep_previous="1500ms")).start()
    agent.wait_generation(1)
    first = (agent.out / "..data").resolve()
    opened = open(first / "credentials", "rb")
    text = opened.read()
    rotate(agent)
    assert (first / "credentials").read_bytes() == text and len(generations(agent)) == 2
    eventually(lambda: len(generations(agent)) == 1, "the wiping")
    opened.seek(0)
    assert set(opened.read()) <= {0}, "wiped, and not only removed"
    assert agent.published()["generation"] == 2


def test_of_three_generations_two_are_kept(agent):
    agent.start()
    agent.wait_generation(1)
    for _ in range(3):
        rotate(agent)
    assert len(generations(agent)) == 2


def test_the_wiping_survives_a_restart(agent):
    agent.configure(agent.credential(keep_previous="2s")).start()
    agent.wait_generation(1)
    rotate(agent)
    agent.kill()
    assert len(generations(agent)) == 2
    agent.start()
    eventually(lambda: len(generations(agent)) == 1, "the wiping:\n" + agent.log)


def test_leftovers_of_a_crash_are_cleaned(agent):
    single = agent.dir / "single"
    publishing(agent, [{"directory": str(agent.out), "files": [{"name": "creds.json", "format": "json"}]},
                       {"file": {"path": str(single), "format": "token"}}])
    once(agent)
    left = agent.out / "..2020_01_01_00_00_00.000000009"
    left.mkdir()
    (left / "creds.json").write_text("half")
    (agent.out / "..data_tmp").symlink_to(left.name)
    (agent.out / "gone").symlink_to("..data/gone")
    (agent.dir / ".single.credfresh-0123abcd").write_text("half")
    (agent.state / ".demo.json.credfresh-0123abcd").write_text("half")
    keep = agent.dir / ".other.credfresh-0123abcd"
    keep.write_text("of another user")
    agent.start()
    agent.wait_state("fresh")
    # In a child, which may end later.
    gone = [left, agent.out / "..data_tmp", agent.out / "gone", agent.dir / ".single.credfresh-0123abcd"]
    eventually(lambda: not any(os.path.lexists(path) for path in gone), lambda: f"{gone} to go:\n{agent.log}")
    assert keep.exists()
    assert not (agent.state / ".demo.json.credfresh-0123abcd").exists()
    assert agent.generation() == 1


# ---- what stands in the way ----

def test_a_link_planted_as_the_directory(agent):
    victim = agent.dir / "victim"
    victim.mkdir()
    agent.out.symlink_to(victim)
    agent.start()
    wait_error(agent, str(agent.out), "symbolic link", "not followed")
    assert list(victim.iterdir()) == []
    agent.out.unlink()
    agent.wait_generation(1)


def test_a_link_planted_as_the_file(agent):
    victim, path = agent.dir / "victim", agent.dir / "single"
    victim.write_text("precious")
    path.symlink_to(victim)
    publishing(agent, {"file": {"path": str(path), "format": "token"}})
    agent.start()
    wait_error(agent, str(path), "symbolic link", "remove it")
    assert victim.read_text() == "precious"


def test_a_link_planted_as_the_profile_file(agent):
    victim, path = agent.dir / "victim", agent.dir / "credentials"
    victim.write_text("[work]\n")
    path.symlink_to(victim)
    publishing(agent, {"profile": {"path": str(path), "name": "work"}})
    agent.start()
    wait_error(agent, str(path), "symbolic link")
    assert victim.read_text() == "[work]\n"


def test_what_is_planted_as_our_temporary_name(agent):
    agent.out.mkdir()
    (agent.out / "..data_tmp").symlink_to("/etc")
    agent.start()
    agent.wait_generation(1)  # a link is taken away, whatever it leads to
    (agent.out / "..data_tmp").write_text("precious")
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    wait_error(agent, "..data_tmp", "remove it")
    assert (agent.out / "..data_tmp").read_text() == "precious" and agent.published()["generation"] == 1


@pytest.mark.parametrize("plant", ["file", "link", "directory"])
def test_somebody_elses_entry_at_a_visible_name(agent, plant):
    agent.out.mkdir()
    path = agent.out / "credentials"
    if plant == "file":
        path.write_text("precious")
    elif plant == "link":
        path.symlink_to("/etc/passwd")
    else:
        path.mkdir()
    agent.start()
    wait_error(agent, str(path), "exists and is not credfresh's", "remove it")
    assert os.path.lexists(path) and sorted(p.name for p in agent.out.iterdir()) == ["credentials"]


@pytest.mark.parametrize("plant", ["file", "link"])
def test_somebody_elses_data(agent, plant):
    agent.out.mkdir()
    if plant == "file":
        (agent.out / "..data").write_text("precious")
    else:
        (agent.out / "..data").symlink_to("/etc")
    agent.start()
    wait_error(agent, str(agent.out), "..data", "remove it or publish to another directory")
    assert [p.name for p in agent.out.iterdir()] == ["..data"]


def test_a_file_where_the_directory_should_be(agent):
    agent.out.write_text("precious")
    agent.start()
    wait_error(agent, str(agent.out), "Not a directory")
    assert agent.out.read_text() == "precious"


@root_only
@pytest.mark.parametrize("in_place", [False, True])
def test_a_bind_mounted_file(agent, in_place):
    path, under = agent.dir / "mounted", agent.dir / "under"
    path.write_text("")
    under.write_text("old and rather longer than what comes, " * 100)
    publishing(agent, {"file": {"path": str(path), "format": "json", "in_place": in_place}})
    argv = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", str(under), str(path)]
    needs_namespace("-m")
    agent.start(wrapper=argv)
    if in_place:
        agent.wait_generation(1)
        assert json.loads(under.read_text())["generation"] == 1
        rotate(agent)
        assert json.loads(under.read_text())["generation"] == 2
    else:
        wait_error(agent, str(path), "mount point", "in_place: true", "mount the directory")
        assert under.read_text().startswith("old")
        assert sorted(p.name for p in agent.dir.glob(".mounted*")) == []


# ---- what disappears ----

@pytest.mark.parametrize("what", ["moved", "deleted", "replaced"])
def test_a_directory_above_that_goes_is_noticed_at_once(agent, what):
    """Well before the minute after which everything is looked at. Landlock would not
    let the agent write in directories that were made after its start."""
    above = agent.dir / "above" / "further"
    above.mkdir(parents=True)
    target = above / "out"
    agent.configure(agent.credential(publish={"directory": str(target), "files": [{"name": "token", "format": "token"}]}),
                    sandbox={"landlock": False})
    agent.start()
    agent.wait_state("fresh")
    begun = time.monotonic()
    if what == "deleted":
        # Stopped, because what it puts back meanwhile would be deleted, too.
        os.kill(agent.process.pid, signal.SIGSTOP)
        shutil.rmtree(above.parent)
        os.kill(agent.process.pid, signal.SIGCONT)
    else:
        above.parent.rename(agent.dir / "gone")
    if what == "replaced":
        above.mkdir(parents=True)
    agent.wait_generation(2)
    agent.wait_state("fresh")
    assert (target / "token").read_text() and "published files changed or are missing, publishing again" in agent.log
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("what", ["everything", "one file", "a file that was moved away", "the data link"])
def test_what_is_removed_comes_back_at_once(agent, what):
    agent.start()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    if what == "everything":
        agent.out.rename(agent.dir / "gone")  # what removes it file by file may find new ones
    elif what == "one file":
        (agent.out / "token").unlink()
    elif what == "the data link":
        (agent.out / "..data").unlink()
    else:
        (agent.out / "token").rename(agent.dir / "token")
    agent.wait_generation(2)
    agent.wait_state("fresh")
    assert "published files changed or are missing, publishing again" in agent.log
    assert agent.published()["generation"] == 2 and mode(agent.out) == "0o755" and (agent.out / "token").read_text()


def test_another_agent_in_the_same_directory_is_named(agent, agent_factory, cloud):
    agent.start()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    other = agent_factory(cloud, "other")
    publish = other.credential()["publish"] | {"directory": str(agent.out)}
    once(other.configure(other.credential(publish=publish)))
    lost = f"published files changed or are missing, publishing again: {agent.out} "
    eventually(lambda: lost in agent.log and "another credfresh publishes there" in agent.log, lambda: agent.log)


def test_what_is_removed_comes_back_while_a_hook_fails(agent):
    """The hook may fail because of what is missing."""
    agent.configure(agent.credential(reload=[{"exec": ["/bin/false"]}])).start()
    eventually(lambda: (agent.status().get("hooks") or [{}])[0].get("result") == "failed", lambda: agent.log)
    assert agent.status()["state"] == "reloading"
    agent.out.rename(agent.dir / "gone")
    agent.wait_generation(2)
    assert agent.published()["generation"] == 2 and agent.status()["ready"]


def test_what_is_removed_during_an_outage_is_missed_and_comes_back_after_it(agent):
    agent.start()
    agent.wait_state("fresh")
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "AssumeRoleWithWebIdentity"})
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    agent.wait_state("backoff")
    assert agent.status()["ready"]
    agent.out.rename(agent.dir / "gone")
    eventually(lambda: not agent.status()["ready"] and not agent.status()["published"], lambda: agent.log)
    assert "or are missing, publishing again once it can be renewed" in agent.log
    agent.cloud.clear_faults()
    agent.wait_generation(2)
    agent.wait_state("fresh")
    assert agent.status()["ready"] and agent.published()["generation"] == 2


def test_a_token_that_is_published_alone_during_an_outage_is_nobody_elses_change(agent):
    """A child writes it, which is noticed before its end."""
    agent.start()
    agent.wait_state("fresh")
    agent.cloud.fault(kind="status", status=503, body="", count=-1, match={"action": "AssumeRoleWithWebIdentity"})
    for generation in range(2, 5):
        agent.cloud.admin("/volume/demo/renew", {})
        agent.wait_generation(generation)
    assert agent.log.count("the new token, with the last session") >= 3 and "is gone" not in agent.log
    assert agent.status()["ready"]


def test_who_removes_it_again_and_again_does_not_cause_an_exchange_each_time(agent):
    agent.start()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    (agent.out / "token").unlink()
    agent.wait_generation(2)
    agent.wait_state("fresh")
    (agent.out / "token").unlink()
    for _ in range(20):  # each is a turn of the agent's loop, which has the event by then
        agent.request("GET", "/v1/credentials")
    assert agent.log.count("or are missing, publishing again") == 1 and agent.generation() == 2


@pytest.mark.parametrize("how", ["copied", "given to its owner"])
def test_other_change_times_are_no_change(agent, how):
    """As after a restored backup, and after `chown -R` of a unit or the kubelet's of a volume with `fsGroup`."""
    agent.start()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    agent.stop()
    if how == "copied":
        agent.out.rename(agent.dir / "before")
        subprocess.run(["cp", "-a", str(agent.dir / "before"), str(agent.out)], check=True)
    else:
        subprocess.run(["chown", "-Rh", f"{os.geteuid()}:{os.getegid()}", str(agent.out)], check=True)
    marks = [(p.name, p.stat().st_mtime_ns) for p in sorted(agent.out.glob("..2*/*"))]
    agent.start()
    eventually(lambda: "is still good" in agent.log, lambda: agent.log)
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202  # after the cleaning, in the loop's order
    agent.wait_generation(2)
    assert [(p.name, p.stat().st_mtime_ns) for p in sorted(agent.out.glob("..2*.000000001/*"))] == marks


@pytest.mark.parametrize("what", ["everything", "one file", "one link", "the data link", "an empty file", "other content"])
def test_what_was_deleted_is_exchanged_again_at_restart(agent, what):
    agent.start()
    agent.wait_generation(1)
    agent.stop()
    if what == "everything":
        shutil.rmtree(agent.out)
    elif what == "one file":
        (agent.out / "..data" / "token").resolve().unlink()
    elif what == "one link":
        (agent.out / "token").unlink()
    elif what == "the data link":
        (agent.out / "..data").unlink()
    elif what == "other content":
        (agent.out / "token").write_text("x" * len((agent.out / "token").read_text()))
    else:
        (agent.out / "token").resolve().write_text("")
    agent.start()
    agent.wait_generation(2)
    assert len(agent.cloud.exchanges()) == 2 and agent.published()["generation"] == 2
    assert (agent.out / "token").read_text()


def test_a_single_file_that_was_changed_is_written_again_at_restart(agent):
    path = agent.dir / "single"
    publishing(agent, {"file": {"path": str(path), "format": "json"}})
    once(agent)
    path.write_text("{}")
    once(agent)
    assert json.loads(path.read_text())["generation"] == 2


def test_a_profile_that_was_changed_is_written_again_at_restart(agent):
    path = agent.dir / "credentials"
    publishing(agent, {"profile": {"path": str(path), "name": "work"}})
    once(agent)
    path.write_text(path.read_text() + "[other]\nregion = x\n")
    once(agent)
    assert len(agent.cloud.exchanges()) == 1, "others write the rest of the file"
    path.write_text(path.read_text().replace("aws_session_token = ", "aws_session_token = no"))
    once(agent)
    assert len(agent.cloud.exchanges()) == 2 and "= no" not in path.read_text()


def test_a_second_agent_is_refused(agent):
    agent.start()
    agent.wait_generation(1)
    done = agent.run("once")
    assert done.returncode == 1 and "is in use by another credfresh with process id" in done.stderr
    assert str(agent.process.pid) in done.stderr and pathlib.Path(agent.state / "lock").exists()
