#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Resident memory when idle with one credential, and what each further one adds, up to 1,000.

usage: memory.py [BINARY...]       (default: the dynamic build; name a static one as well to distinguish them)
"""
import os
import re
import subprocess
import sys

from common import CREDFRESH, Agent, eventually, finish, kind_of, local_cloud, scratch, verdict


def measure(binary, directory, cloud, count):
    agent = Agent(directory / f"agent-{count}-{len(list(directory.iterdir()))}", cloud)
    names = ["demo"] + [f"c{i:04d}" for i in range(1, count)]
    agent.configure(*[agent.credential(name, publish={
        "directory": str(agent.dir / "out" / name),
        "files": [{"name": "credentials", "format": "aws-credentials"}]}) for name in names])
    process = subprocess.Popen([binary, "run", "-c", agent.config_path], stdout=subprocess.DEVNULL,
                               stderr=open(agent.log_path, "wb"))
    agent.process = process

    def all_fresh():
        try:
            _, doc = agent.request("GET", "/v1/credentials")
        except OSError:
            return False
        return len(doc["credentials"]) == count and all(c["state"] == "fresh" for c in doc["credentials"])

    eventually(all_fresh, f"{count} credentials", 120, 0.2)
    with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as f:
        text = f.read()
    agent.stop()
    kib = {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.M)}
    return kib


def main():
    os.sync()  # pages of a file that was just built count as dirty until they are written
    for binary in sys.argv[1:] or [CREDFRESH]:
        with scratch(in_memory=True) as directory, local_cloud(directory) as cloud:
            figures = {count: measure(binary, directory, cloud, count) for count in (1, 100, 1000)}
        print(binary)
        for count, kib in figures.items():
            own = kib["Private_Dirty"]
            print(f"  {count:5d} credentials: {kib['Rss']:6d} KiB resident, {own:6d} KiB of it its own (private dirty)")
        for low, high in ((1, 100), (1, 1000)):
            each = (figures[high]["Rss"] - figures[low]["Rss"]) / (high - low)
            verdict(f"growth of resident memory per credential, {low} to {high} ({kind_of(binary)})", each, 8, " KiB")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
