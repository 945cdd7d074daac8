# SPDX-License-Identifier: MIT
"""Consumers that say which generation they have in use: by a file, by a hook's answer; who stays behind, and for whom the
previous generation is kept."""
import http.server
import os
import threading
import time
import urllib.request

import pytest

from conftest import eventually


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


@pytest.fixture
def acked(agent_factory, cloud, tmp_path):
    """Makes an agent whose credential has these consumers."""
    def make(*consumers, **over):
        agent = agent_factory(cloud)
        agent.in_use = agent.dir / "in-use"
        how = list(consumers) or [{"file": str(agent.in_use)}]
        return agent.configure(agent.credential(acknowledge=how if how != ["none"] else None, **over))
    return make


class Reloader(http.server.BaseHTTPRequestHandler):
    """Answers a hook with what `says` makes of the generation in the request."""
    def do_POST(self):
        number = int(self.headers["X-Credfresh-Generation"])
        self.server.asked.append(number)
        said = self.server.says(number)
        self.send_response(200)
        if said is not None:
            self.send_header("X-Credfresh-Generation", said)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def reloader():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Reloader)
    server.asked = []
    server.says = str
    server.url = f"http://127.0.0.1:{server.server_address[1]}/reload"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def consumer(agent, index=0):
    return (agent.status().get("consumers") or [{}] * (index + 1))[index]


def wait_consumer(agent, index=0, **want):
    eventually(lambda: all(consumer(agent, index).get(key) == value for key, value in want.items()),
               lambda: f"a consumer with {want}: {consumer(agent, index)}\n{agent.log}")
    return consumer(agent, index)


def rotate(agent):
    before = agent.generation()
    assert agent.request("POST", "/v1/credentials/demo/rotate")[0] == 202
    agent.wait_generation(before + 1)


def generations(agent):
    return sorted(int(path.name.rsplit(".", 1)[1]) for path in agent.out.glob("..2*"))


def metric(url, line):
    with urllib.request.urlopen(url + "/metrics", timeout=10) as answer:
        return line in answer.read().decode().splitlines()


# ---- a file ----

def test_a_number_in_a_file(acked):
    agent = acked()
    agent.start().wait_generation(1)
    assert consumer(agent) == {"name": f"file {agent.in_use}", "generation": 0, "said": None, "current": False,
                               "behind": False}
    agent.in_use.write_text("1\n")
    said = wait_consumer(agent, generation=1, current=True)
    assert said["said"] is not None and not said["behind"]
    rotate(agent)
    wait_consumer(agent, generation=1, current=False)
    # As libcredfresh does it: another file is renamed onto it.
    fresh = agent.dir / "in-use.tmp"
    fresh.write_text("2\n")
    os.rename(fresh, agent.in_use)
    wait_consumer(agent, generation=2, current=True)
    # What was not published cannot be in use, and what is taken back counts.
    agent.in_use.write_text("77\n")
    agent.in_use.write_text("1\n")
    wait_consumer(agent, generation=1, current=False)


@pytest.mark.parametrize("touch", [lambda path: path.touch(), lambda path: os.utime(path),
                                   lambda path: path.write_text("ready\n")])
def test_a_file_that_is_touched(acked, touch):
    agent = acked()
    agent.in_use.write_text("")
    agent.start().wait_generation(1)
    rotate(agent)
    # It was there before: not a word of this generation.
    assert consumer(agent)["generation"] == 0
    touch(agent.in_use)
    wait_consumer(agent, generation=2, current=True)
    rotate(agent)
    wait_consumer(agent, generation=2, current=False)


def test_a_file_whose_directory_comes_later(acked):
    agent = acked()
    agent.configure(agent.credential(acknowledge={"file": str(agent.dir / "later/in-use")}))
    agent.start().wait_generation(1)
    (agent.dir / "later").mkdir()
    (agent.dir / "later/in-use").write_text("1")
    wait_consumer(agent, generation=1, current=True)


def test_what_was_said_outlives_the_agent(acked):
    agent = acked()
    agent.start().wait_generation(1)
    agent.in_use.write_text("1")
    wait_consumer(agent, current=True)
    agent.kill()
    agent.in_use.unlink()
    agent.start()
    wait_consumer(agent, generation=1, current=True)
    # And what it says while nobody listens is heard later.
    rotate(agent)
    agent.kill()
    agent.in_use.touch()
    agent.start()
    wait_consumer(agent, generation=2, current=True)


def test_what_is_no_file_of_a_consumer_is_not_opened(acked):
    agent = acked()
    os.mkfifo(agent.in_use)
    agent.start().wait_generation(1)
    eventually(lambda: "cannot read what a consumer acknowledges" in agent.log, "the warning")
    agent.in_use.unlink()
    # A user who may write there must not make us read what only we may read.
    other = agent.dir / "other"
    other.write_text("1")
    agent.in_use.symlink_to(other)
    rotate(agent)
    assert consumer(agent)["generation"] == 0 and agent.status()["ready"]
    agent.in_use.unlink()
    agent.in_use.write_bytes(b"7" * 100000)
    wait_consumer(agent, generation=2, current=True)


# ---- staying behind ----

def test_one_that_stays_behind(acked):
    agent = acked({"file": "placeholder"})
    agent.configure(agent.credential(acknowledge={"file": str(agent.in_use), "behind_after": "1s"}),
                    listen="127.0.0.1:0")
    agent.start().wait_generation(1)
    wait_consumer(agent, behind=True)
    eventually(lambda: "has not acknowledged generation 1, published " in agent.log, "the warning")
    url = next(line.split()[-1] for line in agent.log.splitlines() if "health and metrics on" in line)
    labels = f'{{credential="demo",consumer="file {agent.in_use}"}}'
    assert metric(url, f"credfresh_consumer_behind{labels} 1")
    assert metric(url, f"credfresh_consumer_generation{labels} 0")
    shown = agent.run("status").stdout
    assert f"consumer file {agent.in_use}: nothing acknowledged yet, stays behind" in shown
    agent.in_use.write_text("1")
    wait_consumer(agent, behind=False, current=True)
    assert metric(url, f"credfresh_consumer_behind{labels} 0")
    assert metric(url, f"credfresh_consumer_generation{labels} 1")
    eventually(lambda: "has generation 1 in use at last" in agent.log, "the good news")
    assert agent.log.count("has not acknowledged generation 1, published ") == 1
    # It is no matter of readiness.
    assert agent.status()["ready"]


# ---- the previous generation ----

def test_the_previous_generation_waits_for_a_consumer(acked):
    agent = acked({"file": "placeholder"})
    agent.configure(agent.credential(keep_previous="0s", acknowledge=[
        {"file": str(agent.in_use), "wait": True}, {"file": str(agent.dir / "other")}]))
    agent.start().wait_generation(1)
    agent.in_use.write_text("1")
    wait_consumer(agent, current=True)
    rotate(agent)
    eventually(lambda: agent.status().get("previous_held"), "a generation that is kept")
    assert generations(agent) == [1, 2]
    assert "the previous generation is kept" in agent.run("status").stdout
    # Over a restart, too.
    agent.kill()
    agent.start()
    eventually(lambda: agent.status().get("previous_held"), "a generation that is kept")
    assert generations(agent) == [1, 2]
    # Nobody waits for the other one, which has not said a word.
    agent.in_use.write_text("2")
    eventually(lambda: generations(agent) == [2], lambda: f"one generation: {generations(agent)}\n{agent.log}")
    assert agent.status()["previous_held"] is False


def test_it_waits_so_long_and_no_longer(acked):
    agent = acked({"file": "placeholder"})
    agent.configure(agent.credential(keep_previous="0s", acknowledge={"file": str(agent.in_use), "wait": True,
                                                                       "limit": "1s"}))
    agent.start().wait_generation(1)
    rotate(agent)
    eventually(lambda: generations(agent) == [2], lambda: f"one generation: {generations(agent)}\n{agent.log}")
    eventually(lambda: "has not acknowledged generation 2 within its limit" in agent.log, "the warning")


# ---- a hook's answer ----

def hook_of(reloader, **more):
    return [{"http": {"url": reloader.url, "acknowledge_header": "X-Credfresh-Generation"}, **more}]


def test_a_hook_s_answer(acked, reloader):
    agent = acked("none", reload=hook_of(reloader))
    agent.start().wait_generation(1)
    said = wait_consumer(agent, generation=1, current=True)
    assert said["name"] == f"http POST {reloader.url}"
    rotate(agent)
    wait_consumer(agent, generation=2, current=True)
    assert reloader.asked == [1, 2]
    # Not asked again for what it has said.
    agent.kill()
    agent.start()
    wait_consumer(agent, generation=2, current=True)
    agent.wait_state("fresh")
    assert reloader.asked == [1, 2]


@pytest.mark.parametrize("answer, words", [
    (None, "the answer has no X-Credfresh-Generation"),
    ("soon", "is not a published generation"),
    ("99", "is not a published generation"),
])
def test_an_answer_that_says_nothing(acked, reloader, answer, words):
    reloader.says = lambda number: answer
    agent = acked("none", reload=hook_of(reloader))
    agent.start().wait_generation(1)
    eventually(lambda: words in (agent.status()["hooks"][0]["error"] or ""), lambda: agent.log)
    assert consumer(agent)["generation"] == 0
    reloader.says = str
    wait_consumer(agent, generation=1, current=True)


def test_a_consumer_that_takes_its_time_is_asked_again(acked, reloader):
    agent = acked({"hooks": True, "wait": True}, reload=hook_of(reloader), keep_previous="0s")
    agent.start().wait_generation(1)
    wait_consumer(agent, current=True)
    reloader.says = lambda number: "1"
    rotate(agent)
    eventually(lambda: "the answer says that generation 1 is in use, not 2 yet" in
               (agent.status()["hooks"][0]["error"] or ""), lambda: agent.log)
    eventually(lambda: agent.status().get("previous_held"), "a generation that is kept")
    assert generations(agent) == [1, 2]
    reloader.says = str
    wait_consumer(agent, generation=2, current=True)
    eventually(lambda: generations(agent) == [2], lambda: f"one generation: {generations(agent)}\n{agent.log}")


# ---- a reload of the configuration ----

def test_consumers_come_and_go_with_a_reload(acked, reloader):
    agent = acked("none")
    agent.start().wait_generation(1)
    assert agent.status()["consumers"] == [] and agent.status()["previous_held"] is False
    agent.in_use.write_text("1")
    agent.configure(agent.credential(acknowledge={"file": str(agent.in_use)}, reload=hook_of(reloader)))
    assert agent.request("POST", "/v1/reload")[0] == 200
    wait_consumer(agent, generation=1, current=True)
    # The hook is new, and so is asked: who was never asked has said nothing.
    wait_consumer(agent, 1, generation=1, current=True)
    assert agent.generation() == 1
    agent.configure(agent.credential())
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert agent.status()["consumers"] == []
    agent.in_use.write_text("2")
    rotate(agent)


def test_a_reload_that_changes_nothing_for_them_leaves_them_alone(acked, reloader):
    agent = acked("none", reload=hook_of(reloader))
    agent.start().wait_generation(1)
    wait_consumer(agent, generation=1, current=True)
    agent.configure(agent.credential(reload=hook_of(reloader), required=False, keep_previous="1m"))
    assert agent.request("POST", "/v1/reload")[0] == 200
    assert consumer(agent)["current"]
    rotate(agent)
    wait_consumer(agent, generation=2, current=True)
    assert reloader.asked == [1, 2]


def test_mistakes_are_told(acked):
    agent = acked()
    agent.configure(agent.credential(acknowledge={"file": str(agent.out / "in-use")}))
    checked = agent.run("check")
    assert checked.returncode != 0 and "is in the directory of credential demo" in checked.stdout
