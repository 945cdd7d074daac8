#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How soon another agent publishes a new key of a shared rotation, from when the holder sends the write that has it.

usage: follower.py [--rotations N] [BINARY...]       (default: 40, and the dynamic build)
"""
import argparse
import datetime
import json
import re
import ssl
import statistics
import subprocess
import sys
import urllib.request

from common import CREDFRESH, Agent, eventually, finish, kind_of, local_cloud, scratch, verdict

ADMIN = {"aws_access_key_id": "AKIAADMINADMINADMIN0", "aws_secret_access_key": "admin-secret"}
CLOUD = {"iam_keys": [{"access_key_id": ADMIN["aws_access_key_id"], "secret_access_key": ADMIN["aws_secret_access_key"],
                       "arn": "arn:aws:iam::123456789012:user/admin"}]}
SECRET = "credfresh-mint-robot"


def make_secret(cloud):
    """What an operator does."""
    request = urllib.request.Request(
        f"{cloud.ready['kube_url']}/api/v1/namespaces/default/secrets",
        json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}}).encode(),
        {"Authorization": "Bearer demo-kube-token", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=cloud.ca), timeout=10):
        pass


def configure(agent):
    """Waiting is short, because what follows a publish is not measured."""
    cloud = agent.cloud
    (agent.dir / "admin").mkdir()
    for name, value in ADMIN.items():
        (agent.dir / "admin" / name).write_text(value)
    aws = {"user_name": "robot", "regions": ["us-east-1"], "endpoint": cloud.sts.rstrip("/") + "/iam", "sts_endpoint": cloud.sts,
           "ca_file": cloud.ca}
    mint = {"aws": aws, "with": "admin", "grace": "1s", "grace_most": "2s", "settle": "1s", "inactive": "1s", "verify_wait": "0s",
            "state": {"secret": SECRET, "namespace": "default", "kubeconfig": cloud.ready["kubeconfig"]}}
    agent.configure({"name": "robot", "mint": mint, "publish": {
        "directory": str(agent.out), "files": [{"name": "credentials", "format": "aws-credentials"}]}},
        {"name": "admin", "secret": {"directory": str(agent.dir / "admin"), "pass_on": True}})


def at_ms(line):
    """When LINE of a log was written."""
    return datetime.datetime.fromisoformat(line.split()[0].replace("Z", "+00:00")).timestamp() * 1000


def published_at(log, generation):
    """(when GENERATION was published, the lines that follow) by LOG; None before that."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if re.search(rf"robot \[publishing\]: published .*generation {generation},", line):
            return at_ms(line), lines[number + 1:]
    return None


def sent_at(lines):
    """When the first write of LINES was sent that was answered with 200; None if there is none."""
    for line in lines:
        done = re.search(r"PATCH .*: HTTP 200 in (\d+) ms", line)
        if done:
            return at_ms(line) - int(done[1])
    return None


def latency(holder, follower, generation):
    """Milliseconds from the holder's write with the key of GENERATION until the follower has published it; None before that."""
    held, followed = published_at(holder.log, generation), published_at(follower.log, generation)
    sent = sent_at(held[1]) if held else None
    return followed[0] - sent if followed and sent is not None else None


def is_at_rest(agent, generation):
    found = agent.status("robot")
    return found.get("generation") == generation and (found.get("mint") or {}).get("step") == "rest"


def measure(binary, rotations):
    """The latencies of ROTATIONS."""
    with scratch(in_memory=True) as directory, local_cloud(directory, config=CLOUD) as cloud:
        cloud.admin("/service/iam", {"admins": ["arn:aws:iam::*:user/admin"], "users": ["robot"]})
        make_secret(cloud)
        agents = [Agent(directory / name, cloud) for name in ("one", "two")]
        found = []
        try:
            for agent in agents:
                configure(agent)
                agent.process = subprocess.Popen([binary, "run", "-c", agent.config_path], stdout=subprocess.DEVNULL,
                                                 stderr=open(agent.log_path, "wb"))
                eventually(lambda a=agent: is_at_rest(a, 1), lambda a=agent: a.log, 60, 0.2)
            holder, follower = agents
            for generation in range(2, rotations + 2):
                status, said = holder.request("POST", "/v1/credentials/robot/rotate", json.dumps({"reason": f"n{generation}"}))
                assert status in (200, 202), said
                eventually(lambda g=generation: all(is_at_rest(agent, g) for agent in agents),
                           lambda: f"{holder.log}\n\n{follower.log}", 60, 0.2)
                found.append(latency(holder, follower, generation))
        finally:
            for agent in agents:
                agent.stop()
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rotations", type=int, default=40)
    parser.add_argument("binary", nargs="*", default=[CREDFRESH])
    args = parser.parse_args()
    for binary in args.binary:
        found = measure(binary, args.rotations)
        for what, value in (("median", statistics.median(found)), ("highest", max(found))):
            verdict(f"from the holder's write of a new key until another agent has published it, {what} of {args.rotations} "
                    f"rotations ({kind_of(binary)})", value, 200, " ms")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
