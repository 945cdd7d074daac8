#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Resident memory that a watched target Secret of the cluster adds, and how many watches 1,000 of them take.

usage: watched.py [--targets N] [BINARY...]       (default: 1000, and the dynamic build)
"""
import argparse
import re
import subprocess
import sys

from common import CREDFRESH, Agent, eventually, finish, kind_of, local_cloud, scratch, verdict


def watches(cloud):
    return [r for r in cloud.stats()["log"] if r["action"] == "kube.watch"]


def measure(binary, count, watched):
    """KiB resident with COUNT credentials, each with a directory and, if WATCHED, a Secret; and the watches of it."""
    with scratch(in_memory=True) as directory, local_cloud(directory) as cloud:
        agent = Agent(directory / "agent", cloud)

        def credential(i):
            targets = [{"directory": str(agent.dir / "out" / f"c{i:04d}"),
                        "files": [{"name": "credentials", "format": "aws-credentials"}]}]
            if watched:
                targets.append({"secret": {"namespace": "default", "name": f"c{i:04d}", "kubeconfig": cloud.ready["kubeconfig"],
                                           "keys": [{"name": "credentials", "format": "aws-credentials"}]}})
            return agent.credential(f"c{i:04d}", publish=targets)

        def all_published():
            try:
                _, doc = agent.request("GET", "/v1/credentials")
            except OSError:
                return False
            found = doc["credentials"]
            return len(found) == count and all(
                c["state"] == "fresh" and all(d.get("result") == "ok" for d in c.get("deliveries") or []) for c in found)

        agent.configure(*[credential(i) for i in range(count)])
        process = subprocess.Popen([binary, "run", "-c", agent.config_path], stdout=subprocess.DEVNULL,
                                   stderr=open(agent.log_path, "wb"))
        agent.process = process
        eventually(all_published, f"{count} credentials", 300, 0.5)
        if watched:
            eventually(lambda: watches(cloud), "a watch", 60, 0.2)
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as f:
            resident = int(re.search(r"^Rss:\s+(\d+) kB", f.read(), re.M)[1])
        agent.stop()
        return resident, len(watches(cloud))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("binary", nargs="*", default=[CREDFRESH])
    args = parser.parse_args()
    for binary in args.binary:
        without, _ = measure(binary, args.targets, False)
        resident, count = measure(binary, args.targets, True)
        verdict(f"resident memory of a watched target Secret, of {args.targets} ({kind_of(binary)})",
                (resident - without) / args.targets, 4, " KiB")
        verdict(f"watches of {args.targets} target Secrets in one namespace ({kind_of(binary)})", count, 1)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
