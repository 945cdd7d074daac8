#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`credfresh once`, from nothing to a published credential, against the curl command that does the same single POST.

usage: once.py [ROUNDS]
"""
import subprocess
import sys
import time
import shutil

from common import CREDFRESH, Agent, finish, local_cloud, scratch, spread, verdict


def timed(argv):
    start = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    ours, curls = [], []
    with scratch() as directory, local_cloud(directory) as cloud:
        agent = Agent(directory / "agent", cloud)
        agent.configure()
        token = cloud.volumes["demo"] / "token"
        curl = ["curl", "--silent", "--fail", "--cacert", cloud.ca, "--output", str(directory / "answer"),
                "--data", "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=bench&DurationSeconds=3600",
                "--data-urlencode", "RoleArn=arn:aws:iam::123456789012:role/demo",
                "--data-urlencode", f"WebIdentityToken@{token}", cloud.sts]
        for _ in range(rounds):
            shutil.rmtree(agent.state, ignore_errors=True)
            shutil.rmtree(agent.out, ignore_errors=True)
            ours.append(timed([CREDFRESH, "once", "-c", str(agent.config_path)]))
            curls.append(timed(curl))
        assert len(cloud.exchanges()) == 2 * rounds
    print("credfresh once: %.1f ms [%.1f, %.1f]" % spread(ours))
    print("curl:           %.1f ms [%.1f, %.1f]" % spread(curls))
    ours_ms, curl_ms = spread(ours)[0], spread(curls)[0]
    verdict("`credfresh once`, from start to published, compared with `curl` doing the same POST", ours_ms / curl_ms, 1.5,
            detail=f"{ours_ms:.1f} ms against {curl_ms:.1f} ms")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
