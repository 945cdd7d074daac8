# SPDX-License-Identifier: MIT
"""A rotation of the service CA breaks no trust: OpenSSL, GnuTLS and NSS, as clients and as servers, of the same generation
or of others, make real connections with what each read when."""
import functools
import os
import shutil
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


SUBJECT = "/O=Example Corp/OU=Platform/CN=in-house CA"


def existing_ca(directory, subject=SUBJECT, key=("ec", "ec_paramgen_curve:P-256"),
                extensions=("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"), days="800"):
    """A CA that OpenSSL made, as a mounted Secret has it."""
    directory.mkdir(parents=True)
    argv = ["openssl", "req", "-x509", "-newkey", key[0], "-pkeyopt", key[1], "-nodes", "-subj", subject, "-utf8", "-days",
            days, "-keyout", str(directory / "tls.key"), "-out", str(directory / "tls.crt"), "-config", "/dev/stdin",
            "-extensions", "ext"]
    lines = ["[req]", "distinguished_name=dn", "[dn]", "[ext]", *extensions]
    if not any(one.startswith("subjectKeyIdentifier") for one in extensions):
        lines.append("subjectKeyIdentifier=hash")
    subprocess.run(argv, input="\n".join(lines).encode(), check=True, capture_output=True)
    return {"import": {"certificate": str(directory / "tls.crt"), "key": str(directory / "tls.key")}}


def told(authority):
    """By the doctor, in one line."""
    return " ".join(authority.agent.run("doctor").stdout.split())


CA_TRUE = "basicConstraints=critical,CA:TRUE"


@pytest.mark.parametrize("key, subject, extensions", [
    (("ec", "ec_paramgen_curve:P-256"), SUBJECT, [CA_TRUE, "keyUsage=critical,keyCertSign,cRLSign"]),
    (("rsa", "rsa_keygen_bits:2048"), SUBJECT, [CA_TRUE]),
    (("ec", "ec_paramgen_curve:P-256"), "/O=Übung/CN=Prüf CA", [CA_TRUE, "extendedKeyUsage=serverAuth,clientAuth"]),
], ids=["ec", "rsa", "utf8"])
def test_a_ca_that_is_taken_over(authority, tmp_path, key, subject, extensions):
    """A CA with a name of several parts, identifiers of SHA-1 and no identifier of its signer: clients that trust it, and
    servers that it has served already, do not notice that it was taken over, nor the rotations after that."""
    ca = existing_ca(tmp_path / "secret", subject, key, extensions)
    before = tmp_path / "kept" / "before"
    before.mkdir(parents=True)
    run = functools.partial(subprocess.run, check=True, capture_output=True)
    run(["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", str(before / "tls.key"), "-out",
         str(before / "csr"), "-subj", "/CN=localhost"])
    (before / "ext").write_text("subjectAltName=DNS:localhost\nauthorityKeyIdentifier=keyid\nextendedKeyUsage=serverAuth\n")
    run(["openssl", "x509", "-req", "-in", str(before / "csr"), "-CA", str(tmp_path / "secret" / "tls.crt"), "-CAkey",
         str(tmp_path / "secret" / "tls.key"), "-CAcreateserial", "-extfile", str(before / "ext"), "-days", "30", "-out",
         str(before / "tls.crt")])
    (before / "ca.crt").write_text((tmp_path / "secret" / "tls.crt").read_text())
    kept = [before]
    for i in range(3):
        authority.configure(**ca, **({"force": {"reason": f"number {i}"}} if i else {})).once()
        kept.append(authority.keep(tmp_path / "kept" / str(i)))
    assert authority.number() == 3
    assert certificates(kept[1] / "ca.crt") == certificates(before / "ca.crt")
    servers, verdicts = [], {}
    try:
        for library, make in SERVERS.items():
            servers += [(library, i, make(tls, tmp_path / f"server-{library}-{i}")) for i, tls in enumerate(kept)]
        for library, make in CLIENTS.items():
            for i, tls in enumerate(kept):
                client = make(tls / "ca.crt", tmp_path / f"client-{library}-{i}")
                for other, j, server in servers:
                    verdicts[library, i, other, j] = client.why(server.port)
    finally:
        for _, _, server in servers:
            server.stop()
    assert {what: why for what, why in verdicts.items() if why is not None} == {}


@pytest.mark.parametrize("word, change", [
    ("not a CA's", {"extensions": ("basicConstraints=critical,CA:FALSE",)}),
    ("keyCertSign", {"extensions": ("basicConstraints=critical,CA:TRUE", "keyUsage=digitalSignature")}),
    ("path length is 0", {"extensions": ("basicConstraints=critical,CA:TRUE,pathlen:0",)}),
    ("constrained", {"extensions": ("basicConstraints=critical,CA:TRUE", "nameConstraints=permitted;DNS:example.com")}),
    ("constrained", {"extensions": ("basicConstraints=critical,CA:TRUE", "extendedKeyUsage=serverAuth")}),
    ("no subject key identifier", {"extensions": ("basicConstraints=critical,CA:TRUE", "subjectKeyIdentifier=none")}),
    ("critical extension", {"extensions": ("basicConstraints=critical,CA:TRUE", "1.2.3.4=critical,DER:0500")}),
    ("of another kind", {"key": ("rsa", "rsa_keygen_bits:1024")}),
    ("of another kind", {"key": ("ec", "ec_paramgen_curve:P-521")}),
])
def test_a_ca_that_cannot_be_taken_over(authority, tmp_path, word, change):
    done = authority.configure(**existing_ca(tmp_path / "secret", **change)).agent.run("once")
    assert done.returncode != 0 and word in done.stderr, done.stderr
    assert authority.number() == 0 and not authority.tls.exists()
    assert word in told(authority)


def test_files_of_a_ca_that_do_not_fit(authority, tmp_path):
    """The key of another CA, an encrypted key, more certificates than one, and files that are missing or too large: no other CA
    is made in its place; nor is one that was taken over replaced by a second one."""
    secret = tmp_path / "secret"
    ca = existing_ca(secret)
    other = tmp_path / "other"
    existing_ca(other)
    key, certificate = (secret / "tls.key").read_text(), (secret / "tls.crt").read_text()

    def refused(word):
        done = authority.configure(**ca).agent.run("once")
        assert done.returncode != 0 and word in done.stderr, done.stderr
        assert "PRIVATE" not in done.stderr and authority.number() == 0

    shutil.copy(other / "tls.key", secret / "tls.key")
    refused("not that of the certificate")
    subprocess.run(["openssl", "pkey", "-aes256", "-passout", "pass:x", "-in", str(other / "tls.key"), "-out",
                    str(secret / "tls.key")], check=True)
    refused("encrypted")
    (secret / "tls.key").unlink()
    assert "No such file" in told(authority)  # `once` waits until the file has changed
    (secret / "tls.key").write_text(key)
    (secret / "tls.crt").write_text(certificate * 2)
    refused("more than one")
    (secret / "tls.crt").write_text("x" * 100000)
    assert "tls.crt" in told(authority) and "1 wrong" in told(authority)
    (secret / "tls.crt").write_text(certificate)
    authority.configure(**ca).once()
    assert certificates(authority.trust / "ca.crt") == certificates(secret / "tls.crt")
    for name in ("tls.key", "tls.crt"):
        (secret / name).unlink()
    assert "import" not in authority.once().stderr
    for name in ("tls.key", "tls.crt"):
        shutil.copy(other / name, secret / name)
    assert "importing the CA" in authority.once().stderr
    assert authority.number() == 1


def test_a_ca_that_ends_soon_is_replaced_when_it_is_taken_over(authority, tmp_path):
    """Its clients need the time that is left of it to read the new bundle."""
    authority.configure(**existing_ca(tmp_path / "secret", days="365")).once()
    assert authority.number() == 2
    old = certificates(tmp_path / "secret" / "tls.crt")
    assert not set(old) & set(certificates(authority.trust / "ca.crt"))  # signed by the new key instead
    verify = ["openssl", "verify", "-CAfile", str(tmp_path / "secret/tls.crt"), "-untrusted", str(authority.tls / "tls.crt"),
              str(authority.tls / "tls.crt")]
    subprocess.run(verify, check=True, capture_output=True)


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
