# SPDX-License-Identifier: MIT
"""The exit statuses of docs/errors.md are those of the program: each clause of its table is made to happen."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import AS_NOBODY, CREDFRESH, OIDC, REPO, eventually, let_others_in

PAGE = (REPO / "docs/errors.md").read_text()
TABLE = {}  # status: its rows, each without the bars
for status, row in re.findall(r"^\| (\d) \| (.*) \|$", PAGE.partition("## Exit statuses")[2].partition("\n## ")[0], re.M):
    TABLE[int(status)] = f"{TABLE.get(int(status), '')}{row.replace(' | ', ' ')}\n"
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "AZURE_", "GOOGLE_", "OS_", "CREDFRESH_"))}


def run(*argv, env=None, wrapper=(), **how):
    return subprocess.run([*wrapper, CREDFRESH, *map(str, argv)], capture_output=True, text=True, timeout=60,
                          env={**CLEAN, **(env or {})}, **how)


def is_documented(done, status, clause):
    """DONE ended with STATUS, and the page has CLAUSE in the row of it."""
    assert done.returncode == status, (done.stdout, done.stderr)
    assert clause in TABLE[status], f"errors.md has no {clause!r} for {status}"


def refused(agent):
    """An exchange that only an operator can correct."""
    credential = agent.credential()
    credential["exchange"]["aws"]["role_arn"] = "arn:aws:iam::123456789012:role/nobody"
    return agent.configure(credential)


def without_token(agent):
    return agent.configure(agent.credential(token={"file": str(agent.dir / "none")}))


@pytest.fixture
def agent(agent_factory, shared_cloud):
    return agent_factory(shared_cloud).configure()


def test_the_table_is_found():
    assert set(TABLE) == set(range(7))


def test_0(agent):
    is_documented(agent.run("once"), 0, "done")
    agent.start()
    is_documented(agent.run("quit"), 0, "`quit`")
    assert agent.process.wait(20) == 0
    agent.start()
    assert agent.stop() == 0 and "SIGTERM" in TABLE[0]


def test_1_once_and_exec(agent):
    refused(agent)
    is_documented(agent.run("once", "--timeout", "20s"), 1, "`once` could not get or publish a credential")
    is_documented(agent.run("exec", "--", "true"), 1, "`exec` a credential was refused with class `stop`")


def test_1_a_hook(agent):
    agent.configure(agent.credential(reload=[{"exec": ["/bin/false"]}]))
    is_documented(agent.run("once", "--timeout", "40s"), 1, "a hook failed three times")


def test_1_init(tmp_path):
    (tmp_path / "c.yaml").write_text("mine")
    is_documented(run("init", "aws", "-o", tmp_path / "c.yaml"), 1, "a file exists, or could not be written")


def test_1_run_cannot_start(agent, tmp_path):
    agent.start()
    is_documented(agent.run("run"), 1, "`run` could not start (`state_dir` in use")


def test_1_check_doctor_inspect(agent, tmp_path):
    agent.configure(agent.credential(reload=[{"exec": ["/nothing/there"]}]))
    is_documented(agent.run("check"), 1, "`check` found something wrong with this machine or an exchange")
    refused(agent)
    is_documented(agent.run("check", "--online"), 1, "`check` found something wrong with this machine or an exchange")
    is_documented(agent.run("doctor"), 1, "`doctor`](doctor.md) found something wrong")
    expired = tmp_path / "expired"
    expired.write_text(agent.cloud.token(expires_in_s=-60, issued_ago_s=3600))
    is_documented(run("inspect", expired), 1, "`inspect` found that an STS would refuse the token")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_1_another_user(agent):
    agent.start()
    agent.wait_generation(1)
    let_others_in(agent.dir, agent.state)
    done = run("rotate", "demo", "-s", agent.socket, wrapper=AS_NOBODY)
    is_documented(done, 1, "you may not use the control socket")


def test_1_get(agent):
    agent.start()
    agent.wait_generation(1)
    is_documented(agent.run("get", "token", "demo", "--field", "azure_access_token"), 1, "or has no such field")
    is_documented(agent.run("get", "gcp", "demo", "--field", "nothing"), 1, "or has no such field")


def test_1_env(agent):
    is_documented(agent.configure(agent.credential(publish={"file": {"path": str(agent.dir / "json"), "format": "json"}})).run("env", "demo"),
                  1, "has no variable to print")


def test_1_image_login(agent):
    config = {"version": 1, "image_credentials": [{
        "name": "ecr", "match": ["*.dkr.ecr.*.amazonaws.com"], "audience": "sts.amazonaws.com",
        "exchange": {"aws": {"role_arn": "arn:aws:iam::123456789012:role/nobody", "region": "us-east-1", "endpoint": agent.cloud.sts,
                             "ca_file": agent.cloud.ca}}}]}
    agent.config_path.write_text(json.dumps(config))
    request = {"apiVersion": "credentialprovider.kubelet.k8s.io/v1", "kind": "CredentialProviderRequest",
               "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/app", "serviceAccountToken": agent.cloud.token()}
    done = run("image-credential-provider", "-c", agent.config_path, input=json.dumps(request))
    is_documented(done, 1, "`image-credential-provider` is configured for the image but has no login")


@pytest.mark.parametrize("argv, clause", [
    (["no-such-command"], "no such command or option"), (["status", "--no-such-option"], "no such command or option"),
    (["rotate"], "too few or too many arguments"), (["version", "one"], "too few or too many arguments")])
def test_2(argv, clause):
    is_documented(run(*argv), 2, clause)


def test_3(agent, tmp_path):
    agent.config_path.write_text("version: one\n")
    for command in ["run"], ["once"], ["check"], ["exec", "--", "true"], ["get", "aws", "demo"]:
        done = run(command[0], "-c", agent.config_path, *command[1:])
        is_documented(done, 3, "the configuration has errors")
    for command in ["status"], ["wait"], ["reload"], ["rotate", "demo"], ["quit"]:
        done = run(command[0], "-c", tmp_path / "none.yaml", *command[1:])
        is_documented(done, 3, "the file that is named does not say which agent to ask")
    if not os.path.exists("/etc/credfresh/credfresh.yaml"):
        is_documented(run("once"), 3, "there is no file, and the environment defines no credential")
        is_documented(run("once", env={"AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/demo"}), 3, "or an incomplete one")


def test_4(agent):
    without_token(agent)
    is_documented(agent.run("once", "--timeout", "500ms"), 4, "`once`")
    is_documented(agent.run("exec", "--timeout", "500ms", "--", "true"), 4, "`exec`")
    agent.start()
    is_documented(agent.run("wait", "--timeout", "500ms"), 4, "`wait`")


def test_4_get(agent):
    agent.cloud.fault(kind="delay", ms=5000)
    is_documented(agent.run("get", "aws", "demo", "--timeout", "1s"), 4, "with `-c` a request, has no answer by then")


@pytest.mark.parametrize("argv,clause", [(("wait",), "`wait`"), (("get", "aws", "demo"), "`get` the agent")],
                         ids=["wait", "get"])
def test_4_an_agent_that_does_not_answer(agent, argv, clause):
    """Its socket accepts connections while it is stopped, or waits for a file system."""
    agent.start()
    agent.process.send_signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        done = run(*argv, "--timeout", "1s", "-s", agent.socket)
        assert time.monotonic() - begin < 9  # without it ten or thirty
        is_documented(done, 4, clause)
        assert "no complete answer" in done.stderr
    finally:
        agent.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("argv", [["status"], ["rotate", "demo"], ["reload"], ["quit"]], ids=lambda argv: argv[0])
def test_5(agent, argv):
    is_documented(agent.run(*argv), 5, "no agent answers on the control socket")


def test_6(agent):
    agent.start()
    agent.wait_generation(1)
    is_documented(agent.run("rotate", "nothing"), 6, "no such credential")
    done = run("get", "aws", "nothing", "-s", agent.socket)
    is_documented(done, 6, "no such credential")
    agent.config_path.write_text("version: one\n")
    done = run("reload", "-s", agent.socket)
    is_documented(done, 6, "a configuration with errors")


def test_6_oidc(tmp_path):
    store = tmp_path / "issuer"
    def run(*argv):
        return subprocess.run([OIDC, *map(str, argv)], capture_output=True, text=True, timeout=60)

    is_documented(run("init", "-d", store, "--issuer", "https://oidc.example.net/c", "--token-life", "1h"), 0, "done")
    is_documented(run("rotate", "-d", store), 0, "done")
    is_documented(run("rotate", "-d", store), 6, "`credfresh-oidc` refused a step")


def test_the_manual_has_the_same_statuses():
    text = (REPO / "docs/man/credfresh.1").read_text().partition(".Sh EXIT STATUS")[2].partition(".Sh ")[0]
    assert {int(status) for status in re.findall(r"^\.It (\d)$", text, re.M)} == set(TABLE)


def test_once_ends_as_soon_as_the_rest_is_refused(agent):
    """What the page says below the table."""
    assert "`once` exits early, with 1," in PAGE
    refused(agent)
    begin = time.monotonic()
    assert agent.run("once", "--timeout", "50s").returncode == 1 and time.monotonic() - begin < 20
    without_token(agent).start()
    eventually(lambda: agent.status().get("state") == "waiting", "the agent to wait for the token")
