#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""From the swap of `..data` in the token volume to the connection that the exchange begins with, against the smallest
program that could do it (raw inotify, read, connect). The token volume is a tmpfs, as the kubelet's are. What is published is
on a tmpfs, as /run is, or on a disk, where a child writes it.

usage: swap.py [SWAPS]
"""
import os
import pathlib
import subprocess
import sys

from common import CREDFRESH, Agent, finish, local_cloud, scratch, spread, verdict

PAUSE_MS = 100  # after each exchange: what follows it (files, on a disk with fsync) is done by the next swap


def prepare(volume, tokens):
    volume.mkdir(parents=True)
    (volume / "..g0").mkdir()
    (volume / "..g0/token").write_text(tokens[0])
    (volume / "..data").symlink_to("..g0")
    (volume / "token").symlink_to("..data/token")
    (volume / ".tokens").mkdir()
    for number, token in enumerate(tokens):
        (volume / ".tokens" / str(number)).write_text(token)


def run(program, volume, swaps, start):
    probe = subprocess.Popen([program, "probe", volume, str(swaps), str(PAUSE_MS)], stdout=subprocess.PIPE, text=True)
    port = int(probe.stdout.readline())
    process = start(port)
    text = probe.stdout.read()
    assert probe.wait(60) == 0
    process.terminate()
    process.wait(20)
    return [float(line) for line in text.split()]


def main():
    swaps = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    with scratch() as disk, scratch(in_memory=True) as memory, local_cloud(disk) as cloud:
        program = disk / "swap"
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, pathlib.Path(__file__).with_name("swap.c")],
                       check=True)
        tokens = [cloud.token() for _ in range(swaps + 1)]
        places = {"tmpfs": memory, "disk": disk}
        figures = {who: [] for who in ("raw", *places)}
        for part in range(3):  # in turns, so that a slow moment of the machine meets all
            for who in figures:
                volume = memory / f"{who}-{part}"
                prepare(volume, tokens)
                agent = Agent(memory / f"agent-{who}-{part}", cloud)

                def start_ours(port):
                    published = {"directory": str(places[who] / f"out-{who}-{part}"), "files": [
                        {"name": "credentials", "format": "aws-credentials"}, {"name": "token", "format": "token"},
                        {"name": "creds.json", "format": "json"}]}
                    agent.configure(agent.credential(
                        token={"file": str(volume / "token")}, publish=published,
                        exchange={"aws": {"role_arn": "arn:aws:iam::123456789012:role/demo", "region": "us-east-1",
                                          "endpoint": f"http://127.0.0.1:{port}/"}}), log={"level": "error"})
                    return subprocess.Popen([CREDFRESH, "run", "-c", agent.config_path], env=dict(os.environ))

                def start_raw(port):
                    return subprocess.Popen([program, "raw", volume, str(port)])

                figures[who] += run(program, volume, swaps, start_raw if who == "raw" else start_ours)
    for who, found in figures.items():
        print(f"{who}: %.0f us [%.0f, %.0f]" % spread(found))
    raw_us = spread(figures["raw"])[0]
    for where in places:
        ours_us = spread(figures[where])[0]
        verdict(f"from the swap of `..data` to the exchange's connection, compared with raw inotify; published on a {where}",
                ours_us / raw_us, 2, detail=f"{ours_us:.0f} us against {raw_us:.0f} us")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
