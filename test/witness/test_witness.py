# SPDX-License-Identifier: MIT
"""Writers, good and bad, and what the witness must say about each."""
import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time

import pytest

WITNESS = os.environ["CFR_WITNESS"]
LIMIT_S = 30
FLAWS = ("torn", "empty", "mixed", "missing", "expired", "worse", "mode")


def stamp(offset_s):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + offset_s))


def keys(n):
    return f"ASIAEXAMPLE{n:09d}", f"secret{n:034d}", f"session{n:0200d}"


def aws_file(n):
    key, secret, token = keys(n)
    return (f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
            f"aws_session_token = {token}\n")


def json_file(n, expires_s=3600):
    key, secret, token = keys(n)
    return json.dumps({"version": 1, "credential": "c", "generation": n, "expires": stamp(expires_s),
                       "issued": stamp(0), "fields": {"aws_access_key_id": key, "aws_secret_access_key": secret,
                                                      "aws_session_token": token}})


def process_file(n, expires_s=3600):
    key, secret, token = keys(n)
    return json.dumps({"Version": 1, "AccessKeyId": key, "SecretAccessKey": secret, "SessionToken": token,
                       "Expiration": stamp(expires_s)})


def env_file(n):
    key, secret, token = keys(n)
    return f"AWS_ACCESS_KEY_ID={key}\nAWS_SECRET_ACCESS_KEY={secret}\nAWS_SESSION_TOKEN='{token}'\n"


def token_file(n):
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode()
                    for part in (b'{"alg":"RS256"}', b'{"n":%d}' % n, b"signature%d" % n))


def full_set(n, expires_s=3600):
    return {"credentials": aws_file(n), "c.json": json_file(n, expires_s), "process.json": process_file(n, expires_s),
            "c.env": env_file(n), "token": token_file(n)}


class Volume:
    """Publishes as the kubelet does: a new directory, one rename, the old directory removed at once."""

    def __init__(self, path):
        self.path = path
        self.n = 0
        path.mkdir()

    def swap(self, files, mode=0o640):
        self.n += 1
        old = os.readlink(self.path / "..data") if (self.path / "..data").is_symlink() else None
        new = self.path / f"..2026_01_02_03_04_05.{self.n:09d}"
        new.mkdir()
        for name, text in files.items():
            (new / name).write_text(text)
            (new / name).chmod(mode)
        (self.path / "..data_tmp").symlink_to(new.name)
        os.rename(self.path / "..data_tmp", self.path / "..data")
        for name in files:
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(f"..data/{name}")
        if old:
            shutil.rmtree(self.path / old)


class Watcher:
    """A running witness; reads its JSON lines."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([WITNESS, "--json", *map(str, arguments)], stdout=subprocess.PIPE)
        self.buffer = b""
        self.lines = []

    def next(self):
        deadline = time.monotonic() + LIMIT_S
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no line in time; so far {self.lines}"
            more = os.read(self.process.stdout.fileno(), 65536)
            assert more, f"the witness ended; so far {self.lines}"
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        self.lines.append(json.loads(line))
        return self.lines[-1]

    def until(self, condition):
        while True:
            line = self.next()
            if condition(line):
                return line

    def state(self):
        """The next state of a reader of the whole."""
        return self.until(lambda line: line["type"] == "state" and line["reader"] != "names")

    def flaw(self, flaw, name=None):
        return self.until(lambda line: any(f["flaw"] == flaw and name in (None, f["file"])
                                           for f in line.get("flaws", [])))

    def each(self, *wanted):
        """Waits until every one of these (reader, flaw) was told, in any order."""
        missing = set(wanted)
        while missing:
            line = self.next()
            missing -= {(line.get("reader"), f["flaw"]) for f in line.get("flaws", [])}

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        summary = self.until(lambda line: line["type"] == "summary")
        return self.process.wait(LIMIT_S), summary


@contextlib.contextmanager
def watching(*arguments):
    watcher = Watcher(*arguments)
    try:
        watcher.until(lambda line: line["type"] == "watching")
        yield watcher
    finally:
        if watcher.process.poll() is None:
            watcher.process.kill()
        watcher.process.wait()
        watcher.process.stdout.close()


@pytest.fixture
def volume(tmp_path):
    return Volume(tmp_path / "volume")


def only(summary, *flaws):
    """Exactly these flaws were found."""
    assert [f for f in FLAWS if summary[f]] == sorted(flaws, key=FLAWS.index), summary


@pytest.mark.parametrize("tight", [False, True])
def test_correct_swaps_are_clean(volume, tight):
    with watching(*(["--tight"] if tight else []), "--mode", "token=0640", "--expect", "token", volume.path) as w:
        for n in range(200):
            volume.swap(full_set(n, 3600 + n))
        last = os.readlink(volume.path / "..data")
        w.until(lambda line: line.get("generation_dir") == last)
        status, summary = w.end()
    only(summary)
    assert status == 0 and summary["ok"] and "first_failure" not in summary
    assert 1 <= summary["generations"] <= 200
    assert summary["states"] >= summary["generations"] and summary["events"] > 0


def test_every_state_is_told(volume):
    with watching(volume.path) as w:
        for n in range(5):
            volume.swap(full_set(n, 3600 + n))
            state = w.state()
            assert state["generation_dir"] == os.readlink(volume.path / "..data")
            files = {f["name"]: f for f in state["files"]}
            assert files["c.json"]["generation"] == n and files["credentials"]["key_id_end"] == f"{n:04d}"
            assert [files[f]["kind"] for f in ("credentials", "c.json", "c.env", "token")] == [
                "aws-credentials", "json", "env", "token"]
        status, summary = w.end()
    assert (status, summary["states"], summary["generations"]) == (0, 5, 5)


@pytest.mark.parametrize("name", ["credentials", "c.json", "process.json", "c.env", "token"])
def test_a_truncating_writer_is_caught(volume, name):
    volume.swap(full_set(1))
    path = volume.path / name
    with watching(volume.path) as w:
        w.state()
        whole = path.read_text()
        path.write_text(whole[:-len(whole) // 3])
        assert w.flaw("torn", name)["reader"] in ("snapshot", "names")
        path.write_text("")
        w.flaw("empty", name)
        status, summary = w.end()
    only(summary, "torn", "empty")
    assert status == 1 and summary["first_failure"].startswith(("torn at ", "empty at ")) and name in summary["first_failure"]


def test_a_missing_last_newline_is_torn(volume):
    volume.swap({"credentials": aws_file(1).rstrip("\n")})
    with watching(volume.path) as w:
        assert "newline" in w.flaw("torn", "credentials")["flaws"][0]["why"]


def test_a_static_key_needs_no_session_token(volume):
    volume.swap({"credentials": "[a]\naws_access_key_id=AKIAEXAMPLE000000000\naws_secret_access_key=x\n" + aws_file(1)})
    with watching(volume.path) as w:
        assert w.state()["flaws"] == []
        volume.swap({"credentials": "[a]\naws_access_key_id=ASIAEXAMPLE000000000\naws_secret_access_key=x\n"})
        w.flaw("torn", "credentials")


def test_files_updated_one_by_one_are_mixed(tmp_path):
    directory = tmp_path / "plain"
    directory.mkdir()

    def replace(name, text):
        (directory / ".draft").write_text(text)
        os.rename(directory / ".draft", directory / name)

    replace("credentials", aws_file(1))
    replace("c.json", json_file(1))
    with watching(directory) as w:
        assert w.state()["flaws"] == []
        replace("credentials", aws_file(2))
        assert "another key" in w.flaw("mixed")["flaws"][0]["why"]
        replace("c.json", json_file(2))
        assert w.state()["flaws"] == []
        status, summary = w.end()
    only(summary, "mixed")
    assert (status, summary["states"]) == (1, 3)


def test_a_generation_with_two_keys_or_tokens_is_mixed(volume):
    volume.swap({"credentials": aws_file(1), "c.json": json_file(2)})
    with watching(volume.path) as w:
        w.flaw("mixed", "credentials")
        other = json.loads(process_file(1))
        other["SessionToken"] = "another"
        volume.swap({"credentials": aws_file(1), "c.json": json.dumps(other)})
        w.flaw("mixed", "credentials")
        assert w.end()[0] == 1


def test_removal_is_missing(volume):
    volume.swap(full_set(1))
    with watching(volume.path) as w:
        w.state()
        (volume.path / "token").unlink()
        assert w.flaw("missing", "token")["reader"] == "names"
        status, summary = w.end()
    only(summary, "missing")
    assert status == 1


def test_a_smaller_set_is_mixed_and_missing(volume):
    volume.swap(full_set(1))
    with watching(volume.path) as w:
        w.state()
        volume.swap({"token": token_file(2)})
        w.each(("snapshot", "mixed"), ("names", "missing"))
        assert w.end()[0] == 1


def test_a_removed_directory_is_missing_and_found_again(volume):
    volume.swap(full_set(1))
    with watching(volume.path) as w:
        w.state()
        os.rename(volume.path, volume.path.with_name("away"))
        w.each(("snapshot", "missing"), ("names", "missing"))
        os.rename(volume.path.with_name("away"), volume.path)
        w.until(lambda line: line["reader"] == "snapshot" and line["flaws"] == [])
        volume.swap(full_set(2))
        assert w.state()["flaws"] == []
        status, summary = w.end()
    only(summary, "missing")
    assert status == 1


def test_expired_and_grace(volume):
    volume.swap(full_set(1, -60))
    with watching(volume.path) as w:
        w.flaw("expired", "c.json")
        assert w.end()[0] == 1
    with watching("--grace-expired", 3600, volume.path) as w:
        assert w.state()["flaws"] == []
        assert w.end()[0] == 0


def test_a_credential_that_expires_unchanged_is_told(volume):
    volume.swap({"c.json": json_file(1, 3)})
    with watching(volume.path) as w:
        assert w.state()["flaws"] == []
        w.flaw("expired", "c.json")
        assert w.end()[0] == 1


def test_going_back_in_expiry_is_worse(volume):
    volume.swap(full_set(1, 3600))
    with watching(volume.path) as w:
        w.state()
        volume.swap(full_set(2, 1800))
        w.flaw("worse", "c.json")
        status, summary = w.end()
    only(summary, "worse")
    assert (status, summary["states"]) == (1, 2)


def test_wrong_mode(volume):
    volume.swap(full_set(1), mode=0o644)
    with watching("--mode", "token=0640", volume.path) as w:
        assert "0644 instead of 0640" in w.flaw("mode", "token")["flaws"][0]["why"]
        status, summary = w.end()
    only(summary, "mode")
    assert status == 1


def test_absence_at_the_start(volume):
    with watching("--expect", "token", volume.path) as w:
        volume.swap({"c.json": json_file(1)})
        volume.swap({"c.json": json_file(2, 3601), "token": token_file(2)})
        w.until(lambda line: any(f["name"] == "token" for f in line.get("files", [])))
        assert w.end()[0] == 0
    volume.swap({"c.json": json_file(3, 3602)})
    with watching("--no-allow-missing-at-start", "--expect", "token", volume.path) as w:
        w.flaw("mixed", "token")
        assert w.end()[0] == 1


def test_single_files(tmp_path, volume):
    volume.swap(full_set(1))
    path = tmp_path / "single"
    with watching("--file", path, "--file", volume.path / "token") as w:
        assert w.state()["target"].endswith("token")
        for n in range(3):
            draft = tmp_path / "draft"
            draft.write_text(json_file(n, 3600 + n))
            os.rename(draft, path)
            assert w.state()["files"][0]["generation"] == n
        path.write_text("{")
        w.flaw("torn", "single")
        path.unlink()
        w.flaw("missing", "single")
        status, summary = w.end()
    assert status == 1 and summary["mixed"] == 0 and summary["generations"] == 0


def test_a_kind_can_be_given(volume):
    volume.swap({"a": "not a token", "b": '{"half'})
    with watching("--kind", "a=token", "--kind", "b=any", volume.path) as w:
        flaws = w.flaw("torn")["flaws"]
        assert [f["file"] for f in flaws] == ["a"]


def test_limits_report_and_text(tmp_path, volume):
    volume.swap(full_set(1))
    report = tmp_path / "report.json"
    done = subprocess.run([WITNESS, "--states", "1", "--report", report, volume.path], capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    assert done.returncode == 0 and "1 states, 1 generations" in done.stdout
    assert json.loads(report.read_text())["ok"] is True
    key, secret, token = keys(1)
    assert secret not in done.stdout and token not in done.stdout and key not in done.stdout
    assert token_file(1) not in done.stdout
    done = subprocess.run([WITNESS, "--for", "0.05", volume.path], capture_output=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("arguments", [
    [], ["--nonsense", "d"], ["d", "e"], ["--for", "soon", "d"], ["--for", "0", "d"], ["--states", "0", "d"],
    ["--states", "-1", "d"], ["--mode", "token=999", "d"], ["--mode", "token", "d"], ["--mode", "=0640", "d"],
    ["--kind", "a=xml", "d"], ["--kind", "a", "d"], ["--expect", "a/b", "d"], ["--file", ""], ["--file", "d/"],
    ["--expect", "a", "--expect", "a", "d"], ["--grace-expired", "-1", "d"], [""]])
def test_wrong_arguments(arguments):
    done = subprocess.run([WITNESS, *arguments], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 2 and done.stdout == "" and "credfresh-witness: " in done.stderr


def test_what_cannot_be_watched(tmp_path):
    for target in (tmp_path / "none", __file__):
        done = subprocess.run([WITNESS, target], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 3 and "cannot watch" in done.stderr


def test_help_and_version():
    assert "exit status" in subprocess.run([WITNESS, "--help"], capture_output=True, text=True, check=True).stdout
    assert subprocess.run([WITNESS, "--version"], capture_output=True, text=True, check=True).stdout
