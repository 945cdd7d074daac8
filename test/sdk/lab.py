# SPDX-License-Identifier: MIT
"""The place where the SDK matrix runs: a local cloud, an agent with one credential per way, and the variables of each way as
`credfresh env` prints them."""
import atexit
import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.request

import books
import rows

ROLE = "arn:aws:iam::123456789012:role/demo"
REGION = "us-east-1"
REGISTRY = f"123456789012.dkr.ecr.{REGION}.amazonaws.com"
POOL = "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo"
TENANT, CLIENT = "11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-aaaaaaaaaaaa"
# The SDK exchanges by itself what it reads or asks for.
OWN_EXCHANGE = ("aws-web-identity", "gcp-file", "gcp-executable", "azure-workload", "openstack")
LIMIT_S = 30
# Lifetime of the tokens of Kubernetes, and how often the kubelet renews them: clients keep what they read for a minute.
KUBE_TOKEN_S, KUBE_RENEWAL_S = 120, 30


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Place:
    def __init__(self, directory, build, speed):
        self.directory, self.speed = directory, speed
        self.agent_program, self.children = build / "agent/credfresh", []
        atexit.register(self.stop)
        directory.mkdir(parents=True, exist_ok=True)
        self.config, self.socket = directory / "credfresh.yaml", directory / "control.sock"
        self.books = books.Books(directory, self.agent_program)
        self.start_cloud(build / "test/localcloud/credfresh-localcloud")
        self.write_config()
        self.start_agent("agent")

    # ---- processes ----

    def spawn(self, name, *argv):
        log = open(self.directory / f"{name}.log", "wb")
        self.children.append(subprocess.Popen([str(a) for a in argv], stdout=log, stderr=log))
        return self.children[-1]

    def start_agent(self, log):
        self.agent = self.spawn(log, self.agent_program, "run", "-c", self.config)
        self.wait(lambda: self.status() and all(c["ready"] for c in self.status()), "credentials")

    def restart_agent(self):
        """kill -9, and a start at once, as a supervisor does."""
        self.agent.kill()
        self.agent.wait()
        self.children.remove(self.agent)
        self.start_agent("agent-restarted")

    def stop(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
                child.wait(20)

    def wait(self, condition, what):
        end = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > end or any(child.poll() is not None for child in self.children):
                raise SystemExit(f"sdk: no {what} within {LIMIT_S} s; the logs are in {self.directory}")
            time.sleep(0.1)

    def status(self):
        """The credentials as `credfresh status` sees them; none while the agent does not answer."""
        shown = subprocess.run([self.agent_program, "status", "--json", "-c", self.config], capture_output=True, text=True)
        return json.loads(shown.stdout)["credentials"] if shown.stdout.startswith("{") else []

    # ---- the local cloud ----

    def start_cloud(self, program):
        volumes = [{"name": "aws"}, {"name": "gcp", "audience": POOL}, {"name": "azure", "audience": "api://AzureADTokenExchange"},
                   # SDKs keep the assertion up to ten minutes.
                   {"name": "azure-long", "audience": "api://AzureADTokenExchange", "expiration_s": 86400},
                   {"name": "kube", "audience": "https://kubernetes.default.svc", "expiration_s": KUBE_TOKEN_S * self.speed}]
        kube = {"service_accounts": [{"name": "demo"}], "secrets": [{"name": "sdk", "string_data": {"key": "value"}}],
                "rbac": [{"user": "system:serviceaccount:default:demo", "verb": "get", "resource": "secrets"}]}
        settings = self.directory / "cloud.json"
        settings.write_text(json.dumps({"volumes": volumes, "kube": kube}))
        state = self.directory / "cloud"
        self.spawn("cloud", program, "--state", state, "--speed", self.speed, "--config", settings)
        self.wait((state / "ready.json").exists, "local cloud")
        self.cloud = json.loads((state / "ready.json").read_text())
        self.ca = state / "ca.pem"

    def ask_cloud(self, path, body):
        request = urllib.request.Request(self.cloud["admin_url"] + path, data=json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            answer.read()

    def outage(self, on):
        """No token service answers; what was issued can still be used."""
        for service in ("sts", "gcp", "azure", "keystone", "ecr"):
            self.ask_cloud("/outage", {"on": on, "service": service})

    def renew_kube(self):
        self.ask_cloud("/volume/kube/renew", {})

    def pause_kube(self, on):
        """The API server stays, because the clients of Kubernetes use their token there, but the kubelet renews none."""
        self.ask_cloud("/volume/kube/" + ("pause" if on else "resume"), {})

    # ---- the agent ----

    def write_config(self):
        d, volumes, c = self.directory, self.directory / "cloud/volumes", self.cloud
        aws = f'exchange: {{aws: {{role_arn: "{ROLE}", region: {REGION}, endpoint: "{c["sts_url"]}", ca_file: {self.ca}%s}}}}'
        gcp = (f'exchange: {{gcp: {{audience: "{POOL}", service_account: demo@demo-project.iam.gserviceaccount.com, '
               f'sts_endpoint: "{c["gcp_url"]}/v1/token", iam_endpoint: "{c["gcp_url"]}", ca_file: {self.ca}}}}}')
        azure = (f'exchange: {{azure: {{tenant_id: {TENANT}, client_id: {CLIENT}, authority_host: "{c["azure_url"]}", '
                 f'scopes: [https://management.azure.com/.default, https://storage.azure.com/.default], ca_file: {self.ca}}}}}')
        openstack = (f'exchange: {{openstack: {{auth_url: "{c["keystone_url"]}", application_credential_id: demo-app-credential, '
                     f'application_credential_secret_file: {d}/openstack-secret, ca_file: {self.ca}}}}}')
        secret = d / "openstack-secret"
        secret.write_text("demo-secret\n")
        secret.chmod(0o600)
        out = []

        def credential(name, volume, exchange=None, files=()):
            lines = [f"  - name: {name}"]
            lines += [f"    token: {{file: {volumes}/{volume}/token}}"] if volume else []
            lines += [f"    {exchange}"] if exchange else []
            if files:
                lines += ["    publish:", f"      directory: {d}/{name}", "      files:"]
                lines += [f"        - {{{f}}}" for f in files]
            out.extend(lines)

        process = f"command: {self.agent_program} get aws aws-process -s {self.socket}"
        role = f'role_arn: "{ROLE}", token_path: {d}/aws-web-identity/token, region: {REGION}'
        ecr = f', ecr: {{registries: [{REGISTRY}], endpoint: "{c["ecr_url"]}"}}'
        credential("aws-container", "aws", aws % "")
        credential("aws-imds", "aws", aws % "")
        credential("aws-process", "aws", aws % "", [f"name: config, format: aws-config, {process}"])
        credential("aws-file", "aws", aws % "", ["name: credentials, format: aws-credentials"])
        credential("aws-web-identity", "aws", None, ["name: token, format: token", f"name: config, format: aws-config, {role}"])
        credential("registry", "aws", aws % ecr, ["name: config.json, format: docker-config"])
        credential("gcp-metadata", "gcp", gcp)
        credential("gcp-file", "gcp", gcp, ["name: adc.json, format: gcp-external-account", "name: token, format: token"])
        credential("gcp-executable", "gcp", None, ["name: token, format: token"])
        credential("azure-app-service", "azure", azure)
        credential("azure-workload", "azure-long", azure, ["name: azure.env, format: azure-env", "name: token, format: token"])
        credential("openstack", None, openstack, ["name: clouds.yaml, format: clouds-yaml"])
        credential("kube", "kube", None, ["name: token, format: token"])
        container, imds, google, azure_port = free_ports(4)
        self.ports = {"aws-container": container, "aws-imds": imds, "gcp-metadata": google, "azure-app-service": azure_port}
        endpoints = [
            f"  - {{listen: 127.0.0.1:{container}, aws_container: {{credential: aws-container, "
            f'authorization: {{file: {d}/aws.auth, mode: "0600"}}}}}}',
            f"  - {{listen: 127.0.0.1:{imds}, ec2_imds: {{credential: aws-imds}}}}",
            f"  - {{listen: 127.0.0.1:{google}, gce_metadata: {{project_id: demo-project, numeric_project_id: \"123456789\", "
            f"accounts: [{{credential: gcp-metadata}}]}}}}",
            f"  - {{listen: 127.0.0.1:{azure_port}, azure_app_service: {{identities: [{{credential: azure-app-service}}], "
            f'header: {{file: {d}/azure.header, mode: "0600"}}}}}}']
        self.config.write_text("\n".join(["version: 1", f"state_dir: {d}/state", f"control_socket: {self.socket}",
                                          "listen: 127.0.0.1:0", "credentials:", *out, "endpoints:", *endpoints]) + "\n")

    # ---- the clients ----

    def client_file(self, row):
        """What users write by themselves: kubeconfigs, and an external account with a program as its source; and the published
        profile with credential_process. A program is one that is counted."""
        way = f"{row.sdk}:{row.way}"
        program, written = self.books.program(way), self.directory / f"client.{way.replace(':', '.')}"
        if row.credential == "aws-process":
            text = (self.directory / "aws-process/config").read_text().replace(str(self.agent_program), str(program))
        elif row.credential == "gcp-executable":
            text = json.dumps({
                "type": "external_account", "audience": POOL, "token_url": self.cloud["gcp_url"] + "/v1/token",
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                "credential_source": {"executable": {"command": f"{program} get gcp gcp-executable -s {self.socket}",
                                                     "timeout_millis": 10000}}})
        else:
            run = f"exec: {{apiVersion: client.authentication.k8s.io/v1, command: {program}, " \
                  f"args: [get, kube, kube, -s, {self.socket}], interactiveMode: Never}}"
            user = run if row.way.startswith("exec") else f"tokenFile: {self.directory}/kube/token"
            text = f"""apiVersion: v1
kind: Config
clusters: [{{name: cloud, cluster: {{server: "{self.cloud["kube_url"]}", certificate-authority: {self.ca}}}}}]
users: [{{name: demo, user: {{{user}}}}}]
contexts: [{{name: sdk, context: {{cluster: cloud, user: demo}}}}]
current-context: sdk
"""
        written.write_text(text)
        return str(written)

    def printed(self, name):
        """What `credfresh env` prints for a credential."""
        shown = subprocess.run([self.agent_program, "env", name, "-c", self.config, "--format", "json"],
                               capture_output=True, text=True)
        found = json.loads(shown.stdout)
        return {**found["variables"], **{key: pathlib.Path(path).read_text() for key, path in found["from_files"].items()}}

    def variables(self, row):
        """The variables of a row, whose endpoint is behind a door of its own."""
        way, port = f"{row.sdk}:{row.way}", self.ports.get(row.credential)
        found = self.variables_of(row)
        if port is None:
            return found
        # What asks by chance, or extends an end by itself, would take a later end for more than it is.
        door = self.books.door(way, port, row.works is True and row.asks != rows.BY_CHANCE)
        return {key: value.replace(f"127.0.0.1:{port}", f"127.0.0.1:{door}") for key, value in found.items()}

    def variables_of(self, row):
        """Those that credfresh prints, and those that a user has to add."""
        name, d = row.credential, self.directory
        added = {"AWS_REGION": REGION, "AWS_ENDPOINT_URL_STS": self.cloud["sts_url"]} if name.startswith("aws-") else {}
        if name == "aws-web-identity":
            added.update(AWS_ROLE_ARN=ROLE, AWS_WEB_IDENTITY_TOKEN_FILE=f"{d}/aws-web-identity/token")
        elif name == "gcp-executable":
            return {"GOOGLE_APPLICATION_CREDENTIALS": self.client_file(row), "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1"}
        elif name == "azure-workload":
            lines = (d / "azure-workload/azure.env").read_text().splitlines()
            return dict(line.split("=", 1) for line in lines if "=" in line)
        elif name == "kube":
            return {"KUBECONFIG": self.client_file(row), "CFR_SDK_TOKEN_FILE": f"{d}/kube/token"}
        elif name == "registry":
            added["CFR_SDK_REGISTRY"] = REGISTRY
        elif name == "aws-process":
            added["AWS_CONFIG_FILE"] = self.client_file(row)
        return {**self.printed(name), **added}

    def environment(self, config, period_ms):
        """What all consumers of a language have in common; nothing of the caller's that an SDK would read."""
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "JAVA_HOME") if key in os.environ}
        return {**kept, "HOME": str(self.directory), "SSL_CERT_FILE": str(self.ca), "SSL_CERT_DIR": "/nonexistent",
                "AWS_CA_BUNDLE": str(self.ca), "REQUESTS_CA_BUNDLE": str(self.ca), "NODE_EXTRA_CA_CERTS": str(self.ca),
                "CFR_SDK_CA": str(self.ca), "CFR_SDK_CONFIG": str(config), "CFR_SDK_URL": self.cloud["sts_url"],
                "CFR_SDK_PERIOD_MS": str(period_ms)}
