#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How long a reload keeps the agent's loop busy: the time in which it answers no other request.

usage: reload.py [RELOADS]
"""
import sys
import time

from common import Agent, finish, local_cloud, scratch, spread, verdict


def main():
    reloads = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with scratch(in_memory=True) as directory, local_cloud(directory) as cloud:
        for count in (1, 100, 1000):
            agent = Agent(directory / f"agent-{count}", cloud)
            credentials = [agent.credential(f"c{i}") for i in range(count)]
            agent.configure(*credentials).start()
            for i in range(count):
                agent.wait_state("fresh", f"c{i}")
            times = []
            for number in range(reloads):
                agent.configure(*credentials, log={"level": ("info", "debug")[number % 2]})
                start = time.perf_counter()
                assert agent.request("POST", "/v1/reload")[0] == 200
                times.append((time.perf_counter() - start) * 1000)
            agent.stop()
            median, low, high = spread(times)
            verdict(f"a reload with {count} credential{'s' * (count > 1)}", median, 100, " ms", detail=f"{low:.0f} to {high:.0f} ms")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
