#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""From the swap of `..data` in the token volume to the connection that the exchange begins with, against the smallest
program that could do it (raw inotify, read, connect).

usage: swap.py [SWAPS]
"""
import os
import pathlib
import subprocess
import sys

from common import CREDFRESH, Agent, finish, local_cloud, scratch, spread, verdict


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
    probe = subprocess.Popen([program, "probe", volume, str(swaps)], stdout=subprocess.PIPE, text=True)
    port = int(probe.stdout.readline())
    process = start(port)
    text = probe.stdout.read()
    assert probe.wait(60) == 0
    process.terminate()
    process.wait(20)
    return [float(line) for line in text.split()]


def main():
    swaps = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    with scratch() as directory, local_cloud(directory) as cloud:
        program = directory / "swap"
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, pathlib.Path(__file__).with_name("swap.c")],
                       check=True)
        tokens = [cloud.token() for _ in range(swaps + 1)]
        figures = {"raw": [], "credfresh": []}
        for part in range(3):  # in turns, so that a slow moment of the machine meets both
            for who in figures:
                volume = directory / f"{who}-{part}"
                prepare(volume, tokens)
                agent = Agent(directory / f"agent-{part}", cloud)

                def start_ours(port):
                    agent.configure(agent.credential(
                        token={"file": str(volume / "token")},
                        exchange={"aws": {"role_arn": "arn:aws:iam::123456789012:role/demo", "region": "us-east-1",
                                          "endpoint": f"http://127.0.0.1:{port}/"}}), log={"level": "error"})
                    return subprocess.Popen([CREDFRESH, "run", "-c", agent.config_path], env=dict(os.environ))

                def start_raw(port):
                    return subprocess.Popen([program, "raw", volume, str(port)])

                figures[who] += run(program, volume, swaps, start_raw if who == "raw" else start_ours)
    print("raw inotify: %.0f us [%.0f, %.0f]" % spread(figures["raw"]))
    print("credfresh:   %.0f us [%.0f, %.0f]" % spread(figures["credfresh"]))
    ours_us, raw_us = (spread(figures[name])[0] for name in ("credfresh", "raw"))
    verdict("from the swap of `..data` to the exchange's connection, compared with raw inotify", ours_us / raw_us, 2,
            detail=f"{ours_us:.0f} us against {raw_us:.0f} us")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
