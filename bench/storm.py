#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""One agent with many credentials, spread evenly over four clouds and all due at once: how many are exchanged and
published in a second, against a load generator that only makes the same requests over as many connections; and what
memory each credential takes.

usage: storm.py [--credentials N]... [--rounds N] BUILD_DIR       (default: 1000 and 10000 credentials)
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

arguments = argparse.ArgumentParser(usage=__doc__.rsplit("usage: ", maxsplit=1)[-1].strip())
arguments.add_argument("--credentials", type=int, action="append")
arguments.add_argument("--rounds", type=int, help="default: 7, and 3 from 5000 credentials on")
arguments.add_argument("build_dir", type=pathlib.Path)
options = arguments.parse_args()
for variable, path in (("CFR_CREDFRESH", "agent/credfresh"), ("CFR_WITNESS", "test/witness/credfresh-witness"),
                       ("CFR_LOCALCLOUD", "test/localcloud/credfresh-localcloud")):
    os.environ[variable] = str((options.build_dir / path).resolve())

from common import CREDFRESH, Agent, eventually, finish, local_cloud, spread, verdict  # noqa: E402

CONNECTIONS = 8  # to one host, as agent/http/client.h says; all clouds are on one listener
SMALL = 4        # one credential of each cloud
LEAST_RATIO = 0.7
PINNED = []  # how what is measured is run
ENVIRONMENT = {"AZURE_TENANT_ID": "11111111-2222-3333-4444-555555555555",
               "AZURE_CLIENT_ID": "66666666-7777-8888-9999-aaaaaaaaaaaa"}
CLOUDS = ("aws", "gcp", "azure", "openstack")
# Paths of the requests, in the order of the credentials; gcp takes two.
ORDER = (b"POST / ", b"POST /gcp/v1/token ", b"POST /gcp/v1/projects/", b"POST /azure/", b"POST /identity/")


def exchange(kind, base, ca):
    """The exchange of one cloud at the local cloud whose listener is at BASE."""
    there = {"ca_file": ca} if ca else {}
    return {
        "aws": {"aws": {"role_arn": "arn:aws:iam::123456789012:role/demo", "region": "us-east-1",
                        "endpoint": base + "/", **there}},
        "gcp": {"gcp": {"audience": "//iam.googleapis.com/projects/123456789/locations/global/"
                                    "workloadIdentityPools/demo/providers/demo",
                        "service_account": "demo@demo-project.iam.gserviceaccount.com",
                        "sts_endpoint": base + "/gcp/v1/token", "iam_endpoint": base + "/gcp", **there}},
        "azure": {"azure": {"authority_host": base + "/azure", **there}},
        "openstack": {"openstack": {"auth_url": base + "/identity/v3",
                                    "application_credential_id": "demo-app-credential",
                                    "application_credential_secret_file": "SECRET", **there}},
    }[kind]


FORMATS = {"aws": "aws-credentials", "gcp": "gcp-access-token", "azure": "azure-token-json",
           "openstack": "openstack-token"}
VOLUMES = {"aws": "demo", "gcp": "gcp", "azure": "azure", "openstack": None}


def write_secret(agent, line_ends):
    """Keystone's secret, which is the same whatever white space follows."""
    path = agent.dir / "openstack-secret"
    path.with_suffix(".new").write_text("demo-secret" + "\n" * line_ends)
    path.with_suffix(".new").rename(path)
    return path


def configure(agent, count, base, ca):
    """COUNT credentials in turns of the clouds, each with a directory of its own. No other key is set: concurrency and
    everything else are as they come."""
    secret = write_secret(agent, 0)
    credentials = []
    for i in range(count):
        kind = CLOUDS[i % len(CLOUDS)]
        volume = VOLUMES[kind]
        over = exchange(kind, base, ca)
        if kind == "openstack":
            over["openstack"]["application_credential_secret_file"] = str(secret)
        credentials.append(agent.credential(
            f"c{i:05d}", token={"file": str(agent.cloud.volumes[volume] / "token")} if volume else None, exchange=over,
            publish={"directory": str(agent.out / f"c{i:05d}"), "files": [{"name": "f", "format": FORMATS[kind]}]}))
    agent.configure(*credentials, listen="127.0.0.1:0", log={"level": "info"})
    # No white space, and Azure's identity from the environment: 10,000 credentials come close to the 4 MiB that a
    # configuration may have.
    agent.config_path.write_text(json.dumps(json.loads(agent.config_path.read_text()), separators=(",", ":")))
    return agent


class Log:
    """The agent's log, read on: when it began to work, and when how many credentials were published."""

    def __init__(self, path):
        self.file = open(path, encoding="utf-8")
        self.rest = ""
        self.began = self.last = None
        self.published = 0
        self.trouble = []

    def read(self):
        *lines, self.rest = (self.rest + self.file.read()).split("\n")
        last = None
        for line in lines:
            if "]: published " in line:
                self.published += 1
                last = line
            elif "health and metrics" in line:
                self.began = moment(line.split(None, 1)[0])
            if " info " not in line[:32]:
                self.trouble.append(line)
        if last:
            self.last = moment(last.split(None, 1)[0])
        return self.published


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def memory(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return int(re.search(r"^Rss:\s+(\d+) kB", text, re.M).group(1))


def at_rest(pid):
    """Resident KiB, once they do not change any more."""
    seen = [0]

    def same():
        seen.append(memory(pid))
        return seen[-1] == seen[-2]

    eventually(same, "the memory to come to rest", 30, 0.5)
    return seen[-1]


class Storm:
    """A running agent with COUNT credentials, which begins with nothing: no state, nothing published."""

    def __init__(self, directory, cloud, count, base=None):
        self.cloud = cloud
        self.count = count
        self.agent = configure(Agent(directory / f"a{len(list(directory.iterdir()))}", cloud), count,
                               base or cloud.sts.rstrip("/"), None if base else cloud.ca)
        with open(self.agent.log_path, "wb") as log_file:
            self.agent.process = subprocess.Popen([*PINNED, CREDFRESH, "run", "-c", self.agent.config_path], stderr=log_file,
                                                  env={**os.environ, **ENVIRONMENT})
        self.log = Log(self.agent.log_path)
        self.generations = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.agent.stop()

    def wait(self):
        """Until every credential is published once more."""
        self.generations += 1
        wanted = self.generations * self.count
        eventually(lambda: self.log.read() >= wanted or self.log.trouble, f"{wanted} publishes", 600, 0.02)
        assert self.log.published == wanted and not self.log.trouble, (self.log.published, self.log.trouble[:3])

    def begin(self):
        """Seconds from the end of the start-up until everything is published for the first time."""
        self.wait()
        return self.log.last - self.log.began

    def refresh(self):
        """Seconds that it takes when everything that the credentials are made of is renewed at once."""
        at_rest(self.agent.process.pid)
        self.cloud.admin("/stats/reset", {})
        start = time.time()
        for volume in filter(None, VOLUMES.values()):
            self.cloud.admin(f"/volume/{volume}/renew", {})
        write_secret(self.agent, self.generations)
        self.wait()
        stats = self.cloud.admin("/stats?log=1")
        assert stats["most_in_flight"] <= CONNECTIONS and stats["requests"] == self.count // len(CLOUDS) * len(ORDER)
        return self.log.last - start

    def cpu_s(self):
        """What it has taken so far; unlike the seconds, that hardly depends on what else the machine does."""
        nanoseconds = pathlib.Path(f"/proc/{self.agent.process.pid}/schedstat").read_text(encoding="ascii").split()[0]
        return int(nanoseconds) / 1e9

    def resident_kib(self):
        return at_rest(self.agent.process.pid)


class Recorder:
    """Passes connections on to the local cloud's plain listener, and keeps what the agent sent."""

    def __init__(self, port):
        self.to = port
        self.sent = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            here, _ = self.listener.accept()
            there = socket.create_connection(("127.0.0.1", self.to))
            kept = bytearray()
            self.sent.append(kept)
            threading.Thread(target=self.pump, args=(here, there, kept), daemon=True).start()
            threading.Thread(target=self.pump, args=(there, here, bytearray()), daemon=True).start()

    @staticmethod
    def pump(source, sink, kept):
        while data := source.recv(65536):
            kept += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)

    def requests(self):
        for kept in self.sent:
            rest = bytes(kept)
            while rest:
                head, _, after = rest.partition(b"\r\n\r\n")
                length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head).group(1))
                yield head + b"\r\n\r\n" + after[:length]
                rest = after[length:]


def record(directory, cloud):
    """Files with the requests of one credential of each cloud, as the agent makes them, but for the TLS listener."""
    tls, plain = (int(re.search(r":(\d+)/?$", url).group(1)) for url in (cloud.sts, cloud.http))
    recorder = Recorder(plain)
    with Storm(directory, cloud, SMALL, base=f"http://127.0.0.1:{recorder.port}") as storm:
        storm.begin()
    requests = list(recorder.requests())
    files = []
    for number, start in enumerate(ORDER):
        request, = [r for r in requests if r.startswith(start)]
        path = directory / f"{number}.request"
        path.write_bytes(request.replace(b"127.0.0.1:%d" % recorder.port, b"127.0.0.1:%d" % tls))
        files.append(path)
    assert len(requests) == len(files)
    return tls, files


def load(program, cloud, port, files, count):
    """Seconds for the requests of COUNT credentials."""
    cloud.admin("/stats/reset", {})
    number = count // len(CLOUDS) * len(files)
    done = subprocess.run([*PINNED, program, str(port), cloud.ca, str(CONNECTIONS), str(number), *files], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert cloud.admin("/stats?log=1")["requests"] == number
    return float(done.stdout)


def compare(directory, cloud, program, port, files, count):
    """Prints the figures of COUNT credentials from rounds in turns; (ratio, resident KiB). Each round is compared with the
    one of the load generator that follows it, because the machine is not equally fast all the time."""
    ours, theirs = [], []
    with Storm(directory, cloud, count) as storm:
        begin_s = storm.begin()
        cpu_s, children = storm.cpu_s(), resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(options.rounds or (3 if count >= 5000 else 7)):
            ours.append(count / storm.refresh())
            theirs.append(count / load(program, cloud, port, files, count))
        refreshed = len(ours) * count
        cpu_ms = 1000 * (storm.cpu_s() - cpu_s) / refreshed
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        load_ms = 1000 * (now.ru_utime + now.ru_stime - children.ru_utime - children.ru_stime) / refreshed
        kib = storm.resident_kib()
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    print(f"{count} credentials: from nothing in {begin_s:.2f} s; {kib} KiB resident")
    print("  the agent refreshes %.0f a second [%.0f, %.0f]" % spread(ours) + f", {cpu_ms:.2f} ms of CPU each")
    print("  the load generator does the requests of %.0f a second [%.0f, %.0f]" % spread(theirs) +
          f", {load_ms:.2f} ms of CPU each")
    return ratio, kib


def part():
    """One processor for what is measured, the agent and the load generator; the others for the local cloud and for us.
    Where they shared theirs it would be their CPU time that is compared, and not what they get done."""
    mine = sorted(os.sched_getaffinity(0))
    return ({mine[-1]}, set(mine[:-1])) if len(mine) > 1 else (set(mine), set(mine))


def main():
    measured, rest = part()
    os.sched_setaffinity(0, rest)
    # A tmpfs, for state and published files alike.
    with tempfile.TemporaryDirectory(prefix="cf-", dir="/dev/shm") as shm, local_cloud(pathlib.Path(shm)) as cloud:
        directory = pathlib.Path(shm)
        PINNED.extend(["taskset", "-c", ",".join(map(str, measured))])
        program = directory / "storm_load"
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, pathlib.Path(__file__).with_name("storm_load.c"),
                        "-lssl", "-lcrypto"], check=True)
        port, files = record(directory, cloud)
        with Storm(directory, cloud, SMALL) as storm:
            storm.begin()
            small = storm.resident_kib()
        print(f"{SMALL} credentials: {small} KiB resident")
        for count in options.credentials or [1000, 10000]:
            count -= count % len(CLOUDS)
            ratio, kib = compare(directory, cloud, program, port, files, count)
            verdict(f"refresh storm: {count} credentials of four clouds, compared with a load generator that makes the same requests",
                    ratio, LEAST_RATIO, at_least=True)
            verdict(f"growth of resident memory per credential, {SMALL} to {count}, spread over four clouds",
                    (kib - small) / (count - SMALL), 8, " KiB")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
