# SPDX-License-Identifier: MIT
"""Debian's Prometheus scrapes running agents with the rules of monitoring/: each alert fires when what it is about happens,
those of an outage clear when it ends, and each expression of the dashboard gives data."""
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
import yaml

from harness import Agent, LocalCloud, Mounted, eventually, read_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
MONITORING = ROOT / "monitoring"
sys.path.insert(0, str(ROOT / "test/integ"))
sys.path.insert(0, str(ROOT / "tools/pictures"))
import dashboard  # noqa: E402
from endpoint_client import ask, free_port  # noqa: E402

for program in ("prometheus", "promtool"):
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}; CFR_REAL=1 installs it", allow_module_level=True)

RULES = yaml.safe_load((MONITORING / "credfresh-rules.yaml").read_text())
ALERTS = {rule["alert"] for group in RULES["groups"] for rule in group["rules"]}
DASHBOARD = json.loads((MONITORING / "grafana-dashboard.json").read_text())
KNOWN = {"$job": "credfresh", "$instance": ".*", "$credential": ".*", "$__rate_interval": "1m"}
SPEED = 180
ROOT_KEY = {"aws_access_key_id": "AKIAADMINADMINADMIN0", "aws_secret_access_key": "admin-secret"}
# Of a key that there is not in the cloud.
JOURNAL = json.dumps({"version": 1, "step": "rest", "rotation": "1", "subject": "aws/robot", "name": "", "current": "AKIAREMOVED000000000",
                      "current_s": "1700000000", "minted": "", "minted_s": "0", "old": "", "intent_s": "0", "step_s": "0",
                      "published_s": "0", "generation": "1", "late_use": False, "asked": False, "known": []})


def promtool(*argv):
    done = subprocess.run(["promtool", *map(str, argv)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---- by themselves ----

def test_the_rules_are_right():
    assert f"{sum(len(group['rules']) for group in RULES['groups'])} rules found" in promtool(
        "check", "rules", "--lint=all", "--lint-fatal", MONITORING / "credfresh-rules.yaml")
    assert "SUCCESS" in promtool("test", "rules", MONITORING / "credfresh-rules.test.yaml")


def test_the_scrape_configurations_are_right(tmp_path):
    static = (MONITORING / "scrape.yaml").read_text()
    (tmp_path / "scrape.yaml").write_text(static.replace("/etc/prometheus/", f"{MONITORING}/"))
    assert "SUCCESS" in promtool("check", "config", tmp_path / "scrape.yaml")
    # Debian's Prometheus does not know Kubernetes: that part is compared here and left out.
    pods = yaml.safe_load((MONITORING / "scrape-kubernetes.yaml").read_text())
    assert pods["scrape_configs"][0].pop("kubernetes_sd_configs") == [{"role": "pod"}]
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump(pods))
    assert "SUCCESS" in promtool("check", "config", tmp_path / "pods.yaml")
    jobs = {yaml.safe_load(static)["scrape_configs"][0]["job_name"], pods["scrape_configs"][0]["job_name"]}
    monitor = yaml.safe_load((MONITORING / "podmonitor.yaml").read_text())["spec"]["podMetricsEndpoints"][0]["relabelings"]
    jobs |= {step["replacement"] for step in monitor if step.get("targetLabel") == "job"}
    assert jobs == {"credfresh"}


# ---- with everything running ----

class Prometheus:
    """It scrapes twice a second whatever `scrape` names, with our rules, in which every `for` is a second."""

    def __init__(self, directory):
        self.dir = directory
        self.dir.mkdir()
        self.url = f"http://127.0.0.1:{free_port()}"
        self.seen = set()
        rules = json.loads(json.dumps(RULES))
        for group in rules["groups"]:
            for rule in group["rules"]:
                rule["for"] = "1s"
        (self.dir / "rules.yaml").write_text(yaml.safe_dump(rules))
        self.scrape()
        (self.dir / "prometheus.yaml").write_text(yaml.safe_dump({
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{"job_name": "credfresh", "file_sd_configs": [{"files": ["targets.json"]}]}]}))
        with open(self.dir / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={self.dir}/prometheus.yaml", f"--storage.tsdb.path={self.dir}/data",
                 f"--web.listen-address={self.url[7:]}"], stdout=log, stderr=log)
        eventually(self.is_ready, lambda: read_text(self.dir / "log"))

    def scrape(self, *addresses):
        (self.dir / "targets.new").write_text(json.dumps([{"targets": addresses}] if addresses else []))
        os.rename(self.dir / "targets.new", self.dir / "targets.json")

    def is_ready(self):
        assert self.process.poll() is None, read_text(self.dir / "log")
        try:
            urllib.request.urlopen(self.url + "/-/ready", timeout=10).close()
            return True
        except OSError:
            return False

    def get(self, path, **query):
        url = f"{self.url}/api/v1/{path}?" + urllib.parse.urlencode(query)
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{query}: {refused.read().decode()}") from refused

    def values(self, expression):
        """[(labels, number)], without what is no number."""
        found = [(r["metric"], float(r["value"][1])) for r in self.get("query", query=expression)["result"]]
        return [(labels, value) for labels, value in found if math.isfinite(value)]

    def alerts(self, state="firing", **labels):
        """Names of the alerts in STATE with LABELS."""
        return {alert["labels"]["alertname"] for alert in self.get("alerts")["alerts"]
                if alert["state"] == state and labels.items() <= alert["labels"].items()}

    def wait(self, *names, limit_s=60, **labels):
        """Until all of NAMES fire."""
        eventually(lambda: self.alerts(**labels) >= set(names),
                   lambda: f"{set(names) - self.alerts(**labels)}; pending: {self.alerts('pending')}", limit_s, 0.2)
        self.seen |= set(names)

    def wait_quiet(self, *names, limit_s=60, **labels):
        """Until none of NAMES fires or is pending; without names, none at all."""
        def left():
            active = self.alerts(**labels) | self.alerts("pending", **labels)
            return active & set(names) if names else active

        eventually(lambda: not left(), left, limit_s, 0.2)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Site:
    """A cloud whose hours last 20 seconds, two agents, and a Prometheus that does not know of them yet."""

    def __init__(self, directory):
        self.cloud = LocalCloud(directory / "cloud", speed=SPEED, config={"iam_keys": [{
            "access_key_id": ROOT_KEY["aws_access_key_id"], "secret_access_key": ROOT_KEY["aws_secret_access_key"],
            "arn": "arn:aws:iam::123456789012:user/admin"}]})
        self.prometheus = Prometheus(directory / "prometheus")
        self.agents = [self.agent(directory / "one"), self.agent(directory / "two")]

    def agent(self, directory):
        agent = Agent(directory, self.cloud)
        agent.address = f"127.0.0.1:{free_port()}"
        agent.endpoint = f"127.0.0.1:{free_port()}"
        return agent

    def target(self, agent, namespace):
        return {"secret": {"namespace": namespace, "name": agent.dir.name, "kubeconfig": self.cloud.ready["kubeconfig"],
                           "keys": [{"name": "token", "format": "token"}]}}

    def well(self, agent):
        """A credential with everything, all of which works."""
        in_use = agent.dir / "in-use"
        say = agent.dir / "say"
        say.write_text(f"#!/bin/sh\necho $CREDFRESH_GENERATION >{in_use}.new && mv {in_use}.new {in_use}\n")
        say.chmod(0o755)
        return agent.credential(publish=[agent.credential()["publish"], self.target(agent, "default")],
                                reload=[{"exec": [str(say)]}], acknowledge={"file": str(in_use)})

    def exchange(self, role):
        return {"aws": {"role_arn": f"arn:aws:iam::123456789012:role/{role}", "region": "us-east-1",
                        "endpoint": self.cloud.sts, "ca_file": self.cloud.ca}}

    def troubled(self, agent):
        """Credentials each of which has one trouble."""
        self.cloud.admin("/volume", {"name": "stalled", "service_account": "demo", "paused": True})
        stalled = self.cloud.dir / "volumes/stalled"
        self.cloud.admin("/volume/stalled/write", {"content": self.cloud.token(issued_ago_s=3400, expires_in_s=200)})
        self.cloud.fault(kind="error", code="InternalFailure", status=500, count=-1,
                         match={"role": self.exchange("skewed")["aws"]["role_arn"]},
                         headers={"Date": "Thu, 01 Jan 2026 00:00:00 GMT"})
        (agent.state / "kept+mint.json").write_text("{")
        for name in ("former", "removed"):
            (agent.state / f"{name}+mint.json").write_text(JOURNAL)
        Mounted(agent.dir / "root").put(ROOT_KEY)
        self.cloud.admin("/service/iam", {"admins": ["arn:aws:iam::*:user/admin"], "users": ["robot", "other"]})
        self.cloud.fault(kind="error", code="AccessDenied", status=403, count=-1, match={"action": "CreateAccessKey"})
        request = {"service_account": "demo", "namespace": "default", "kubeconfig": self.cloud.ready["kubeconfig"]}
        return [
            agent.credential("refused", exchange=self.exchange("nobody")),
            agent.credential("unused", exchange=self.exchange("nobody"), required=False),
            agent.credential("skewed", exchange=self.exchange("skewed")),
            agent.credential("hooked", reload=[{"exec": ["/bin/false"]}]),
            agent.credential("behind", acknowledge={"file": str(agent.dir / "nobody"), "behind_after": "1s"}),
            agent.credential("applied", publish=[agent.credential("applied")["publish"], self.target(agent, "elsewhere")]),
            agent.credential("stalled", token={"file": str(stalled / "token")}),
            agent.credential("asked", token={"file": str(agent.dir / "nothing"), "audience": "sts.amazonaws.com",
                                             "request": request}),
            {"name": "root", "secret": {"directory": str(agent.dir / "root"), "pass_on": True}},
            {"name": "removed", "mint": {"aws": {"user_name": "robot", "regions": ["us-east-1"], "ca_file": self.cloud.ca,
                                                 "endpoint": self.cloud.sts.rstrip("/") + "/iam"},
                                         "with": "root", "verify": False},
             "publish": {"directory": str(agent.dir / "out-removed"),
                         "files": [{"name": "credentials", "format": "aws-credentials"}]}},
            {"name": "passed", "mint": {"aws": {"user_name": "other", "regions": ["us-east-1"], "ca_file": self.cloud.ca,
                                                "endpoint": self.cloud.sts.rstrip("/") + "/iam"},
                                        "with": "root", "or": "pass_on"},
             "publish": {"directory": str(agent.dir / "out-passed"),
                         "files": [{"name": "credentials", "format": "aws-credentials"}]}},
            {"name": "kept", "mint": {"aws": {"user_name": "robot", "regions": ["us-east-1"]}, "with": "demo"},
             "publish": {"directory": str(agent.dir / "out-kept"),
                         "files": [{"name": "credentials", "format": "aws-credentials"}]}},
        ]

    def start(self, agent, *troubled):
        endpoint = {"listen": agent.endpoint, "aws_container": {
            "credential": "demo", "authorization": {"file": str(agent.dir / "auth")}}}
        bundle = {"name": "trust", "ca_bundle": True,
                  "publish": {"file": {"path": str(agent.dir / "ca.crt"), "format": "ca-bundle"}}}
        agent.configure(self.well(agent), bundle, *troubled, listen=agent.address, endpoints=[endpoint],
                        service_ca={"store": str(agent.dir / "store")}).start()
        agent.wait_generation(1)

    def stop(self):
        for agent in self.agents:
            agent.stop()
        self.prometheus.stop()
        self.cloud.stop()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = Site(tmp_path_factory.mktemp("site"))
    yield made
    made.stop()


def test_nobody_is_scraped_until_somebody_is(site):
    site.prometheus.wait("CredfreshNotScraped")
    for agent in site.agents:
        site.start(agent)
    site.scraped_s = time.time()
    site.prometheus.scrape(*(agent.address for agent in site.agents))
    eventually(lambda: len(site.prometheus.values("up == 1")) == 2, "both")
    site.prometheus.wait_quiet()


def expressions():
    """(what, expression) of the dashboard, with everything in its place that Grafana puts there."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            yield variable["name"], f'{metric} unless on ({label}) vector(0)'  # on a label that is missing, none is left


def test_each_expression_of_the_dashboard_gives_data(site):
    for what, expression in expressions():
        for name, value in KNOWN.items():
            expression = expression.replace(name, value)
        assert "$" not in expression

        def has_data():
            for agent in site.agents:
                ask(agent.endpoint, "/aws/demo")
            return site.prometheus.values(expression)

        eventually(has_data, f"data of {what}: {expression}", 30, 0.2)
    page = ask(site.agents[0].address, "/metrics").text
    lint = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, timeout=60)
    assert lint.returncode == 0 and not lint.stdout + lint.stderr, lint.stdout + lint.stderr


def test_an_outage_is_told_and_its_end_too(site):
    """Of one agent's credential: it fails, it runs out, it expires; and when the cloud is back all is quiet."""
    one = site.agents[0]
    site.outage = [time.time()]
    site.cloud.admin("/outage", {"on": True})
    here = {"instance": one.address, "credential": "demo"}
    eventually(lambda: site.prometheus.alerts("pending", **here) or site.prometheus.alerts(**here), "an alert", 60, 0.1)
    site.prometheus.wait("CredfreshRefreshFailing", "CredfreshCredentialRunsOut", **here)
    site.prometheus.wait("CredfreshCredentialExpired", severity="critical", **here)
    assert not site.prometheus.alerts(**here) & {"CredfreshRefreshRefused", "CredfreshCredentialMissing"}
    site.prometheus.wait_quiet("CredfreshCredentialRunsOut", **here)  # it has
    site.cloud.admin("/outage", {"on": False})
    site.outage.append(time.time())
    for agent in site.agents:
        assert agent.run("rotate", "demo").returncode == 0
    site.prometheus.wait_quiet()


class Recording:
    """What the dashboard showed from START_S on, by the wall clock."""

    step_s = 0.5

    def __init__(self, site):
        self.site = site
        self.end_s = time.time()
        self.start_s = site.scraped_s + 3
        self.names = {agent.address: f"node{i + 1}" for i, agent in enumerate(site.agents)}

    def expression(self, target):
        expression = target["expr"]
        for name, value in {**KNOWN, "$__rate_interval": "5s"}.items():
            expression = expression.replace(name, value)
        return expression

    def series(self, target):
        found = self.site.prometheus.get("query_range", query=self.expression(target), start=self.start_s, end=self.end_s,
                                         step=self.step_s)["result"]
        for one in found:
            labels = {**one["metric"], "instance": self.names.get(one["metric"].get("instance"), "")}
            at = {round((float(when) - self.start_s) / self.step_s): float(value) for when, value in one["values"]}
            count = int((self.end_s - self.start_s) / self.step_s)
            yield {"legend": re.sub(r"{{(\w+)}}", lambda match: labels.get(match[1], ""), target.get("legendFormat") or ""),
                   "values": [round(at[i], 3) if math.isfinite(at.get(i, math.nan)) else None for i in range(count)]}

    def table(self, panel):
        """Rows of text, the names of the columns first."""
        names = panel["transformations"][1]["options"]["renameByName"]
        rows = {}
        for target in panel["targets"]:
            for one in self.site.prometheus.get("query", query=self.expression(target), time=self.end_s)["result"]:
                labels, value = one["metric"], float(one["value"][1])
                row = rows.setdefault((labels["credential"], self.names[labels["instance"]]), {})
                row.update({"credential": labels["credential"], "instance": self.names[labels["instance"]]})
                row.update({key: labels[key] for key in ("provider", "source") if key in labels})
                row[f"Value #{target['refId']}"] = f"{value:.0f} s" if target["refId"] in "CDE" else f"{value:.0f}"
        return [list(names.values())] + [[rows[key].get(name, "") for name in names] for key in sorted(rows)]

    def record(self, outage):
        panels = {}
        for panel in DASHBOARD["panels"]:
            if panel["type"] == "timeseries":
                panels[panel["id"]] = [one for target in panel["targets"] for one in self.series(target)]
            elif panel["type"] == "stat":
                panels[panel["id"]] = next(self.series(panel["targets"][0]))["values"][-1:]
            elif panel["type"] == "table":
                panels[panel["id"]] = self.table(panel)
        drawn = {panel["id"] for panel in DASHBOARD["panels"]
                 if panel["gridPos"]["y"] + panel["gridPos"]["h"] <= dashboard.ROWS}
        return {"hour_s": 3600 / SPEED, "length_s": round(self.end_s - self.start_s, 1), "step_s": self.step_s,
                "outage": [round(at - self.start_s, 1) for at in outage],
                "panels": {id: data for id, data in panels.items() if id in drawn}}


def test_the_dashboard_can_be_drawn(site):
    """With CFR_PICTURES=1 its record becomes docs/pictures/dashboard.json, after some more lives."""
    if os.environ.get("CFR_PICTURES") == "1":
        for agent in site.agents:
            agent.wait_generation(agent.generation() + 3)
    text = json.dumps(Recording(site).record(site.outage), separators=(",", ":"))
    picture = dashboard.draw(text)
    assert "Time until expiry" in picture and "node2" in picture
    if os.environ.get("CFR_PICTURES") == "1":
        (ROOT / "docs/pictures/dashboard.json").write_text(text + "\n")


def test_every_other_alert_fires_at_its_trouble(site):
    one, two = site.agents
    one.stop()
    (one.dir / "store/authority.json").write_text("{}")
    site.start(one, *site.troubled(one))
    two.config_path.write_text("version: 2\n")
    assert two.run("reload", "-s", str(two.socket)).returncode != 0
    site.prometheus.wait("CredfreshConfigReloadFailed", instance=two.address)
    for credential, alert in [
            ("refused", "CredfreshRefreshRefused"), ("refused", "CredfreshRefreshFailing"), ("skewed", "CredfreshClockSkew"),
            ("hooked", "CredfreshHookFailing"), ("behind", "CredfreshConsumerBehind"), ("applied", "CredfreshSecretBehind"),
            ("stalled", "CredfreshTokenNotRenewed"), ("asked", "CredfreshTokenRequested"),
            ("kept", "CredfreshRotationFailing"), ("removed", "CredfreshKeyRefused"), ("passed", "CredfreshKeyPassedOn"),
            ("former", "CredfreshKeysForgotten")]:
        site.prometheus.wait(alert, instance=one.address, credential=credential)
    site.prometheus.wait("CredfreshServiceCAFailing", instance=one.address)
    site.prometheus.wait("CredfreshCredentialMissing", credential="refused", severity="critical")
    site.prometheus.wait("CredfreshCredentialMissing", credential="unused", severity="warning")
    assert not site.prometheus.alerts(credential="demo"), "the one that is well"
    two.kill()
    site.prometheus.wait("CredfreshAgentDown", instance=two.address)
    assert site.prometheus.seen == ALERTS
