#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Wake-ups per minute of an idle agent with one credential: the kernel's count of voluntary context switches.

usage: wakeups.py [MINUTES]
"""
import re
import sys
import time

from common import Agent, finish, local_cloud, scratch, verdict


def switches(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", f.read(), re.M).group(1))


def main():
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 3
    with scratch() as directory, local_cloud(directory) as cloud:
        agent = Agent(directory / "agent", cloud)
        agent.configure().start()
        agent.wait_state("fresh")
        time.sleep(15)  # the status connection times out
        before = switches(agent.process.pid)
        time.sleep(minutes * 60)
        count = switches(agent.process.pid) - before
        agent.stop()
    print(f"{count} wake-ups in {minutes:g} minutes")
    verdict("wake-ups per minute when idle", count / minutes, 1.5)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
