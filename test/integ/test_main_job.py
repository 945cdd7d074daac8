# SPDX-License-Identifier: MIT
"""The main job, end to end: token, exchange, publish, reload, and again."""
import configparser

from conftest import ROLE, eventually


def test_once_publishes_everything_and_ends(agent):
    done = agent.run("once")
    assert done.returncode == 0, done.stderr
    ini = configparser.ConfigParser()
    ini.read(agent.out / "credentials")
    doc = agent.published()
    assert ini["default"]["aws_access_key_id"] == doc["fields"]["aws_access_key_id"]
    assert (agent.out / "token").read_text() == (agent.cloud.volumes["demo"] / "token").read_text()
    assert doc["identity"] == "arn:aws:sts::123456789012:assumed-role/demo/default.demo"
    assert oct((agent.out / "credentials").stat().st_mode & 0o777) == "0o640"
    assert oct((agent.out / "token").stat().st_mode & 0o777) == "0o600"


def test_a_new_token_is_exchanged_at_once(agent):
    agent.start()
    agent.wait_generation(1)
    agent.cloud.admin("/volume/demo/renew", {})
    agent.wait_generation(2)
    assert len(agent.cloud.exchanges()) == 2


def test_sessions_are_renewed_before_they_end(cloud_factory, agent_factory):
    cloud = cloud_factory(speed=360)  # an hour lasts ten seconds
    agent = agent_factory(cloud).configure().start()
    agent.wait_generation(4)
    assert agent.status()["ready"]
    assert all(entry["status"] == 200 for entry in cloud.exchanges())


def test_wait_returns_when_it_is_published(agent):
    agent.start()
    assert agent.run("wait", "demo").returncode == 0
    unknown = agent.run("wait", "nobody")
    assert unknown.returncode == 6 and 'no credential "nobody": there is demo' in unknown.stderr


def test_rotate_happens_once_per_reason(agent):
    agent.start()
    agent.wait_generation(1)
    assert agent.run("rotate", "demo", "--reason", "leaked on Monday").returncode == 0
    agent.wait_generation(2)
    again = agent.run("rotate", "demo", "--reason", "leaked on Monday")
    assert again.returncode == 0 and again.stdout == "demo: already done for this reason\n"
    unknown = agent.run("rotate", "demo", "deom")
    assert unknown.returncode == 6 and 'no credential "deom": there is demo' in unknown.stderr and not unknown.stdout
    assert agent.generation() == 2
    agent.stop()
    agent.start()
    agent.wait_state("fresh")
    assert agent.request("POST", "/v1/credentials/demo/rotate", '{"reason":"leaked on Monday"}')[0] == 409


def test_a_restart_adopts_what_is_fresh(agent):
    agent.start()
    agent.wait_generation(1)
    agent.kill()
    agent.start()
    agent.wait_state("fresh")
    assert agent.generation() == 1
    assert len(agent.cloud.exchanges()) == 1
    agent.stop()


def test_an_outage_keeps_what_is_published(agent):
    agent.start()
    agent.wait_generation(1)
    before = agent.published()
    agent.cloud.admin("/outage", {"on": True})
    assert agent.run("rotate", "demo").returncode == 0
    agent.wait_state("backoff")
    assert agent.published() == before
    assert agent.status()["ready"]
    assert agent.status()["last_error"]["class"] == "retry"
    agent.cloud.admin("/outage", {"on": False})
    agent.wait_generation(2)


def test_a_cloud_without_the_ca_that_is_named_gets_nothing(agent):
    """Though the system trusts it."""
    exchange = agent.credential()["exchange"]
    exchange["aws"]["ca_file"] = agent.cloud.other_ca
    agent.configure(agent.credential(exchange=exchange)).start(env={"SSL_CERT_FILE": agent.cloud.ca})
    agent.wait_state("backoff")
    assert f"not signed by a CA in {agent.cloud.other_ca}" in agent.status()["last_error"]["message"]
    assert agent.cloud.exchanges() == [] and not agent.out.exists()


def test_status_shows_a_table(agent):
    agent.start()
    agent.wait_generation(1)
    table = agent.run("status").stdout
    assert "demo" in table and "fresh" in table and "[####################]" in table
    assert ROLE.split(":")[4] in table
