#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The demonstration that tools/demo.sh runs: starts everything, breaks things, prints a timeline and a verdict.

usage: demo.py BUILD_DIR
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = (ROOT / sys.argv[1]).resolve()
DIR = ROOT / "build" / "demo"
SPEED = 240  # an hour lasts fifteen seconds
LENGTH_S = 42
TTY = sys.stdout.isatty() and "NO_COLOR" not in os.environ
COLOURS = {"kubelet": 36, "agent": 32, "sts": 35, "consumer": 34, "demo": 33}


class Timeline:
    """Lines with the time since the start, from several threads."""

    def __init__(self):
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def now(self):
        return time.monotonic() - self.start

    def say(self, who, text):
        mark = f"\033[{COLOURS[who]}m{who:<8}\033[0m" if TTY else f"{who:<8}"
        with self.lock:
            print(f"{self.now():6.2f} s  {mark}  {text}", flush=True)


class Demo:
    def __init__(self):
        shutil.rmtree(DIR, ignore_errors=True)
        DIR.mkdir(parents=True)
        self.time = Timeline()
        self.calls = self.failed = self.reloads = self.longest_gap = 0
        self.rotations = self.kills = 0
        self.outages = []
        self.children = []
        self.last_call = None
        self.first_failure = None

    def spawn(self, *argv, **how):
        process = subprocess.Popen([str(a) for a in argv], **how)
        self.children.append(process)
        return process

    # ---- the parts ----

    def start_cloud(self):
        log = open(DIR / "localcloud.log", "wb")
        self.spawn(BUILD / "test/localcloud/credfresh-localcloud", "--state", DIR / "cloud", "--speed", SPEED, stdout=log,
                   stderr=log)
        self.wait_for((DIR / "cloud/ready.json").exists, "the local cloud")
        self.cloud = json.loads((DIR / "cloud/ready.json").read_text())
        self.time.say("demo", "local cloud is up: an OIDC issuer, a kubelet that projects tokens, and AWS STS; "
                      f"an hour lasts {3600 / SPEED:.0f} s")

    def write_config(self):
        (DIR / "credfresh.yaml").write_text(f"""# Left by the demonstration. For a real account: drop `endpoint` and `ca_file`,
# name your role and region, and point `file` at your pod's projected token.
version: 1
state_dir: {DIR}/state
listen: 127.0.0.1:0
credentials:
  - name: demo
    token:
      file: {DIR}/cloud/volumes/demo/token
    exchange:
      aws:
        role_arn: arn:aws:iam::123456789012:role/demo
        region: us-east-1
        endpoint: {self.cloud["sts_url"]}
        ca_file: {DIR}/cloud/ca.pem
    publish:
      directory: {DIR}/published
      files:
        - {{name: credentials, format: aws-credentials, mode: "0640"}}
        - {{name: credentials.json, format: json}}
        - {{name: token, format: token}}
    reload:
      - signal: {{pid_file: {DIR}/consumer.pid, signal: HUP}}
        on_first: skip
""")

    def start_agent(self):
        self.agent_log = open(DIR / "agent.log", "ab")
        self.agent = self.spawn(BUILD / "agent/credfresh", "run", "-c", DIR / "credfresh.yaml", stdout=self.agent_log,
                                stderr=self.agent_log)

    def start_consumer(self):
        self.consumer = self.spawn("/usr/bin/python3", ROOT / "test/consumer/caller.py", DIR / "published/credentials",
                                   self.cloud["sts_url"], DIR / "cloud/ca.pem", DIR / "consumer.pid", 5,
                                   stdout=subprocess.PIPE, stderr=open(DIR / "consumer.log", "wb"), text=True)
        threading.Thread(target=self.follow_consumer, daemon=True).start()

    def start_witness(self):
        self.witness = self.spawn(BUILD / "test/witness/credfresh-witness", "--json", "--report", DIR / "witness.json",
                                  DIR / "published", stdout=open(DIR / "witness.log", "wb"),
                                  stderr=subprocess.STDOUT)

    # ---- followers ----

    def follow_consumer(self):
        for line in self.consumer.stdout:
            event = json.loads(line)
            if event["event"] == "reload":
                self.reloads += 1
                continue
            if self.last_call is not None:
                self.longest_gap = max(self.longest_gap, event["t"] - self.last_call)
            self.last_call = event["t"]
            self.calls += 1
            if not event["ok"]:
                self.failed += 1
                self.first_failure = self.first_failure or event["error"]
                self.time.say("consumer", "CALL FAILED: " + event["error"])
            elif self.calls % 25 == 0:
                self.time.say("consumer", f"{self.calls} signed calls, {self.failed} failed; reloaded {self.reloads} times")

    def follow_agent(self):
        with open(DIR / "agent.log", "r", encoding="utf-8") as log:
            while True:
                line = log.readline()
                if not line:
                    time.sleep(0.02)
                    continue
                text = re.sub(r"^\S+ ", "", line.strip())
                self.rotations += " published generation " in text
                self.time.say("agent", re.sub(r"arn:aws:sts::\d+:", "", text))

    def follow_cloud(self):
        seen = 0
        token = None
        while True:
            try:
                log = self.admin("/stats")["log"]
            except OSError:
                return
            for entry in log[seen:]:
                if entry["action"] == "AssumeRoleWithWebIdentity":
                    self.time.say("sts", f"exchange: HTTP {entry['status']} {entry.get('code') or ''}".rstrip())
            seen = len(log)
            target = os.readlink(DIR / "cloud/volumes/demo/..data")
            if token not in (None, target):
                self.time.say("kubelet", "token renewed in the projected volume")
            token = target
            time.sleep(0.05)

    # ---- what is done to them ----

    def admin(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.cloud["admin_url"] + path, data=data), timeout=5) as r:
            text = r.read()
        return json.loads(text) if text else None

    def wait_for(self, condition, what, limit_s=20):
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"demo: waited {limit_s} s for {what}; look at the logs in {DIR}")
            time.sleep(0.02)

    def sleep_until(self, moment):
        time.sleep(max(0.0, moment - self.time.now()))

    def outage(self, seconds):
        self.time.say("demo", f"--- STS is down for {seconds} s (HTTP 503) and a rotation is asked for meanwhile ---")
        before = self.failed
        self.admin("/fault", {"match": {"action": "AssumeRoleWithWebIdentity"}, "count": -1, "kind": "status",
                              "status": 503, "headers": {"Retry-After": "1"}})
        self.credfresh("rotate", "demo")
        time.sleep(seconds)
        urllib.request.urlopen(urllib.request.Request(self.cloud["admin_url"] + "/fault", method="DELETE"), timeout=5)
        self.outages.append(self.failed == before)
        self.time.say("demo", "--- STS is back ---")

    def kill_agent(self):
        self.time.say("demo", "--- kill -9 of the agent; started again after 2 s ---")
        self.agent.kill()
        self.agent.wait()
        self.kills += 1
        time.sleep(2)
        self.start_agent()

    def credfresh(self, *argv):
        return subprocess.run([BUILD / "agent/credfresh", argv[0], "-c", DIR / "credfresh.yaml", *argv[1:]],
                              capture_output=True, text=True)

    def resident_kib(self):
        status = pathlib.Path(f"/proc/{self.agent.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    # ---- the play ----

    def run(self):
        self.start_cloud()
        self.write_config()
        self.start_agent()
        threading.Thread(target=self.follow_agent, daemon=True).start()
        threading.Thread(target=self.follow_cloud, daemon=True).start()
        self.wait_for((DIR / "published/credentials").exists, "the first credentials")
        self.start_witness()
        self.start_consumer()
        self.sleep_until(11)
        self.outage(4)
        self.sleep_until(22)
        self.kill_agent()
        self.sleep_until(31)
        self.time.say("demo", "--- credfresh rotate demo --reason 'shown to the audience' ---")
        self.credfresh("rotate", "demo", "--reason", "shown to the audience")
        self.sleep_until(LENGTH_S)
        print("\n" + self.credfresh("status").stdout)
        return self.verdict()

    def verdict(self):
        memory = self.resident_kib()
        for process in (self.consumer, self.witness):
            process.send_signal(signal.SIGTERM)
            process.wait(20)
        report = json.loads((DIR / "witness.json").read_text())
        bad = sum(report.get(kind, 0) for kind in ("torn", "empty", "mixed", "missing", "expired", "worse", "mode"))
        rows = [
            ("rotations published", self.rotations, self.rotations >= 4),
            ("outages survived", f"{sum(self.outages)} of {len(self.outages)}", all(self.outages)),
            ("kill -9 survived", self.kills, self.agent.poll() is None),
            ("consumer's signed calls", self.calls, self.calls > 100),
            ("  of which failed", self.failed, self.failed == 0),
            ("states seen by the witness", report.get("states", 0), report.get("states", 0) >= 4),
            ("  torn, empty, mixed, missing, expired", bad, bad == 0 and self.witness.returncode == 0),
            ("agent's resident memory", f"{memory / 1024:.1f} MiB", True),
        ]
        print("=" * 60)
        for what, value, good in rows:
            print(f"{what:<42} {value!s:>10}  {'ok' if good else 'BROKEN'}")
        print("=" * 60)
        if self.first_failure:
            print("first failed call:", self.first_failure)
        print(f"""Left for you to look at, in {DIR}:
  published/        what the consumer reads
  credfresh.yaml    the configuration; its head says what to change for a real account
  agent.log         every event, a line each
For a real account:  {BUILD}/agent/credfresh check -c your.yaml --online""")
        return 0 if all(good for _, _, good in rows) else 1

    def stop(self):
        for process in reversed(self.children):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


def main():
    demo = Demo()
    try:
        return demo.run()
    finally:
        demo.stop()


if __name__ == "__main__":
    sys.exit(main())
