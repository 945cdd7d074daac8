# SPDX-License-Identifier: MIT
"""Tokens that a real Kubernetes API server minted, through the same path: read, exchanged at an STS that trusts this
server's own JWKS, published, renewed.
"""
import subprocess

from conftest import CREDFRESH, ISSUER, eventually, project


def test_a_real_token_is_exchanged_and_renewed(space, cloud_factory, agent_factory, tmp_path):
    role = "arn:aws:iam::123456789012:role/registry"
    cloud = cloud_factory(config={"roles": [{"arn": role, "trust": [{
        "federated_issuer": ISSUER, "jwks": space.kube.jwks(), "audience": ["sts.amazonaws.com"],
        "subject": f"system:serviceaccount:{space.name}:registry"}]}]})
    volume = tmp_path / "volume"
    agent = agent_factory(cloud)
    agent.configure(agent.credential(
        token={"file": str(volume / "token"), "audience": "sts.amazonaws.com"},
        exchange={"aws": {"role_arn": role, "region": "us-east-1", "endpoint": cloud.sts, "ca_file": cloud.ca}}))
    project(volume, 1, token=space.mint("sts.amazonaws.com"))
    inspected = subprocess.run([CREDFRESH, "inspect", volume / "token"], capture_output=True, text=True)
    assert inspected.returncode == 0, inspected.stdout
    assert f"system:serviceaccount:{space.name}:registry" in inspected.stdout
    agent.start()
    agent.wait_generation(1)
    assert agent.status()["identity"].endswith(f"assumed-role/registry/{space.name}.registry")
    # This version gives no jti: only another life makes a token of the same second another one.
    project(volume, 2, token=space.mint("sts.amazonaws.com", 660))
    agent.wait_generation(2)
    # A token for somebody else is refused before it goes anywhere, and what is published stays.
    before = agent.published()
    project(volume, 3, token=space.mint("vault"))
    eventually(lambda: "audience" in (agent.status().get("last_error") or {}).get("message", ""), "the refusal")
    assert agent.published() == before
    assert len(cloud.exchanges()) == 2
