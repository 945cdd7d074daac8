# SPDX-License-Identifier: MIT
"""The fixtures of the integration tests, and helpers that need pytest; the rest of what they share is in processes.py."""
import atexit
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from processes import (CREDFRESH, LIMIT_S, LOCALCLOUD, OIDC, REPO, ROLE, WITNESS, Agent, LocalCloud, binary, eventually,  # noqa: F401
                       keep_states_in_memory, read_text)

FAILED = []


def pytest_configure():
    """A root for temporary directories that is this run's alone: of the common one pytest takes all rights of others whenever
    another run starts, and some tests have to let another user in. It is kept if one fails."""
    root = pathlib.Path(tempfile.gettempdir(), f"cfr{os.getpid()}")
    root.mkdir(exist_ok=True)
    root.chmod(0o755)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(root)
    keep_states_in_memory()
    # pytest looks at it once more at the very end.
    atexit.register(lambda: FAILED or shutil.rmtree(root, ignore_errors=True))


def pytest_collection_modifyitems(config, items):
    """With CFR_PART=KofN the Kth of N parts of the tests: of a file that takes long because its tests wait."""
    part, parts = map(int, os.environ.get("CFR_PART", "1of1").split("of"))
    if parts > 1:
        config.hook.pytest_deselected(items=[one for n, one in enumerate(items) if n % parts != part - 1])
        items[:] = items[part - 1::parts]


def pytest_runtest_logreport(report):
    if report.failed:
        FAILED.append(report.nodeid)


AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def let_others_in(*directories):
    """pytest makes directories that only their owner may enter."""
    for directory in directories:
        for path in [directory, *directory.parents]:
            if str(path).startswith("/tmp/"):
                path.chmod(0o755)


def needs_namespace(*flags):
    """Skips the test, with the reason, where unshare(1) with FLAGS is refused: without root, or in a chroot whose root
    is no mount point."""
    done = subprocess.run(["unshare", *flags, "true"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no namespace of its own ({' '.join(flags)}): {done.stderr.strip()}")


class Mounted:
    """A Secret as the kubelet mounts it: every put is a new version and one swap."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.number = 0

    def put(self, keys, mode=0o644):
        self.dir.mkdir(parents=True, exist_ok=True)
        self.number += 1
        version = self.dir / f"..version_{self.number}"
        version.mkdir()
        for name, value in keys.items():
            (version / name).write_text(value)
            (version / name).chmod(mode)
        data = self.dir / "..data"
        before = os.path.realpath(data) if data.is_symlink() else None
        os.symlink(version.name, self.dir / "..data_tmp")
        os.rename(self.dir / "..data_tmp", data)
        for link in list(self.dir.iterdir()):
            if not link.name.startswith("..") and link.name not in keys:
                link.unlink()
        for name in keys:
            if not (self.dir / name).is_symlink():
                os.symlink(f"..data/{name}", self.dir / name)
        if before is not None:
            shutil.rmtree(before)
        return self


@pytest.fixture
def cloud_factory(tmp_path):
    made = []

    def make(name="cloud", **how):
        made.append(LocalCloud(tmp_path / name, **how))
        return made[-1]

    yield make
    for cloud in made:
        cloud.stop()


@pytest.fixture
def cloud(cloud_factory):
    """A local cloud in real time: tokens and sessions live an hour."""
    return cloud_factory()


@pytest.fixture(scope="module")
def module_cloud(tmp_path_factory):
    made = LocalCloud(tmp_path_factory.mktemp("shared") / "cloud")
    yield made
    made.stop()


@pytest.fixture
def shared_cloud(module_cloud):
    """One local cloud for all tests of a file, at rest and with empty books: making one takes seconds."""
    module_cloud.clear_faults()
    module_cloud.admin("/outage", {"on": False})
    module_cloud.admin("/stats/reset", {})
    return module_cloud


@pytest.fixture
def agent_factory(tmp_path):
    made = []

    def make(cloud, name="agent"):
        made.append(Agent(tmp_path / name, cloud))
        return made[-1]

    yield make
    for agent in made:
        status = agent.stop()
        assert status in (None, 0), f"the agent ended with {status}:\n{agent.log}"
        ended = agent.process.returncode if agent.process is not None else 0
        assert ended >= 0 or ended == -signal.SIGKILL, f"the agent was ended by signal {-ended}:\n{agent.log}"
        assert storms(agent.log) == {}, f"the same is done again and again:\n{agent.log}"
        shutil.rmtree(agent.state, ignore_errors=True)


# No test makes an agent do more of one credential in a second than this, without asking for it.
STORM = 12
STEP = re.compile(r"^(\S+T[0-9:]+)\S* \w+ +(\S+) \[\w+\]: (published (?:first )?generation|granted:|rotation asked for)", re.MULTILINE)


def storms(log):
    """The seconds in which one credential was published or exchanged more than STORM times."""
    seen = collections.Counter(STEP.findall(log))
    return {key: count for key, count in seen.items()
            if count > STORM + seen[(*key[:2], "rotation asked for")] and key[2] != "rotation asked for"}


@pytest.fixture
def agent(agent_factory, cloud):
    return agent_factory(cloud).configure()
