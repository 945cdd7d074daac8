# SPDX-License-Identifier: MIT
"""Certificates for keys that never leave their consumer: requests in files that the consumer writes, read as hostile."""
import ctypes
import os
import shutil
import ssl
import struct
import subprocess
import time

import pytest

from conftest import agent_factory, eventually  # noqa: F401
from test_health import root_only
from trust import HOST, certificates, shake_hands

NOBODY = 65534


def request(path, *options, key=("ec", "ec_paramgen_curve:P-256"), subject="/CN=attacker.example.com"):
    """The key's path; the request is put at PATH in one step."""
    key_path = path.parent / f"{path.name}.key"
    subprocess.run(["openssl", "req", "-new", "-newkey", key[0], "-pkeyopt", key[1], "-nodes", "-keyout", str(key_path), "-out",
                    f"{path}.new", "-subj", subject, *options], check=True, capture_output=True)
    os.rename(f"{path}.new", path)
    return key_path


class Opens:
    """How often other programs open the file at PATH (inotify)."""
    IN_OPEN = 0x20

    def __init__(self, path):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.name = path.name.encode()
        assert self.libc.inotify_add_watch(self.fd, str(path.parent).encode(), self.IN_OPEN) >= 0

    def count(self):
        """Since the last call."""
        found = 0
        try:
            while True:
                rest = os.read(self.fd, 65536)
                while rest:
                    size = struct.unpack_from("iIII", rest)[3]
                    found += rest[16:16 + size].rstrip(b"\0") == self.name
                    rest = rest[16 + size:]
        except BlockingIOError:
            return found


def replace_for(seconds, path, texts):
    """Renames new files with TEXTS in turn onto PATH all the time. Returns how often."""
    end = time.monotonic() + seconds
    new = path.parent / "next"
    count = 0
    while time.monotonic() < end:
        new.write_text(texts[count % len(texts)])
        os.rename(new, path)
        count += 1
        time.sleep(0.002)
    return count


class Consumer:
    """An agent that issues a certificate for the request of a consumer."""

    def __init__(self, agent):
        self.agent = agent
        self.home = agent.dir / "consumer"
        self.home.mkdir(mode=0o755)
        self.csr = self.home / "tls.csr"
        self.tls = agent.dir / "tls"

    def configure(self, files=None, **certificate):
        files = files or [{"name": "tls.crt", "format": "certificate", "mode": "0644"},
                          {"name": "ca.crt", "format": "ca-bundle", "mode": "0644"}]
        self.agent.configure({"name": "tls",
                              "certificate": {"dns_names": [HOST], "csr": str(self.csr), **certificate},
                              "publish": {"directory": str(self.tls), "files": files}},
                             service_ca={"store": str(self.agent.dir / "store")})
        return self

    def error(self):
        return (self.agent.status("tls").get("last_error") or {}).get("message", "")

    def wait_error(self, *words):
        eventually(lambda: all(word in self.error() for word in words), lambda: f"{words}: {self.error()}\n{self.agent.log}")

    def check(self, key):
        shake_hands((self.tls / "ca.crt").read_text(), str(self.tls / "tls.crt"), str(key))


@pytest.fixture
def consumer(agent_factory):  # noqa: F811
    return Consumer(agent_factory(None)).configure()


@pytest.mark.parametrize("key", [("ec", "ec_paramgen_curve:P-256"), ("ec", "ec_paramgen_curve:P-384"),
                                 ("rsa", "rsa_keygen_bits:2048")], ids=["p256", "p384", "rsa"])
def test_the_key_stays_with_its_consumer(consumer, key):
    """The certificate is for the request's key and the configuration's names; a new request is another certificate."""
    agent = consumer.agent
    agent.start()
    consumer.wait_error("no certificate request yet")
    first = request(consumer.csr, "-addext", "subjectAltName=DNS:other.example.com", "-addext",
                    "basicConstraints=critical,CA:TRUE", key=key)
    agent.wait_generation(1, "tls")
    consumer.check(first)
    assert sorted(os.listdir(consumer.tls / "..data/")) == ["ca.crt", "tls.crt"]
    shown = subprocess.run(["openssl", "x509", "-noout", "-text"], input=certificates(consumer.tls / "tls.crt")[0],
                           capture_output=True, text=True, check=True).stdout
    assert f"DNS:{HOST}" in shown and "CA:FALSE" in shown
    assert "example.com" not in shown
    second = request(consumer.csr, key=key)
    agent.wait_generation(2, "tls")
    consumer.check(second)
    with pytest.raises(ssl.SSLError):
        consumer.check(request(consumer.home / "another", key=key))
    # The same key in another request, and a restart: the same certificate.
    subprocess.run(["openssl", "req", "-new", "-key", str(second), "-out", f"{consumer.csr}.new", "-subj", "/CN=y"], check=True)
    os.rename(f"{consumer.csr}.new", consumer.csr)
    agent.stop()
    agent.start()
    agent.wait_state("fresh", "tls")
    assert agent.generation("tls") == 2
    assert "PRIVATE" not in agent.log


def test_a_rotation_issues_again_for_the_same_key(consumer):
    key = request(consumer.csr)
    consumer.agent.start()
    consumer.agent.wait_generation(1, "tls")
    before = (consumer.tls / "tls.crt").read_text()
    assert consumer.agent.request("POST", "/v1/credentials/tls/rotate")[0] == 202
    consumer.agent.wait_generation(2, "tls")
    assert (consumer.tls / "tls.crt").read_text() != before
    consumer.check(key)


def test_requests_that_change_all_the_time(consumer):
    """Each costs the agent a signature to verify; its consumer does not choose how many it reads in a second."""
    request(consumer.csr)
    consumer.agent.start()
    consumer.agent.wait_generation(1, "tls")
    good = consumer.csr.read_text()
    opens = Opens(consumer.csr)
    began = time.monotonic()
    changes = replace_for(4, consumer.csr, [good, good + good])
    # Two for each second, because a request that was refused before is read again before it is used.
    assert opens.count() <= 2 * (time.monotonic() - began + 2) < changes / 4
    last = request(consumer.csr)
    agent = consumer.agent
    eventually(lambda: consumer.error() == "" and agent.generation("tls") > 1, lambda: f"{consumer.error()}\n{agent.log}")
    consumer.check(last)


def test_hostile_requests(consumer):
    """Each is refused in words, and what was published stays."""
    agent = consumer.agent
    key = request(consumer.csr)
    agent.start()
    agent.wait_generation(1, "tls")
    published = (consumer.tls / "tls.crt").read_text()
    good = consumer.csr.read_text()

    def put(text):
        (consumer.home / "new").write_text(text)
        os.rename(consumer.home / "new", consumer.csr)

    lines = good.splitlines(keepends=True)
    middle = lines[-3]
    put("".join([*lines[:-3], ("A" if middle[5] != "A" else "B").join([middle[:5], middle[6:]]), *lines[-2:]]))
    eventually(lambda: "not signed by its own key" in consumer.error() or "not one certificate request" in consumer.error(),
               lambda: consumer.error())
    put(good + key.read_text())
    consumer.wait_error("more than one PEM block")
    put("x" * 100000)
    consumer.wait_error(str(consumer.csr))
    put("")
    consumer.wait_error("no certificate request")
    for kind in (("rsa", "rsa_keygen_bits:1024"), ("ec", "ec_paramgen_curve:P-521")):
        request(consumer.csr, key=kind)
        consumer.wait_error("of another kind", kind[1].split(":")[1].replace("P-521", "secp521r1"))
    consumer.csr.unlink()
    os.mkfifo(consumer.csr)
    consumer.wait_error("regular file")
    consumer.csr.unlink()
    consumer.csr.mkdir()
    consumer.wait_error(str(consumer.csr))
    consumer.csr.rmdir()
    assert (consumer.tls / "tls.crt").read_text() == published
    assert agent.generation("tls") == 1 and "PRIVATE" not in agent.log
    put(good)
    agent.wait_state("fresh", "tls")
    assert agent.generation("tls") == 1


@root_only
def test_the_request_of_another_user(consumer):
    """A link that another user made is not followed; in another user's directory, or one that every user may write to, a
    request counts only if its owner is named, and is it."""
    agent = consumer.agent
    shutil.chown(consumer.home, NOBODY, NOBODY)
    elsewhere = agent.dir / "elsewhere"
    elsewhere.mkdir()
    request(elsewhere / "tls.csr")
    consumer.csr.symlink_to(elsewhere / "tls.csr")
    os.chown(consumer.csr, NOBODY, NOBODY, follow_symlinks=False)
    agent.start()
    consumer.wait_error(str(consumer.csr))
    assert not consumer.tls.exists()
    consumer.csr.unlink()
    request(consumer.csr)
    consumer.wait_error("could have been written by another user")
    consumer.home.chmod(0o1777)
    consumer.wait_error("could have been written by another user")
    consumer.configure(csr_owner=str(NOBODY))
    assert agent.request("POST", "/v1/reload")[0] == 200
    consumer.wait_error("belongs to uid 0")
    assert not consumer.tls.exists()
    os.chown(consumer.csr, NOBODY, NOBODY)
    agent.wait_generation(1, "tls")


def test_there_is_no_key_to_publish(consumer):
    done = consumer.configure(files=[{"name": "tls.key", "format": "private-key"}]).agent.run("check")
    assert done.returncode != 0 and "private-key" in done.stdout + done.stderr
    done = consumer.configure().agent.run("check")
    assert done.returncode == 0, done.stdout + done.stderr
