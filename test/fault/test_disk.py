# SPDX-License-Identifier: MIT
"""Disks that are full, read-only, gone or failing: the published files stay, the error says where and why, and
it goes on when the disk is well again."""
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

from faults import (CREDFRESH, Agent, agent, agent_factory, as_root, cloud, cloud_factory, eventually,  # noqa: F401
                    injected, library, needs, own_mounts, plain_binary, read_text, snapshot, trace)

NOBODY = 65534
# What may change a disk, and how each can fail.
CHANGING = {
    "openat2": ("ENOSPC", "EIO", "EROFS", "EACCES"),
    "mkdirat": ("ENOSPC", "EROFS"),
    "write": ("ENOSPC", "EIO", "EDQUOT"),
    "fsync": ("EIO", "ENOSPC"),
    "fchmod": ("EPERM", "EROFS"),
    "symlinkat": ("ENOSPC", "EROFS"),
    "renameat": ("ENOSPC", "EIO", "EROFS"),
    "renameat2": ("EIO", "EROFS"),
    "unlinkat": ("EIO", "EROFS"),
    "close": ("EIO", "ENOSPC"),
}


@pytest.fixture(scope="module")
def mounts():
    own_mounts()


def tmpfs(path, options):
    path.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(path)], check=True)
    return path


def rotate(agent):  # noqa: F811
    status, answer = agent.request("POST", "/v1/credentials/demo/rotate", "{}")
    assert status == 202, answer


def trouble(agent, words, code=None):  # noqa: F811
    """A renewal fails for the reason WORDS; what is published and the readiness stay."""
    before = snapshot(agent.out)
    generation = agent.generation()
    rotate(agent)
    eventually(lambda: agent.status()["last_error"], "an error")
    now = agent.status()
    assert words in now["last_error"]["message"] and str(agent.out) in now["last_error"]["message"], now["last_error"]
    assert now["last_error"]["class"] == "local"
    assert code in (None, now["last_error"]["code"])
    assert now["ready"] and now["generation"] == generation
    assert snapshot(agent.out) == before


def mended(agent, generation=2):  # noqa: F811
    """It goes on by itself."""
    agent.wait_generation(generation)
    eventually(lambda: agent.status()["last_error"] is None, "no error")
    names = [path.name for path in agent.out.iterdir()]
    assert len([name for name in names if name.startswith("..2")]) <= 2
    assert "..data_tmp" not in names and not [name for name in names if ".credfresh-" in name]
    assert agent.published()["generation"] == agent.generation()


@as_root
@pytest.mark.parametrize("what", ["space", "inodes"])
def test_a_full_disk(agent, mounts, what):  # noqa: F811
    agent.out = tmpfs(agent.dir / "small", "size=64k,nr_inodes=40") / "out"
    agent.configure().start()
    agent.wait_generation(1)
    fill(agent.dir / "small", what)
    trouble(agent, "No space left", "no-space")
    shutil.rmtree(agent.dir / "small/filler")
    mended(agent)


def fill(directory, what):
    filler = directory / "filler"
    filler.mkdir()
    try:
        if what == "space":
            with open(filler / "bytes", "wb", buffering=0) as f:
                while True:
                    f.write(b"x" * 1024)
        for i in range(1000):
            (filler / str(i)).touch()
    except OSError as e:
        assert e.errno == errno.ENOSPC
        return
    raise AssertionError("it cannot be filled")


@as_root
def test_a_disk_that_becomes_read_only(agent, mounts):  # noqa: F811
    disk = tmpfs(agent.dir / "disk", "size=1m")
    agent.out = disk / "out"
    agent.configure().start()
    agent.wait_generation(1)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    trouble(agent, "Read-only file system")
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    mended(agent)


@as_root
def test_a_directory_that_may_not_change(agent):  # noqa: F811
    needs("chattr")
    agent.start()
    agent.wait_generation(1)
    if subprocess.run(["chattr", "+i", str(agent.out)], capture_output=True).returncode != 0:
        pytest.skip("this file system knows no immutable directories")
    try:
        trouble(agent, "Operation not permitted", "permission")
    finally:
        subprocess.run(["chattr", "-i", str(agent.out)], check=True)
    mended(agent)


def test_a_directory_that_was_removed_is_made_again(agent):  # noqa: F811
    agent.start()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    agent.out.rename(agent.dir / "gone")  # what removes it file by file may find new ones
    mended(agent)
    agent.stop()
    shutil.rmtree(agent.out)
    agent.start()
    agent.wait_generation(3)
    assert "are missing:" in agent.log


def target(agent, kind):  # noqa: F811
    path = str(agent.out / "credentials")
    return {"directory": {"directory": str(agent.out), "files": [{"name": "credentials", "format": "aws-credentials"},
                                                                 {"name": "creds.json", "format": "json"}]},
            "file": {"file": {"path": path, "format": "aws-credentials"}},
            "profile": {"profile": {"path": path, "name": "demo", "format": "aws-credentials"}}}[kind]


def remove(agent, what):  # noqa: F811
    path = agent.out / "credentials"
    if what == "the directory":
        agent.out.rename(agent.dir / "gone")  # what removes it file by file may find new ones
    elif what == "the link":
        (agent.out / "..data").unlink()
    elif what == "the profile":
        path.write_text("[other]\nregion = eu-west-1\n")
    else:
        path.unlink()


@plain_binary
@pytest.mark.parametrize("kind,what", [("directory", "the directory"), ("directory", "the link"), ("file", "the file"),
                                       ("profile", "the file"), ("profile", "the profile")])
def test_what_was_removed_is_published_anew_within_a_minute(agent, kind, what):  # noqa: F811
    agent.configure(agent.credential(publish=target(agent, kind)))
    # The minute passes in a second; the refresh would be due much later than this waits.
    agent.start(env={"LD_PRELOAD": library("CFR_FASTCLOCK")})
    agent.wait_generation(1)
    agent.wait_state("fresh")
    remove(agent, what)
    eventually(lambda: "aws_access_key_id" in read_text(agent.out / "credentials"), "the file:\n" + agent.log, limit_s=10)
    agent.wait_generation(2)
    agent.wait_state("fresh")
    assert agent.log.count("or are missing, publishing again") == 1 and agent.generation() == 2
    if what == "the profile":
        assert "eu-west-1" in read_text(agent.out / "credentials")


@plain_binary
@pytest.mark.parametrize("kind", ["directory", "file", "profile"])
def test_what_is_overwritten_in_place_is_published_anew_within_a_minute(agent, kind):  # noqa: F811
    path = agent.out / "credentials"
    agent.configure(agent.credential(publish=target(agent, kind)))
    agent.start(env={"LD_PRELOAD": library("CFR_FASTCLOCK")})
    agent.wait_generation(1)
    agent.wait_state("fresh")
    path.write_text(read_text(path).replace("aws_session_token = ", "aws_session_token = wrong"))
    eventually(lambda: "wrong" not in read_text(path), "the file:\n" + agent.log, limit_s=10)
    agent.wait_generation(2)
    agent.wait_state("fresh")
    assert f"{path if kind != 'directory' else agent.out} was changed by another program" in agent.log
    assert agent.log.count("or are missing, publishing again") == 1 and agent.generation() == 2


def test_a_directory_whose_parent_is_no_directory(agent):  # noqa: F811
    agent.out = agent.dir / "parent/out"
    (agent.dir / "parent").write_text("a file\n")
    agent.configure().start()
    eventually(lambda: agent.status().get("last_error"), "an error")
    assert str(agent.dir / "parent") in agent.status()["last_error"]["message"]
    assert not agent.status()["ready"]
    (agent.dir / "parent").unlink()
    agent.wait_generation(1)


@as_root
@plain_binary
def test_without_permission(cloud):  # noqa: F811
    needs("setpriv")
    with tempfile.TemporaryDirectory(prefix="credfresh-test-") as scratch:
        os.chmod(scratch, 0o755)
        agent = Agent(pathlib.Path(scratch) / "agent", cloud)  # noqa: F811
        for name, text in (("token", cloud.token()), ("ca.pem", open(cloud.ca).read())):
            (agent.dir / name).write_text(text)
        shutil.copy2(CREDFRESH, f"{scratch}/credfresh")
        credential = agent.credential(token={"file": str(agent.dir / "token")})
        credential["exchange"]["aws"]["ca_file"] = str(agent.dir / "ca.pem")
        agent.configure(credential)
        os.chown(agent.dir, NOBODY, NOBODY)
        log = open(agent.log_path, "ab")
        agent.process = subprocess.Popen(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                                          f"{scratch}/credfresh", "run", "-c", str(agent.config_path)], stdout=log,
                                         stderr=log, cwd=agent.dir)
        log.close()
        try:
            agent.wait_generation(1)
            os.chown(agent.out, 0, 0)
            trouble(agent, "Permission denied", "permission")
            os.chown(agent.out, NOBODY, NOBODY)
            mended(agent)
            assert (agent.out / "token").stat().st_uid == NOBODY
        finally:
            agent.stop()


@as_root
def test_a_full_state_directory_holds_nothing_back(agent, mounts):  # noqa: F811
    path = agent.dir / "token"
    path.write_text(agent.cloud.token())
    tmpfs(agent.state, "size=16k,nr_inodes=20,mode=700")
    agent.configure(agent.credential(token={"file": str(path)})).start()
    agent.wait_generation(1)
    fill(agent.state, "space")
    new = path.with_suffix(".new")
    new.write_text(agent.cloud.token(expires_in_s=7200))
    new.rename(path)
    agent.wait_generation(2)
    assert "cannot save the state," in agent.log and "No space left" in agent.log
    # A rotation that cannot be written down is not promised, and its reason stays unused.
    for _ in range(2):
        status, answer = agent.request("POST", "/v1/credentials/demo/rotate", '{"reason":"a leak"}')
        assert status >= 500 and "No space left" in answer["error"]["message"], (status, answer)
    shutil.rmtree(agent.state / "filler")
    assert agent.request("POST", "/v1/credentials/demo/rotate", '{"reason":"a leak"}')[0] == 202
    agent.wait_generation(3)
    agent.stop()
    subprocess.run(["umount", str(agent.state)], check=True)


def once_with(agent, call, nth, error):  # noqa: F811
    """`once` with one call that fails, ended at its first complaint; (status, what it said)."""
    process = subprocess.Popen([*injected(call, nth, f"error={error}"), CREDFRESH, "once", "-c", str(agent.config_path)],
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=agent.dir)
    said = []
    for line in process.stderr:
        said.append(line)
        if "next try in" in line:  # it would succeed with the next one
            for child in open(f"/proc/{process.pid}/task/{process.pid}/children").read().split():
                os.kill(int(child), signal.SIGTERM)
    process.stderr.close()
    return process.wait(60), "".join(said)


@plain_binary
@pytest.mark.parametrize("kind", ["directory", "file", "profile"])
def test_each_call_that_fails(agent, kind):  # noqa: F811
    needs("strace")
    agent.configure(agent.credential(publish=target(agent, kind)))
    assert agent.run("once").returncode == 0
    shutil.rmtree(agent.state)  # each run publishes again
    calls = trace(agent, CHANGING)
    shutil.rmtree(agent.state)
    at = max(i for i, (_, _, args) in enumerate(calls) if "..data" in args or "credentials" in args)
    begin = min(i for i, (_, _, args) in enumerate(calls) if "O_CREAT" in args and "lock" not in args)
    begin = min([begin] + [i for i, (call, _, args) in enumerate(calls) if call == "mkdirat" and '"..2' in args])
    errors = 0
    for i, (call, nth, args) in enumerate(calls[begin:at + 1]):
        before = snapshot(agent.out)
        error = CHANGING[call][i % len(CHANGING[call])]
        status, said = once_with(agent, call, nth, error)
        after = snapshot(agent.out)
        assert status in (0, 1), (call, nth, error, said)
        if status == 1:
            errors += 1
            assert after == before, (call, nth, error, said)
            assert str(agent.out) in said and os.strerror(getattr(errno, error)) in said, (call, nth, error, said)
        key = [line for line in after["credentials"][1].decode().splitlines() if "aws_access_key_id" in line]
        assert len(key) == 1 and after["credentials"][1].endswith(b"\n"), (call, nth, error)
        if kind == "directory":
            fields = json.loads(after["creds.json"][1])["fields"]
            assert fields["aws_access_key_id"] in key[0]
        shutil.rmtree(agent.state)
    assert errors >= 4
    assert agent.run("once").returncode == 0
    assert not [name for name in os.listdir(agent.out) if ".credfresh-" in name or name == "..data_tmp"]
    assert len([name for name in os.listdir(agent.out) if name.startswith("..2")]) <= 2
