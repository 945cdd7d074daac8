# SPDX-License-Identifier: MIT
"""Requests that two readers may take for different ones, and requests that came through another's hands: all refused."""
import json
import re
import socket

import pytest

from conftest import eventually
from endpoint_client import free_port
from test_endpoints import gcp

FLAVOR = "Metadata-Flavor: Google\r\n"


@pytest.fixture(scope="module")
def places():
    return {name: f"127.0.0.1:{free_port()}" for name in ("aws", "google", "health")}


@pytest.fixture
def agent(agent_factory, shared_cloud, places):
    one = agent_factory(shared_cloud)
    one.configure(one.credential(allow={}), gcp(one), listen=places["health"], token_socket=str(one.dir / "tokens"), endpoints=[
        {"listen": places["aws"], "aws_container": {"credential": "demo", "authorization": {"file": str(one.dir / "authorization")}},
         "ec2_imds": {"credential": "demo"}},
        {"listen": places["google"], "aws_container": {"credential": "demo", "authorization": {"file": str(one.dir / "other")}},
         "gce_metadata": {"project_id": "demo-project", "accounts": [{"credential": "gcp"}]}}]).start()
    one.wait_state("fresh")
    one.wait_state("fresh", "gcp")
    return one


def exchange(at, raw):
    """What comes for RAW from AT, an address or the path of a socket, until the server closes."""
    unix = at.startswith("/")
    got = b""
    with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as s:
        s.settimeout(10)
        s.connect(at if unix else (at.split(":")[0], int(at.split(":")[1])))
        s.sendall(raw)
        s.shutdown(socket.SHUT_WR)
        try:
            while part := s.recv(65536):
                got += part
        except ConnectionResetError:
            pass
    return got.decode("latin-1")


def statuses(text):
    return [int(code) for code in re.findall(r"HTTP/1\.1 (\d{3}) ", text)]


def key_of(agent):
    """Written by a child, for which a busy disk may take its time."""
    path = agent.dir / "authorization"
    return eventually(lambda: path.exists() and path.read_text(), lambda: agent.log)


class Asker:
    """Raw requests to the endpoint of an AWS shape that would be answered with the keys."""

    def __init__(self, agent, at):
        self.at = at
        self.key = key_of(agent)

    def head(self, more="", line="GET /aws/demo HTTP/1.1", host=None, end="\r\n", key=None):
        return (f"{line}{end}Host: {host or self.at}{end}Authorization: {key or self.key}{end}{more}").encode("latin-1") + \
            f"Connection: close{end}{end}".encode()

    def ask(self, raw):
        return exchange(self.at, raw)


@pytest.fixture
def asker(agent, places):
    return Asker(agent, places["aws"])


def check_refused(text, status=400):
    """Nothing but the refusal: no keys, and no second answer."""
    assert statuses(text) in ([status], [status, status], []), text
    assert "AccessKeyId" not in text


AMBIGUOUS = {
    "the same length twice": "Content-Length: 0\r\nContent-Length: 0\r\n",
    "two lengths": "Content-Length: 0\r\nContent-Length: 44\r\n",
    "two lengths, in other letters": "content-length: 0\r\nCONTENT-LENGTH: 44\r\n",
    "a list of lengths": "Content-Length: 0, 0\r\n",
    "a length with a sign": "Content-Length: +0\r\n",
    "a length and a coding": "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
    "a coding and a length": "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
    "a coding": "Transfer-Encoding: chunked\r\n",
    "two codings": "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "another coding": "Transfer-Encoding: xchunked\r\n",
    "a bare LF": "X-One: 1\nX-Two: 2\r\n",
    "a bare LF that hides a proxy": "X-One: 1\r\nX-Two: 2\n",
    "a bare CR": "X-One: 1\rX-Two: 2\r\n",
    "a NUL in a value": "X-One: a\0b\r\n",
    "a NUL at the end": "X-One: a\0\r\n",
    "a NUL in a name": "X\0One: a\r\n",
    "a folded line": "X-One: a\r\n b\r\n",
    "a blank before the colon": "X-One : a\r\n",
    "a length with a blank before the colon": "Content-Length : 44\r\n",
    "no colon": "X-One\r\n",
    "no name": ": a\r\n",
    "a blank in a name": "X One: a\r\n",
    "an escape": "X-One: a\x1b[2J\r\n",
    "a NUL for an empty line": "\0GET /x HTTP/1.1\r\n",
    "two hosts": "Host: 127.0.0.1\r\n",
}


@pytest.mark.parametrize("name", list(AMBIGUOUS))
def test_ambiguous_fields(asker, name):
    more = AMBIGUOUS[name]
    check_refused(asker.ask(asker.head(more)))
    # What follows is never taken for a request.
    check_refused(asker.ask(asker.head(more).replace(b"Connection: close\r\n", b"") + asker.head()))


def test_ambiguous_lines(asker):
    good = asker.ask(asker.head())
    assert statuses(good) == [200] and "AccessKeyId" in good
    check_refused(asker.ask(asker.head(end="\n")))
    check_refused(asker.ask(asker.head().replace(b"close\r\n\r\n", b"close\r\n\n")))
    check_refused(asker.ask(asker.head(host=asker.at + "\0.evil.example")))
    check_refused(asker.ask(asker.head(key=asker.key + "\0x")))
    for line in ("GET /aws/demo\0x HTTP/1.1", "GET  /aws/demo HTTP/1.1", "GET\t/aws/demo HTTP/1.1", "GET /aws/demo  HTTP/1.1",
                 "GET /aws/demo?a\x01 HTTP/1.1", "GET /aws/demo HTTP/1.1\0", "GET /aws/demo", "GET /aws/demo http/1.1"):
        check_refused(asker.ask(asker.head(line=line)))
    check_refused(asker.ask(asker.head(line="GET http://evil.example/aws/demo HTTP/1.1")), 404)


CHUNKED = {"lines that end in LF": "2\nab\n0\n\n", "a trailer that ends in LF": "2\r\n{}\r\n0\r\nX: 5\n\n", "an extension": "0;ext=1\r\n\r\n",
           "a trailer of a proxy": "0\r\nVia: 1.1 x\r\n\r\n", "nothing wrong": "0\r\n\r\n"}


@pytest.mark.parametrize("name", list(CHUNKED))
def test_chunked_bodies(agent, places, name):
    """libmicrohttpd before 1.0 reads them too loosely, so none is taken, and what follows is never a request."""
    key = key_of(agent)
    for at, path in ((places["aws"], "/aws/demo"), (places["health"], "/metrics"), (str(agent.socket), "/v1/credentials"),
                     (str(agent.dir / "tokens"), "/v1/token/demo")):
        head = f"HTTP/1.1\r\nHost: {at if ':' in at else 'localhost'}\r\nAuthorization: {key}\r\n"
        good = f"GET {path} {head}Connection: close\r\n\r\n"
        assert statuses(exchange(at, good.encode())) == [200]
        for method in ("GET", "POST"):
            raw = f"{method} {path} {head}Transfer-Encoding: chunked\r\n\r\n{CHUNKED[name]}{good}"
            check_refused(exchange(at, raw.encode()))


def test_what_is_not_ambiguous(asker):
    """Blanks around a value, an empty one, other bytes, many fields up to the limit, and several requests on one connection."""
    for more in ("Content-Length: 0\r\n", "X-One:\r\n", "X-One:   a\tb  \r\n", "X-One: \xff\xe9\r\n", "x-amz: " + "a" * 3000 + "\r\n",
                 "".join(f"X-{i}: {'b' * 20}\r\n" for i in range(100))):
        assert statuses(asker.ask(asker.head(more))) == [200], more
    keep = asker.head().replace(b"Connection: close\r\n", b"")
    for line in (b"GET /aws/demo?a=b&c=%20d HTTP/1.1", b"HEAD /aws/demo HTTP/1.1"):
        raw = keep.replace(b"GET /aws/demo HTTP/1.1", line)
        assert statuses(asker.ask(raw * 3 + asker.head())) == [200] * 4


@pytest.mark.parametrize("field", ["Via: 1.1 proxy.example", "via:", "Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1"])
def test_what_a_proxy_brings(agent, asker, places, field):
    check_refused(asker.ask(asker.head(field + "\r\n")), 403)
    session = "PUT /latest/api/token HTTP/1.1\r\nHost: {}\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\n{}Connection: close\r\n\r\n"
    assert statuses(exchange(places["aws"], session.format(places["aws"], "").encode())) == [200]
    check_refused(exchange(places["aws"], session.format(places["aws"], field + "\r\n").encode()), 403)
    google = "GET /computeMetadata/v1/project/project-id HTTP/1.1\r\nHost: {}\r\n" + FLAVOR + "{}Connection: close\r\n\r\n"
    assert statuses(exchange(places["google"], google.format(places["google"], "").encode())) == [200]
    check_refused(exchange(places["google"], google.format(places["google"], field + "\r\n").encode()), 403)


@pytest.mark.parametrize("host", ["metadata.google.internal", "metadata", "metadata.google.internal:80"])
def test_googles_names_are_for_googles_shape(agent, asker, places, host):
    google = f"GET /computeMetadata/v1/project/project-id HTTP/1.1\r\nHost: {host}\r\n{FLAVOR}Connection: close\r\n\r\n".encode()
    assert exchange(places["google"], google).endswith("demo-project")
    key = (agent.dir / "other").read_text()
    keys = asker.head(host=host, key=key)
    assert statuses(exchange(places["google"], asker.head(host=places["google"], key=key))) == [200]
    check_refused(exchange(places["google"], keys), 404)
    check_refused(exchange(places["aws"], asker.head(host=host)), 403)


@pytest.mark.parametrize("path", ["/metrics", "/readyz", "/livez", "/"])
def test_a_foreign_host_of_the_health_address(agent, places, path):
    at = places["health"]
    port = at.split(":")[1]

    def ask(host, more=""):
        return statuses(exchange(at, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n".encode("latin-1")))

    own = socket.gethostname()
    for host in (at, "127.0.0.1", f"localhost:{port}", "10.1.2.3:9080", "[::1]:9080", "LOCALHOST", own, own.upper() + ":9080",
                 own.split(".")[0]):
        assert ask(host) == [200], host
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example.",
                 "a.svc.evil.example", "node1.corp.example", "127.0.0.1@evil.example", "10.1", "x y.local", f"{own}x", f"x.{own}",
                 # Any neighbour answers these, by mDNS and LLMNR.
                 "evil.local", "evil", f"{own}.local", "evil.cluster.local:9080", "evil.svc", "evil.internal", "evil.localhost"):
        assert ask(host) == [403], host
    assert statuses(exchange(at, f"GET {path} HTTP/1.0\r\n\r\n".encode())) == [200]
    assert ask(at, "Content-Length: 0\r\nContent-Length: 0\r\n") == [400]
    assert ask(at, f"Host: {at}\r\n") == [400]
    config = json.loads(agent.config_path.read_text())
    agent.config_path.write_text(json.dumps({**config, "listen_hosts": ["node1.corp.example"]}))
    assert agent.request("POST", "/v1/reload", "")[0] == 200
    assert ask("Node1.corp.example:9080") == [200] and ask("node2.corp.example") == [403]
