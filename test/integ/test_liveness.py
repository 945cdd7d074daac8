# SPDX-License-Identifier: MIT
"""No hang, no busy loop, no lost event: events at awkward times, and repeated requests."""
import calendar
import json
import os
import shutil
import signal
import socket
import time
from email.utils import formatdate

import pytest

from conftest import ROLE, Mounted, eventually, read_text

# Such a token counts as overdue at the age of 80 % of its lifetime and two minutes.
LIFE_S = 10000
OVERDUE_S = 8120
# Many more than the looks at a few files, and far fewer than a loop that turns in vain makes in a tenth of a second.
CALLS_MOST = 300


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


@pytest.fixture
def own(agent_factory, cloud):
    """An agent whose token file is a plain one, in a directory of its own."""
    agent = agent_factory(cloud)
    (agent.dir / "in").mkdir()
    agent.token_path = agent.dir / "in" / "token"
    put(agent.token_path, cloud.token())
    return agent.configure(agent.credential(token={"file": str(agent.token_path)}))


def put(path, text):
    """By rename, as most writers do."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    beside.rename(path)


def token_of_age(cloud, age_s):
    return cloud.token(issued_ago_s=age_s, expires_in_s=LIFE_S - age_s)


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def io_calls(agent):
    """How often it has read or written a file."""
    try:
        fields = dict(line.split(": ") for line in read_text(f"/proc/{agent.process.pid}/io").splitlines())
    except PermissionError:
        pytest.skip("the counters of a process that is not dumpable are for root")
    return int(fields["syscr"]) + int(fields["syscw"])


def check_calm(agent):
    """It answers, and between the answers it does next to nothing."""
    before = io_calls(agent)
    try:
        for _ in range(50):
            assert agent.request("GET", "/livez")[0] == 200
            time.sleep(0.01)
    except OSError:
        agent.kill()  # it would not end when asked to either
        pytest.fail("it does not answer:\n" + agent.log)
    assert io_calls(agent) - before < CALLS_MOST, agent.log[-2000:]


def rotate(agent, reason="", name="demo"):
    status, answer = agent.request("POST", f"/v1/credentials/{name}/rotate", '{"reason":"%s"}' % reason if reason else "{}")
    assert status == 202, answer


def reload(agent):
    status, answer = agent.request("POST", "/v1/reload", "")
    assert status == 200, answer


# ---- deadlines that have passed ----

def test_an_overdue_token_is_replaced_while_its_credential_is_busy(own):
    """One credential is in the middle of an exchange then, the other one waits for its turn."""
    other = own.token_path.with_name("other")
    began = time.time()
    for path in (own.token_path, other):
        put(path, token_of_age(own.cloud, OVERDUE_S - 5))
    own.configure(own.credential(token={"file": str(own.token_path)}),
                  own.credential("other", token={"file": str(other)}), max_concurrent_exchanges=1).start()
    own.wait_generation(1)
    own.wait_generation(1, "other")
    own.cloud.fault(kind="delay", ms=7000)
    rotate(own)
    own.wait_state("exchanging")
    rotate(own, name="other")
    texts = [own.cloud.token(), own.cloud.token()]
    put(own.token_path, texts[0])
    put(other, texts[1])
    if time.time() > began + 4:
        pytest.skip("this machine is too slow to be early enough")
    eventually(lambda: time.time() > began + 5.2, "the time at which the tokens are overdue")
    check_calm(own)
    assert own.status()["state"] == "exchanging" and own.generation("other") == 1
    eventually(lambda: [read_text(own.out / "token"), read_text(own.dir / "out-other/token")] == texts, "the new tokens")
    check_calm(own)


@pytest.mark.parametrize("how", ["the state directory is lost", "another audience is asked for"])
def test_a_token_passed_on_late_in_its_life_is_published_once(own, how):
    put(own.token_path, token_of_age(own.cloud, 9000))
    publish = {"directory": str(own.out), "files": [{"name": "token", "format": "token"}]}

    def configure(**token):
        own.configure(own.credential(exchange=None, publish=publish, token={"file": str(own.token_path), **token}))

    configure()
    if how.startswith("the state"):
        assert own.run("once").returncode == 0
        shutil.rmtree(own.state)
        own.start()
    else:
        own.start()
        own.wait_generation(1)
        configure(audience="sts.amazonaws.com")
        reload(own)
    own.wait_state("fresh")
    check_calm(own)
    assert own.status()["ready"]
    new = own.cloud.token()
    put(own.token_path, new)
    eventually(lambda: read_text(own.out / "token") == new, "the next token")


@pytest.mark.parametrize("how", ["reload", "restart"])
def test_an_overdue_token_is_told_of_again(own, how):
    put(own.token_path, token_of_age(own.cloud, OVERDUE_S + 100))
    own.start()
    own.wait_generation(1)
    eventually(lambda: own.status()["token"]["overdue"], "the first complaint")
    own.configure(own.credential(token={"file": str(own.token_path), "audience": "sts.amazonaws.com"}))
    if how == "reload":
        reload(own)
    else:
        own.stop()
        own.start()
    own.wait_generation(2)
    eventually(lambda: own.status()["token"]["overdue"], "the second complaint")
    assert own.log.count("it has not been replaced") == 2
    put(own.token_path, own.cloud.token())
    eventually(lambda: not own.status()["token"]["overdue"], "the end of it")


# ---- how long it waits ----

@pytest.mark.parametrize("published", [False, True], ids=["nothing published", "published"])
def test_a_retry_after_of_a_day_is_not_waited_for(agent, published):
    if published:
        agent.start()
        agent.wait_generation(1)
    agent.cloud.fault(kind="status", status=503, headers={"Retry-After": "86400"}, body="busy")
    if published:
        rotate(agent)
    else:
        agent.start()
    agent.wait_state("backoff")
    now = agent.status()
    assert now["consecutive_failures"] == 1
    if published:
        assert seconds(now["next_refresh"]) < seconds(now["expires"])
    else:
        assert seconds(now["next_refresh"]) < time.time() + 600


def test_file_events_do_not_shorten_the_wait(own):
    text = own.token_path.read_text()
    # Events come in order: what the second credential has seen, the first one has seen before.
    behind = own.token_path.with_name("behind")
    put(behind, own.cloud.token())
    own.configure(own.credential(token={"file": str(own.token_path)}),
                  own.credential("behind", exchange=None, token={"file": str(behind)}, publish={
                      "directory": str(own.dir / "out-behind"), "files": [{"name": "token", "format": "token"}]})).start()
    own.wait_generation(1)
    own.wait_generation(1, "behind")
    own.cloud.fault(kind="status", status=503, headers={"Retry-After": "600"}, body="busy")
    rotate(own)
    own.wait_state("backoff")
    for generation in range(2, 7):
        put(own.token_path, text)
        put(behind, own.cloud.token())
        own.wait_generation(generation, "behind")
    now = own.status()
    assert (now["state"], now["consecutive_failures"], now["generation"]) == ("backoff", 1, 1), own.log
    assert len(own.cloud.exchanges()) == 2
    put(own.token_path, own.cloud.token())  # another token is a reason to try
    own.wait_generation(2)


# ---- what was asked for ----

@pytest.mark.parametrize("killed", [False, True], ids=["running", "killed"])
def test_a_second_reason_during_a_forced_exchange(agent, killed):
    agent.start()
    agent.wait_generation(1)
    agent.cloud.fault(kind="delay", ms=1000)
    if killed:
        agent.cloud.fault(kind="delay", ms=30000)  # the next one
    rotate(agent, "first")
    agent.wait_state("exchanging")
    rotate(agent, "second")  # may be about what the exchange under way has already asked for
    if killed:
        agent.wait_generation(2)
        assert agent.status()["last_reason"] == "second"
        agent.kill()
        agent.cloud.clear_faults()
        agent.start()
    agent.wait_generation(3)
    agent.wait_state("fresh")
    assert agent.status()["last_reason"] == "second"
    check_done_once(agent, 3)


def test_a_rotation_accepted_before_anything_was_published(agent):
    agent.cloud.admin("/outage", {"on": True})
    agent.start()
    agent.wait_state("backoff")
    rotate(agent, "first")
    agent.kill()
    agent.cloud.admin("/outage", {"on": False})
    agent.start()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    assert agent.status()["last_reason"] == "first"
    check_done_once(agent, 1)


def check_done_once(agent, generation):
    """After a crash there is nothing left to do, and what was asked for cannot be asked for again."""
    exchanges = len(agent.cloud.exchanges())
    agent.kill()
    agent.start()
    agent.wait_state("fresh")
    assert agent.generation() == generation and "is still good for" in agent.log
    assert len(agent.cloud.exchanges()) == exchanges
    assert agent.request("POST", "/v1/credentials/demo/rotate", '{"reason":"first"}')[0] == 409


# ---- commands ----

def test_a_hook_that_left_its_process_group_does_not_hold_up_a_reload(agent):
    pid_path = agent.dir / "pid"
    hook = agent.dir / "hook.py"
    hook.write_text("#!/usr/bin/python3\nimport os, time\nos.setpgid(0, os.getpgid(os.getppid()))\n"
                    f"open('{pid_path}.new', 'w').write(str(os.getpid()))\n"
                    f"os.rename('{pid_path}.new', '{pid_path}')\ntime.sleep(600)\n")
    hook.chmod(0o755)
    agent.configure(agent.credential(reload=[{"exec": [str(hook)]}])).start()
    eventually(pid_path.exists, "the command")
    pid = int(pid_path.read_text())
    assert os.getpgid(pid) == os.getpgid(agent.process.pid)
    agent.configure(agent.credential(reload=[{"exec": ["/bin/true"]}]))
    try:
        agent.process.send_signal(signal.SIGHUP)
        eventually(lambda: "loaded the new configuration" in agent.log, "the reload:\n" + agent.log)
        eventually(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the command")
        eventually(lambda: agent.status()["hooks"][0]["result"] == "ok", "the new command")
    finally:
        if agent.process.poll() is None and os.path.exists(f"/proc/{pid}"):
            os.kill(pid, signal.SIGKILL)


# ---- Secrets of the cluster, mounted Secrets, requests ----

KUBE = {"match": {"action": "kube.secret.*"}, "kind": "status", "status": 503, "body": "busy", "count": -1}


@pytest.fixture
def mounted(tmp_path):
    return Mounted(tmp_path / "mnt" / "secret")


def in_cluster(agent, name, **over):
    return {"secret": {"namespace": "default", "name": name, "kubeconfig": agent.cloud.ready["kubeconfig"], **over}}


def passed_on(agent, mounted, publish, **over):
    return agent.credential(token=None, exchange=None, publish=publish, **over,
                            secret={"directory": str(mounted.dir), "pass_on": True})


def from_mounted(agent, mounted):
    return agent.credential(token=None, secret={"directory": str(mounted.dir), "token_directory": "/tmp"},
                            exchange={"aws": {"region": "us-east-1", "endpoint": agent.cloud.sts, "ca_file": agent.cloud.ca}})


def role_form(path):
    return {"credentials": f"[default]\nrole_arn = {ROLE}\nweb_identity_token_file = {path}\n"}


def requested(agent, **over):
    return {"audience": "sts.amazonaws.com", "request": {"service_account": "demo", "namespace": "default",
                                                         "kubeconfig": agent.cloud.ready["kubeconfig"], **over}}


def test_a_delivery_that_a_restart_cut_short_is_made_up_for(agent, mounted):
    """What was to be delivered is not kept, and what it came from does not change: it is read again."""
    told = agent.dir / "told"
    mounted.put({"a": "b"})
    agent.configure(passed_on(agent, mounted, in_cluster(agent, "late"), reload=[
        {"exec": ["/bin/sh", "-c", f"echo $CREDFRESH_GENERATION >> {told}"]}]))
    agent.cloud.fault(**KUBE)
    for _ in range(2):
        agent.start()
        agent.wait_state("fresh")
        eventually(lambda: agent.status()["deliveries"][0]["runs_failed"] >= 1, lambda: agent.log)
        assert not agent.status()["ready"]
        agent.kill()
    agent.cloud.clear_faults()
    agent.start()
    eventually(lambda: agent.status().get("ready"), lambda: agent.log)
    generation = agent.generation()
    eventually(lambda: read_text(told) != "", lambda: agent.log)
    # Nobody was told of what was not there.
    assert read_text(told) == f"{generation}\n"
    agent.kill()
    agent.start()
    agent.wait_state("fresh")
    assert agent.generation() == generation and agent.status()["ready"]


def test_an_older_delivery_is_not_taken_for_the_newest(agent):
    agent.configure(agent.credential(publish=in_cluster(agent, "older", keys=[{"name": "k", "format": "json"}]))).start()
    eventually(lambda: agent.status().get("ready"), lambda: agent.log)
    agent.cloud.fault(**KUBE)
    rotate(agent)
    agent.wait_generation(2)
    agent.wait_state("fresh")
    agent.kill()
    agent.cloud.admin("/outage", {"on": True})
    agent.start()
    agent.wait_state("backoff")
    now = agent.status()
    assert now["deliveries"][0]["result"] == "pending" and not now["ready"]


def test_one_run_says_which_secret_could_not_be_written(agent, mounted):
    mounted.put({"a": "b"})
    agent.cloud.fault(**{**KUBE, "status": 403, "body": "{}"})
    done = agent.configure(passed_on(agent, mounted, in_cluster(agent, "denied"))).run("once")
    assert done.returncode == 1 and "not done: Secret default/denied (HTTP 403)" in done.stderr, done.stderr


def test_two_cannot_write_one_secret(agent, mounted):
    mounted.put({"a": "b"})
    agent.configure(passed_on(agent, mounted, in_cluster(agent, "one")),
                    passed_on(agent, mounted, in_cluster(agent, "one"), name="second"))
    done = agent.run("check")
    assert done.returncode == 3 and "credential second: publish.secret: one is also written on line" in done.stdout


def test_the_largest_secret_is_passed_on(agent, mounted):
    big = "x" * (1048576 - 8)
    mounted.put({"big": big, "small": "y"})
    agent.configure(passed_on(agent, mounted, [
        {"directory": str(agent.out)}, in_cluster(agent, "big"),
        {"file": {"path": str(agent.dir / "one"), "format": "secret-key", "key": "big"}}])).start()
    eventually(lambda: agent.status().get("ready"), lambda: agent.log)
    assert read_text(agent.out / "big") == big and read_text(agent.dir / "one") == big


def test_another_secret_counts_although_it_leads_to_less(agent, mounted):
    first = agent.dir / "first"
    second = agent.dir / "second"
    put(first, agent.cloud.token())
    put(second, agent.cloud.token())
    mounted.put(role_form(first))
    agent.configure(from_mounted(agent, mounted)).start()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    agent.cloud.fault(kind="short_life", s=1800, count=-1)
    mounted.put(role_form(second))
    agent.wait_generation(2)
    assert "worse-credential" not in agent.log


def test_an_event_without_news_during_an_exchange_costs_none(agent, mounted):
    mounted.put(role_form(agent.cloud.volumes["demo"] / "token"))
    agent.cloud.fault(kind="delay", ms=1500)
    agent.configure(from_mounted(agent, mounted)).start()
    agent.wait_state("exchanging")
    (mounted.dir / "..next_version").mkdir()
    agent.wait_generation(1)
    agent.wait_state("fresh")
    check_calm(agent)
    assert len(agent.cloud.exchanges()) == 1 and agent.generation() == 1


def test_what_never_expires_is_tried_again_when_it_changes(agent, mounted):
    mounted.put({"vc.username": "robot", "vc.password": "one"})
    agent.configure(agent.credential(token=None, exchange=None, secret={"directory": str(mounted.dir)},
                                     publish={"directory": str(agent.out)})).start()
    agent.wait_state("fresh")
    mounted.put({"vc.username": "robot"})
    eventually(lambda: agent.status().get("last_error"), lambda: agent.log)
    assert "next try when the source changes" in agent.log


def test_what_ends_at_once_is_not_stacked_up(agent):
    """Behind one that takes its time many wait who need nobody: each one's end must not be the next one's caller."""
    key = agent.dir / "key.json"
    key.write_text(json.dumps({
        "type": "service_account", "client_email": "a@b.iam.gserviceaccount.com", "private_key_id": "k", "project_id": "p",
        "private_key": read_text(agent.cloud.dir / "issuer.key"), "token_uri": "https://oauth2.googleapis.com/token"}))
    many = [agent.credential(f"n{i}", token=None, exchange={"gcp": {"credentials_file": str(key), "self_signed": True}},
                             publish={"file": {"path": str(agent.dir / f"n{i}"), "format": "gcp-access-token"}})
            for i in range(250)]
    agent.cloud.fault(kind="delay", ms=1000)
    agent.configure(agent.credential(), *many, max_concurrent_exchanges=1).start(wrapper=["prlimit", "--stack=786432"])
    eventually(lambda: agent.status("n249").get("state") == "fresh" or agent.process.poll() is not None, lambda: agent.log)
    assert agent.process.poll() is None, agent.log[-2000:]


def test_advice_to_refresh_at_once_is_not_taken(agent):
    """A grantor that always says so would keep both of us busy."""
    agent.cloud.fault(kind="status", status=200, content_type="application/json", count=-1, match={"action": "azure.token"},
                      body='{"token_type":"Bearer","access_token":"t","expires_in":3600,"refresh_in":1}')
    agent.configure(agent.credential(
        token={"file": str(agent.cloud.volumes["azure"] / "token")},
        exchange={"azure": {"tenant_id": "11111111-2222-3333-4444-555555555555", "ca_file": agent.cloud.ca,
                            "client_id": "66666666-7777-8888-9999-aaaaaaaaaaaa",
                            "authority_host": agent.cloud.ready["azure_url"]}},
        publish={"file": {"path": str(agent.dir / "t.json"), "format": "azure-token-json"}})).start()
    agent.wait_state("fresh")
    now = agent.status()
    assert seconds(now["next_refresh"]) >= seconds(now["issued"]) + 1800  # half of its lifetime


def test_a_requested_token_lives_by_the_clock_of_who_gave_it(agent):
    """The API server is an hour ahead: a token of an hour is one of an hour here, too."""
    ahead = 3600
    ends = int(time.time()) + ahead + 3600
    token = agent.cloud.token(audience=["x"], issued_ago_s=-ahead, expires_in_s=ahead + 3600)
    agent.cloud.fault(kind="status", status=201, content_type="application/json", count=-1, match={"action": "kube.token"},
                      headers={"Date": formatdate(time.time() + ahead, usegmt=True)}, body=json.dumps({
                          "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {},
                          "spec": {"audiences": ["x"], "expirationSeconds": 3600},
                          "status": {"token": token,
                                     "expirationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ends))}}))
    agent.configure(agent.credential(exchange=None, token={**requested(agent), "audience": "x"}, publish={
        "directory": str(agent.out), "files": [{"name": "token", "format": "token"}]})).start()
    agent.wait_state("fresh")
    now = agent.status()
    assert seconds(now["issued"]) <= time.time() + 1 and seconds(now["next_refresh"]) < time.time() + 3600, now


def test_a_request_takes_over_when_the_file_is_overdue(own):
    put(own.token_path, token_of_age(own.cloud, OVERDUE_S - 3))
    own.configure(own.credential(token={"file": str(own.token_path), **requested(own)})).start()
    own.wait_generation(1)
    own.wait_generation(2)
    own.wait_state("fresh")
    assert own.status()["token"]["requested"] and own.status()["token"]["overdue"]
    # The same file again, and a restart: nobody goes back and forth.
    put(own.token_path, own.token_path.read_text())
    own.kill()
    own.start()
    own.wait_state("fresh")
    check_calm(own)
    assert own.generation() == 2 and own.status()["token"]["requested"]
    put(own.token_path, own.cloud.token())
    own.wait_generation(3)
    own.wait_state("fresh")
    assert not own.status()["token"]["requested"] and not own.status()["token"]["overdue"]


def test_a_request_that_is_refused_leaves_the_overdue_file_in_use(own):
    put(own.token_path, token_of_age(own.cloud, OVERDUE_S + 100))
    own.configure(own.credential(token={"file": str(own.token_path), **requested(own, service_account="nobody")})).start()
    own.wait_generation(1)
    own.wait_state("fresh")
    now = own.status()
    assert now["ready"] and now["token"]["overdue"] and not now["token"]["requested"]
    assert "the API server gave none" in own.log
    check_calm(own)


def test_a_cloud_that_does_not_answer_holds_up_nobody_else(agent):
    """Its requests take their whole time limit, and there are many more of them than may be made at once."""
    azure = agent.credential(
        "alive", token={"file": str(agent.cloud.volumes["azure"] / "token")},
        exchange={"azure": {"tenant_id": "11111111-2222-3333-4444-555555555555", "ca_file": agent.cloud.ca,
                            "client_id": "66666666-7777-8888-9999-aaaaaaaaaaaa",
                            "authority_host": agent.cloud.ready["azure_url"]}},
        publish={"file": {"path": str(agent.dir / "t.json"), "format": "azure-token-json"}})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        dead = [agent.credential(f"dead{i}", exchange={"aws": {"role_arn": ROLE, "region": "us-east-1", "endpoint": url}})
                for i in range(12)]
        agent.configure(*dead, azure, max_concurrent_exchanges=4).start()
        agent.wait_generation(1, "alive")
        assert [agent.status(c["name"])["state"] for c in dead].count("exchanging") == 3
