#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The demonstration that tools/demo.sh runs: one agent with one configuration keeps the credentials of four clouds
fresh under consumers that really use them, while things are broken. Prints a timeline, a picture of it, and a verdict.

usage: demo.py BUILD_DIR [--stay]
"""
import calendar
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = (ROOT / sys.argv[1]).resolve()
STAY = sys.argv[2:] == ["--stay"]
DIR = ROOT / "build" / "demo"
SPEED = 180  # an hour lasts twenty seconds, and half of it is left when a refresh is due
LENGTH_S = 44
OUTAGE_S = 3  # three tries fail at most, so the next one comes within four seconds more
DOWN_S = 2  # of the agent, after kill -9
CALLS_PER_S = 5
COLUMNS = 66  # of the picture
TTY = sys.stdout.isatty() and "NO_COLOR" not in os.environ
WIDTH = shutil.get_terminal_size((125, 24)).columns
COLOURS = {"kubelet": 36, "agent": 32, "consumer": 34, "demo": 33}
FLAWS = ("torn", "empty", "mixed", "missing", "expired", "worse", "mode")


class Cloud:
    """One of the four, and what was seen of it."""

    def __init__(self, name, actions, kinds=()):
        self.name = name
        self.actions = actions  # of the exchange, one after the other
        self.kinds = kinds      # for the witness
        self.rotations = []     # moments
        self.generations = []   # (published, expires)
        self.seconds = collections.Counter()  # calls in each second
        self.outages = []       # (from, to, calls that failed meanwhile)
        self.failures = []      # (moment, error)
        self.calls = self.reloads = 0
        self.identity = ""
        self.granted = self.refused = 0
        self.consumer = self.witness = None
        self.report = {}

    def flaws(self):
        return sum(self.report.get(kind, 0) for kind in FLAWS)

    def complaints(self):
        """What is not as it should be."""
        checks = [
            (len(self.rotations) >= 4, f"{len(self.rotations)} rotations, at least 4 are due"),
            (self.refused > 0, "the outage refused no exchange"),
            (self.calls > 100, f"{self.calls} calls, at least 100 are due"),
            (not self.failures, f"{len(self.failures)} failed calls, the first: {(self.failures or [(0, '')])[0][1]}"),
            (self.report.get("states", 0) >= 4, f"{self.report.get('states', 0)} states were seen, at least 4 are due"),
            (self.flaws() == 0 and self.witness.returncode == 0,
             f"the witness ended with {self.witness.returncode}: {self.report.get('first_failure')}"),
        ]
        return [text for good, text in checks if not good]


class Timeline:
    """Lines with the time since the start, from several threads."""

    def __init__(self):
        self.start = time.monotonic()
        self.lock = threading.Lock()
        self.over = False

    def now(self):
        return time.monotonic() - self.start

    def say(self, who, cloud, text):
        mark = f"\033[{COLOURS[who]}m{who:<8}\033[0m" if TTY else f"{who:<8}"
        lines = textwrap.wrap(text, max(WIDTH - 35, 40), break_long_words=False)
        with self.lock:
            if not self.over:
                print(f"{self.now():6.2f} s  {mark}  {cloud:<13}  " + f"\n{'':35}".join(lines), flush=True)


class Demo:
    def __init__(self):
        shutil.rmtree(DIR, ignore_errors=True)
        DIR.mkdir(parents=True)
        self.time = Timeline()
        self.clouds = {cloud.name: cloud for cloud in (
            Cloud("aws", ["AssumeRoleWithWebIdentity"]),
            Cloud("gcp", ["gcp.token", "gcp.generateAccessToken"], ["access-token=any"]),
            Cloud("azure", ["azure.token"]),
            Cloud("openstack", ["keystone.auth"], ["token=any"]))}
        self.children = []
        self.deaths = []  # of the agent: (from, to)

    def spawn(self, *argv, **how):
        process = subprocess.Popen([str(a) for a in argv], **how)
        self.children.append(process)
        return process

    # ---- the parts ----

    def start_cloud(self):
        log = open(DIR / "localcloud.log", "wb")
        self.spawn(BUILD / "test/localcloud/credfresh-localcloud", "--state", DIR / "cloud", "--speed", SPEED,
                   stdout=log, stderr=log)
        self.wait_for((DIR / "cloud/ready.json").exists, "the local cloud")
        self.cloud = json.loads((DIR / "cloud/ready.json").read_text())
        self.time.say("demo", "all", "a kubelet that projects tokens, and four clouds' token services are up; "
                      f"an hour lasts {3600 / SPEED:.0f} s")

    def write_config(self):
        (DIR / "openstack-secret").write_text("demo-secret\n")
        (DIR / "openstack-secret").chmod(0o600)
        (DIR / "credfresh.yaml").write_text(f"""# Left by the demonstration. For real accounts: drop the
# endpoints (`endpoint`, `sts_endpoint`, `iam_endpoint`, `authority_host`) and every `ca_file`, name your own role,
# pool, application and Keystone, and point each `file` at your pod's projected token.
version: 1
state_dir: {DIR}/state
listen: 127.0.0.1:0
credentials:
  - name: aws
    token:
      file: {DIR}/cloud/volumes/demo/token
    exchange:
      aws:
        role_arn: arn:aws:iam::123456789012:role/demo
        region: us-east-1
        endpoint: {self.cloud["sts_url"]}
        ca_file: {DIR}/cloud/ca.pem
    publish:
      directory: {DIR}/published/aws
      files:
        - {{name: credentials, format: aws-credentials, mode: "0640"}}
        - {{name: all.json, format: json}}
    reload:
      - signal: {{pid_file: {DIR}/aws.pid, signal: HUP}}
        on_first: skip
  - name: gcp
    token:
      file: {DIR}/cloud/volumes/gcp/token
    exchange:
      gcp:
        audience: //iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo
        service_account: demo@demo-project.iam.gserviceaccount.com
        sts_endpoint: {self.cloud["gcp_url"]}/v1/token
        iam_endpoint: {self.cloud["gcp_url"]}
        ca_file: {DIR}/cloud/ca.pem
    publish:
      directory: {DIR}/published/gcp
      files:
        - {{name: access-token, format: gcp-access-token, mode: "0640"}}
        - {{name: all.json, format: json}}
    reload:
      - signal: {{pid_file: {DIR}/gcp.pid, signal: HUP}}
        on_first: skip
  - name: azure
    token:
      file: {DIR}/cloud/volumes/azure/token
    exchange:
      azure:
        tenant_id: 11111111-2222-3333-4444-555555555555
        client_id: 66666666-7777-8888-9999-aaaaaaaaaaaa
        scopes: [https://management.azure.com/.default]
        authority_host: {self.cloud["azure_url"]}
        ca_file: {DIR}/cloud/ca.pem
    publish:
      directory: {DIR}/published/azure
      files:
        - {{name: token.json, format: azure-token-json, mode: "0640"}}
        - {{name: all.json, format: json}}
    reload:
      - signal: {{pid_file: {DIR}/azure.pid, signal: HUP}}
        on_first: skip
  - name: openstack
    exchange:
      openstack:
        auth_url: {self.cloud["keystone_url"]}
        application_credential_id: demo-app-credential
        application_credential_secret_file: {DIR}/openstack-secret
        ca_file: {DIR}/cloud/ca.pem
    publish:
      directory: {DIR}/published/openstack
      files:
        - {{name: clouds.yaml, format: clouds-yaml, mode: "0640"}}
        - {{name: token, format: openstack-token, mode: "0640"}}
        - {{name: all.json, format: json}}
    reload:
      - signal: {{pid_file: {DIR}/openstack.pid, signal: HUP}}
        on_first: skip
""")

    def start_agent(self):
        log = open(DIR / "agent.log", "ab")
        self.agent = self.spawn(BUILD / "agent/credfresh", "run", "-c", DIR / "credfresh.yaml", stdout=log, stderr=log)

    def start_consumer(self, cloud):
        cloud.consumer = self.spawn("/usr/bin/python3", ROOT / "test/consumer/caller.py", cloud.name,
                                    DIR / "published" / cloud.name, DIR / "cloud/ready.json", DIR / f"{cloud.name}.pid",
                                    CALLS_PER_S, stdout=subprocess.PIPE, text=True,
                                    stderr=open(DIR / f"consumer-{cloud.name}.log", "wb"))
        threading.Thread(target=self.follow_consumer, args=(cloud,), daemon=True).start()

    def start_witness(self, cloud):
        kinds = [word for kind in cloud.kinds for word in ("--kind", kind)]
        cloud.witness = self.spawn(BUILD / "test/witness/credfresh-witness", "--json", "--report",
                                   DIR / f"witness-{cloud.name}.json", *kinds, DIR / "published" / cloud.name,
                                   stdout=open(DIR / f"witness-{cloud.name}.log", "wb"), stderr=subprocess.STDOUT)

    # ---- followers ----

    def follow_consumer(self, cloud):
        for line in cloud.consumer.stdout:
            event = json.loads(line)
            if event["event"] == "reload":
                cloud.reloads += 1
                continue
            cloud.calls += 1
            cloud.seconds[int(self.time.now())] += 1
            if not event["ok"]:
                cloud.failures.append((self.time.now(), event["error"]))
                self.time.say("consumer", cloud.name, "CALL FAILED: " + event["error"])
            elif not cloud.identity:
                cloud.identity = event["identity"]
                self.time.say("consumer", cloud.name, "first call: the cloud knows me as " + brief(cloud.identity))

    def follow_agent(self):
        with open(DIR / "agent.log", "r", encoding="utf-8") as log:
            while not self.time.over:
                line = log.readline()
                if not line:
                    time.sleep(0.02)
                    continue
                said = re.match(r"\S+ (\S+) +(?:(\w+) \[\w+\]: )?(.*)", line.strip())
                level, name, text = said.groups() if said else ("info", None, line.strip())
                if level == "info" and text.startswith("hook "):
                    continue  # the consumer knows better whether it was notified
                if name in self.clouds and text.startswith("published "):
                    self.clouds[name].rotations.append(self.time.now())
                    self.clouds[name].generations.append((self.time.now(), self.expiry(name)))
                    text = re.sub(r" of .*?, valid", ", valid", text)
                self.time.say("agent", name or "all", ("" if level == "info" else level + ": ") + brief(text))

    def expiry(self, name):
        """When what is published for the cloud NAME expires, as a moment of the timeline."""
        expires = json.loads((DIR / "published" / name / "all.json").read_text())["expires"]
        return calendar.timegm(time.strptime(expires, "%Y-%m-%dT%H:%M:%SZ")) - time.time() + self.time.now()

    def follow_kubelet(self):
        volumes = {name: DIR / "cloud/volumes" / volume / "..data"
                   for name, volume in (("aws", "demo"), ("gcp", "gcp"), ("azure", "azure"))}
        targets = {name: os.readlink(link) for name, link in volumes.items()}
        while not self.time.over:
            for name, link in volumes.items():
                target = os.readlink(link)
                if target != targets[name]:
                    targets[name] = target
                    self.time.say("kubelet", name, "token renewed in the projected volume")
            time.sleep(0.05)

    def say_calls(self):
        self.time.say("consumer", "all", "calls so far: " + ", ".join(
            f"{cloud.name} {cloud.calls}" for cloud in self.clouds.values()) +
            f"; failed: {sum(len(cloud.failures) for cloud in self.clouds.values())}")

    # ---- what is done to them ----

    def admin(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.cloud["admin_url"] + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=5) as r:
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

    def outage(self, *names):
        """Their token services are down, and a rotation is asked for meanwhile; what was given out goes on."""
        clouds = [self.clouds[name] for name in names]
        self.time.say("demo", "+".join(names),
                      f"--- both are down for {OUTAGE_S} s (HTTP 503), and rotations are asked for ---")
        start, before = self.time.now(), [len(cloud.failures) for cloud in clouds]
        for cloud in clouds:
            self.admin("/fault", {"match": {"action": cloud.actions[0]}, "count": -1, "kind": "status", "status": 503,
                                  "headers": {"Retry-After": "1"}})
        self.credfresh("rotate", *names)
        self.sleep_until(start + OUTAGE_S)
        self.admin("/fault", method="DELETE")
        for cloud, count in zip(clouds, before):
            cloud.outages.append((start, self.time.now(), len(cloud.failures) - count))
        self.time.say("demo", "+".join(names), "--- both are back ---")

    def kill_agent(self):
        self.time.say("demo", "all", f"--- kill -9 of the agent; started again after {DOWN_S} s ---")
        start = self.time.now()
        self.agent.kill()
        self.agent.wait()
        time.sleep(DOWN_S)
        self.start_agent()
        self.deaths.append((start, self.time.now()))

    def rotate_all(self):
        self.forced = self.time.now()
        self.time.say("demo", "all", "--- credfresh rotate --all --reason 'shown to the audience' ---")
        self.credfresh("rotate", "--all", "--reason", "shown to the audience")

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
        for follower in (self.follow_agent, self.follow_kubelet):
            threading.Thread(target=follower, daemon=True).start()
        self.wait_for(lambda: all((DIR / "published" / name / "all.json").exists() for name in self.clouds),
                      "the first credentials")
        for cloud in self.clouds.values():
            self.start_witness(cloud)
            self.start_consumer(cloud)
        play = [(9, self.outage, ("aws", "azure")), (16, self.say_calls, ()),
                (18, self.outage, ("gcp", "openstack")), (25, self.say_calls, ()),
                (27, self.kill_agent, ()), (35, self.say_calls, ()),
                (36, self.rotate_all, ()), (LENGTH_S, self.say_calls, ())]
        for moment, scene, what in play:
            self.sleep_until(moment)
            scene(*what)
        self.time.over = True
        print(flush=True)
        subprocess.run([BUILD / "agent/credfresh", "status", "-c", DIR / "credfresh.yaml"], check=False)  # it fits the terminal
        print(flush=True)
        status = self.verdict()
        self.write_events()
        if STAY and self.agent.poll() is None:
            self.stay()
        return status

    def page(self):
        """The address of the status page, which is another one after the agent was started again."""
        return re.findall(r"status page, health and metrics on (\S+)", (DIR / "agent.log").read_text())[-1] + "/"

    def stay(self):
        """Until a signal, or until the agent is made to end."""
        for cloud in self.clouds.values():
            self.start_consumer(cloud)
        program, config = (os.path.relpath(path) for path in (BUILD / "agent/credfresh", DIR / "credfresh.yaml"))
        print(f"""
The cloud, the agent and the consumers are still running; an hour lasts {3600 / SPEED:.0f} s. Try in another terminal:
  {program} status --watch -c {config}
  {program} rotate aws --reason "my first rotation" -c {config}
  {program} doctor -c {config}
or open in a browser: {self.page()}
Ctrl-C ends them all.""", flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            while self.agent.poll() is None:
                time.sleep(0.2)
            print("demo: the agent has ended")
        except KeyboardInterrupt:
            print()

    def collect(self):
        for cloud in self.clouds.values():
            for process in (cloud.consumer, cloud.witness):
                process.send_signal(signal.SIGTERM)
        for cloud in self.clouds.values():
            cloud.consumer.wait(20)
            cloud.witness.wait(20)
            cloud.report = json.loads((DIR / f"witness-{cloud.name}.json").read_text())
        seen = self.admin("/stats?log=1")["actions"]
        for cloud in self.clouds.values():
            codes = [seen.get(action, {}) for action in cloud.actions]
            cloud.granted = codes[-1].get("OK", 0)
            cloud.refused = sum(n for code in codes for name, n in code.items() if name != "OK")

    def picture(self):
        """A line per cloud, and one for the agent: what happened when."""
        def line(label, mark, events):
            row = [mark] * COLUMNS
            for start, end, sign in events:
                for at in range(int(start / LENGTH_S * COLUMNS), int(end / LENGTH_S * COLUMNS) + 1):
                    if 0 <= at < COLUMNS:
                        row[at] = sign
            print(f"{label:<11}{''.join(row)}")

        scale = "".join(f"{second:<{COLUMNS * 10 // LENGTH_S}}" for second in range(0, LENGTH_S + 1, 10))
        print(f"{'seconds':<11}{scale}")
        for cloud in self.clouds.values():
            line(cloud.name, ".", [(start, end, "x") for start, end, _ in cloud.outages] +
                 [(at, at, "R") for at in cloud.rotations] + [(at, at, "!") for at, _ in cloud.failures])
        line("agent", "-", [(start, end, "k") for start, end in self.deaths])
        print("R new generation   x the cloud is down   k the agent is dead   ! failed call\n")

    def write_events(self):
        """What happened when, in seconds since the start: tools/pictures/run.py draws it."""
        def rounded(pairs):
            return [[round(start, 2), round(end, 2)] for start, end in pairs]

        (DIR / "events.json").write_text(json.dumps({
            "hour_s": 3600 / SPEED, "length_s": LENGTH_S, "agent_down": rounded(self.deaths), "rotate_all": round(self.forced, 2),
            "clouds": {cloud.name: {
                "generations": rounded(cloud.generations), "outages": rounded((start, end) for start, end, _ in cloud.outages),
                "calls": [cloud.seconds[second] for second in range(LENGTH_S)],
                "failed_at": [round(at, 2) for at, _ in cloud.failures]} for cloud in self.clouds.values()}}) + "\n")

    def verdict(self):
        memory = self.resident_kib()
        self.collect()
        self.picture()
        wrong = []
        head = f"{'cloud':<10}{'rotations':>9}{'exchanges':>10}{'refused':>8}{'reads':>6}{'calls':>6}{'failed':>7}" \
               f"{'states':>7}{'torn etc.':>10}"
        print(head + "\n" + "=" * (len(head) + 6))
        for cloud in self.clouds.values():
            complaints = cloud.complaints()
            wrong += [f"{cloud.name}: {text}" for text in complaints]
            print(f"{cloud.name:<10}{len(cloud.rotations):>9}{cloud.granted:>10}{cloud.refused:>8}{cloud.reloads:>6}"
                  f"{cloud.calls:>6}{len(cloud.failures):>7}{cloud.report.get('states', 0):>7}{cloud.flaws():>10}"
                  f"  {'WRONG' if complaints else 'ok'}")
        if self.agent.poll() is not None:
            wrong.append(f"agent: it ended with {self.agent.returncode}")
        print("=" * (len(head) + 6))
        survived = sum(failed == 0 for cloud in self.clouds.values() for _, _, failed in cloud.outages)
        outages = sum(len(cloud.outages) for cloud in self.clouds.values())
        kills = len(self.deaths) if self.agent.poll() is None else 0
        print(f"outages survived {survived} of {outages}, kill -9 survived {kills} of {len(self.deaths)}, "
              f"the agent's resident memory {memory / 1024:.1f} MiB")
        for text in wrong:
            print("WRONG: " + text)
        print(f"""
Left for you to look at, in {DIR}:
  published/*/      what the consumers read
  credfresh.yaml    the configuration; its head says what to change for real accounts
  agent.log         every event, a line each
  events.json       what happened when: tools/pictures/run.py draws it
For a real account:  {BUILD}/agent/credfresh check -c your.yaml --online""", flush=True)
        return 1 if wrong else 0

    def stop(self):
        for process in reversed(self.children):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


def brief(text):
    """Long names, shortened."""
    text = re.sub(r"arn:aws:sts::\d+:", "", text)
    return re.sub(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", r"\1..", text)


def main():
    demo = Demo()
    try:
        return demo.run()
    finally:
        demo.stop()


if __name__ == "__main__":
    sys.exit(main())
