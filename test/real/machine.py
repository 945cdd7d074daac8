# SPDX-License-Identifier: MIT
"""A Debian of its own with systemd as its first process, on loopback alone: systemd-nspawn from a tree on disk."""
import contextlib
import json
import os
import signal
import subprocess

import pytest

from harness import eventually, read_text

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Machine:
    def __init__(self, directory, tree):
        self.root = directory / "root"
        self.log = directory / "machine.log"
        subprocess.run(["cp", "-a", "--reflink=auto", tree, self.root], check=True)
        with open(self.log, "wb") as log:
            # --register=no --keep-unit: there may be no systemd outside that could be told of it.
            self.process = subprocess.Popen(
                ["systemd-nspawn", "-q", "-D", self.root, "--register=no", "--keep-unit", "--private-network", "-b"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(lambda: self.process.poll() is not None or self._find_leader(), "the machine's first process")
        if self.process.poll() is not None:
            self._cannot()
        try:
            eventually(lambda: self.try_sh("systemctl is-system-running").stdout.strip() in ("running", "degraded"),
                       lambda: "the machine:\n" + read_text(self.log))
        except AssertionError:
            self.stop()
            raise

    def _find_leader(self):
        """True once systemd is there: at first systemd-nspawn has other children."""
        for pid in read_text(f"/proc/{self.process.pid}/task/{self.process.pid}/children").split():
            if read_text(f"/proc/{pid}/comm").strip() == "systemd":
                self.leader = pid
                return True
        return False

    def _cannot(self):
        subprocess.run(["rm", "-rf", "--one-file-system", self.root], check=True)
        why = f"systemd-nspawn ended with {self.process.returncode}: {read_text(self.log).strip()}"
        if os.environ.get("CFR_REQUIRE_REAL") == "1":
            pytest.fail(why)
        pytest.skip(why)

    def stop(self):
        if self.process.poll() is None:
            os.kill(int(self.leader), signal.SIGKILL)  # and with it everything inside
            self.process.wait(60)
        subprocess.run(["rm", "-rf", "--one-file-system", self.root], check=True)

    # ---- inside ----

    def try_sh(self, script, timeout=20):
        """Status and output; 124 when it takes longer, as of timeout(1)."""
        inside = ["nsenter", "-t", self.leader, "-a", "env", "-i", PATH, "LC_ALL=C.UTF-8"]
        return subprocess.run([*inside, "timeout", str(timeout), "sh", "-c", script], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def sh(self, script, timeout=20):
        """What SCRIPT prints; it has to succeed."""
        done = self.try_sh(script, timeout)
        assert done.returncode == 0, f"{script}: {done.returncode} {done.stdout}\n" + \
            self.try_sh("journalctl --no-pager -n 30").stdout
        return done.stdout.strip()

    def write(self, path, text, mode=0o644):
        """A file on its disk (not below /run)."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def read(self, path):
        """The text of a file, or what there is instead."""
        return self.try_sh(f"cat '{path}'").stdout

    def unit(self, name, text):
        self.write(f"/etc/systemd/system/{name}", text)
        self.sh("systemctl daemon-reload")

    @contextlib.contextmanager
    def dropin(self, unit, text):
        self.unit(f"{unit}.d/test.conf", text)
        try:
            yield
        finally:
            self.sh(f"rm /etc/systemd/system/{unit}.d/test.conf && systemctl daemon-reload")

    def show(self, unit, prop):
        return self.sh(f"systemctl show -P {prop} '{unit}'")

    def is_active(self, unit):
        return self.show(unit, "ActiveState") == "active"

    def journal(self, unit):
        return self.sh(f"journalctl --no-pager -o cat -u '{unit}'")

    def post(self, url, body):
        """To a server inside."""
        subprocess.run(["nsenter", "-t", self.leader, "-n", "curl", "-fsS", "--max-time", "10", "-d", json.dumps(body), url],
                       check=True, capture_output=True)
