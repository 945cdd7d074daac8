# SPDX-License-Identifier: MIT
"""Neighbours on the network: two namespaces with a wire between them, and packets for this machine's endpoints."""
import json
import subprocess
import sys
import time

import pytest

from conftest import Agent, LocalCloud, needs_namespace
from test_endpoints import container

HERE, NEIGHBOUR = "10.99.0.1", "10.99.0.2"
LINK, LOOPBACK, CONTAINER, SIX = "169.254.169.254", "127.0.0.1", "169.254.170.2", "fd00:ec2::254"
NEIGHBOUR_SIX = "fd99::2"
PORT = 8099

# In the namespace of the client: asks for a session token, or for container credentials, and prints what comes. The time to
# live of each packet of the answer is read from the wire.
CLIENT = r"""
import json, socket, sys
where, port, source, secret = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
s = socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET)
s.settimeout(2)
said, answer, host = "", b"", f"[{where}]" if ":" in where else where
try:
    if source:
        s.bind(socket.getaddrinfo(source, 0)[0][4])
    s.connect((where, port))
    head = f"Authorization: {secret}\r\n" if secret else "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n"
    line = sys.argv[5] or ("GET /aws/demo" if secret else "PUT /latest/api/token")
    s.sendall(f"{line} HTTP/1.1\r\nHost: {host}:{port}\r\n{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
    while True:
        part = s.recv(65536)
        if not part:
            break
        answer += part
except OSError as e:
    said = type(e).__name__
wire.setblocking(False)
hops = set()
try:
    while True:
        p = wire.recv(65536)
        at = (p[0] & 15) * 4
        if p[9] == 6 and p[at] * 256 + p[at + 1] == port:
            hops.add(p[8])
except BlockingIOError:
    pass
print(json.dumps({"answer": answer.decode(), "error": said, "hops": sorted(hops)}))
"""


class Machine:
    """A network namespace, kept by a process that sleeps in it."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE)
        self.process.stdout.readline()

    @property
    def enter(self):
        return ("nsenter", "--net", "-t", str(self.process.pid))

    def do(self, *commands):
        for command in commands:
            done = subprocess.run([*self.enter, "sh", "-c", command], capture_output=True, text=True, timeout=20)
            assert done.returncode == 0, (command, done.stderr)

    def ask(self, where, source="", secret="", line=""):
        done = subprocess.run([*self.enter, sys.executable, "-c", CLIENT, where, str(PORT), source, secret, line],
                              capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def wire():
    """This machine and its neighbour, who routes the machine's own addresses to it; (this machine, the neighbour)."""
    needs_namespace("--net")
    here, there = Machine(), Machine()
    try:
        made = subprocess.run([*here.enter, "ip", "link", "add", "name", "wire", "type", "veth", "peer", "name", "far", "netns",
                               str(there.process.pid)], capture_output=True, text=True)
        if made.returncode != 0:
            pytest.skip(f"no veth: {made.stderr.strip()}")
        here.do("ip link set lo up && ip link set wire up", f"ip addr add {HERE}/24 dev wire",
                f"ip -6 addr add fd99::1/64 dev wire nodad && ip -6 addr add {SIX}/128 dev lo nodad",
                f"ip addr add {LINK}/32 dev lo && ip addr add {CONTAINER}/32 dev wire",
                # As kube-proxy sets it.
                "echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet")
        there.do("ip link set far up", f"ip addr add {NEIGHBOUR}/24 dev far && ip addr add 10.99.0.3/24 dev far",
                 f"ip -6 addr add {NEIGHBOUR_SIX}/64 dev far nodad && ip -6 addr add fd99::3/64 dev far nodad",
                 f"ip -6 route add {SIX}/128 via fd99::1 dev far",
                 "echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet",
                 f"for to in {LINK} {LOOPBACK} {CONTAINER}; do ip route add $to/32 via {HERE} dev far; done")
        yield here, there
    finally:
        there.end()
        here.end()


@pytest.fixture
def agent(tmp_path, wire):
    """An agent on this machine, beside its cloud."""
    cloud = LocalCloud(tmp_path / "cloud", wrapper=wire[0].enter)
    one = Agent(tmp_path / "agent", cloud)
    yield one
    assert one.stop() in (None, 0), one.log
    cloud.stop()


def start(agent, machine, *endpoints, **over):
    agent.configure(**({"endpoints": list(endpoints)} if endpoints else {}), **over).start(wrapper=machine.enter)
    agent.wait_state("fresh")


def place(address):
    return f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}"


def imds(address):
    return {"listen": place(address), "ec2_imds": {"credential": "demo"}}


def shared(agent, address, *networks, **over):
    file = str(agent.dir / ("authorization-" + address))
    return {"listen": place(address), "aws_container": {"credential": "demo", "authorization": {"file": file}}, **({"from": list(networks)} if networks else {}),
            **over}


def secret_of(agent, address):
    return (agent.dir / ("authorization-" + address)).read_text()


def check_served(got):
    assert got["answer"].startswith("HTTP/1.1 200"), got


def check_refused(got):
    assert got["answer"] == "" and got["error"] in ("", "ConnectionRefusedError", "ConnectionResetError"), got


def refused_connections(agent, address):
    _, text = agent.request("GET", "/metrics")
    for line in text.splitlines():
        if line.startswith(f'credfresh_endpoint_refused_connections_total{{endpoint="{place(address)}"}}'):
            return int(line.split()[-1])
    return 0


@pytest.mark.parametrize("address", [LINK, LOOPBACK, CONTAINER, SIX])
def test_a_neighbour_gets_nothing(agent, wire, address):
    """Though its packets arrive: a server of the same address that is not credfresh answers it."""
    here, there = wire
    plain = subprocess.Popen([*here.enter, sys.executable, "-c", "import socket,sys\n"
                              f"s=socket.create_server(('{address}',{PORT}),family={10 if ':' in address else 2})\nprint(flush=True)\n"
                              "c,_=s.accept()\nc.sendall(b'open')\nc.recv(9999)\n"], stdout=subprocess.PIPE)
    plain.stdout.readline()
    try:
        assert there.ask(address)["answer"] == "open", "the neighbour's packets do not arrive here: no attack"
    finally:
        plain.kill()
        plain.wait()
        plain.stdout.close()
    start(agent, here, imds(address))
    check_served(here.ask(address))
    check_refused(there.ask(address))
    check_served(here.ask(address))
    # Where the address is on lo the kernel has refused it.
    assert refused_connections(agent, address) == (1 if address == CONTAINER else 0)


def test_a_neighbour_with_a_link_local_address_of_another_link_gets_nothing(agent, wire):
    """It has the same address as this machine has on a link that the neighbour is not on, so that nobody notices."""
    here, there = wire
    other, address = "fe80::d1", "fd00:ec2::23"
    here.do("ip link add name pods type veth peer name pod && ip link set pods up && ip link set pod up",
            f"ip -6 addr add {other}/64 dev pods nodad && ip -6 addr add {address}/128 dev pods nodad")
    there.do(f"ip -6 addr add {other}/64 dev far nodad && ip -6 route add {address}/128 via fd99::1 dev far")
    start(agent, here, imds(address))
    for count in (1, 2):
        check_refused(there.ask(address, source=f"{other}%far"))
        assert refused_connections(agent, address) == count
    # This machine's own programs may have it.
    check_served(here.ask(address, source=f"{other}%pods"))
    check_served(here.ask(address))


def test_where_the_kernel_does_not_bind_to_lo_the_peer_is_checked(agent, wire):
    """Networks that are let in take the interface away; nobody else is served, and each address is logged once."""
    here, there = wire
    start(agent, here, *(shared(agent, address, NEIGHBOUR, NEIGHBOUR_SIX) for address in (LINK, CONTAINER, LOOPBACK, SIX)))
    for address in (LINK, CONTAINER, LOOPBACK, SIX):
        friend, other = (NEIGHBOUR_SIX, "fd99::3") if address == SIX else (NEIGHBOUR, "10.99.0.3")
        secret = secret_of(agent, address)
        check_served(here.ask(address, secret=secret))
        check_served(there.ask(address, source=friend, secret=secret))
        assert refused_connections(agent, address) == 0
        for count in (1, 2, 3):
            check_refused(there.ask(address, source=other, secret=secret))
            assert refused_connections(agent, address) == count
        assert agent.log.count(f"{place(address)}: refused a connection from {other}") == 1
    # An address of this machine that is not loopback is not what a loopback address is for.
    check_refused(here.ask(LOOPBACK, source=HERE, secret=secret))
    secret = secret_of(agent, CONTAINER)
    check_served(here.ask(CONTAINER, source=HERE, secret=secret))
    check_served(here.ask(CONTAINER, source=LOOPBACK, secret=secret))
    check_served(here.ask(SIX, source="fd99::1", secret=secret_of(agent, SIX)))


# Holds 200 connections until it is killed; those that are closed are opened again if that is asked for.
HOLD = r"""
import socket, sys, time
held = [None] * 200
def is_closed(s):
    try:
        return s is None or s.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
while True:
    for i in range(len(held)):
        if is_closed(held[i]):
            held[i] = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
            held[i].setblocking(False)
    print(flush=True)
    while sys.argv[3] == "once":
        time.sleep(1)
    time.sleep(.01)
"""


@pytest.mark.parametrize("where", ["endpoint", "health", "endpoint for a neighbour"])
def test_one_process_does_not_shut_out_others_of_its_address(agent, wire, where):
    """The same address: all programs of this machine, or of a pod with the network of its node."""
    client = wire["neighbour" in where]
    if where == "health":
        start(agent, wire[0], listen=f":{PORT}")
        line, secret = "GET /livez", "none"
    else:
        start(agent, wire[0], shared(agent, CONTAINER, NEIGHBOUR))
        line, secret = "GET /aws/demo", secret_of(agent, CONTAINER)
    held = subprocess.Popen([*client.enter, sys.executable, "-c", HOLD, CONTAINER, str(PORT),
                             "once" if client is wire[1] else "again"], stdout=subprocess.PIPE)
    try:
        held.stdout.readline()
        for _ in range(10):
            check_served(client.ask(CONTAINER, secret=secret, line=line))
    finally:
        held.kill()
        held.wait()
        held.stdout.close()


def test_addresses_of_this_machine_come_and_go(agent, wire):
    here, there = wire
    start(agent, here, shared(agent, CONTAINER, "192.0.2.0/24"))
    secret = secret_of(agent, CONTAINER)
    check_refused(there.ask(CONTAINER, source="10.99.0.3", secret=secret))
    there.do("ip addr del 10.99.0.3/24 dev far")
    here.do("ip addr add 10.99.0.3/24 dev wire")
    check_served(here.ask(CONTAINER, source="10.99.0.3", secret=secret))
    here.do("ip addr del 10.99.0.3/24 dev wire", "echo 1 > /proc/sys/net/ipv4/ip_nonlocal_bind")
    there.do("ip addr add 10.99.0.3/24 dev far")
    check_refused(there.ask(CONTAINER, source="10.99.0.3", secret=secret))


def test_answers_do_not_leave_the_link(agent, wire):
    here, there = wire
    start(agent, here, shared(agent, LINK, NEIGHBOUR), shared(agent, LOOPBACK, NEIGHBOUR))
    got = there.ask(LINK, source=NEIGHBOUR, secret=secret_of(agent, LINK))
    check_served(got)
    assert got["hops"] == [1]


def test_a_reload_opens_and_closes(agent, wire):
    here, there = wire
    start(agent, here, shared(agent, LINK))
    secret = secret_of(agent, LINK)
    check_refused(there.ask(LINK, secret=secret))
    agent.configure(endpoints=[shared(agent, LINK, "10.99.0.0/24")])
    # The sandbox has given up what lets go of the interface.
    code, answer = agent.request("POST", "/v1/reload", "")
    assert code == 400 and "needs CAP_NET_RAW" in str(answer)
    agent.stop()
    whole = {"sandbox": {"capabilities": False}}
    start(agent, here, shared(agent, LINK), **whole)
    agent.configure(endpoints=[shared(agent, LINK, "10.99.0.0/24")], **whole)
    assert agent.request("POST", "/v1/reload", "")[0] == 200
    check_served(there.ask(LINK, secret=secret))
    # A connection that was let in does not outlive the network that let it in.
    kept = subprocess.Popen([*there.enter, sys.executable, "-c", "import socket\n"
                             f"s=socket.create_connection(('{LINK}',{PORT}))\n"
                             f"s.sendall(b'GET /aws/demo HTTP/1.1\\r\\nHost: {LINK}:{PORT}\\r\\nAuthorization: {secret}\\r\\n\\r\\n')\n"
                             "print(s.recv(12).decode(), flush=True)\nwhile s.recv(9999):\n  pass\nprint('closed', flush=True)\n"],
                            stdout=subprocess.PIPE, text=True)
    try:
        assert kept.stdout.readline() == "HTTP/1.1 200\n"
        agent.configure(endpoints=[shared(agent, LINK)], **whole)
        assert agent.request("POST", "/v1/reload", "")[0] == 200
        begun = time.monotonic()
        assert kept.stdout.readline() == "closed\n"
        assert time.monotonic() - begun < 9, "only the limit of idle connections has ended it"
    finally:
        kept.kill()
        kept.wait()
        kept.stdout.close()
    # The kernel refuses it: the address is bound to lo again, and the agent sees no connection that it would count.
    counted = refused_connections(agent, LINK)
    check_refused(there.ask(LINK, secret=secret))
    assert refused_connections(agent, LINK) == counted
    check_served(here.ask(LINK, secret=secret))


@pytest.mark.parametrize("shape,config", [
    ("ec2_imds", {"credential": "demo"}),
    ("gce_metadata", {"accounts": [{"credential": "demo"}]}),
    ("azure_imds", {"identities": [{"credential": "demo"}]}),
])
def test_shapes_without_a_secret_stay_here(agent_factory, shared_cloud, shape, config):
    agent = agent_factory(shared_cloud)
    agent.configure(endpoints=[{"listen": f"{LOOPBACK}:{PORT}", "from": ["10.244.0.0/16"], shape: config,
                                "aws_container": container(agent)}])
    for command in ("check", "doctor"):
        done = agent.run(command)
        text = done.stdout + done.stderr
        assert done.returncode != 0 and f"from: clients of `{shape}` show no secret" in text and "remove `from`" in text, text
