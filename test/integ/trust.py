# SPDX-License-Identifier: MIT
"""TLS connections by OpenSSL, GnuTLS and NSS: servers with what was published, and clients that trust a bundle."""
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from conftest import eventually

HOST = "localhost"
END = "-----END CERTIFICATE-----\n"


def needs(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def certificates(path):
    """Each certificate of a PEM file."""
    return [part + END for part in pathlib.Path(path).read_text().split(END) if "BEGIN" in part]


def shake_hands(bundle, certificate, key):
    """A handshake in memory; raises ssl.SSLError where it fails. BUNDLE is text, the others are paths."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.load_verify_locations(cadata=bundle)
    client = client_context.wrap_bio(to_client, to_server, server_hostname=HOST)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    open_ends = [client, server]
    while open_ends:
        for end in list(open_ends):
            try:
                end.do_handshake()
                open_ends.remove(end)
            except ssl.SSLWantReadError:
                pass


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class OpenSSLServer:
    def __init__(self, tls, scratch):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(tls / "tls.crt", tls / "tls.key")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer:
                try:
                    with self.context.wrap_socket(peer, server_side=True) as connection:
                        connection.recv(1)
                except OSError:  # a client that does not trust us
                    pass

    def stop(self):
        """The thread ends first: its next accept() would be on whatever has the descriptor's number by then."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(20)
        self.listener.close()


class Program:
    """A server of a package."""

    def run(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        eventually(lambda: listens(self.port) or self.process.poll() is not None, argv[0])
        assert self.process.poll() is None, argv

    def stop(self):
        self.process.kill()
        self.process.wait(20)
        self.process.stdin.close()


class GnuTLSServer(Program):
    def __init__(self, tls, scratch):
        self.port = free_port()
        self.run(["gnutls-serv", "--quiet", "--echo", "--disable-client-cert", "--port", str(self.port),
                  "--x509certfile", str(tls / "tls.crt"), "--x509keyfile", str(tls / "tls.key")])


def database(directory):
    directory.mkdir(parents=True)
    subprocess.run(["certutil", "-N", "-d", f"sql:{directory}", "--empty-password"], check=True)
    return f"sql:{directory}"


def add(db, name, trust, pem):
    subprocess.run(["certutil", "-A", "-d", db, "-n", name, "-t", trust, "-a"], input=pem.encode(), check=True)


class NSSServer(Program):
    def __init__(self, tls, scratch):
        db = database(scratch)
        own, *others = certificates(tls / "tls.crt")
        (scratch / "own.pem").write_text(own)
        subprocess.run(["openssl", "pkcs12", "-export", "-in", str(scratch / "own.pem"), "-inkey", str(tls / "tls.key"),
                        "-name", "server", "-passout", "pass:x", "-out", str(scratch / "own.p12")], check=True)
        subprocess.run(["pk12util", "-i", str(scratch / "own.p12"), "-d", db, "-W", "x"], check=True,
                       capture_output=True)
        for i, pem in enumerate(others):
            add(db, f"bridge {i}", ",,", pem)
        self.port = free_port()
        self.run(["selfserv", "-d", db, "-p", str(self.port), "-n", "server", "-V", "tls1.2:tls1.3"])


class OpenSSLClient:
    """Clients return None, or why they do not trust the server."""

    def __init__(self, bundle, scratch):
        self.bundle = bundle

    def why(self, port):
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", HOST,
                               "-verify_hostname", HOST, "-verify_return_error", "-CAfile", str(self.bundle),
                               "-no-CApath", "-no-CAstore"], input=b"", capture_output=True, timeout=20)
        said = (done.stdout + done.stderr).decode(errors="replace")
        return None if done.returncode == 0 and "Verify return code: 0 (ok)" in said else said


class GnuTLSClient:
    def __init__(self, bundle, scratch):
        self.bundle = bundle

    def why(self, port):
        done = subprocess.run(["gnutls-cli", "--port", str(port), "--x509cafile", str(self.bundle), "--verify-hostname",
                               HOST, "127.0.0.1"], input=b"", capture_output=True, timeout=20)
        said = (done.stdout + done.stderr).decode(errors="replace")
        return None if "Status: The certificate is trusted." in said and "Handshake was completed" in said else said


class NSSClient:
    def __init__(self, bundle, scratch):
        self.db = database(scratch)
        for i, pem in enumerate(certificates(bundle)):
            add(self.db, f"ca {i}", "C,,", pem)

    def why(self, port):
        done = subprocess.run(["tstclnt", "-4", "-h", "127.0.0.1", "-a", HOST, "-p", str(port), "-d", self.db, "-V",
                               "tls1.2:tls1.3", "-Q", "-b"], input=b"", capture_output=True, timeout=20)
        return None if done.returncode == 0 else (done.stdout + done.stderr).decode(errors="replace")


SERVERS = {"openssl": OpenSSLServer, "gnutls": GnuTLSServer, "nss": NSSServer}
CLIENTS = {"openssl": OpenSSLClient, "gnutls": GnuTLSClient, "nss": NSSClient}
EXPIRED = re.compile("expired|SEC_ERROR_UNKNOWN_ISSUER", re.I)  # newer NSS: who has ended is no issuer


def needs_all():
    needs("openssl", "gnutls-cli", "gnutls-serv", "certutil", "pk12util", "selfserv", "tstclnt")


class Authority:
    """An agent with a service CA: one server's certificate, and the bundle beside it and by itself."""

    def __init__(self, agent):
        self.agent = agent
        self.tls = agent.dir / "tls"
        self.trust = agent.dir / "trust"
        self.store = agent.dir / "store"

    def configure(self, certificate=None, reload=None, **ca):
        own = {"name": "tls.crt", "format": "certificate", "mode": "0644"}
        key = {"name": "tls.key", "format": "private-key"}
        trusted = {"name": "ca.crt", "format": "ca-bundle", "mode": "0644"}
        server = {"name": "tls",
                  "certificate": {"dns_names": [HOST], "ip_addresses": ["127.0.0.1"], **(certificate or {})},
                  "publish": {"directory": str(self.tls), "files": [own, key, trusted]}}
        bundle = {"name": "trust", "ca_bundle": True,
                  "publish": {"directory": str(self.trust), "files": [trusted]}}
        for credential in (server, bundle):
            if reload is not None:
                credential["reload"] = reload
        self.agent.configure(server, bundle, service_ca={"store": str(self.store), **ca})
        return self

    def once(self, env=None):
        done = self.agent.run("once", env=env)
        assert done.returncode == 0, done.stderr
        return done

    def published(self):
        """(certificate, key) as paths of one generation, which stay what they are."""
        data = os.path.realpath(self.tls / "..data")
        return os.path.join(data, "tls.crt"), os.path.join(data, "tls.key")

    def number(self):
        """Of the CA in the store; 0 where there is none."""
        path = self.store / "authority.json"
        return json.loads(path.read_text())["number"] if path.exists() else 0

    def bundle(self):
        return (self.trust / "ca.crt").read_text()

    def keep(self, to):
        """A copy of everything that stands now, for consumers that read it now and never again."""
        to.mkdir(parents=True)
        for name in ("tls.crt", "tls.key"):
            shutil.copy(self.tls / name, to / name)
        shutil.copy(self.trust / "ca.crt", to / "ca.crt")
        return to

    def check(self):
        """What is published is trusted by what is published."""
        shake_hands(self.bundle(), *self.published())
