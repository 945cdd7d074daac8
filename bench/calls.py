#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""System calls of whole jobs, counted by strace: one `once`, a refresh, and the start and the reload of 100 credentials. counts.py
compares them with those that are recorded.

usage: calls.py      (prints them)
"""
import re
import subprocess
import time

from common import ROOT, Agent, eventually, local_cloud, scratch

JOBS = {"once": "`once` of one credential", "start": "a start with 100 credentials", "refresh": "a refresh of one of them",
        "reload": "a reload of 100 that changes none"}
MANY = 100
QUIET_S = 0.7  # without a call, after which a job has ended


class Trace:
    """The calls of an agent and its children. Those of the wait for events are left out: how many there are is chance."""

    def __init__(self, agent, path):
        self.agent, self.path, self.seen = agent, path, 0
        agent.start(wrapper=["strace", "-f", "-o", str(path)])

    def lines(self):
        return [line for line in self.path.read_text(errors="replace").splitlines()
                if re.match(r"\d+ +(?!epoll_wait|poll|timerfd_settime|restart_syscall)\w+\(", line)]

    def job(self):
        """How many since the last job, once it is quiet."""
        before, since = -1, time.monotonic()
        while time.monotonic() - since < QUIET_S:
            now = self.path.stat().st_size
            if now != before:
                before, since = now, time.monotonic()
            time.sleep(0.05)
        found = len(self.lines())
        self.seen, made = found, found - self.seen
        return made

    def stop(self):
        child = subprocess.run(["pgrep", "-P", str(self.agent.process.pid)], check=True, capture_output=True, text=True).stdout.split()
        subprocess.run(["kill", child[0]], check=True)
        self.agent.process.wait(30)


def of_once(directory, cloud, program):
    agent = Agent(directory / "once", cloud)
    agent.configure(agent.credential(), log={"level": "error"})
    path = directory / "once.trace"
    subprocess.run(["strace", "-f", "-o", str(path), program, "once", "-c", str(agent.config_path)], check=True)
    return len([line for line in path.read_text(errors="replace").splitlines() if re.match(r"\d+ +\w+\(", line)])


def of_refresh(directory, cloud):
    agent = Agent(directory / "one", cloud)
    agent.configure(agent.credential("c0"), log={"level": "error"})
    trace = Trace(agent, directory / "one.trace")
    data = agent.dir / "out-c0/..data"
    eventually(data.is_symlink, "the first publish")
    trace.job()
    first = data.readlink()
    cloud.admin("/volume/demo/renew", {})
    eventually(lambda: data.readlink() != first, "the refresh")
    calls = trace.job()
    trace.stop()
    return calls


def of_many(directory, cloud):
    """Of the start, and of a reload."""
    agent = Agent(directory / "many", cloud)
    credentials = [agent.credential(f"c{i}") for i in range(MANY)]
    agent.configure(*credentials, log={"level": "error"})
    trace = Trace(agent, directory / "many.trace")
    eventually(lambda: len(list(agent.dir.glob("out-c*/..data"))) == MANY, "the first publishes")
    start = trace.job()
    agent.configure(*credentials, log={"level": "warn"})
    assert agent.request("POST", "/v1/reload")[0] == 200
    reload = trace.job()
    trace.stop()
    return start, reload


def count(build):
    program = str(build / "agent/credfresh")
    with scratch(in_memory=True) as directory, local_cloud(directory) as cloud:
        start, reload = of_many(directory, cloud)
        return {"once": of_once(directory, cloud, program), "start": start, "refresh": of_refresh(directory, cloud), "reload": reload}


if __name__ == "__main__":
    for job, number in count(ROOT / "build/dev").items():
        print(f"{JOBS[job]}: {number} system calls")
