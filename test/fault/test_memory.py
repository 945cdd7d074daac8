# SPDX-License-Identifier: MIT
"""Memory that runs out at each allocation: in one process from the configuration to the files, and in the real binary."""
import concurrent.futures
import json
import os
import shutil
import subprocess

from faults import (CREDFRESH, Agent, agent, agent_factory, cloud, cloud_factory, library, plain_binary,  # noqa: F401
                    read_text, snapshot)

SAMPLES = 250
WORKERS = 6


@plain_binary
def test_each_allocation_fails_once(tmp_path):
    shared = tmp_path if not os.access("/dev/shm", os.W_OK) else f"/dev/shm/credfresh-test-{os.getpid()}"
    os.makedirs(shared, exist_ok=True)
    try:
        done = subprocess.run([library("CFR_ALLOC"), str(shared)], capture_output=True, text=True, timeout=120)
    finally:
        shutil.rmtree(shared, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    assert "out-of-memory" in done.stdout


def whole(out):
    """Nothing is published there, or all of one generation."""
    seen = snapshot(out)
    if not seen:
        return
    assert sorted(seen) == ["credentials", "creds.json", "token"], sorted(seen)
    key = json.loads(seen["creds.json"][1])["fields"]["aws_access_key_id"]
    assert key.encode() in seen["credentials"][1]


@plain_binary
def test_the_binary_survives_a_failed_allocation(cloud, tmp_path):  # noqa: F811
    preload = library("CFR_NOMEM")
    count = tmp_path / "count"

    def once(agent, **env):  # noqa: F811
        return subprocess.run([CREDFRESH, "once", "-c", str(agent.config_path), "--timeout", "2500ms"], capture_output=True,
                              text=True, timeout=60, cwd=agent.dir, env={**os.environ, "LD_PRELOAD": preload, **env})

    def sample(n):
        agent = Agent(tmp_path / f"agent-{n}", cloud).configure()  # noqa: F811
        done = once(agent, CFR_NOMEM_AT=str(n))
        whole(agent.out)
        if done.returncode == 0:
            assert agent.out.exists()
        # 127: the loader itself could not start the program.
        assert done.returncode in (0, 1, 3, 4), (n, done.returncode, done.stderr)
        assert done.returncode == 0 or done.stderr != "", n
        after = once(agent)
        assert after.returncode == 0, (n, done.stderr, after.stderr)
        whole(agent.out)
        return done.returncode

    # The library writes its count where the sandbox lets nothing be written.
    first = Agent(tmp_path / "first", cloud).configure(sandbox={"landlock": False})
    assert once(first, CFR_NOMEM_COUNT=str(count)).returncode == 0
    total = int(read_text(count))
    # The first ones are all of our own start; after that OpenSSL allocates thousands of blocks.
    numbers = sorted({1 + i for i in range(20)} | {1 + i * total // SAMPLES for i in range(SAMPLES)})
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        codes = list(pool.map(sample, numbers))
    assert len(codes) >= SAMPLES // 2 and 0 in codes
