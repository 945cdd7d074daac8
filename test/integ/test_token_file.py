# SPDX-License-Identifier: MIT
"""The token file in every state, and every way in which it changes."""
import base64
import calendar
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

from conftest import AS_NOBODY, CREDFRESH, Mounted, eventually, let_others_in, needs_namespace


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


@pytest.fixture
def own(agent_factory, cloud):
    """An agent whose token file is a plain one, in a directory of its own; it is not there yet."""
    agent = agent_factory(cloud)
    (agent.dir / "in").mkdir()
    agent.token_path = agent.dir / "in" / "token"
    return agent.configure(agent.credential(token={"file": str(agent.token_path)}))


def put(path, text):
    """By rename, as most writers do."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    beside.rename(path)


def error_of(agent):
    return (agent.status().get("last_error") or {}).get("message", "")


def wait_error(agent, *words):
    eventually(lambda: all(word in error_of(agent) for word in words), f"{words} in: {error_of(agent)}\n{agent.log}")


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def forged(claims=None, header=None, signature="c2lnbmF0dXJl"):
    now = int(time.time())
    base = {"iss": "https://issuer.example", "sub": "system:serviceaccount:default:demo",
            "aud": ["sts.amazonaws.com"], "iat": now, "nbf": now, "exp": now + 3600}
    base.update(claims or {})
    return f"{part(header or {'alg': 'RS256', 'kid': 'k'})}.{part(base)}.{signature}"


# ---- how it changes ----

def watches_of(pid):
    """How many inotify watches a process has."""
    count = 0
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            count += path.read_text().count("inotify wd:")
    return count


def test_once_watches_only_while_it_has_to_wait(own):
    """The kernel takes its time to let go of a watch, which would be most of the time of a job that is done in a moment."""
    hook = own.dir / "hook.py"
    report = own.dir / "watches"
    hook.write_text(f"""import glob, os
here = "/proc/" + str(os.getppid()) + "/fdinfo/*"
open({str(report)!r}, "w").write(str(sum(open(path).read().count("inotify wd:") for path in glob.glob(here))) + "\\n")
""")
    own.configure(own.credential(token={"file": str(own.token_path)}, reload=[{"exec": [sys.executable, str(hook)]}]))
    put(own.token_path, own.cloud.token())
    assert own.run("once").returncode == 0
    assert report.read_text() == "0\n"
    shutil.rmtree(own.state)
    shutil.rmtree(own.out)
    own.token_path.unlink()
    with subprocess.Popen([CREDFRESH, "once", "-c", str(own.config_path)], stderr=subprocess.DEVNULL) as process:
        eventually(lambda: watches_of(process.pid) > 0, "a watch")
        put(own.token_path, own.cloud.token())
        assert process.wait(30) == 0



def test_the_kubelets_swap(agent):
    agent.start()
    agent.wait_generation(1)
    for generation in (2, 3):
        agent.cloud.admin("/volume/demo/renew", {})
        agent.wait_generation(generation)
    assert len(agent.cloud.exchanges()) == 3
    assert agent.published()["generation"] == 3
    assert (agent.out / "token").read_text() == (agent.cloud.volumes["demo"] / "token").read_text()


def test_missing_at_first_then_replaced_by_rename(own):
    own.start()
    wait_error(own, "does not exist yet")
    assert own.status()["state"] == "waiting" and not own.out.exists()
    put(own.token_path, own.cloud.token())
    own.wait_generation(1)
    put(own.token_path, own.cloud.token(expires_in_s=3500))
    own.wait_generation(2)
    assert own.status()["last_error"] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("soon", [True, False], ids=["soon", "never"])
def test_swapped_before_it_gets_its_owner(own, soon):
    """As kubelets before 1.27 do: first comes the swap, then the owner."""
    volume = Mounted(own.token_path.parent).put({"token": own.cloud.token()})
    let_others_in(own.dir, own.cloud.dir)
    os.chown(own.dir, 65534, 65534)
    own.start(wrapper=AS_NOBODY)
    own.wait_generation(1)
    volume.put({"token": own.cloud.token(expires_in_s=3500)}, mode=0o600)
    eventually(lambda: "Permission denied; checking again soon" in own.log, lambda: own.log)
    if soon:
        os.chown(own.token_path, 65534, 65534)
        own.wait_generation(2)
        assert " error " not in own.log and " warn " not in own.log
    else:
        wait_error(own, "Permission denied")
        assert own.generation() == 1 and own.status()["state"] == "fresh"


@pytest.mark.parametrize("cut", ["in the claims", "in the signature"])
def test_rewritten_in_place_in_two_halves(own, cut):
    put(own.token_path, own.cloud.token())
    own.start()
    own.wait_generation(1)
    fresh = own.cloud.token(expires_in_s=3500)
    half = len(fresh) // 3 if cut == "in the claims" else fresh.rindex(".") + 40
    with open(own.token_path, "w", encoding="ascii") as file:
        file.truncate(0)
        file.write(fresh[:half])
        file.flush()
        # Time enough for a reader that would take the half.
        assert own.run("wait", "demo").returncode == 0
        for _ in range(20):
            assert own.generation() == 1
        file.write(fresh[half:] + "\n")
    own.wait_generation(2)
    assert (own.out / "token").read_text() == fresh
    assert [entry["status"] for entry in own.cloud.exchanges()] == [200, 200]


def test_half_a_token_is_refused_when_it_has_to_be_read(own):
    fresh = own.cloud.token()
    own.token_path.write_text(fresh[:fresh.rindex(".") + 1])
    own.start()
    wait_error(own, "no signature", "half written")
    own.token_path.write_text(fresh)
    own.wait_generation(1)
    assert [entry["status"] for entry in own.cloud.exchanges()] == [200]


def test_a_token_that_was_read_half_written_is_replaced_by_the_whole_one(own):
    """Cut in the signature it has the header and the claims of the whole one."""
    passed = own.dir / "passed"
    own.configure(own.credential(token={"file": str(own.token_path)}, exchange=None,
                                 publish={"file": {"path": str(passed), "format": "token"}}))
    fresh = own.cloud.token()
    own.token_path.write_text(fresh[:-40])
    own.start()
    own.wait_generation(1)
    assert passed.read_text() == fresh[:-40]
    own.token_path.write_text(fresh)
    own.wait_generation(2)
    assert passed.read_text() == fresh


def test_a_half_token_is_replaced_by_the_whole_one_in_an_outage(own):
    put(own.token_path, own.cloud.token())
    own.start()
    own.wait_generation(1)
    own.wait_state("fresh")
    own.cloud.admin("/outage", {"on": True})
    fresh = own.cloud.token(expires_in_s=7200)
    own.token_path.write_text(fresh[:-40])
    own.wait_generation(2)
    assert (own.out / "token").read_text() == fresh[:-40]
    own.token_path.write_text(fresh)
    own.wait_generation(3)
    assert (own.out / "token").read_text() == fresh


def test_an_unchanged_token_is_no_reason(own):
    token = own.cloud.token()
    put(own.token_path, token)
    own.start()
    own.wait_generation(1)
    put(own.token_path, token)
    put(own.token_path, token + "\n")
    fresh = own.cloud.token(expires_in_s=3500)
    put(own.token_path, fresh)
    own.wait_generation(2)
    assert len(own.cloud.exchanges()) == 2


def test_removed_while_running(own):
    put(own.token_path, own.cloud.token())
    own.start()
    own.wait_generation(1)
    before = own.published()
    own.token_path.unlink()
    assert own.run("rotate", "demo").returncode == 0
    wait_error(own, "does not exist yet")
    assert own.published() == before and own.status()["ready"]
    put(own.token_path, own.cloud.token(expires_in_s=3500))
    own.wait_generation(2)


def test_the_directory_is_removed_and_made_again(own):
    put(own.token_path, own.cloud.token())
    own.start()
    own.wait_generation(1)
    own.token_path.unlink()
    own.token_path.parent.rmdir()
    own.token_path.parent.mkdir()
    put(own.token_path, own.cloud.token(expires_in_s=3500))
    own.wait_generation(2)


def test_a_chain_of_links(own):
    target = own.dir / "far" / "away" / "real"
    target.parent.mkdir(parents=True)
    put(target, own.cloud.token())
    middle = own.dir / "middle"
    middle.symlink_to("far/away/real")
    own.token_path.symlink_to("../middle")
    own.start()
    own.wait_generation(1)
    # The link that is configured is exchanged for another.
    other = own.dir / "other"
    put(other, own.cloud.token(expires_in_s=3500))
    beside = own.token_path.with_name("new")
    beside.symlink_to("../other")
    beside.rename(own.token_path)
    own.wait_generation(2)


def test_links_in_a_circle(own):
    own.token_path.symlink_to("token")
    own.start()
    wait_error(own, "symbolic links")
    own.token_path.unlink()
    put(own.token_path, own.cloud.token())
    own.wait_generation(1)


# ---- what is in it ----

def test_white_space_is_trimmed(own):
    token = own.cloud.token()
    own.token_path.write_text(f"\n {token}\r\n\n")
    own.start()
    own.wait_generation(1)
    assert (own.out / "token").read_text() == token


BAD = {
    "empty": ("", ["is empty"]),
    "blank": (" \n\n", ["is empty"]),
    "garbage": ("hello, world", ["not a JSON Web Token"]),
    "binary": ("\x00\x01\x02\x7f" * 100, ["not a JSON Web Token"]),
    "three dots": ("a.b.c.d", ["three parts"]),
    "no json": ("YWJj.YWJj.YWJj", ["not a JSON Web Token", "header"]),
    "alg none": (forged(header={"alg": "none"}), ["none"]),
    "no signature": (forged(signature=""), ["no signature"]),
    "exp of text": (forged({"exp": "tomorrow"}), ["`exp` is not a number"]),
    "exp missing": (forged({"exp": None}), ["`exp`"]),
    "iat of text": (forged({"iat": "yesterday"}), ["`iat` is not a number"]),
    "aud a number": (forged({"aud": 7}), ["`aud`"]),
    "aud of numbers": (forged({"aud": [7]}), ["`aud`"]),
    "sub a list": (forged({"sub": ["a"]}), ["`sub` is not a string"]),
    "exp beyond time": (forged({"exp": 1e300}), ["`exp`"]),
    "a mebibyte": ("a" * (1 << 20), ["more than", "allowed"]),
}


def test_what_is_no_token_is_refused_and_said(own):
    own.start()
    wait_error(own, "does not exist yet")
    for name, (text, words) in BAD.items():
        put(own.token_path, text)
        wait_error(own, *words)
        assert own.status()["last_error"]["code"] in ("token", "limit"), name
    assert own.cloud.exchanges() == [] and not own.out.exists()
    put(own.token_path, own.cloud.token())
    own.wait_generation(1)


def test_a_bad_token_does_not_spoil_what_is_published(own):
    put(own.token_path, own.cloud.token())
    own.start()
    own.wait_generation(1)
    before = own.published()
    for text, _ in BAD.values():
        put(own.token_path, text)
    assert own.run("rotate", "demo").returncode == 0
    wait_error(own, "token")
    assert own.published() == before and own.status()["ready"] and own.generation() == 1


def test_expired(own):
    put(own.token_path, own.cloud.token(expires_in_s=-600, issued_ago_s=4200))
    own.start()
    # Tried once, because this machine's clock may be wrong: the answer tells the time.
    wait_error(own, "expired", "kubelet")
    assert len(own.cloud.exchanges()) == 1 and "expired at 2" in own.log and "trying it anyway" in own.log
    put(own.token_path, own.cloud.token())
    own.wait_generation(1)


def test_not_yet_valid(own):
    put(own.token_path, own.cloud.token(issued_ago_s=-600))
    own.start()
    wait_error(own, "InvalidIdentityToken", "Token is not valid yet")
    assert "behind that; trying it anyway" in own.log
    # The answer tells the cloud's time: until then there is nothing to try.
    assert own.run("rotate", "demo").returncode == 0
    wait_error(own, "is not valid before", "also by the server's clock")
    assert len(own.cloud.exchanges()) == 1
    tried_again = calendar.timegm(time.strptime(own.status()["next_refresh"], "%Y-%m-%dT%H:%M:%SZ"))
    assert time.time() + 540 < tried_again < time.time() + 602


def test_a_slightly_fast_issuer_is_no_trouble(own):
    put(own.token_path, own.cloud.token(issued_ago_s=-2))
    own.start()
    eventually(lambda: own.cloud.exchanges() != [], "an exchange")
    assert "this machine's clock" not in own.log


def test_the_wrong_audience(own):
    own.configure(own.credential(token={"file": str(own.token_path), "audience": "vault"}))
    put(own.token_path, own.cloud.token())
    own.start()
    wait_error(own, '"sts.amazonaws.com"', 'not "vault"')
    assert own.cloud.exchanges() == []
    put(own.token_path, own.cloud.token(audience=["x", "vault"]))
    eventually(lambda: len(own.cloud.exchanges()) == 1, "an exchange with the right one")


def test_a_fifo_does_not_hang(own):
    os.mkfifo(own.token_path)
    own.start()
    wait_error(own, "not a regular file")
    assert own.run("status").returncode == 0
    own.token_path.unlink()
    put(own.token_path, own.cloud.token())
    own.wait_generation(1)


def test_a_directory_is_no_token(own):
    own.token_path.mkdir()
    own.start()
    wait_error(own, "not a regular file")


# ---- what nobody renews ----

def test_an_overdue_token_is_reported_with_its_age(cloud_factory, agent_factory):
    cloud = cloud_factory(speed=600)  # an hour lasts six seconds
    agent = agent_factory(cloud).configure()
    cloud.admin("/volume/demo/pause", {})
    agent.start()
    agent.wait_generation(1)
    eventually(lambda: agent.status().get("token", {}).get("overdue"), "the report:\n" + agent.log)
    line = next(line for line in agent.log.splitlines() if "80 %" in line)
    assert " s old, past 80 % of its lifetime, and it has not been replaced: look at the kubelet" in line
    cloud.admin("/volume/demo/resume", {})
    eventually(lambda: agent.status().get("token", {}).get("overdue") is False, "the token's renewal:\n" + agent.log)
    assert "the token file was renewed at last" in agent.log


def test_an_overdue_token_is_exchanged_once_more_before_it_expires(cloud, agent_factory):
    agent = agent_factory(cloud)
    token = agent.dir / "token"
    token.write_text(cloud.token(expires_in_s=12, issued_ago_s=108))
    agent.configure(agent.credential(token={"file": str(token)}, publish={
        "directory": str(agent.out), "files": [{"name": "credentials", "format": "aws-credentials"}]})).start()
    agent.wait_generation(1)
    agent.wait_generation(2)
    assert "has not been replaced: exchanging it once more" in agent.log
    assert len(cloud.exchanges()) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_a_subpath_mount_is_recognised(cloud, agent_factory):
    agent = agent_factory(cloud)
    token = agent.dir / "token"
    token.write_text("")
    source = agent.dir / "source"
    source.write_text(cloud.token(expires_in_s=8, issued_ago_s=32))  # past 80 % from the start
    agent.configure(agent.credential(token={"file": str(token)}))
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    needs_namespace("-m")
    agent.start(wrapper=["unshare", "-m", "sh", "-c", script, "sh", str(source), str(token)])
    eventually(lambda: "subPath" in (agent.status().get("token", {}).get("note") or ""), "the note:\n" + agent.log)
    assert "it is a subPath mount, which never changes; mount the whole volume" in agent.log


def test_a_token_inside_a_json_file_is_used(shared_cloud, agent_factory, tmp_path):
    wrapped = tmp_path / "wrapped.json"
    agent = agent_factory(shared_cloud)
    agent.configure(agent.credential(token={"file": str(wrapped), "json_field": "id_token"}))
    wrapped.write_text('{"id_token": "')
    agent.start()
    eventually(lambda: "only half written" in (agent.status().get("last_error") or {}).get("message", ""), "the refusal")
    wrapped.write_text(json.dumps({"id_token": shared_cloud.token()}))
    agent.wait_generation(1)
    wrapped.write_text(json.dumps({"token": "x"}))
    eventually(lambda: "no text in the member id_token" in (agent.status().get("last_error") or {}).get("message", ""),
               "the missing member")
    assert agent.published()["generation"] == 1


def test_a_new_token_is_published_while_its_exchange_fails(agent):
    """With the last session: clients that exchange the token themselves need it, and the session is still good."""
    runs = agent.dir / "runs"
    agent.configure(agent.credential(reload=[{"exec": ["/bin/sh", "-c", f"echo $CREDFRESH_GENERATION >> {runs}"]}]))
    agent.start()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    volume = agent.cloud.volumes["demo"]
    before = agent.published()
    old = (volume / "token").read_text()
    agent.cloud.admin("/outage", {"on": True})

    def renewed():  # one of the same second is the same
        agent.cloud.admin("/volume/demo/renew", {})
        return (volume / "token").read_text() != old

    eventually(renewed, "another token", pause_s=0.3)
    agent.wait_generation(2)
    agent.wait_state("backoff")
    new = (volume / "token").read_text()
    now = agent.published()
    assert (agent.out / "token").read_text() == new != old
    assert now["fields"] == {**before["fields"], "token": new}
    assert agent.status()["ready"] and agent.status()["last_error"]
    eventually(lambda: runs.exists() and runs.read_text().split()[-1] == "2", "the hook of generation 2")
    # Further tries bring nothing new.
    tries = len(agent.cloud.exchanges())
    eventually(lambda: len(agent.cloud.exchanges()) >= tries + 2, "two more tries")
    assert agent.generation() == 2
    # It counts as not exchanged: a restart tries at once, and keeps what is there meanwhile.
    agent.kill()
    tries = len(agent.cloud.exchanges())
    agent.start()
    eventually(lambda: len(agent.cloud.exchanges()) > tries, "a try after the restart")
    assert (agent.out / "token").read_text() == new
    agent.cloud.admin("/outage", {"on": False})
    agent.wait_generation(3)
    assert agent.published()["fields"] != before["fields"]
    assert (agent.out / "token").read_text() == new


def test_a_new_token_is_published_with_a_session_that_has_expired(agent_factory, cloud_factory):
    """An hour is 12 s. What clients exchange themselves is no older than the kubelet's file when the cloud is back."""
    cloud = cloud_factory(speed=300)
    agent = agent_factory(cloud).configure().start()
    agent.wait_generation(1)
    cloud.admin("/outage", {"on": True})
    before = agent.published()["fields"]
    eventually(lambda: not agent.status()["ready"], "the session's end")
    eventually(lambda: "which has expired" in agent.log, lambda: "a token with an expired session:\n" + agent.log)
    now = agent.published()["fields"]
    assert now["token"] != before["token"] and now == {**before, "token": now["token"]}
    assert not agent.status()["ready"]


def test_a_new_token_that_is_refused_is_not_published(agent):
    agent.configure().start()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    volume = agent.cloud.volumes["demo"]
    old = (volume / "token").read_text()
    agent.cloud.fault(kind="error", code="InvalidIdentityToken", status=400, message="no", count=-1)
    other = agent.cloud.token(expires_in_s=7200)
    agent.cloud.admin("/volume/demo/write", {"content": other})
    agent.wait_state("backoff")
    assert (agent.out / "token").read_text() == old and agent.generation() == 1
    agent.cloud.clear_faults()
    agent.wait_generation(2)
    assert (agent.out / "token").read_text() == other
