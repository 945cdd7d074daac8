# SPDX-License-Identifier: MIT
"""The Debian packages and the units in them, in a machine whose first process is systemd (docs/systemd.md)."""
import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml

from harness import REPO, ROLE, eventually
from node_examples import node_examples
from machine import Machine

PACKAGES = pathlib.Path(os.environ["CFR_PACKAGES"])
TREE = os.environ["CFR_TREE"]
EXAMPLES = REPO / "systemd/examples"
OUT = "/run/secrets/credfresh"
ROBOT = {"access_key_id": "AKIALOCALCLOUDUSER00", "secret_access_key": "OnlyRootReadsThis",
         "arn": "arn:aws:iam::123456789012:user/robot"}
ADMIN = {"access_key_id": "AKIALOCALCLOUDADMIN0", "secret_access_key": "admin-secret", "arn": "arn:aws:iam::123456789012:user/admin"}
NODE = dict(node_examples(REPO))
SUBJECT = "system:serviceaccount:default:*"


def trusting_roles():
    """The roles that the examples for nodes name, each with trust in what assumes it there."""
    for text in NODE.values():
        for c in yaml.safe_load(text)["credentials"]:
            aws = c.get("exchange", {}).get("aws", {})
            previous = {"subject": SUBJECT}
            for step in [aws, *aws.get("then_assume", [])] if aws else []:
                yield step["role_arn"], {**previous, **({"external_id": step["external_id"]} if "external_id" in step else {})}
                previous = {"aws_principal": step["role_arn"]}


ROLES = {ROLE: [{"subject": SUBJECT}], "arn:aws:iam::123456789012:role/robot": [{"aws_principal": ROBOT["arn"]}]}
for _arn, _trust in trusting_roles():
    ROLES.setdefault(_arn, []).append(_trust)
CLOUD = {
    "roles": [{"arn": arn, "trust": trust} for arn, trust in ROLES.items()],
    "volumes": [{"name": "demo"}, {"name": "late"}, {"name": "azure", "audience": "api://AzureADTokenExchange"}],
    "iam_keys": [ROBOT, ADMIN],
    "iam": {"admins": [ADMIN["arn"]], "users": ["robot", "backup"]},
    "kube": {"service_accounts": [{"namespace": "apps", "name": "web"}], "nodes": [{"name": "worker-1"}],
             "pods": [{"namespace": "apps", "name": "web-0", "service_account": "web", "node": "worker-1",
                       "uid": "5d0c4b2e-1f63-4d8c-9a6f-3c1b7e0a2f44"}],
             "tokens": [{"token": "node-token", "user": "node", "groups": ["system:masters"]}]}}
CLOUD_UNIT = """[Service]
ExecStart=/usr/bin/credfresh-localcloud --state /srv/cloud --port 8443 --config /srv/cloud.json
"""
# A consumer: it writes down each credential that it begins to use, and when it is done with that.
APP_UNIT = """[Service]
User=app
RuntimeDirectory=app
ExecStartPre=/srv/app start
ExecStart=/srv/app run
ExecReload=/srv/app reload
"""
APP = """#!/bin/bash
say() { echo "$*" >>/run/app/log; }
generation() { sed 's/.*"generation":\\([0-9]*\\).*/\\1/' /run/secrets/credfresh/db/creds.json; }
case $1 in
run) echo $$ >/run/app/pid; trap 'say signal $(generation)' HUP; say trap; while :; do sleep 1000 & wait; kill $!; done ;;
*) say "$1 $(generation)"; while [ -e /run/app/hold ]; do sleep 0.05; done ;;
esac
"""
# What lintian says of these packages, and why it stands.
TOLERATED = {
    "initial-upload-closes-no-bugs",  # they are no upload to Debian
    "maintainer-script-calls-systemctl",  # deb-systemd-invoke cannot but wait for a start, here for a cloud
    "command-with-path-in-maintainer-script",  # it has to be this one, as deb-systemd-invoke has it
    "maintscript-calls-ldconfig",  # CPack's own scripts
}


def packages(release, *names):
    return [str(next(PACKAGES.glob(f"{name}_*-{release}_*.deb"))) for name in names]


def install(machine, release):
    for package in packages(release, "credfresh", "credfresh-testing", "libcredfresh0"):
        machine.write(f"/root/{os.path.basename(package)}", "")
        subprocess.run(["cp", package, machine.root / "root"], check=True)
    machine.sh(f"dpkg -i /root/*-{release}_*.deb", timeout=120)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    m = Machine(tmp_path_factory.mktemp("machine"), TREE)
    try:
        install(m, 1)
        yield m
    finally:
        m.stop()


def credential(name="db", **over):
    c = {"name": name, "token": {"file": "/srv/cloud/volumes/demo/token"},
         "exchange": {"aws": {"role_arn": ROLE, "region": "us-east-1", "endpoint": "https://127.0.0.1:8443",
                              "ca_file": "/srv/cloud/ca.pem"}},
         "publish": {"directory": f"{OUT}/{name}",
                     "files": [{"name": "creds.json", "format": "json", "mode": "0640", "group": "app"}]}}
    c.update(over)
    return c


def as_user(user, command):
    return f"setpriv --reuid {user} --regid {user} --clear-groups {command}"


def example(name):
    return (EXAMPLES / "credfresh.service.d" / f"{name}.conf").read_text().replace("=db", "=app")


class Service:
    """credfresh.service with one credential, db, and the cloud and the consumer that it is between."""

    def __init__(self, machine):
        self.machine = machine
        machine.sh("useradd -r app && mkdir -p /srv/cloud")
        machine.write("/srv/cloud.json", json.dumps(CLOUD))
        machine.write("/srv/app", APP, 0o755)
        machine.unit("cloud.service", CLOUD_UNIT)
        machine.unit("app.service", APP_UNIT)
        machine.unit("credfresh.service.d/groups.conf", example("groups"))
        machine.sh("systemctl start cloud")
        eventually(lambda: machine.try_sh("[ -s /srv/cloud/ready.json ]").returncode == 0, "the cloud")
        self.ready = json.loads(machine.read("/srv/cloud/ready.json"))
        self.configure(credential())
        machine.sh("systemctl start credfresh")

    def configure(self, *credentials, name="credfresh", **over):
        self.machine.write(f"/etc/credfresh/{name}.yaml", json.dumps({"version": 1, "credentials": credentials, **over}))

    def reload(self, *credentials, **over):
        self.configure(*credentials, **over)
        self.machine.sh("systemctl reload credfresh")

    def restart(self, *credentials, **over):
        self.configure(*credentials, **over)
        self.machine.sh("systemctl restart credfresh")

    def status(self, name="db", how=""):
        doc = json.loads(self.machine.sh(f"credfresh status --json {how}"))
        return next((c for c in doc["credentials"] if c["name"] == name), {})

    def generation(self, name="db"):
        return json.loads(self.machine.sh(f"cat {OUT}/{name}/creds.json"))["generation"]

    def rotate(self, name="db"):
        """The generation that is there then."""
        before = self.generation(name)
        self.machine.sh(f"credfresh rotate {name}")
        eventually(lambda: self.generation(name) > before, f"a new generation of {name}")
        return self.generation(name)

    def admin(self, path, **body):
        self.machine.post(self.ready["admin_url"] + path, body)

    def has_other_agent(self, pid):
        return self.machine.show("credfresh", "MainPID") not in (pid, "0") and self.machine.is_active("credfresh")

    def app(self):
        return self.machine.read("/run/app/log").split("\n")[:-1]


@pytest.fixture(scope="module")
def service(machine):
    return Service(machine)


# ---- the packages ----

def test_packages_are_clean():
    several = packages(1, "credfresh", "credfresh-testing", "libcredfresh0", "libcredfresh-dev")
    found = subprocess.run(["lintian", "--no-cfg", "--allow-root", *several], stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    assert not [line for line in found if line.split(": ")[2].split(" ")[0] not in TOLERATED], "\n".join(found)


def test_without_a_configuration_nothing_runs_and_nothing_fails(machine):
    assert machine.sh("systemctl is-enabled credfresh") == "enabled"
    assert machine.show("credfresh", "ActiveState") == "inactive" and machine.show("credfresh", "Result") == "success"
    assert machine.sh("stat -c '%U %a' /etc/credfresh /run/secrets/credfresh /run/credfresh-reload").split("\n") == [
        "root 755", "credfresh 755", "credfresh 755"]
    assert machine.sh("credfresh version").startswith("credfresh ")


SERVICES = ["credfresh.service", "credfresh@x.service", "credfresh-wait.service", "credfresh-wait@x.service",
            "credfresh-reload@x.service"]


@pytest.mark.parametrize("unit", [*SERVICES, "credfresh-reload@x.path", "credfresh.target"])
def test_units_are_well_formed(machine, unit):
    assert machine.sh(f"systemd-analyze verify --man=no {unit}") == ""


@pytest.mark.parametrize("unit", SERVICES)
def test_exposure_is_low(machine, unit):
    file = f"/lib/systemd/system/{unit.replace('x', '')}"
    said = machine.sh(f"cp {file} /root/{unit} && systemd-analyze security --offline=yes --no-pager /root/{unit}")
    assert float(re.search(r"exposure level for .*: ([\d.]+)", said)[1]) <= 1.5, said


# ---- credfresh.service ----

def test_started_means_published(machine, service):
    service.restart(credential())
    assert machine.is_active("credfresh") and "all required ones published" in machine.show("credfresh", "StatusText")
    assert service.status()["ready"]
    assert machine.sh(f"stat -Lc '%U %G %a' {OUT}/db/creds.json") == "credfresh app 640"
    assert machine.sh(as_user("app", f"cat {OUT}/db/creds.json")).startswith('{"version":1')
    assert machine.try_sh(as_user("daemon", f"cat {OUT}/db/creds.json")).returncode != 0
    assert machine.sh("stat -c '%U %a' /run/credfresh") == "credfresh 700"


def test_the_unit_allows_the_agents_own_sandbox(machine, service):
    """What the unit does not let the agent do looks like a kernel that refuses it."""
    service.restart(credential())
    parts = json.loads(machine.sh("credfresh status --json"))["sandbox"]
    assert [part["part"] for part in parts] == ["no_new_privs", "capabilities", "seccomp", "landlock", "landlock_read"]
    assert not [part for part in parts if not part["on"] and "the kernel has no" not in part["why_not"]]


def test_the_journal_knows_levels(machine, service):
    service.reload(credential(), credential("lost", required=False, token={"file": "/srv/no/such/token"}))
    entries = eventually(lambda: [e for e in map(json.loads, machine.sh("journalctl -u credfresh -o json").split("\n"))
                                  if "no/such/token" in e["MESSAGE"]], "the error in the journal")
    assert entries[0]["PRIORITY"] == "3" and entries[0]["MESSAGE"].startswith("lost [waiting]: waiting for the token file")
    service.reload(credential())
    assert json.loads(machine.sh("journalctl -u credfresh -o json -n 1 -g 'loaded the new'"))["PRIORITY"] == "6"


def test_reload_takes_a_good_configuration_and_refuses_a_bad_one(machine, service):
    service.restart(credential())
    pid, generation = machine.show("credfresh", "MainPID"), service.generation()
    service.reload(credential(), credential("second"))
    eventually(lambda: service.status("second").get("ready"), "the new credential")
    service.configure(credential(), oops=1)
    refused = machine.try_sh("systemctl reload credfresh")
    assert refused.returncode != 0
    assert re.search(r"refused, the old configuration remains in use: .*credfresh\.yaml:1:.*oops", machine.journal("credfresh"))
    assert machine.is_active("credfresh") and machine.show("credfresh", "MainPID") == pid
    assert service.generation() == generation and service.status("second")["ready"]
    service.reload(credential())


def test_a_configuration_with_mistakes_is_not_tried_again_and_again(machine, service):
    service.configure(credential(), oops=1)
    assert machine.try_sh("systemctl restart credfresh").returncode != 0
    assert machine.show("credfresh", "ExecMainStatus") == "3" and machine.show("credfresh", "ActiveState") == "failed"
    service.restart(credential())


DROPINS = "/etc/systemd/system/credfresh.service.d/"
LIMITED = "[Unit]\nJobRunningTimeoutSec=2s\n"


def start_refused(machine, reason):
    """Starts credfresh, which does not succeed in time; then it is still tried, and says why not: REASON."""
    assert machine.try_sh("systemctl start credfresh").returncode == 1
    status = eventually(lambda: text if re.search(reason, text := machine.show("credfresh", "StatusText")) else None,
                        lambda: f"the reason: {machine.show('credfresh', 'StatusText')}")
    assert status.startswith("waiting for db; db: ") and re.search(reason, machine.journal("credfresh")), status
    assert machine.show("credfresh", "ActiveState") == "activating"
    return status


def test_a_start_that_cannot_publish_ends_and_says_why(machine, service):
    assert machine.show("credfresh", "JobRunningTimeoutUSec") == "1min 30s"
    with machine.dropin("credfresh.service", LIMITED):
        # 1. Something of this machine: read-only, then a directory of root's. Once that is put right, nothing else is needed.
        machine.sh("systemctl stop credfresh && mkdir -p /etc/app")
        service.configure(credential(publish={"directory": "/etc/app/out", "files": [{"name": "creds.json", "format": "json"}]}))
        status = start_refused(machine, "Read-only file system")
        assert "ReadWritePaths= " in status and f"{DROPINS}directories.conf" in status
        machine.sh(f"systemctl stop credfresh && rm -rf {OUT}/db && install -d -m 755 {OUT}/db")
        service.configure(credential())
        start_refused(machine, "Permission denied")
        machine.sh(f"chown credfresh {OUT}/db")
        eventually(lambda: machine.is_active("credfresh"), lambda: service.status())
        # 2. The cloud: the same, and what ends by itself needs nobody.
        machine.sh(f"systemctl stop credfresh && rm -rf {OUT}/db /run/credfresh/*")
        service.admin("/outage", on=True)
        start_refused(machine, "HTTP 503")
        service.admin("/outage", on=False)
        eventually(lambda: machine.is_active("credfresh"), lambda: service.status())
    service.restart(credential())


def test_check_and_doctor_run_as_the_unit(machine, service):
    service.restart(credential())
    assert machine.sh("credfresh check").endswith("0 errors, 0 warnings, checked as credfresh.service")
    assert machine.sh("cd /etc/credfresh && credfresh check --online credfresh.yaml").endswith("checked as credfresh.service")
    machine.sh("mkdir -p /etc/app && groupadd -f other && credfresh doctor")
    elsewhere = {"directory": "/etc/app", "files": [{"name": "creds.json", "format": "json", "group": "other"}]}
    service.configure(credential(publish=elsewhere, reload=[{"exec": ["/usr/bin/systemctl", "reload", "app"]}]))
    done = machine.try_sh("credfresh check")
    assert done.returncode == 1 and done.stdout.rstrip().endswith("checked as credfresh.service"), done.stdout
    for line, file in ("ReadWritePaths=/etc/app", "directories"), ("SupplementaryGroups=other", "groups"):
        assert f"write {line} below [Service] in {DROPINS}{file}.conf" in done.stdout, done.stdout
    assert "systemctl" in done.stdout and "/run/credfresh-reload/" in done.stdout
    done = machine.try_sh("credfresh doctor")
    assert done.returncode == 1 and "ReadWritePaths=/etc/app" in done.stdout, done.stdout
    # A configuration of no unit is for whoever asks.
    machine.sh("cp /etc/credfresh/credfresh.yaml /srv/other.yaml")
    assert "checked as" not in machine.try_sh("credfresh check -c /srv/other.yaml").stdout
    # With the rights that it asks for.
    machine.sh("chown credfresh /etc/app")
    service.configure(credential(publish=elsewhere))
    with machine.dropin("credfresh.service", "[Service]\nReadWritePaths=/etc/app\nSupplementaryGroups=other\n"):
        assert " 0 errors, 0 warnings, " in machine.sh("credfresh check")
        service.restart(credential(publish=elsewhere))
    service.restart(credential())


def test_what_is_published_survives_a_stop(machine, service):
    service.restart(credential())
    before = service.generation()
    machine.sh("systemctl stop credfresh")
    assert service.generation() == before
    machine.sh("systemctl start credfresh")
    assert service.generation() == before and service.status()["ready"]


def test_a_hanging_agent_is_killed_and_replaced(machine, service):
    with machine.dropin("credfresh.service", "[Service]\nWatchdogSec=1s\nRestartSec=100ms\n"):
        service.restart(credential())
        pid, generation = machine.show("credfresh", "MainPID"), service.generation()
        machine.sh(f"kill -STOP {pid}")
        eventually(lambda: service.has_other_agent(pid), "another agent")
        assert "Watchdog timeout" in machine.sh("journalctl --no-pager -o cat _PID=1")
        assert machine.show("credfresh", "NRestarts") == "1"
        assert service.generation() == generation and service.status()["ready"]
    service.restart(credential())


# ---- drop-ins ----

def test_secrets_that_only_root_can_read(machine, service):
    machine.write("/etc/credfresh/client-secret", ROBOT["secret_access_key"], 0o600)
    machine.write("/srv/key-id", ROBOT["access_key_id"])
    aws = {**credential()["exchange"]["aws"], "role_arn": "arn:aws:iam::123456789012:role/robot",
           "access_key_id_file": "/srv/key-id",
           "secret_access_key_file": "/run/credentials/credfresh@keys.service/client-secret"}
    c = credential("robot", exchange={"aws": aws})
    del c["token"], c["publish"]["files"][0]["group"]
    service.configure(c, name="keys", state_dir="/run/credfresh-keys")
    assert machine.try_sh(as_user("credfresh", "cat /etc/credfresh/client-secret")).returncode != 0
    with machine.dropin("credfresh@.service", example("secrets")):
        machine.sh("systemctl start credfresh@keys")
        assert service.status("robot", "-c /etc/credfresh/keys.yaml")["identity"].startswith(
            "arn:aws:sts::123456789012:assumed-role/robot/")
        machine.sh("systemctl reload credfresh@keys && systemctl stop credfresh@keys")


def test_other_owners_and_other_places(machine, service):
    elsewhere = credential(publish={"directory": "/srv/db/credentials", "directory_mode": "0755", "files": [
        {"name": "creds.json", "format": "json", "owner": "app", "group": "app"}]})
    machine.sh("mkdir -p /srv/db/credentials && chown credfresh /srv/db/credentials")
    with machine.dropin("credfresh.service", example("directories") + example("owners")):
        service.restart(elsewhere)
        assert machine.sh("stat -Lc '%U %G %a' /srv/db/credentials/creds.json") == "app app 600"
        assert machine.sh(as_user("app", "cat /srv/db/credentials/creds.json"))
        service.status()
    service.restart(credential())


def test_other_users_directories(machine, service):
    """The agent is root, writes there with that user's rights, and follows no link of theirs to a place of root's."""
    out = "/srv/db/home/app/credentials"
    files = [{"name": "creds.json", "format": "json"}]
    machine.sh("mkdir -p /srv/db /srv/db/roots && install -d -o app -g app /srv/db/home")
    with machine.dropin("credfresh.service", example("users")), \
            machine.dropin("credfresh-wait@.service", "[Service]\nUser=root\nGroup=root\n"):
        service.restart(credential(publish={"directory": out, "files": files}),
                        credential("other", publish={"directory": f"{OUT}/other", "files": files}))
        assert machine.sh(f"stat -Lc '%U %a' {out}/creds.json") == "app 600"
        machine.sh("systemctl start credfresh-wait@db")
        machine.sh("systemctl stop credfresh")
        machine.sh(as_user("app", "sh -c 'rm -rf /srv/db/home/app; ln -s /srv/db/roots /srv/db/home/app'"))
        machine.sh("systemctl start --no-block credfresh")
        eventually(lambda: "leads through a directory of user" in machine.journal("credfresh"), "the refusal")
        assert machine.sh("ls -A /srv/db/roots") == ""
        assert service.status("other")["ready"]
    machine.sh("rm -rf /srv/db")
    service.restart(credential())
    assert machine.sh("stat -c %U /run/credfresh") == "credfresh"


def test_signals_for_other_users(machine, service):
    hooked = credential(reload=[{"signal": {"pid_file": "/run/app/pid"}}])
    machine.sh("systemctl restart app")
    eventually(lambda: "trap" in service.app(), "the consumer")
    service.restart(hooked)
    service.rotate()
    eventually(lambda: service.status()["hooks"][0]["result"] == "failed", "that it is not allowed")
    with machine.dropin("credfresh.service", example("signals")):
        service.restart(hooked)
        latest = service.rotate()
        eventually(lambda: f"signal {latest}" in service.app(), lambda: f"the signal: {service.status()['hooks']}")
    service.restart(credential())


def test_low_ports(machine, service):
    with machine.dropin("credfresh.service", example("ports")):
        service.restart(credential(), listen="127.0.0.1:80")
        assert "health and metrics on http://127.0.0.1:80" in machine.journal("credfresh")
    service.restart(credential())


# ---- examples for nodes ----

def localized(machine, document, ready):
    """DOCUMENT with the local cloud in place of the real ones, and what it needs of this machine, which has its sources."""
    sts = {"endpoint": ready["sts_url"], "ca_file": ready["ca_file"]}
    clouds = {"aws": ("demo", sts), "azure": ("azure", {"authority_host": ready["azure_url"], "ca_file": ready["ca_file"]})}
    for c in document["credentials"]:
        for cloud, settings in c.get("exchange", {}).items():
            volume, here = clouds[cloud]
            settings.update(here)
            machine.sh(f"install -D /srv/cloud/volumes/{volume}/token {c['token']['file']}")
        if "mint" in c:
            c["mint"]["aws"].update(endpoint=ready["iam_url"], sts_endpoint=ready["sts_url"], ca_file=ready["ca_file"])
        if "secret" in c:
            for key in "access_key_id", "secret_access_key":
                machine.write(f"{c['secret']['directory']}/aws_{key}", ADMIN[key])
    return document


@pytest.mark.parametrize("name", NODE)
def test_an_example_for_a_node_works_under_the_unit(machine, service, name):
    """With no drop-in but those that it names, and the groups that it gives files to."""
    document = localized(machine, yaml.safe_load(NODE[name]), service.ready)
    groups = sorted(set(re.findall(r"group: ([a-z]+)", NODE[name])))
    machine.sh(" && ".join(["true", *(f"groupadd -f {group}" for group in groups)]))
    machine.sh("install -m 600 /srv/cloud/kubeconfig /etc/credfresh/kubeconfig")
    lines = [f"SupplementaryGroups={' '.join(groups)}", *re.findall(r"^#\s+(LoadCredential=.*)$", NODE[name], re.M)]
    machine.sh("systemctl stop credfresh && rm -rf /run/secrets/credfresh/* /run/credfresh-reload/* /run/credfresh/* /var/lib/credfresh/*")
    machine.write("/etc/credfresh/credfresh.yaml", yaml.safe_dump(document))
    with machine.dropin("credfresh.service", "[Service]\n" + "\n".join(lines) + "\n"):
        machine.sh("systemctl start credfresh", timeout=30)
        for c in document["credentials"]:
            eventually(lambda: (one := service.status(c["name"]))["ready"] and one["state"] == "fresh" and not [
                hook for hook in one.get("hooks", []) if hook["result"] != "ok"],
                       lambda: f"{c['name']} with its hooks: {service.status(c['name'])}", 30)
            for hook in c.get("reload", []):
                assert machine.sh(f"ls {hook['exec'][1]}")
    machine.sh("rm -rf /run/credfresh-reload/*")


# ---- consumers ----

def test_a_consumer_starts_when_its_credential_is_there(machine, service):
    machine.sh("systemctl stop app; rm -f /run/app/log")
    service.restart(credential())
    service.admin("/outage", on=True)
    service.reload(credential(), credential("late", token={"file": "/srv/cloud/volumes/late/token"}))
    consumer = (EXAMPLES / "consumer.service.d/credfresh.conf").read_text().replace("@db", "@late")
    with machine.dropin("app.service", consumer):
        machine.sh("systemctl start --no-block app")
        eventually(lambda: "wait\0late" in machine.read(
            f"/proc/{machine.show('credfresh-wait@late', 'MainPID')}/cmdline"), "the wait")
        assert machine.show("app", "ActiveState") == "inactive" and machine.show("app", "Job") != "0"
        assert machine.try_sh(f"[ -e {OUT}/late/creds.json ]").returncode != 0
        service.admin("/outage", on=False)
        service.admin("/volume/late/renew")
        eventually(lambda: machine.is_active("app"), lambda: f"the consumer: {service.status('late')}")
        assert machine.try_sh(f"[ -e {OUT}/late/creds.json ]").returncode == 0
        machine.sh("systemctl stop app")
    service.restart(credential())


def test_a_restart_of_the_agent_is_no_restart_of_its_consumers(machine, service):
    with machine.dropin("app.service", "[Unit]\nRequires=credfresh.target\nAfter=credfresh.target\n"):
        machine.sh("systemctl enable credfresh-wait@db && systemctl start app")
        assert machine.is_active("credfresh.target")
        pid = machine.show("app", "MainPID")
        machine.sh("systemctl restart credfresh && systemctl stop credfresh && systemctl start credfresh")
        assert machine.show("app", "MainPID") == pid and machine.is_active("app")
        machine.sh("systemctl disable credfresh-wait@db")
    machine.sh("systemctl stop app credfresh.target")


def test_a_consumer_is_reloaded_and_no_generation_is_lost(machine, service):
    service.restart(credential(reload=[{"exec": ["/usr/bin/touch", "/run/credfresh-reload/app"]}]))
    machine.sh("systemctl enable --now credfresh-reload@app.path && systemctl restart app")
    first = service.rotate()
    eventually(lambda: f"reload {first}" in service.app(), lambda: f"a reload for {first}: {service.app()}")
    # The next comes while the consumer is busy with this one.
    machine.sh("touch /run/app/hold")
    second = service.rotate()
    eventually(lambda: f"reload {second}" in service.app(), lambda: f"a reload for {second}: {service.app()}")
    third = service.rotate()
    eventually(lambda: machine.try_sh("[ -e /run/credfresh-reload/app ]").returncode == 0, "the next request")
    assert f"reload {third}" not in service.app()
    machine.sh("rm /run/app/hold")
    eventually(lambda: f"reload {third}" in service.app(), lambda: f"a reload for {third}: {service.app()}")
    machine.sh("systemctl disable --now credfresh-reload@app.path")
    machine.sh("systemctl stop app")


# ---- upgrade and end ----

def test_an_upgrade_loses_nothing(machine, service):
    service.restart(credential())
    machine.unit("witness.service", "[Service]\nUser=app\nRuntimeDirectory=witness\nRuntimeDirectoryPreserve=yes\n"
                 "ExecStart=/usr/bin/credfresh-witness --tight --expect creds.json --no-allow-missing-at-start "
                 f"--report /run/witness/report.json {OUT}/db\n")
    machine.sh("systemctl start witness")
    pid, generation = machine.show("credfresh", "MainPID"), service.generation()
    install(machine, 2)
    eventually(lambda: service.has_other_agent(pid), "the new agent")
    assert machine.sh("dpkg-query -W -f '${Version}' credfresh").endswith("-2")
    assert service.generation() == generation
    latest = service.rotate()
    machine.sh("systemctl stop witness")
    assert machine.show("witness", "Result") == "success", machine.journal("witness")
    report = json.loads(machine.read("/run/witness/report.json"))
    assert report["observations"] > 100 and report["generations"] == 2 and latest == generation + 1, report


def test_removed_and_purged(machine, service):
    elsewhere = credential("elsewhere", publish={"directory": "/srv/db/credentials",
                                                 "files": [{"name": "creds.json", "format": "json"}]})
    machine.sh("rm -rf /srv/db/credentials && install -d -o credfresh /srv/db/credentials")
    machine.unit("credfresh.service.d/directories.conf", example("directories"))
    service.restart(credential(), elsewhere)
    service.configure(credential("other"), name="other", state_dir="/run/credfresh-other")
    machine.unit("credfresh@.service.d/groups.conf", example("groups"))
    machine.sh("systemctl enable --now credfresh@other && systemctl enable --now credfresh-reload@app.path")
    machine.sh("dpkg -r credfresh", timeout=120)
    assert machine.sh("systemctl list-units --all --no-legend --plain --state=active 'credfresh*'") == ""
    assert service.generation() and machine.try_sh("grep -sx credfresh /proc/[0-9]*/comm").stdout == ""
    machine.sh("dpkg -P credfresh", timeout=120)
    left = machine.sh("find /etc /run /var/lib -name '*credfresh*' -not -path '/etc/systemd/system/credfresh*.service.d*' "
                      "-not -path '/var/lib/dpkg/*' -not -path '/run/systemd/*' -not -path '/run/log/*'")
    assert left == "", left
    assert json.loads(machine.read("/srv/db/credentials/creds.json"))["credential"] == "elsewhere"
    assert machine.sh("id -un credfresh") == "credfresh"
