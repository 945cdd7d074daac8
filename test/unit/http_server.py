# SPDX-License-Identifier: MIT
"""A loopback HTTP(S) server that answers rightly or wrongly, as the path asks, for test_agent_http.c.

Run as: http_server.py DIRECTORY. Makes a CA and certificates in DIRECTORY, prints one line of KEY=VALUE pairs once it
listens, and ends when its standard input does."""
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from email.utils import formatdate

CA_CONF = """[ca]
default_ca = main
[main]
dir = {d}
database = {d}/index.txt
serial = {d}/serial
new_certs_dir = {d}
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
"""


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def new_key(path):
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)


def make_ca(d, name):
    new_key(f"{d}/{name}.key")
    openssl("req", "-x509", "-new", "-key", f"{d}/{name}.key", "-subj", f"/CN=Test {name}", "-days", "2",
            "-out", f"{d}/{name}.pem")


def make_cert(d, name, alt, start, end):
    new_key(f"{d}/{name}.key")
    openssl("req", "-new", "-key", f"{d}/{name}.key", "-subj", f"/CN={name}", "-addext", f"subjectAltName={alt}",
            "-out", f"{d}/{name}.csr")
    openssl("ca", "-batch", "-notext", "-config", f"{d}/ca.conf", "-cert", f"{d}/ca.pem", "-keyfile", f"{d}/ca.key",
            "-startdate", start, "-enddate", end, "-in", f"{d}/{name}.csr", "-out", f"{d}/{name}.pem")


def make_files(d):
    with open(f"{d}/ca.conf", "w") as f:
        f.write(CA_CONF.format(d=d))
    open(f"{d}/index.txt", "w").close()
    with open(f"{d}/serial", "w") as f:
        f.write("1000\n")
    make_ca(d, "ca")
    make_ca(d, "other")
    now = time.time()

    def at(s):
        return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(now + s))

    here = "IP:127.0.0.1,DNS:localhost"
    make_cert(d, "good", here, at(-3600), at(86400))
    make_cert(d, "elsewhere", "DNS:elsewhere.example", at(-3600), at(86400))
    make_cert(d, "expired", here, at(-7200), at(-3600))
    make_cert(d, "early", here, at(3600), at(86400))
    for name in ("client-a", "client-b"):
        make_cert(d, name, f"DNS:{name}", at(-3600), at(86400))


class Counter:
    def __init__(self):
        self.lock = threading.Lock()
        self.open = 0
        self.most = 0
        self.total = 0

    def enter(self):
        with self.lock:
            self.open += 1
            self.total += 1
            self.most = max(self.most, self.open)

    def leave(self):
        with self.lock:
            self.open -= 1


def plain_answer(body, status="200 OK", fields=""):
    return f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body


def read_request(f):
    line = f.readline()
    if not line:
        return None
    method, target, _ = line.decode().split(" ", 2)
    fields = []
    while True:
        line = f.readline()
        if line in (b"\r\n", b""):
            break
        fields.append(line.decode().rstrip("\r\n"))
    length = 0
    for field in fields:
        if field.lower().startswith("content-length:"):
            length = int(field.split(":", 1)[1])
    return method, target, fields, f.read(length)


FIXED = {
    "/redirect": plain_answer(b"", "302 Found", "Location: /echo\r\n"),
    "/busy": plain_answer(b"", "503 Busy", "Retry-After: 17\r\nx-amzn-RequestId: abc-123\r\n"),
    "/busy-long": plain_answer(b"", "429 Too many", "Retry-After: 999999999\r\n"),
    "/busy-until": plain_answer(b"", "503 Busy", f"Date: {formatdate(1e9, usegmt=True)}\r\n"
                                f"Retry-After: {formatdate(1e9 + 90, usegmt=True)}\r\n"),
    "/interim": b"HTTP/1.1 103 Early Hints\r\nRetry-After: 5\r\n\r\n" + plain_answer(b"final", "200 OK", ""),
    "/announced": b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
    "/keep": plain_answer(b"", "201 Created", "X-Subject-Token: SESAME-KEPT-SESAME-KEPT\r\nx-subject-token: second\r\n"
                          "x-openstack-request-id: req-1\r\n"),
    "/keep-interim": b"HTTP/1.1 103 Early Hints\r\nX-Subject-Token: early\r\n\r\n" + plain_answer(b"final"),
    "/secret": plain_answer(b"BEGIN-" + b"SESAME-OPEN-" * 700 + b"END"),
}
# These end the connection.
BROKEN = {
    "/partial": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "/partial-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\nonly this",
    "/garbage": b"220 mail.example ESMTP ready\r\n",
    "/nothing": b"",
}


def flood(conn, head, piece):
    conn.sendall(head)
    while True:
        conn.sendall(piece)


def peer_of(conn):
    certificate = conn.getpeercert() if isinstance(conn, ssl.SSLSocket) else None
    return dict(pair[0] for pair in (certificate or {}).get("subject", ())).get("commonName")


def is_known(fields, peer):
    """Whether a request to the API is from somebody in the file `known`, by its credential or certificate."""
    try:
        with open(f"{sys.argv[1]}/known") as f:
            known = f.read().splitlines()
    except OSError:
        return False
    return peer in known or any(field[len("authorization: "):] in known for field in fields
                                if field.lower().startswith("authorization: "))


def serve(conn, counter):
    f = conn.makefile("rb")
    while True:
        try:
            request = read_request(f)
        except ValueError:
            conn.sendall(plain_answer(b"", "400 Bad request"))
            return
        if request is None:
            return
        method, target, fields, body = request
        path = target.split("?")[0]
        if method == "CONNECT":
            conn.sendall(plain_answer(b"", "403 Forbidden", f"X-Target: {target}\r\n"))
        elif path in BROKEN:
            conn.sendall(BROKEN[path])
            return
        elif path == "/slow":
            time.sleep(60)
        elif path == "/endless":
            flood(conn, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b"x" * 16384)
        elif path == "/endless-head":
            flood(conn, b"HTTP/1.1 200 OK\r\n", b"X-Fill: " + b"x" * 1000 + b"\r\n")
        elif path in FIXED:
            conn.sendall(FIXED[path])
        elif path.startswith("/api") and not is_known(fields, peer_of(conn)):
            conn.sendall(plain_answer(b'{"kind":"Status","code":401}', "401 Unauthorized", "Audit-Id: audit-401\r\n"))
        elif path == "/count":
            conn.sendall(plain_answer(f"{counter.total} {counter.most}".encode()))
        else:
            if path == "/nap":
                time.sleep(0.02)
            said = {"method": method, "target": target, "fields": fields, "length": len(body),
                    "body": body[:200].decode("latin-1"), "connection": id(conn)}
            if isinstance(conn, ssl.SSLSocket):
                said.update(sni=getattr(conn, "asked_for", None), peer=peer_of(conn))
            text = b"" if method == "HEAD" else json.dumps(said).encode()
            conn.sendall(plain_answer(text, "200 OK", "Content-Type: application/json\r\n"))


def pump(source, to):
    try:
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def tunnel(raw):
    """What an HTTP proxy does for TLS."""
    method, target, fields, _ = read_request(raw.makefile("rb", buffering=0))
    if method != "CONNECT" or ("Proxy-Authorization: Basic dXNlcjpTRVNBTUU=" not in fields):
        raw.sendall(plain_answer(b"", "407 Who are you"))
        return
    with socket.create_connection(target.rsplit(":", 1)) as far:
        raw.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        threading.Thread(target=pump, args=(far, raw), daemon=True).start()
        pump(raw, far)


def shake_hands(raw, context):
    conn = context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
    try:
        conn.do_handshake()
    except ssl.SSLError:
        # Closing with something unread would be a reset, which may overtake the alert.
        with socket.socket(fileno=conn.detach()) as rest:
            rest.shutdown(socket.SHUT_WR)
            while rest.recv(65536):
                pass
        raise
    return conn


def handle(raw, context, counter):
    counter.enter()
    try:
        if context == "close":
            raw.recv(1)
            return
        if context == "tunnel":
            tunnel(raw)
            return
        conn = shake_hands(raw, context) if context else raw
        raw = conn
        serve(conn, counter)
    except (OSError, ValueError):
        pass
    finally:
        counter.leave()
        try:
            raw.close()
        except OSError:
            pass


def listen(sock, context):
    counter = Counter()
    sock.listen(256)

    def loop():
        while True:
            conn, _ = sock.accept()
            threading.Thread(target=handle, args=(conn, context, counter), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()


def listen_tcp(context=None):
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    listen(sock, context)
    return sock.getsockname()[1]


def note_name(conn, name, _):
    conn.asked_for = name


def tls(d, name, client_ca=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{d}/{name}.pem", f"{d}/{name}.key")
    context.sni_callback = note_name
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(f"{d}/{client_ca}.pem")
    return context


def main():
    d = sys.argv[1]
    make_files(d)
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(f"{d}/sock")
    listen(sock, None)
    ports = {"plain": listen_tcp(), "close": listen_tcp("close")}
    for name in ("good", "elsewhere", "expired", "early"):
        ports[name] = listen_tcp(tls(d, name))
    ports["many"] = listen_tcp(tls(d, "good"))
    ports["mutual"] = listen_tcp(tls(d, "good", "ca"))
    ports["proxy"] = listen_tcp("tunnel")
    gone = socket.socket()
    gone.bind(("127.0.0.1", 0))
    ports["gone"] = gone.getsockname()[1]
    print(" ".join(f"{k}={v}" for k, v in ports.items()), flush=True)
    sys.stdin.read()
    os._exit(0)


main()
