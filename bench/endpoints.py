#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The local endpoints: requests for each second of one core against nginx serving a static file of the same size, and 200
clients without a pause on each shape, with bad neighbours: 10,000 idle connections and 20 clients that send a byte at a time.

usage: endpoints.py [--seconds N] [BUILD_DIR]        (default: 60 s each, build/dev; package nginx-light)
"""
import argparse
import contextlib
import os
import pathlib
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import threading

arguments = argparse.ArgumentParser(usage=__doc__.rsplit("usage: ", maxsplit=1)[-1].strip())
arguments.add_argument("--seconds", type=float, default=60)
arguments.add_argument("build_dir", type=pathlib.Path, nargs="?", default=pathlib.Path(__file__).resolve().parents[1] / "build/dev")
options = arguments.parse_args()
for variable, path in (("CFR_CREDFRESH", "agent/credfresh"), ("CFR_WITNESS", "test/witness/credfresh-witness"),
                       ("CFR_LOCALCLOUD", "test/localcloud/credfresh-localcloud")):
    os.environ[variable] = str((options.build_dir / path).resolve())

from common import Agent, eventually, finish, local_cloud, scratch, verdict  # noqa: E402
from endpoint_client import ask, free_port  # noqa: E402

CLIENTS = 200
IDLE, SLOW = 10000, 20
ROUNDS, ROUND_S = 5, 2
LEAST_RATIO = 0.5
P99_MS = 100  # of clients that ask without a pause, which the cores are shared with
TENANT, CLIENT = "11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-aaaaaaaaaaaa"
ACCOUNT = "demo@demo-project.iam.gserviceaccount.com"
POOL = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo"
VAULT = "https://vault.azure.net"


def start_agent(directory, cloud, at, tokens):
    agent = Agent(directory / "agent", cloud)
    gcp = cloud.ready["gcp_url"]
    exchanges = {
        "gcp": {"gcp": {"audience": POOL, "service_account": ACCOUNT, "sts_endpoint": gcp + "/v1/token", "iam_endpoint": gcp,
                        "ca_file": cloud.ca}},
        "azure": {"azure": {"tenant_id": TENANT, "client_id": CLIENT, "scopes": [VAULT + "/.default"],
                            "authority_host": cloud.ready["azure_url"], "ca_file": cloud.ca}}}
    agent.configure(
        agent.credential(publish=None, allow={}),
        *(agent.credential(name, publish=None, token={"file": str(cloud.volumes[name] / "token")}, exchange=how)
          for name, how in exchanges.items()),
        token_socket=tokens, log={"level": "info"},
        endpoints=[{"listen": at, "aws_container": {"credential": "demo", "authorization": {"file": str(directory / "auth")}},
                    "ec2_imds": {"credential": "demo", "role": "demo"}, "gce_metadata": {"accounts": [{"credential": "gcp"}]},
                    "azure_imds": {"identities": [{"credential": "azure"}]},
                    "azure_app_service": {"identities": [{"credential": "azure"}], "header": {"file": str(directory / "header")}}}])
    agent.start()
    for name in ("demo", "gcp", "azure"):
        agent.wait_state("fresh", name)
    return agent


def requests(directory, at, tokens):
    """Where and what to ask of each shape: {name: (where, path, headers)}."""
    session = ask(at, "/latest/api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}, body=b"").text
    resource_ = f"?api-version=2019-08-01&resource={VAULT}"
    return {
        "AWS container": (at, "/aws/demo", {"Authorization": (directory / "auth").read_text()}),
        "EC2 metadata": (at, "/latest/meta-data/iam/security-credentials/demo", {"X-aws-ec2-metadata-token": session}),
        "GCE metadata": (at, "/computeMetadata/v1/instance/service-accounts/default/token", {"Metadata-Flavor": "Google"}),
        "Azure metadata": (at, "/metadata/identity/oauth2/token" + resource_, {"Metadata": "true"}),
        "Azure App Service": (at, "/msi/token" + resource_, {"X-IDENTITY-HEADER": (directory / "header").read_text()}),
        "token socket": (tokens, "/v1/token/demo", {}),
    }


class Load:
    def __init__(self, directory):
        self.program = directory / "load"
        self.request = directory / "request"
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", self.program, pathlib.Path(__file__).with_name("endpoint_load.c")],
                       check=True)

    def run(self, where, path, headers, seconds, clients=CLIENTS):
        host = "localhost" if where.startswith("/") else where
        self.request.write_text("".join(f"{line}\r\n" for line in (
            f"GET {path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers.items()), "")))
        done = subprocess.run([self.program, where if where.startswith("/") else where.split(":")[1], str(clients), str(seconds),
                               self.request], check=True, stdout=subprocess.PIPE, text=True)
        names = ("answers", "errors", "connects", "seconds", "p50_us", "p99_us", "worst_us")
        return dict(zip(names, map(float, done.stdout.split())))


def cpu_s(pid):
    """Seconds of a core that the process has used; of nginx, its one worker."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def nginx(directory, text):
    """nginx with one worker, and a file that holds TEXT: (where, pid of the worker)."""
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        sys.exit("endpoints.py: there is no nginx: sh tools/setup.sh bench")
    root, at = directory / "nginx", f"127.0.0.1:{free_port()}"
    (root / "files").mkdir(parents=True)
    (root / "files/same.json").write_text(text)
    (root / "files").chmod(0o755)
    (root / "nginx.conf").write_text(f"""
        {"user root;" if os.geteuid() == 0 else ""} worker_processes 1; daemon off; pid {root}/pid; error_log {root}/error;
        events {{ worker_connections 4096; }}
        http {{ access_log off; keepalive_requests 1000000000; default_type application/json;
                client_body_temp_path {root}/a; proxy_temp_path {root}/b; fastcgi_temp_path {root}/c; uwsgi_temp_path {root}/d;
                scgi_temp_path {root}/e; sendfile on; tcp_nopush on; open_file_cache max=10;
                server {{ listen {at}; root {root}/files; }} }}""")
    master = subprocess.Popen([program, "-p", root, "-c", root / "nginx.conf", "-e", root / "error"])
    try:
        children = pathlib.Path(f"/proc/{master.pid}/task/{master.pid}/children")
        worker = eventually(lambda: children.read_text().split(), "nginx")[0]
        eventually(lambda: reachable(at), "nginx")
        yield at, int(worker)
    finally:
        master.terminate()
        master.wait()


def reachable(at):
    try:
        return ask(at, "/same.json").status == 200
    except OSError:
        return False


def against_nginx(directory, load, agent, name, request):
    where, path, headers = request
    text = ask(where, path, headers=headers).text
    ratios = []
    with nginx(directory / name.replace(" ", "-"), text) as (other, worker):
        for _ in range(ROUNDS):
            figures = []
            for pid, what in ((agent.process.pid, request), (worker, (other, "/same.json", {}))):
                before = cpu_s(pid)
                done = load.run(*what, ROUND_S)
                if done["errors"]:
                    sys.exit(f"endpoints.py: {name}: {done['errors']:.0f} of {done['answers']:.0f} failed at {what[0]}")
                figures.append((done["answers"] / (cpu_s(pid) - before), done["answers"] / done["seconds"]))
            ratios.append(figures[0][0] / figures[1][0])
            print(f"  {len(text)} bytes: credfresh {figures[0][0]:.0f} requests for a second of one core ({figures[0][1]:.0f} in a "
                  f"second), nginx {figures[1][0]:.0f} ({figures[1][1]:.0f})", flush=True)
    verdict(f"requests to an endpoint per second of one core, compared with nginx serving a file of the same size: {name}",
            statistics.median(ratios), LEAST_RATIO, at_least=True)


@contextlib.contextmanager
def bad_neighbours(at):
    host, port = at.split(":")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, IDLE + SLOW + 500), hard))
    count = min(IDLE, min(hard, IDLE + SLOW + 500) - SLOW - 200)
    idle = [socket.create_connection((host, int(port))) for _ in range(count)]
    stop = threading.Event()

    def drip():
        slow = []
        while not stop.wait(0.05):
            while len(slow) < SLOW:
                slow.append(socket.create_connection((host, int(port))))
            for s in list(slow):
                try:
                    s.send(b"G")
                except OSError:
                    slow.remove(s)
        for s in slow:
            s.close()

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        yield count
    finally:
        stop.set()
        dripping.join()
        for s in idle:
            s.close()


def under_load(load, name, request, seconds, neighbours=""):
    done = load.run(*request, seconds)
    print(f"{name}{neighbours}: {CLIENTS} clients, {done['seconds']:.0f} s: {done['answers'] / done['seconds']:.0f} requests in a "
          f"second, median {done['p50_us'] / 1000:.1f} ms, slowest {done['worst_us'] / 1000:.1f} ms, {done['errors']:.0f} errors",
          flush=True)
    verdict(f"99th percentile of {CLIENTS} clients that send requests without a pause: {name}{neighbours}", done["p99_us"] / 1000,
            P99_MS, " ms")
    verdict(f"errors of these clients: {name}{neighbours}", done["errors"], 0)


def main():
    with scratch() as directory, local_cloud(directory) as cloud:
        at, tokens = f"127.0.0.1:{free_port()}", str(directory / "tokens.sock")
        agent = start_agent(directory, cloud, at, tokens)
        try:
            load = Load(directory)
            shapes = requests(directory, at, tokens)
            for name, request in shapes.items():
                if request[0] == at:
                    against_nginx(directory, load, agent, name, request)
            for name, request in shapes.items():
                under_load(load, name, request, options.seconds)
            with bad_neighbours(at) as count:
                under_load(load, "AWS container", shapes["AWS container"], options.seconds,
                           f", next to {count} idle connections and {SLOW} slow ones")
        finally:
            agent.stop()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
