# SPDX-License-Identifier: MIT
"""The alert rules and the dashboard against the metrics of a running agent: their metrics exist, and what they say
leads somewhere. What Prometheus itself makes of them is in test/real/test_prometheus.py."""
import itertools
import json
import pathlib
import re

import pytest
import yaml

from conftest import REPO, Agent, eventually
from endpoint_client import ask, free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = [rule for group in yaml.safe_load((ROOT / "monitoring/credfresh-rules.yaml").read_text())["groups"]
         for rule in group["rules"]]
DASHBOARD = json.loads((ROOT / "monitoring/grafana-dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = [v for v in DASHBOARD["templating"]["list"] if v["type"] == "query"]
EXPRESSIONS = [rule["expr"] for rule in RULES] + [t["expr"] for panel in PANELS for t in panel["targets"]] + \
              [v["query"]["query"] for v in VARIABLES]


@pytest.fixture(scope="module")
def page(tmp_path_factory, module_cloud):
    """The metrics page of an agent with everything: {family: its samples}."""
    agent = Agent(tmp_path_factory.mktemp("agent"), module_cloud)
    address = f"127.0.0.1:{free_port()}"
    secret = {"namespace": "default", "name": "monitored", "kubeconfig": module_cloud.ready["kubeconfig"],
              "keys": [{"name": "token", "format": "token"}]}
    bundle = {"name": "trust", "ca_bundle": True,
              "publish": {"file": {"path": str(agent.dir / "ca.crt"), "format": "ca-bundle"}}}
    key = {"name": "key", "required": False, "mint": {"aws": {"user_name": "robot", "regions": ["us-east-1"]}, "with": "demo"},
           "publish": {"file": {"path": str(agent.dir / "key"), "format": "aws-credentials"}}}
    agent.configure(agent.credential(
        publish=[agent.credential()["publish"], {"secret": secret}],
        reload=[{"exec": ["/bin/true"]}], acknowledge={"file": str(agent.dir / "in-use")}),
        bundle, key, service_ca={"store": str(agent.dir / "store")}, endpoints=[{"listen": address, "aws_container": {
            "credential": "demo", "authorization": {"file": str(agent.dir / "auth")}}}]).start()
    try:
        eventually(lambda: agent.status().get("deliveries", [{}])[0].get("result") == "ok", lambda: agent.log)
        ask(address, "/")  # a counter has no series before
        text = agent.request("GET", "/metrics")[1]
    finally:
        agent.stop()
    found = {name: [] for name in re.findall(r"^# TYPE (\S+) ", text, re.M)}
    for name, labels in re.findall(r"^(credfresh_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$", text, re.M):
        found[name].append(set(re.findall(r'(\w+)="', labels)))
    return found


def asked_for(expression):
    """(metric, labels that are matched) of EXPRESSION."""
    for name, labels in re.findall(r"\b(credfresh_\w+)(?:\{([^}]*)\})?", expression):
        yield re.sub(r"_(bucket|sum|count)$", "", name), set(re.findall(r"(\w+)=~?", labels))


def documented(name):
    """The labels of a metric that has no series yet, such as of a key that was not looked up."""
    row, = re.findall(rf"^\| `{name}` \| \w+ \| ([^|]*) \|", (REPO / "docs/metrics.md").read_text(), re.M)
    return set(row.split(", "))


def test_what_is_asked_for_is_there(page):
    for expression in EXPRESSIONS:
        for name, labels in asked_for(expression):
            assert name in page, expression
            assert labels <= set().union(*page[name] or [documented(name)], {"job", "instance"}), expression


def test_every_alert_says_what_it_is_about():
    page = (ROOT / "docs/monitoring.md").read_text()
    site = re.search(r"sed -i 's#(https://[^#]*)#", page)[1]  # what the page says to replace
    heads = {head.lower() for head in re.findall(r"^#+ (Credfresh\w+)$", page, re.M)}
    assert heads == {rule["alert"].lower() for rule in RULES}
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning") and "for" in rule
        assert rule["annotations"]["runbook_url"] == f"{site}monitoring.html#{rule['alert'].lower()}"
        told = rule["annotations"]["summary"] + rule["annotations"]["description"]
        for label in ("credential", "instance") if "credfresh_credential" in rule["expr"] else ():
            assert f"$labels.{label}" in told, rule["alert"]


def test_every_alert_is_tried():
    """Each has a case in which it fires and one in which it does not."""
    cases = [case for test in yaml.safe_load((ROOT / "monitoring/credfresh-rules.test.yaml").read_text())["tests"]
             for case in test["alert_rule_test"]]
    for fires in (True, False):
        tried = {case["alertname"] for case in cases if bool(case["exp_alerts"]) == fires}
        assert tried == {rule["alert"] for rule in RULES}


def test_the_dashboard_is_whole():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    for a, b in itertools.combinations([panel["gridPos"] for panel in DASHBOARD["panels"]], 2):
        beside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
        assert beside or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"], (a, b)
    for panel in PANELS:
        assert panel["title"] and panel["description"] and panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        refs = [target["refId"] for target in panel["targets"]]
        assert refs and len(refs) == len(set(refs))
        assert all(t["datasource"]["uid"] == "${datasource}" for t in [panel, *panel["targets"]])
        named = {name for target in panel["targets"] for name in re.findall(r"\$(\w+)", target["expr"])}
        assert named <= {"job", "instance", "credential", "__rate_interval"}
