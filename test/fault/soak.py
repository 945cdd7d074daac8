#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Hours in fast time with random faults, one after the other: of the cloud, the network, name servers, clocks and disks;
kill -9, reloads, restarts; and consumers who attack. Judges are the witness, programs that use what is published, the local
cloud's books, and files that nobody may touch. An hour lasts twenty seconds, so 8 minutes are a day.

usage: soak.py [--minutes M] [--seed N] [--only FAULT,...]

The seed that is printed chooses the faults, their order and their pauses again. What a machine refuses (root, mounts,
preloaded libraries) is left out and named. Files stay for a look where something is wrong.
"""
import argparse
import collections
import ctypes
import fcntl
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integ"))
import shifted_clock  # noqa: E402
from conftest import (CREDFRESH, REPO, ROLE, WITNESS, Agent, LocalCloud, eventually, read_text)  # noqa: E402
from mint_kinds import Amazon  # noqa: E402

SPEED = 180
PAUSE_S = (1.0, 4.0)   # between two faults; half of a session, ten seconds, is left when its refresh is due
FAULT_S = (0.3, 2.5)
ANSWER_S = 2.0         # of the control socket, on a busy machine
CALM_S = 40            # after the last fault all is well again within
NOBODY = 65534
CLONE_NEWNS = 0x00020000
NAME = "another-name.invalid"  # in the certificate of one of the local cloud's listeners
NAME_SERVER = "127.77.0.53"
FLAWS = ("torn", "empty", "mixed", "missing", "expired", "worse", "mode")
VICTIMS = {"aws": "AssumeRoleWithWebIdentity", "gcp": "gcp.generateAccessToken", "azure": "azure.token",
           "openstack": "keystone.auth"}
HOSTILE = ["hostile-directory", "hostile-file", "hostile-profile"]


class NameServer(threading.Thread):
    """Answers every question for an address with 127.0.0.1, or in a worse MODE."""

    def __init__(self):
        super().__init__(daemon=True)
        self.mode = "good"
        self.asked = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((NAME_SERVER, 53))
        self.start()

    def run(self):
        while True:
            question, peer = self.socket.recvfrom(4096)
            self.asked += 1
            end = question.find(b"\0", 12) + 5
            kind, = struct.unpack(">H", question[end - 4:end - 2])
            code = {"good": 0, "servfail": 2, "nxdomain": 3}.get(self.mode)
            if code is None:  # silent
                continue
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if code == 0 and kind == 1 else b""
            self.socket.sendto(question[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, bool(answer), 0, 0) +
                               question[12:end] + answer, peer)


class Soak:
    def __init__(self, directory, seed, minutes):
        self.dir = directory
        self.random = random.Random(seed)
        self.length_s = minutes * 60
        self.children = []
        self.broken = []
        self.counts = collections.Counter()
        self.left_out = {}
        self.slowest_s = 0.0
        self.clock = None
        self.names = None
        self.honest_pid = None
        self.attacks = []
        self.paused = threading.Event()  # nobody expects an answer of the agent
        self.start = time.monotonic()

    def say(self, text):
        print(f"{time.monotonic() - self.start:7.2f} s  {text}", flush=True)

    def wrong(self, text):
        if len(self.broken) < 50:
            self.say("BROKEN: " + text)
        self.broken.append(text)

    # ---- the parts ----

    def own_mounts(self):
        """A disk of our own, and a name server of our own."""
        libc = ctypes.CDLL(None, use_errno=True)
        disk = self.dir / "disk"
        disk.mkdir()
        if os.geteuid() != 0:
            self.left_out["disk, dns"] = "not root"
            return
        if libc.unshare(CLONE_NEWNS) != 0 or subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode:
            self.left_out["disk, dns"] = "no mount namespace"
            return
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=755", "none", str(disk)], capture_output=True)
        if done.returncode != 0:
            self.left_out["disk"] = done.stderr.decode().strip()
        resolver = self.dir / "resolv.conf"
        resolver.write_text(f"nameserver {NAME_SERVER}\n")
        done = subprocess.run(["mount", "--bind", str(resolver), "/etc/resolv.conf"], capture_output=True)
        try:
            if done.returncode != 0:
                raise OSError(done.stderr.decode().strip())
            self.names = NameServer()
        except OSError as e:
            self.left_out["dns"] = str(e)

    def prepare(self):
        self.own_mounts()
        self.cloud = LocalCloud(self.dir / "cloud", speed=SPEED, config=Amazon.settings(1))
        self.agent = Agent(self.dir / "disk/agent", self.cloud)
        self.agent.log_path = self.dir / "agent.log"
        self.hostile_dir = self.agent.dir / "hostile"
        self.hostile_dir.mkdir()
        os.chmod(self.hostile_dir, 0o755)
        if os.geteuid() == 0:
            os.chown(self.hostile_dir, NOBODY, NOBODY)
        self.sentinel = self.dir / "sentinel"
        self.sentinel.mkdir()
        for name in ("file", "profile", "credentials"):
            (self.sentinel / name).write_text("[mine]\nkey = value\n")
            (self.sentinel / name).chmod(0o600)
        self.watchman = self.spawn("sleep", str(int(self.length_s + 600)))
        self.credentials = self.configuration()
        self.agent.configure(*self.credentials)
        if shifted_clock.missing(CREDFRESH) is None:
            self.clock = shifted_clock.ShiftedClock(self.dir)
        else:
            self.left_out["clock"] = f"no {shifted_clock.missing(CREDFRESH)}"
        self.clean_up()
        self.agent.start(env=self.clock and self.clock.env)
        eventually(lambda: all((self.out(name) / "all.json").exists() for name in VICTIMS), lambda: self.agent.log)
        eventually(lambda: self.agent.generation("robot") >= 1, lambda: self.agent.log)

    def spawn(self, *argv, **how):
        process = subprocess.Popen([str(a) for a in argv], **how)
        self.children.append(process)
        return process

    def out(self, name):
        return self.agent.dir / name

    def target(self, name, *files):
        return {"directory": str(self.out(name)), "files": [*files, {"name": "all.json", "format": "json"}]}

    def configuration(self):
        ready, ca = self.cloud.ready, self.cloud.ca
        secret = self.agent.dir / "openstack-secret"
        secret.write_text("demo-secret\n")
        aws = {"role_arn": ROLE, "region": "us-east-1", "endpoint": self.cloud.sts, "ca_file": ca}
        named = dict(aws, endpoint=f"https://{NAME}:{ready['sts_wrongname_url'].rsplit(':', 1)[1]}")
        token = {"file": str(self.cloud.volumes["demo"] / "token")}

        def reload(name):
            return [{"signal": {"pid_file": str(self.dir / f"{name}.pid"), "signal": "HUP"}, "on_first": "skip"}]

        self.kind = Amazon(0, "robot")
        robot = self.kind.configured(self.agent, grace="2s", settle="3s", inactive="2s")
        hostile = {"token": token, "exchange": {"aws": aws}}
        found = [
            {"name": "aws", "token": token, "exchange": {"aws": named if self.names else aws}, "reload": reload("aws"),
             "publish": self.target("aws", {"name": "credentials", "format": "aws-credentials", "mode": "0640"})},
            {"name": "gcp", "token": {"file": str(self.cloud.volumes["gcp"] / "token")}, "reload": reload("gcp"),
             "exchange": {"gcp": {
                 "audience": "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/"
                             "providers/demo", "service_account": "demo@demo-project.iam.gserviceaccount.com",
                 "sts_endpoint": ready["gcp_url"] + "/v1/token", "iam_endpoint": ready["gcp_url"], "ca_file": ca}},
             "publish": self.target("gcp", {"name": "access-token", "format": "gcp-access-token", "mode": "0640"})},
            {"name": "azure", "token": {"file": str(self.cloud.volumes["azure"] / "token")}, "reload": reload("azure"),
             "exchange": {"azure": {
                 "tenant_id": "11111111-2222-3333-4444-555555555555", "client_id": "66666666-7777-8888-9999-aaaaaaaaaaaa",
                 "scopes": ["https://management.azure.com/.default"], "authority_host": ready["azure_url"], "ca_file": ca}},
             "publish": self.target("azure", {"name": "token.json", "format": "azure-token-json", "mode": "0640"})},
            {"name": "openstack", "reload": reload("openstack"), "exchange": {"openstack": {
                "auth_url": ready["keystone_url"], "application_credential_id": "demo-app-credential",
                "application_credential_secret_file": str(secret), "ca_file": ca}},
             "publish": self.target("openstack", {"name": "token", "format": "openstack-token", "mode": "0640"})},
            *robot,
            {"name": "hostile-directory", **hostile, "publish": {
                "directory": str(self.hostile_dir / "directory"),
                "files": [{"name": "credentials", "format": "aws-credentials", "mode": "0644"}]},
             "reload": [{"signal": {"pid_file": str(self.hostile_dir / "pid"), "signal": "USR1"}}]},
            {"name": "hostile-file", **hostile,
             "publish": {"file": {"path": str(self.hostile_dir / "below/file"), "format": "json", "mode": "0644"}},
             "acknowledge": {"file": str(self.hostile_dir / "in-use"), "wait": True, "limit": "5s"}},
            {"name": "hostile-profile", **hostile,
             "publish": {"profile": {"path": str(self.hostile_dir / "profile"), "name": "demo", "format": "aws-credentials"}}},
        ]
        return found

    def start_judges(self):
        self.witnesses, self.failures, self.calls = {}, collections.Counter(), collections.Counter()
        for name in VICTIMS:
            kinds = ["--kind", {"gcp": "access-token=any", "openstack": "token=any"}.get(name, "all.json=json")]
            self.witnesses[name] = self.spawn(
                WITNESS, "--json", "--report", self.dir / f"witness-{name}.json", *kinds, self.out(name),
                stdout=open(self.dir / f"witness-{name}.log", "wb"), stderr=subprocess.STDOUT)
            consumer = self.spawn(
                sys.executable, REPO / "test/consumer/caller.py", name, self.out(name), self.dir / "cloud/ready.json",
                self.dir / f"{name}.pid", "2", stdout=subprocess.PIPE, text=True,
                stderr=open(self.dir / f"consumer-{name}.log", "wb"))
            threading.Thread(target=self.follow, args=(name, consumer), daemon=True).start()
        threading.Thread(target=self.ask, daemon=True).start()

    def follow(self, name, consumer):
        for line in consumer.stdout:
            event = json.loads(line)
            if event["event"] != "call" or self.ended:
                continue
            self.calls[name] += 1
            if not event["ok"]:
                self.failures[name] += 1
                self.wrong(f"{name}: a call failed: {event['error']}")

    def ask(self):
        """The control socket answers at any time, and the published key is one that works."""
        while not self.ended:
            begun = time.monotonic()
            if not self.paused.is_set():
                answered = self.agent.status("robot")
                took = time.monotonic() - begun
                if not self.paused.is_set():
                    self.slowest_s = max(self.slowest_s, took)
                    if not answered or took > ANSWER_S:
                        self.wrong(f"the control socket {'took' if answered else 'did not answer for'} {took:.1f} s")
            self.check_robot()
            time.sleep(0.2)

    def check_robot(self):
        before = self.kind.published(self.agent)
        held = self.kind.held(self.cloud)
        if not held.get(before) and self.kind.published(self.agent) == before:
            self.wrong(f"the published key {before} is {'deactivated' if before in held else 'deleted'}")

    # ---- faults ----

    def some_time(self):
        time.sleep(self.random.uniform(*FAULT_S))

    def fault_answer(self):
        """One kind of bad answer, for one cloud or all."""
        kind = self.random.choice([
            {"kind": "error", "code": "InternalError", "status": 500}, {"kind": "status", "status": 429, "headers":
             {"Retry-After": "1"}}, {"kind": "status", "status": 503}, {"kind": "delay", "ms": 1500}, {"kind": "close"},
            {"kind": "truncate", "bytes": 40}, {"kind": "malformed"}, {"kind": "redirect"},
            {"kind": "oversize", "bytes": 2000000}, {"kind": "content_type", "value": "text/html"},
            {"kind": "slow", "ms_per_byte": 1}])
        action = self.random.choice([*VICTIMS.values(), "*", "CreateAccessKey", "ListAccessKeys"])
        # Consumers who use what they have are no business of this fault.
        actions = [*VICTIMS.values(), "gcp.token"] if action == "*" else [action]
        self.say(f"cloud: {kind} for {action}")
        for one in actions:
            self.cloud.fault(match={"action": one}, count=-1, **kind)
        self.rotate()
        self.some_time()
        self.cloud.clear_faults()

    def fault_outage(self):
        service = self.random.choice(["sts", "gcp", "azure", "keystone", None])
        body = {"on": True, **({"service": service} if service else {})}
        self.say(f"cloud: outage of {service or 'everything'}")
        self.cloud.admin("/outage", body)
        self.rotate()
        self.some_time()
        self.cloud.admin("/outage", {**body, "on": False})

    def fault_network(self):
        self.say("network: nothing comes back")
        self.cloud.process.send_signal(signal.SIGSTOP)
        self.some_time()
        self.cloud.process.send_signal(signal.SIGCONT)

    def fault_dns(self):
        self.names.mode = self.random.choice(["servfail", "nxdomain", "silent"])
        self.say(f"dns: {self.names.mode}")
        self.rotate("aws")
        self.some_time()
        self.names.mode = "good"

    def fault_clock(self):
        offset_s = self.random.choice([-600, -60, 60, 600])
        self.say(f"clock: {offset_s:+d} s, and back")
        self.clock.set(offset_s)
        self.some_time()
        self.clock.set(0)

    def fault_disk(self):
        disk = self.dir / "disk"
        if self.random.random() < 0.5:
            self.say("disk: full")
            filler = disk / "filler"
            try:
                with open(filler, "wb", buffering=0) as f:
                    while True:
                        f.write(bytes(4096))
            except OSError:
                pass
            self.rotate()
            self.some_time()
            filler.unlink()
        else:
            self.say("disk: read-only")
            if subprocess.run(["mount", "-o", "remount,ro", str(disk)], capture_output=True).returncode == 0:
                self.rotate()
                self.some_time()
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)

    def fault_kill(self):
        self.say("agent: kill -9")
        self.paused.set()
        self.agent.kill()
        time.sleep(self.random.uniform(0, 1.5))
        self.start_again()

    def start_again(self):
        self.agent.start(env=self.clock and self.clock.env)
        # A kill leaves the socket's name, which answers nobody.
        eventually(lambda: self.agent.status("robot"), lambda: self.agent.log)
        self.paused.clear()

    def fault_restart(self):
        self.say("agent: SIGTERM")
        self.paused.set()
        status = self.agent.stop()
        if status != 0:
            self.wrong(f"the agent ended with {status}")
        self.start_again()

    def fault_frozen(self):
        self.say("agent: stopped and continued")
        self.paused.set()
        self.agent.process.send_signal(signal.SIGSTOP)
        self.some_time()
        self.agent.process.send_signal(signal.SIGCONT)
        time.sleep(0.2)
        self.paused.clear()

    def fault_reload(self):
        what = self.random.choice(["bad", "without", "other", "same"])
        self.say(f"reload: {what}")
        if what == "bad":
            self.agent.config_path.write_text("version: one\n")
        elif what == "without":
            self.agent.configure(*[c for c in self.credentials if c["name"] not in HOSTILE])
        elif what == "other":
            self.agent.configure(*self.credentials, keep_previous=f"{self.random.randrange(1, 9)}m")
        self.agent.process.send_signal(signal.SIGHUP)
        self.some_time()
        self.agent.configure(*self.credentials)
        self.agent.process.send_signal(signal.SIGHUP)

    def fault_rotate(self):
        self.say("rotate: everything")
        self.rotate()
        self.rotate("robot")

    def fault_kubelet(self):
        what = self.random.choice(["renew", "pause", "garbage", "empty"])
        volume = self.random.choice(["demo", "gcp", "azure"])
        self.say(f"kubelet: {what} of {volume}")
        if what == "renew":
            self.cloud.admin(f"/volume/{volume}/renew", {})
            return
        if what == "pause":
            self.cloud.admin(f"/volume/{volume}/pause", {})
            self.some_time()
            self.cloud.admin(f"/volume/{volume}/resume", {})
            return
        self.cloud.admin(f"/volume/{volume}/write", {"content": "" if what == "empty" else "eyJ.not a token\n"})
        self.some_time()
        self.cloud.admin(f"/volume/{volume}/renew", {})

    def rotate(self, *names):
        """Asks for new credentials at once; a refusal is an answer, too."""
        for name in names or VICTIMS:
            try:
                self.agent.request("POST", f"/v1/credentials/{name}/rotate", "{}")
            except OSError:
                pass

    # ---- a hostile consumer, who owns its directory ----

    def as_consumer(self, do):
        """Runs DO in a process of the consumer's user; what it may not do it leaves."""
        pid = os.fork()
        if pid == 0:
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(NOBODY)
                    os.setuid(NOBODY)
                os.chdir(self.hostile_dir)
                do()
            except OSError:
                pass
            finally:
                os._exit(0)
        return pid

    def fault_hostile(self):
        attacks = {name[7:]: getattr(self, name) for name in dir(self) if name.startswith("attack_")}
        if not self.attacks:  # each comes before one comes again
            self.attacks = self.random.sample(sorted(attacks), len(attacks))
        name = self.attacks.pop()
        self.say(f"hostile consumer: {name.replace('_', ' ')}")
        pid = self.as_consumer(attacks[name])
        time.sleep(0.1)
        self.rotate(*HOSTILE)
        self.some_time()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def replace(self, name, make):
        """Whatever has NAME gives way to what MAKE makes."""
        if os.path.lexists(name):
            os.rename(name, f"old-{time.monotonic_ns()}")
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        make(name)

    def attack_links_to_files(self):
        for name in ("below/file", "profile"):
            self.replace(name, lambda at: os.symlink(self.sentinel / os.path.basename(name), at))

    def attack_link_to_a_directory(self):
        self.replace("directory", lambda at: os.symlink(self.sentinel, at))

    def attack_link_to_another_credential(self):
        self.replace("directory", lambda at: os.symlink(self.out("aws"), at))

    def attack_hard_link(self):
        self.replace("below/file", lambda at: os.link(self.sentinel / "file", at))

    def attack_sparse_file(self):
        for name in ("below/file", "profile", "below/.file.credfresh-00000000", "in-use"):
            self.replace(name, lambda at: os.truncate(os.open(at, os.O_CREAT | os.O_RDWR, 0o644), 1 << 40))

    def attack_held_lock(self):
        self.replace("profile.lock", lambda at: open(at, "w").close())
        fcntl.lockf(os.open("profile.lock", os.O_RDWR), fcntl.LOCK_EX)
        time.sleep(10)

    def attack_fifo(self):
        for name in ("below/file", "profile", "in-use", "pid"):
            self.replace(name, os.mkfifo)

    def attack_removed(self):
        for name in ("below", "profile", "directory"):
            if os.path.lexists(name):
                os.rename(name, f"old-{time.monotonic_ns()}")

    def attack_numbers(self):
        self.replace("directory", os.mkdir)
        last = "directory/..2026_01_01_00_00_00.18446744073709551614"
        os.mkdir(last)
        os.symlink(os.path.basename(last), "directory/..data")

    def attack_link_in_the_path(self):
        self.replace("below", lambda at: os.symlink(self.sentinel, at))

    def attack_directory_where_a_file_belongs(self):
        for name in ("below/file", "profile", "in-use"):
            self.replace(name, os.mkdir)

    def attack_pid_of_another(self):
        self.replace("pid", lambda at: pathlib.Path(at).write_text(f"{self.watchman.pid}\n"))

    def attack_many_entries(self):
        for i in range(2000):
            open(f"{i:06}.credfresh-{i:08x}", "w").close()

    def attack_acknowledgement(self):
        self.replace("in-use", lambda at: pathlib.Path(at).write_text("9" * 200))

    def clean_up(self):
        """The consumer comes to its senses."""
        self.end_consumer()
        for path in self.hostile_dir.iterdir():
            if path.is_dir() and not path.is_symlink():
                # The agent may be about to publish there.
                eventually(lambda: shutil.rmtree(path, ignore_errors=True) or not path.exists(), str(path))
            else:
                path.unlink()
        self.honest_pid = self.as_consumer(self.be_honest)

    def end_consumer(self):
        if self.honest_pid is not None:
            os.kill(self.honest_pid, signal.SIGKILL)
            os.waitpid(self.honest_pid, 0)
        self.honest_pid = None

    def be_honest(self):
        signal.signal(signal.SIGUSR1, lambda *_: None)
        pathlib.Path("pid").write_text(f"{os.getpid()}\n")
        while True:
            signal.pause()

    # ---- the play ----

    def run(self, only):
        self.ended = False
        self.prepare()
        self.start_judges()
        faults = {name[6:]: getattr(self, name) for name in dir(self) if name.startswith("fault_")}
        if self.names is None:
            faults.pop("dns")
        if not os.path.ismount(self.dir / "disk"):
            faults.pop("disk")
        if self.clock is None:
            faults.pop("clock")
        names = [name for name in sorted(faults) if not only or name in only]
        names += ["hostile"] * (3 if "hostile" in names else 0)  # there are many attacks
        bag = []
        for what, why in self.left_out.items():
            self.say(f"left out: {what}: {why}")
            if os.environ.get("CFR_REQUIRE_REAL") == "1" and what != "clock":
                self.wrong(f"left out: {what}: {why}")
        self.base_fds = self.descriptors()
        begun = time.monotonic()
        while time.monotonic() - begun < self.length_s and len(self.broken) < 20:
            if not bag:  # every kind comes before one comes again
                bag = names[:]
                self.random.shuffle(bag)
            name = bag.pop()
            pause_s = self.random.uniform(*PAUSE_S)
            self.counts[name] += 1
            faults[name]()
            if self.agent.process.poll() is not None:
                self.wrong(f"the agent ended with {self.agent.process.returncode}")
                break
            time.sleep(pause_s)
        self.judge()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.agent.process.pid}/fd"))

    def resident_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", read_text(f"/proc/{self.agent.process.pid}/status")).group(1))

    def is_well(self):
        """Everything is fresh, also what was the hostile consumer's, and the cloud has one key."""
        try:
            _, document = self.agent.request("GET", "/v1/credentials")
        except OSError:
            return False
        self.unwell = [f'{c["name"]}: {c["state"]}, {c["last_error"]}' for c in document["credentials"]
                       if c["state"] not in ("fresh", "waiting") or not c["ready"] or c["last_error"]]
        key = self.kind.published(self.agent)
        if self.kind.held(self.cloud) != {key: True}:
            self.unwell.append(f"the keys {self.kind.held(self.cloud)}")
        return not self.unwell

    def judge(self):
        self.say("no more faults")
        self.clean_up()
        self.unwell = ["the agent"]
        try:
            if self.agent.process.poll() is None:
                eventually(self.is_well, limit_s=CALM_S, pause_s=0.5)
        except AssertionError:
            pass
        if self.unwell:
            self.wrong(f"not well {CALM_S} s after the last fault: {self.unwell}")
        else:
            self.say(f"all is well; the agent has {self.resident_kib() / 1024:.1f} MiB and {self.descriptors()} descriptors")
            if self.descriptors() > self.base_fds + 16:
                self.wrong(f"{self.descriptors()} descriptors are open, and at first {self.base_fds}")
        self.ended = True
        self.judge_files()
        self.judge_books()
        if self.agent.stop() not in (0, None):
            self.wrong(f"the agent ended with {self.agent.process.returncode}")

    def judge_files(self):
        for name, witness in self.witnesses.items():
            witness.send_signal(signal.SIGTERM)
            witness.wait(20)
            report = json.loads((self.dir / f"witness-{name}.json").read_text())
            self.say(f"{name}: {report['states']} states, {self.calls[name]} calls, {self.failures[name]} failed, " +
                     ", ".join(f"{flaw} {report[flaw]}" for flaw in FLAWS if report[flaw]))
            if witness.returncode != 0:
                self.wrong(f"{name}: the witness: {report['first_failure']}")
            left = [p.name for p in self.out(name).iterdir() if ".credfresh-" in p.name or p.name == "..data_tmp"]
            if left:
                self.wrong(f"{name}: left behind: {left}")
        if self.watchman.poll() is not None:
            self.wrong("a process of another user was signalled")
        for path in self.sentinel.iterdir():
            if path.read_text() != "[mine]\nkey = value\n" or path.stat().st_mode & 0o777 != 0o600:
                self.wrong(f"{path} was changed")
        if sorted(path.name for path in self.sentinel.iterdir()) != ["credentials", "file", "profile"]:
            self.wrong(f"{self.sentinel} was written to")
        log = read_text(self.agent.log_path)
        for line in log.splitlines():
            if re.search(r"\[internal|Sanitizer|runtime error", line):
                self.wrong("the agent's log: " + line[:300])
        fields = [json.loads((self.out(name) / "all.json").read_text())["fields"] for name in VICTIMS]
        for name, value in [item for one in fields for item in one.items()]:
            if len(str(value)) > 100 and str(value) in log:
                self.wrong(f"the agent's log has the secret {name}")

    def judge_books(self):
        """The cloud was asked about as often as needed: no storm."""
        seen = self.cloud.admin("/stats?log=0")["actions"]
        lasted_s = time.monotonic() - self.start
        for action in [*VICTIMS.values(), "gcp.token", "CreateAccessKey"]:
            codes = seen.get(action, {})
            total = sum(codes.values())
            self.say(f"{action}: {json.dumps(codes)}")
            # Four credentials ask STS, one rotation or fault each two seconds.
            if total > 30 + lasted_s * (4 if action == VICTIMS["aws"] else 2):
                self.wrong(f"{total} requests for {action} in {lasted_s:.0f} s")
            if not codes.get("OK"):
                self.wrong(f"no {action} was ever granted")

    def stop(self):
        self.ended = True
        self.end_consumer()
        for process in [*self.children, *([self.agent.process] if hasattr(self, "agent") else [])]:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(20)
        if hasattr(self, "cloud"):
            self.cloud.process.send_signal(signal.SIGCONT)
            self.cloud.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    args = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="credfresh-soak-"))
    directory.chmod(0o755)
    print(f"soak: {args.minutes:g} min, {args.minutes * 60 * SPEED / 3600:.0f} hours in fast time, --seed {args.seed}, files in "
          f"{directory}", flush=True)
    soak = Soak(directory, args.seed, args.minutes)
    try:
        soak.run(args.only)
    finally:
        soak.stop()
    print(f"faults: {dict(sorted(soak.counts.items()))}; the slowest answer took {soak.slowest_s * 1000:.0f} ms")
    if soak.broken:
        print(f"soak: {len(soak.broken)} promises were broken, the first: {soak.broken[0]}; again with --seed {args.seed}; "
              f"files in {directory}")
        return 1
    subprocess.run(["umount", "-l", str(directory / "disk")], capture_output=True)
    shutil.rmtree(directory, ignore_errors=True)
    print("soak: every promise was kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
