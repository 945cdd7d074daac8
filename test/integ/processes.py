# SPDX-License-Identifier: MIT
"""The real binaries, the local cloud, and helpers that wait for conditions: what the integration tests share with the benchmarks,
which do without pytest."""
import atexit
import http.client
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from kept_client import KeptClient

ROLE = "arn:aws:iam::123456789012:role/demo"
# For what takes a second: only a test that fails waits so long, and a machine that has others to serve is given the time.
LIMIT_S = 60.0


def binary(variable, fallback):
    path = os.environ.get(variable, fallback)
    assert os.access(path, os.X_OK), f"{variable}: {path} is not there"
    return path


REPO = pathlib.Path(__file__).resolve().parents[2]
CREDFRESH = binary("CFR_CREDFRESH", str(REPO / "build/dev/agent/credfresh"))
LOCALCLOUD = binary("CFR_LOCALCLOUD", str(REPO / "build/dev/test/localcloud/credfresh-localcloud"))
WITNESS = binary("CFR_WITNESS", str(REPO / "build/dev/test/witness/credfresh-witness"))

# Few tests need it: benchmarks and the soak do not build it.
OIDC = os.environ.get("CFR_OIDC", str(REPO / "build/dev/oidc/credfresh-oidc"))


def eventually(condition, what="the condition", limit_s=LIMIT_S, pause_s=None):
    """Returns what CONDITION returns once it is true; fails after LIMIT_S. WHAT may be a function, asked only then.

    Without PAUSE_S it is looked at less often the longer it takes: tests that wait must leave the processor to others."""
    start = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited_s = time.monotonic() - start
        assert waited_s < limit_s, f"waited {limit_s} s for {what() if callable(what) else what}"
        time.sleep(pause_s if pause_s is not None else min(max(0.02, waited_s / 10), 0.2))


def read_text(path):
    try:
        return pathlib.Path(path).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


# Each cloud of a test has another key of its issuer. One that a cloud has made serves later ones, too: to make it takes more
# than all the rest of a start.
ISSUER_KEYS = itertools.cycle(pathlib.Path(LOCALCLOUD).parent / f"issuer-keys/{n}.pem" for n in range(8))


class LocalCloud:
    """A running credfresh-localcloud with its admin interface."""

    def __init__(self, directory, speed=1, config=None, wrapper=()):
        self.dir = pathlib.Path(directory)
        self.log = open(self.dir.with_suffix(".log"), "wb")
        argv = [*wrapper, LOCALCLOUD, "--state", str(self.dir), "--speed", str(speed)]
        if config is not None:
            path = self.dir.with_suffix(".json")
            path.write_text(json.dumps(config))
            argv += ["--config", str(path)]
        key, kept = self.dir / "issuer.key", next(ISSUER_KEYS)
        if kept.exists() and not key.exists():
            self.dir.mkdir(mode=0o700, exist_ok=True)
            shutil.copy(kept, key)
        self.process = subprocess.Popen(argv, stdout=self.log, stderr=self.log)
        ready = self.dir / "ready.json"
        eventually(lambda: ready.exists() or self.process.poll() is not None, "the local cloud")
        assert self.process.poll() is None, read_text(self.dir.with_suffix(".log"))
        self.ready = json.loads(ready.read_text())
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            shutil.copy(key, kept.with_suffix(f".{os.getpid()}"))
            kept.with_suffix(f".{os.getpid()}").rename(kept)
        self.sts = self.ready["sts_url"]
        self.http = self.ready["http_url"]
        self.ca = str(self.dir / "ca.pem")
        self.client = KeptClient(self.ca)
        self.other_ca = str(self.dir / "other-ca.pem")
        self.volumes = {name: pathlib.Path(path).absolute() for name, path in self.ready["volumes"].items()}

    def admin(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        text = self.client.ask(self.ready["admin_url"] + path, data, method=method).good()
        return json.loads(text) if text else None

    def fault(self, **fault):
        return self.admin("/fault", fault)

    def clear_faults(self):
        self.admin("/fault", method="DELETE")

    def stats(self):
        return self.admin("/stats")

    def exchanges(self, action="AssumeRoleWithWebIdentity"):
        """The log of requests for ACTION, oldest first."""
        return [entry for entry in self.stats()["log"] if entry["action"] == action]

    def token(self, **how):
        how.setdefault("namespace", "default")
        how.setdefault("service_account", "demo")
        how.setdefault("audience", ["sts.amazonaws.com"])
        how.setdefault("expires_in_s", 3600)
        return self.admin("/token", how)["token"]

    def stop(self):
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT_S)
        self.log.close()


MEMORY = pathlib.Path("/dev/shm")
numbers = itertools.count(1)
in_memory = False  # until conftest.py, which test/fault does without, says so


def keep_states_in_memory():
    """There a record is written before anything else is done; test_frozen_state.py is about disks."""
    global in_memory
    in_memory = os.access(MEMORY, os.W_OK)


def state_of(directory):
    if not in_memory:
        return directory / "state"
    made = MEMORY / f"credfresh-state-{os.getpid()}-{next(numbers)}"
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


class Agent:
    """A configuration, and a running `credfresh run` with it."""

    def __init__(self, directory, cloud):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.cloud = cloud
        self.config_path = self.dir / "credfresh.yaml"
        self.state = state_of(self.dir)
        self.socket = self.state / "control.sock"
        self.log_path = self.dir / "agent.log"
        self.out = self.dir / "out"
        self.process = None

    def credential(self, name="demo", **over):
        """One credential as configuration; OVER replaces whole keys, None removes them."""
        c = {
            "name": name,
            "token": {"file": str(self.cloud.volumes["demo"] / "token")},
            "exchange": {"aws": {"role_arn": ROLE, "region": "us-east-1", "endpoint": self.cloud.sts,
                                 "ca_file": self.cloud.ca}},
            "publish": {"directory": str(self.out if name == "demo" else self.dir / ("out-" + name)),
                        "files": [{"name": "credentials", "format": "aws-credentials", "mode": "0640"},
                                  {"name": "token", "format": "token"},
                                  {"name": "creds.json", "format": "json"}]},
        }
        c.update(over)
        return {key: value for key, value in c.items() if value is not None}

    def configure(self, *credentials, **over):
        """Writes the configuration (JSON is YAML)."""
        config = {"version": 1, "state_dir": str(self.state), "log": {"level": "debug"},
                  "credentials": list(credentials) or [self.credential()]}
        config.update(over)
        self.config_path.write_text(json.dumps(config, indent=1))
        return self

    def start(self, env=None, wrapper=(), wait=True):
        log = open(self.log_path, "ab")
        self.process = subprocess.Popen([*wrapper, CREDFRESH, "run", "-c", str(self.config_path)], stdout=log,
                                        stderr=log, env={**os.environ, **(env or {})}, cwd=self.dir)
        log.close()
        if wait:
            eventually(lambda: self.socket.exists() or self.process.poll() is not None, "the agent")
            assert self.process.poll() is None, self.log
        return self

    def run(self, *argv, env=None, timeout=60):
        """A subcommand with this configuration, to its end."""
        return subprocess.run([CREDFRESH, argv[0], "-c", str(self.config_path), *argv[1:]], capture_output=True,
                              text=True, timeout=timeout, env={**os.environ, **(env or {})}, cwd=self.dir)

    def keep_state_in(self, directory):
        """Before it is configured."""
        self.state = directory
        self.socket = directory / "control.sock"
        return self

    def kill(self):
        self.process.kill()
        self.process.wait(LIMIT_S)

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT_S)

    @property
    def log(self):
        return read_text(self.log_path)

    def request(self, method, path, body=None):
        """(status, parsed JSON or text) of a request on the control socket."""
        connection = http.client.HTTPConnection("localhost", timeout=LIMIT_S)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(LIMIT_S)
        connection.sock.connect(str(self.socket))
        connection.request(method, path, body=body)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        kind = answer.getheader("Content-Type") or ""
        return answer.status, json.loads(text) if "json" in kind else text

    def status(self, name="demo"):
        """What the agent says of one credential; {} while it does not answer."""
        try:
            code, doc = self.request("GET", "/v1/credentials")
        except OSError:
            return {}
        return next((c for c in doc["credentials"] if c["name"] == name), {}) if code == 200 else {}

    def generation(self, name="demo"):
        return self.status(name).get("generation", 0)

    def wait_generation(self, at_least, name="demo", limit_s=LIMIT_S):
        eventually(lambda: self.generation(name) >= at_least, lambda: f"generation {at_least} of {name}:\n{self.log}", limit_s)

    def wait_state(self, state, name="demo", limit_s=LIMIT_S):
        eventually(lambda: self.status(name).get("state") == state, lambda: f"state {state} of {name}:\n{self.log}", limit_s)

    def published(self, file="creds.json", out=None):
        return json.loads(((out or self.out) / file).read_text())
