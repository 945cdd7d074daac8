#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`credfresh once`, from nothing to a published credential, against the curl command that does the same single POST.

usage: once.py [ROUNDS [BINARY...]]       (default: the dynamic build; name a static one beside it to have them told apart)
"""
import re
import shutil
import subprocess
import sys
import time

from common import CREDFRESH, Agent, finish, kind_of, local_cloud, scratch, spread, verdict


def timed(argv):
    start = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def clear(agent):
    shutil.rmtree(agent.state, ignore_errors=True)
    shutil.rmtree(agent.out, ignore_errors=True)


def count(argv):
    """What does not drift: system calls, fsyncs and processes, in words; nothing without strace."""
    if shutil.which("strace") is None:
        return ""
    text = subprocess.run(["strace", "-f", *argv], check=True, capture_output=True, text=True).stderr
    calls = [m[1] for m in re.finditer(r"^(?:\[pid +\d+\] )?(\w+)\(", text, re.M)]
    forks = sum(calls.count(name) for name in ("clone", "clone3", "fork", "vfork"))
    return f"; {len(calls)} system calls, {calls.count('fsync')} of them fsync, {forks + 1} processes"


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with scratch() as disk, scratch(in_memory=True) as memory, local_cloud(disk) as cloud:
        curl = ["curl", "--silent", "--fail", "--cacert", cloud.ca, "--output", str(memory / "answer"),
                "--data", "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=bench&DurationSeconds=3600",
                "--data-urlencode", "RoleArn=arn:aws:iam::123456789012:role/demo",
                "--data-urlencode", f"WebIdentityToken@{cloud.volumes['demo'] / 'token'}", cloud.sts]
        agents, figures, counts = {}, {"curl": []}, {}
        for number, binary in enumerate(sys.argv[2:] or [CREDFRESH]):
            for where, place in (("tmpfs", memory), ("disk", disk)):
                agent = Agent(place / f"agent-{number}", cloud)
                agent.configure()
                who = f"{kind_of(binary)}, state and files on a {where}"
                agents[who] = (agent, [binary, "once", "-c", str(agent.config_path)])
                figures[who] = []
                counts[who] = count(agents[who][1])
        for _ in range(rounds):
            for who, (agent, argv) in agents.items():
                clear(agent)
                figures[who].append(timed(argv))
            figures["curl"].append(timed(curl))
    curl_ms = spread(figures["curl"])[0]
    for who, found in figures.items():
        print(f"{who}: %.1f ms [%.1f, %.1f]" % spread(found))
    for who in agents:
        ours_ms = spread(figures[who])[0]
        verdict(f"`credfresh once`, from start to published, compared with `curl` doing the same POST; {who}", ours_ms / curl_ms, 1.5,
                detail=f"{ours_ms:.1f} ms against {curl_ms:.1f} ms{counts[who]}")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
