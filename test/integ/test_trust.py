# SPDX-License-Identifier: MIT
"""A rotation of the service CA breaks no trust: OpenSSL, GnuTLS and NSS, as clients and as servers, of the same generation
or of others, make real connections with what each read when."""
import os
import ssl
import subprocess
import time

import pytest

from conftest import agent_factory, eventually  # noqa: F401
from trust import CLIENTS, EXPIRED, SERVERS, Authority, certificates, needs, needs_all

GENERATIONS = 4
KEPT = 3


@pytest.fixture
def authority(agent_factory):  # noqa: F811
    needs_all()
    return Authority(agent_factory(None))


def history(authority, directory, count=GENERATIONS, kinds=("ecdsa-p256",), **ca):
    """Copies of what is published after each of the rotations, each with a key of the next of KINDS."""
    kept = []
    for i in range(count):
        force = {"force": {"reason": f"number {i}", "validity": "1h"}} if i else {}
        authority.configure(key=kinds[i % len(kinds)], **force, **ca).once()
        kept.append(authority.keep(directory / str(i)))
    return kept


@pytest.mark.parametrize("kinds", [("ecdsa-p256",), ("rsa-2048", "ecdsa-p384", "rsa-2048")], ids=["same", "changing"])
def test_clients_and_servers_that_missed_rotations(authority, tmp_path, kinds):
    """Before and after one rotation, after two, and with a client or a server that missed one, or two: all are served. Who
    missed three, which is as many as are kept, is not."""
    generations = history(authority, tmp_path / "kept", kinds=kinds, generations=KEPT)
    servers = []
    verdicts = []
    try:
        for library, make in SERVERS.items():
            servers += [(library, i, make(tls, tmp_path / f"server-{library}-{i}")) for i, tls in enumerate(generations)]
        for library, make in CLIENTS.items():
            for i, tls in enumerate(generations):
                client = make(tls / "ca.crt", tmp_path / f"client-{library}-{i}")
                verdicts += [(library, i, other, j, client.why(server.port)) for other, j, server in servers]
    finally:
        for _, _, server in servers:
            server.stop()
    assert len(verdicts) == 9 * GENERATIONS * GENERATIONS
    for library, i, other, j, why in verdicts:
        what = f"a client of {library} with bundle {i}, a server of {other} with certificate {j}"
        if abs(i - j) < KEPT:
            assert why is None, f"{what}: {why}"
        else:
            assert why is not None, what


def test_the_old_root_ends(authority, tmp_path):
    """Who goes on with the old bundle is served until the old CA has ended, and no longer; nobody else notices."""
    begin = time.time()
    old, new = history(authority, tmp_path / "kept", 2, validity="20s", rotate_below="10s")
    clients = [(library, [make(tls / "ca.crt", tmp_path / f"client-{library}-{i}") for i, tls in enumerate((old, new))])
               for library, make in CLIENTS.items()]
    server = SERVERS["openssl"](new, tmp_path / "server")
    try:
        if time.time() < begin + 15:  # on a machine that is not too slow
            for library, (with_old, with_new) in clients:
                assert with_old.why(server.port) is None, library
                assert with_new.why(server.port) is None, library
        while time.time() < begin + 25:  # certificates know whole seconds, and the CA was made after BEGIN
            time.sleep(0.2)
        for library, (with_old, with_new) in clients:
            assert EXPIRED.search(with_old.why(server.port)), library
            assert with_new.why(server.port) is None, library
    finally:
        server.stop()


def test_the_trust_in_a_leaked_key_ends(authority, tmp_path):
    """With trust_previous nobody notices the rotation until that time is over. From then on who has read both is served,
    whoever has not is not, and nothing that the old key signed is believed by those who have."""
    authority.configure(validity="1h", rotate_below="10s").once()
    kept = [authority.keep(tmp_path / "kept" / "old")]
    rules = {"force": {"reason": "the key leaked", "trust_previous": "40s"}, "validity": "1h", "rotate_below": "10s"}
    begin = time.time()
    authority.configure(**rules).once()
    kept.append(authority.keep(tmp_path / "kept" / "new"))
    servers, clients = [], []
    try:
        for name, tls in zip(("old", "new"), kept):
            servers += [(library, name, make(tls, tmp_path / f"server-{library}-{name}"))
                        for library, make in SERVERS.items()]
            clients += [(library, name, make(tls / "ca.crt", tmp_path / f"client-{library}-{name}"))
                        for library, make in CLIENTS.items()]

        def verdicts():
            return {(library, read, other, served): client.why(server.port)
                    for library, read, client in clients for other, served, server in servers}

        before = verdicts()
        if time.time() < begin + 39:  # on a machine that is not too slow
            assert set(before.values()) == {None}, before
        while time.time() < begin + 45:
            time.sleep(0.2)
        for (library, read, other, served), why in verdicts().items():
            what = f"{library} with the {read} bundle, {other} with the {served} certificate: {why}"
            if read == served:
                assert why is None, what  # of the old by the old: a client that reads nothing cannot be reached
            else:
                assert why is not None and EXPIRED.search(why), what
        authority.once()
        assert len(certificates(authority.trust / "ca.crt")) == len(certificates(authority.tls / "tls.crt")) == 1
        assert authority.number() == 2
    finally:
        for _, _, server in servers:
            server.stop()


def test_a_server_that_follows(agent_factory, tmp_path):  # noqa: F811
    """A server with libcredfresh-tls takes each new certificate without a restart; no client notices, whichever bundle it
    has."""
    needs("openssl")
    if "CFR_TLS_SERVER" not in os.environ:
        pytest.skip("CFR_TLS_SERVER names no program")
    authority = Authority(agent_factory(None)).configure()
    authority.once()
    bundles = [authority.keep(tmp_path / "0") / "ca.crt"]
    with subprocess.Popen([os.environ["CFR_TLS_SERVER"], str(authority.tls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as server:
        try:
            port = int(server.stdout.readline())
            for i in range(1, 3):
                authority.configure(force={"reason": f"number {i}"}).once()
                bundles.append(authority.keep(tmp_path / str(i)) / "ca.crt")
                own = certificates(authority.tls / "tls.crt")[0]

                def follows():
                    for bundle in bundles:
                        assert CLIENTS["openssl"](bundle, None).why(port) is None, bundle
                    return ssl.get_server_certificate(("127.0.0.1", port)).split() == own.split()

                eventually(follows, "the server's new certificate")
        finally:
            server.stdin.close()
