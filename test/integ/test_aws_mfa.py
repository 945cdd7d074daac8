# SPDX-License-Identifier: MIT
"""What AssumeRole takes next to a signature: the code of an MFA device, and provided contexts."""
import json

import pytest

from conftest import LocalCloud, eventually

USER = {"access_key_id": "AKIALOCALCLOUDUSER00", "secret_access_key": "user-secret-0123456789",
        "arn": "arn:aws:iam::123456789012:user/robot", "mfa_serial": "arn:aws:iam::123456789012:mfa/robot",
        "mfa_codes": ["111111", "222222", "333333"]}
ADMIN_ROLE = "arn:aws:iam::123456789012:role/guarded"
DEMO_ROLE = "arn:aws:iam::123456789012:role/demo"
REPORT_ROLE = "arn:aws:iam::123456789012:role/report"
PROVIDER = "arn:aws:iam::aws:contextProvider/IdentityCenter"
FIRST, SECOND = "assertion-of-ann-0001", "assertion-of-ann-0002"


@pytest.fixture
def cloud(tmp_path):
    made = LocalCloud(tmp_path / "cloud", config={"iam_keys": [USER], "roles": [
        {"arn": ADMIN_ROLE, "trust": [{"aws_principal": USER["arn"], "require_mfa": True, "contexts": [FIRST]}]},
        {"arn": DEMO_ROLE, "trust": [{"subject": "system:serviceaccount:default:demo"}]},
        {"arn": REPORT_ROLE, "trust": [{"aws_principal": DEMO_ROLE, "contexts": [FIRST, SECOND]}]}]})
    yield made
    made.stop()


@pytest.fixture
def agent(agent_factory, cloud):
    return agent_factory(cloud)


def program(agent, body):
    path = agent.dir / "code"
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return str(path)


def with_keys(agent, **over):
    (agent.dir / "id").write_text(USER["access_key_id"] + "\n")
    (agent.dir / "secret").write_text(USER["secret_access_key"] + "\n")
    aws = {"role_arn": ADMIN_ROLE, "region": "us-east-1", "endpoint": agent.cloud.sts, "ca_file": agent.cloud.ca,
           "access_key_id_file": str(agent.dir / "id"), "secret_access_key_file": str(agent.dir / "secret")}
    return agent.credential(
        token=None, exchange={"aws": {key: value for key, value in {**aws, **over}.items() if value is not None}},
        publish={"directory": str(agent.out), "files": [{"name": "creds.json", "format": "json"}]})


def error(agent):
    return agent.status().get("last_error") or {}


def wait_error(agent, text):
    eventually(lambda: text in error(agent).get("message", ""), lambda: f"{text}:\n{error(agent)}\n{agent.log}")


def assert_unlogged(agent, *secrets):
    for secret in secrets:
        assert secret not in agent.log, agent.log
        assert secret not in json.dumps(agent.status())


def counting(agent):
    """A program that prints the next of the user's codes."""
    return program(agent, f"echo run >>{agent.dir}/runs\nn=$(wc -l <{agent.dir}/runs)\n"
                          "echo a message >&2\nprintf '%s%s%s%s%s%s\\n' $n $n $n $n $n $n\n")


def test_a_code_for_each_exchange(agent):
    code = counting(agent)
    agent.configure(with_keys(agent, serial_number=USER["mfa_serial"], token_code_command=[code])).start()
    agent.wait_generation(1)
    assert agent.run("rotate", "demo").returncode == 0, agent.log
    agent.wait_generation(2)
    assert (agent.dir / "runs").read_text() == "run\n" * 2
    assert "a message" in agent.log
    assert_unlogged(agent, "111111", "222222")


def test_a_session_of_the_user(agent):
    agent.configure(with_keys(agent, role_arn=None, serial_number=USER["mfa_serial"],
                              token_code_command=[program(agent, "echo 333333")])).start()
    agent.wait_generation(1)


def test_a_role_that_asks_for_mfa(agent):
    agent.configure(with_keys(agent)).start()
    wait_error(agent, "is not authorized to perform: sts:AssumeRole")


def test_a_wrong_code(agent):
    agent.configure(with_keys(agent, serial_number=USER["mfa_serial"],
                              token_code_command=[program(agent, "echo 987654")])).start()
    wait_error(agent, "MultiFactorAuthentication failed with invalid MFA one time pass code.")
    assert "check `serial_number`, the program of `token_code_command`, and this machine's clock" in error(agent)["message"]
    assert error(agent)["code"] == "denied"
    assert_unlogged(agent, "987654")


def test_another_users_device(agent):
    agent.configure(with_keys(agent, serial_number="arn:aws:iam::123456789012:mfa/ann",
                              token_code_command=[program(agent, "echo 111111")])).start()
    wait_error(agent, "Please verify your MFA serial number is valid")


@pytest.mark.parametrize("body,text", [
    ("echo 111111; exit 3", "exited with 3; its messages are on credfresh's standard error"),
    ("echo code: 111111", "token_code_command: it printed 12 characters; a code has exactly 6 digits"),
    ("head -c 2000 /dev/zero", "printed more than 1024 bytes"),
])
def test_a_program_that_fails(agent, body, text):
    agent.configure(with_keys(agent, serial_number=USER["mfa_serial"], token_code_command=[program(agent, body)])).start()
    wait_error(agent, text)
    assert_unlogged(agent, "111111")
    assert not agent.cloud.exchanges("AssumeRole")


def test_check_online_runs_it(agent):
    agent.configure(with_keys(agent, serial_number=USER["mfa_serial"], token_code_command=[counting(agent)]))
    done = agent.run("check", "--online")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (agent.dir / "runs").read_text() == "run\n"
    assert "111111" not in done.stdout + done.stderr


def test_the_end_of_the_agent_ends_it(agent):
    """Neither is the agent held up, nor is the program left behind."""
    code = program(agent, f"echo $$ >{agent.dir}/pid.new\nmv {agent.dir}/pid.new {agent.dir}/pid\nexec sleep 600")
    agent.configure(with_keys(agent, serial_number=USER["mfa_serial"], token_code_command=[code])).start()
    pid = eventually((agent.dir / "pid").exists, "the program") and int((agent.dir / "pid").read_text())
    assert agent.stop() == 0

    def gone():
        try:
            with open(f"/proc/{pid}/stat") as f:
                return f.read().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            return True
    eventually(gone, "the end of the program")


def contexts(path, count=1):
    return [{"provider_arn": PROVIDER, "assertion_file": str(path)}] * count


def chained(agent, **over):
    step = {"role_arn": REPORT_ROLE, "provided_contexts": contexts(agent.dir / "assertion"), **over}
    return agent.credential(exchange={"aws": {"role_arn": DEMO_ROLE, "region": "us-east-1", "endpoint": agent.cloud.sts,
                                              "ca_file": agent.cloud.ca, "then_assume": [step]}})


def test_contexts_with_keys(agent):
    (agent.dir / "assertion").write_text(FIRST)
    agent.configure(with_keys(agent, serial_number=USER["mfa_serial"], token_code_command=[program(agent, "echo 111111")],
                              provided_contexts=contexts(agent.dir / "assertion"))).start()
    agent.wait_generation(1)


def test_an_assertion_is_read_before_each_exchange(agent):
    file = agent.dir / "assertion"
    file.write_text(FIRST + "\n")
    agent.configure(chained(agent, provided_contexts=contexts(file, 5))).start()
    agent.wait_generation(1)
    new = agent.dir / "assertion.new"
    new.write_text(SECOND)
    new.rename(file)  # in its place: an exchange of its own
    agent.wait_generation(2)
    new.write_text("assertion-of-bob-0001")
    new.rename(file)
    wait_error(agent, "is not authorized to perform: sts:SetContext")
    assert agent.generation() == 2
    assert_unlogged(agent, FIRST, SECOND, "assertion-of-bob-0001")


def test_an_assertion_that_is_too_long(agent):
    (agent.dir / "assertion").write_text("x" * 2049)
    agent.configure(chained(agent)).start()
    wait_error(agent, f"provided_contexts: the assertion in {agent.dir}/assertion has 2049 characters; AWS allows 4 to 2048")


@pytest.mark.parametrize("aws,text", [
    ({"provided_contexts": contexts("/a")}, "provided_contexts: AWS does not take it with a token"),
    ({"serial_number": USER["mfa_serial"], "token_code_command": ["/bin/code"]}, "only a user has an MFA device"),
    ({"then_assume": [{"role_arn": REPORT_ROLE, "provided_contexts": [{"provider_arn": REPORT_ROLE,
                                                                         "assertion_file": "/a"}]}]},
     "provider_arn: it must be the ARN of a context provider"),
    ({"then_assume": [{"role_arn": REPORT_ROLE, "provided_contexts": contexts("/a", 6)}]}, "provided_contexts"),
    ({"then_assume": [{"role_arn": REPORT_ROLE, "provided_contexts": [
        {"provider_arn": PROVIDER, "assertion_file": f"/{k}{i}"} for i in range(3)]} for k in "abc"]},
     "the steps name more than 8 files of assertions"),
])
def test_rules(agent, aws, text):
    agent.configure(agent.credential(exchange={"aws": {"role_arn": DEMO_ROLE, "region": "us-east-1", **aws}}))
    done = agent.run("check")
    assert done.returncode != 0
    assert text in done.stdout + done.stderr, done.stdout + done.stderr
