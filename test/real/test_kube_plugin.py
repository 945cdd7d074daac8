# SPDX-License-Identifier: MIT
"""kubectl as one process that outlives its tokens: `credfresh get kube` is asked again at each expirationTimestamp, by
client-go, and no call fails, not even where the agent is killed in between.

Tokens of the real API server live ten minutes at least, so it is the local cloud's Kubernetes API that verifies these: they
live ten seconds. The plugin tells an end that is a quarter of what is left earlier, in whole seconds, and the API server
refuses from the very second on; so the agent is made to renew once a second, and two seconds are always between.
"""
import datetime
import http.client
import json
import os
import pathlib
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

from conftest import CREDFRESH, eventually, read_text

KUBECTL = pathlib.Path(os.environ.get("CFR_KUBE", "/nowhere")) / "kubectl"
SPEED = 60
ROTATIONS = 5
LIMIT_S = 60.0
ACCOUNT = "system:serviceaccount:default:demo"
SECRET = "/kube/api/v1/namespaces/default/secrets/seen"


class Proxy:
    """A `kubectl proxy`, what is called through it about ten times a second, and what its plugin was asked for: each call of
    the plugin leaves a file named after the time, which holds the answer from then on when there is one."""

    def __init__(self, agent, directory):
        self.asked = directory / "asked"
        self.asked.mkdir()
        plugin = f'{CREDFRESH} get kube kube -s {agent.socket} --timeout 20s | tee "{self.asked}/$(date +%s.%N)"'
        config = directory / "kubeconfig"
        config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": agent.cloud.ready["kube_url"],
                                                   "certificate-authority": agent.cloud.ca}}],
            "users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "/bin/sh",
                                                      "args": ["-c", plugin]}}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "default"}}]}))
        self.noise = directory / "kubectl.log"
        with open(self.noise, "wb") as log:
            self.process = subprocess.Popen([str(KUBECTL), "--kubeconfig", str(config), "proxy", "--port=0"], text=True,
                                            stdout=subprocess.PIPE, stderr=log, cwd="/",
                                            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})
        self.good, self.failures = 0, []
        self.ending = threading.Event()
        self.caller = threading.Thread(target=self.call_on)

    def begin(self):
        said = self.process.stdout.readline()
        assert said.startswith("Starting to serve on "), said + read_text(self.noise)
        self.at = said.split()[-1]
        self.caller.start()

    def call_on(self):
        while not self.ending.wait(0.1):
            try:
                status, text = self.call()
                if status == 200 and json.loads(text)["metadata"]["name"] == "seen":
                    self.good += 1
                else:
                    self.failures.append((status, text))
            except (OSError, ValueError, KeyError, http.client.HTTPException) as e:
                self.failures.append(repr(e))

    def call(self):
        connection = http.client.HTTPConnection(self.at, timeout=30)
        try:
            connection.request("GET", SECRET)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def asks(self):
        return sorted(self.asked.iterdir(), key=lambda path: float(path.name))

    def answers(self):
        return [path for path in self.asks() if path.stat().st_size != 0]

    def goes_on(self, condition, what, pause_s=0.02):
        eventually(lambda: condition() or self.failures or self.process.poll() is not None, lambda: f"{what}: {self}", LIMIT_S,
                   pause_s)
        assert condition() and not self.failures and self.process.poll() is None, f"{what}: {self}"

    def __str__(self):
        return (f"kubectl (status {self.process.poll()}), {self.good} good calls, failed {self.failures[:3]}, plugin asked "
                f"{len(self.asks())} times\n{read_text(self.noise)}")

    def stop(self):
        """Ends the calls."""
        self.ending.set()
        if self.caller.ident is not None:
            self.caller.join()

    def end(self):
        self.stop()
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()


@pytest.fixture
def cloud(cloud_factory):
    cloud = cloud_factory(speed=SPEED)
    cloud.admin("/kube/object", {"kind": "Secret", "namespace": "default", "name": "seen"})
    cloud.admin("/kube/rbac", {"rules": [{"user": "demo", "verb": "create", "resource": "serviceaccounts/token"},
                                         {"user": ACCOUNT, "verb": "get", "resource": "secrets", "names": ["seen"]}]})
    return cloud


@pytest.fixture
def agent(agent_factory, cloud):
    agent = agent_factory(cloud)
    request = {"service_account": "demo", "namespace": "default", "kubeconfig": cloud.ready["kubeconfig"],
               "audiences": ["https://kubernetes.default.svc"], "expiration": "10m"}
    agent.configure(agent.credential("kube", token={"request": request}, exchange=None,
                                     publish={"file": {"path": str(agent.out), "format": "token"}})).start()
    agent.wait_state("fresh", "kube")
    return agent


@pytest.fixture
def proxy(agent, tmp_path):
    proxy = Proxy(agent, tmp_path)
    yield proxy
    proxy.end()


def seconds(stamp):
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def status_with(cloud, token):
    """What the API says to TOKEN now."""
    request = urllib.request.Request(cloud.sts.rstrip("/") + SECRET, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=10, context=ssl.create_default_context(cafile=cloud.ca)) as answer:
            return answer.status
    except urllib.error.HTTPError as e:
        return e.code


@pytest.mark.skipif(not os.access(KUBECTL, os.X_OK), reason="there is no kubectl of the Kubernetes API server's build")
def test_kubectl_lives_on_through_rotations(agent, cloud, proxy):
    def rotated_to(count):
        def look():
            agent.request("POST", "/v1/credentials/kube/rotate")
            return len(proxy.answers()) >= count
        return look

    proxy.begin()
    proxy.goes_on(rotated_to(3), "three tokens", 1.0)
    # The next one is asked for while there is no agent.
    agent.kill()
    asks = len(proxy.asks())
    proxy.goes_on(lambda: len(proxy.asks()) > asks, "asks though the agent is dead")
    agent.start()
    proxy.goes_on(lambda: len(proxy.answers()) > asks, "is answered by the new agent")
    proxy.goes_on(rotated_to(ROTATIONS + 1), "rotations", 1.0)
    proxy.stop()
    log = cloud.stats()["log"]
    assert not proxy.failures and proxy.process.poll() is None, str(proxy)
    uses = [entry for entry in log if entry["action"] == "kube.secret.get"]
    assert len(uses) == proxy.good and {(use["status"], use["session_name"]) for use in uses} == {(200, ACCOUNT)}
    # All tokens are others, and the cloud made them.
    asks, given = proxy.asks(), [json.loads(path.read_text())["status"] for path in proxy.asks()]
    assert len({status["token"] for status in given}) == len(given) > ROTATIONS
    assert sum(entry["action"] == "kube.token" and entry["status"] == 201 for entry in log) >= len(given)
    # It was the told end that made it ask, each time; and who had gone on with what he had would have been refused.
    for status, next_ask in zip(given, asks[1:]):
        assert float(next_ask.name) >= seconds(status["expirationTimestamp"])
    assert status_with(cloud, given[-1]["token"]) == 200
    assert {status_with(cloud, status["token"]) for status in given[:-2]} == {401}
