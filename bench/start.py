#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""CPU time of a start with 1,000 and with 4,000 credentials whose targets are below one directory: without state or published
files, compared with a renewal of all of them, and again with both.

usage: start.py [CREDENTIALS]       (default: 1000, and four times as many)
"""
import os
import pathlib
import sys
import time

from common import Agent, eventually, finish, local_cloud, scratch, verdict

QUIET_S = 1.5  # without CPU time: the work is done
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    """Of the process, of its children, and of those of both that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(map(int, fields[11:15])) * TICK_S + sum(map(cpu_s, children))


def quiet_cpu_s(pid):
    before, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET_S:
        now = cpu_s(pid)
        if now > before + TICK_S:
            before, since = now, time.monotonic()
        time.sleep(0.1)
    return now


def measure(agent, cloud, count):
    """Seconds of a start, of a renewal and of a start with state."""
    links = [agent.dir / f"out-c{i}/..data" for i in range(count)]
    agent.start()
    eventually(lambda: all(link.is_symlink() for link in links), "the publishes", 120)
    started = quiet_cpu_s(agent.process.pid)
    before = [link.readlink() for link in links]
    cloud.admin("/volume/demo/renew", {})
    eventually(lambda: all(link.readlink() != old for link, old in zip(links, before)), "the renewals", 120)
    renewed = quiet_cpu_s(agent.process.pid) - started
    agent.stop()
    agent.start()
    restarted = quiet_cpu_s(agent.process.pid)
    agent.stop()
    return started, renewed, restarted


def main():
    few = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    figures = []
    with scratch(in_memory=True) as directory, local_cloud(directory) as cloud:
        for count in (few, 4 * few):
            agent = Agent(directory / f"agent-{count}", cloud)
            files = agent.credential()["publish"]["files"][:1]
            agent.configure(*(agent.credential(f"c{i}", publish={"directory": str(agent.dir / f"out-c{i}"), "files": files})
                              for i in range(count)), log={"level": "error"})
            figures.append(measure(agent, cloud, count))
    (started, renewed, restarted), many = figures
    verdict(f"CPU time of a start with {few:,} credentials, compared with a renewal of all of them", started / renewed, 2,
            detail=f"{started:.2f} s against {renewed:.2f} s")
    verdict("the same with state and published files", restarted / renewed, 1, detail=f"{restarted:.2f} s")
    verdict(f"CPU time of a start with {4 * few:,} below one directory, compared with four of {few:,}",
            many[0] / started / 4, 1.25, detail=f"{many[0]:.2f} s")
    verdict(f"the same with state and published files, {4 * few:,} compared with four of {few:,}", many[2] / restarted / 4, 1.25,
            detail=f"{many[2]:.2f} s")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
