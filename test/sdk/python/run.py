#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Consumers of the SDK matrix in Python: each way keeps one credential provider of its SDK for the whole run and makes one
authenticated call per period. ../README.md describes the environment and the lines that they print."""
import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time

BASE = os.environ.get("CFR_SDK_URL", "").rstrip("/")
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


class Refused(Exception):
    """A call that failed after the credential was known."""

    def __init__(self, credential, text):
        super().__init__(text)
        self.credential = credential


def identify(token):
    return hashlib.sha256(token.encode()).hexdigest()[:12]


def get(url, token, headers=None):
    """Sends a request to the judge; only 200 means that the credential was accepted. Trusts REQUESTS_CA_BUNDLE."""
    import requests
    answer = requests.get(url, headers=headers or {"Authorization": "Bearer " + token}, timeout=30)
    if answer.status_code != 200:
        raise Refused(identify(token), f"{answer.status_code} {answer.text}")
    return identify(token)


# ---- the SDKs: each function creates the provider as the SDK's documentation says, and returns the call ----

def open_boto3():
    """The default chain: the environment decides which of the ways it is."""
    import boto3
    session = boto3.Session()
    client = session.client("sts")

    def call():
        credentials = session.get_credentials()
        key = credentials.get_frozen_credentials().access_key
        try:
            client.get_caller_identity()
        except Exception as error:
            raise Refused(key, str(error)) from error
        return key
    return call


def open_aiobotocore():
    from aiobotocore.session import get_session
    loop = asyncio.new_event_loop()
    session = get_session()
    client = loop.run_until_complete(session.create_client("sts").__aenter__())

    async def use():
        credentials = await session.get_credentials()
        key = (await credentials.get_frozen_credentials()).access_key
        try:
            await client.get_caller_identity()
        except Exception as error:
            raise Refused(key, str(error)) from error
        return key
    return lambda: loop.run_until_complete(use())


def call_google(credentials):
    from google.auth.transport.requests import Request
    request = Request()

    def call():
        headers = {}
        credentials.before_request(request, "GET", BASE + "/gcp/whoami", headers)
        token = headers["authorization"].removeprefix("Bearer ")
        return get(BASE + "/gcp/whoami", token)
    return call


def open_google_metadata():
    import google.auth
    return call_google(google.auth.default(scopes=SCOPES)[0])


def open_google_file():
    """google.auth.default would ask Google for the project's name."""
    from google.auth import identity_pool
    return call_google(identity_pool.Credentials.from_file(os.environ["GOOGLE_APPLICATION_CREDENTIALS"], scopes=SCOPES))


def open_google_executable():
    from google.auth import pluggable
    return call_google(pluggable.Credentials.from_file(os.environ["GOOGLE_APPLICATION_CREDENTIALS"], scopes=SCOPES))


def call_azure(credential):
    resource = os.environ.get("CFR_SDK_AZURE_RESOURCE", "https://management.azure.com")
    return lambda: get(f"{BASE}/azure/whoami?resource={resource}", credential.get_token(resource + "/.default").token)


def open_azure_app_service():
    from azure.identity import ManagedIdentityCredential
    return call_azure(ManagedIdentityCredential())


def open_azure_workload():
    """Microsoft is not asked whether the authority is one of its own: it is the local cloud."""
    from azure.identity import WorkloadIdentityCredential
    return call_azure(WorkloadIdentityCredential(authority=os.environ["AZURE_AUTHORITY_HOST"], disable_instance_discovery=True))


def open_openstack():
    import openstack
    connection = openstack.connect()

    def call():
        token = connection.session.get_token()
        answer = connection.session.get(BASE + "/identity/v3/auth/tokens", headers={"X-Subject-Token": token}, raise_exc=False)
        if answer.status_code != 200:
            raise Refused(identify(token), f"{answer.status_code} {answer.text}")
        return identify(token)
    return call


def call_kube(client):
    """Reads a Secret, which an anonymous client may not."""
    from kubernetes.client import CoreV1Api
    from kubernetes.client.rest import ApiException
    api = CoreV1Api(client)

    def call():
        setting = client.configuration.auth_settings().get("BearerToken")
        name = identify(setting["value"].removeprefix("Bearer ")) if setting else ""
        try:
            api.read_namespaced_secret("sdk", "default")
        except ApiException as error:
            raise Refused(name, f"{error.status} {error.body}") from error
        return name
    return call


def open_kubeconfig():
    from kubernetes import client, config
    config.load_kube_config(os.environ["KUBECONFIG"])
    return call_kube(client.ApiClient())


def open_in_cluster():
    """As load_incluster_config does, with the agent's file. The local cloud's API server has a path, which the loader joins to
    what it takes for the port."""
    from urllib.parse import urlsplit

    from kubernetes import client
    from kubernetes.config.incluster_config import InClusterConfigLoader
    server = urlsplit(BASE)
    place = {"KUBERNETES_SERVICE_HOST": server.hostname, "KUBERNETES_SERVICE_PORT": f"{server.port}/kube"}
    InClusterConfigLoader(token_filename=os.environ["CFR_SDK_TOKEN_FILE"], cert_filename=os.environ["CFR_SDK_CA"],
                          environ=place, try_refresh_token=True).load_and_set()
    return call_kube(client.ApiClient())


WAYS = {
    **{f"boto3:{way}": open_boto3 for way in ("container", "imds", "process", "web-identity", "file")},
    **{f"aiobotocore:{way}": open_aiobotocore for way in ("container", "imds", "process")},
    "google-auth:metadata": open_google_metadata,
    "google-auth:file": open_google_file,
    "google-auth:executable": open_google_executable,
    "azure-identity:app-service": open_azure_app_service,
    "azure-identity:workload": open_azure_workload,
    "openstacksdk:clouds-yaml": open_openstack,
    "kubernetes:exec": open_kubeconfig,
    "kubernetes:token-file": open_kubeconfig,
    "kubernetes:in-cluster": open_in_cluster,
}


# ---- the run ----

def explain(error):
    """The message in at most 200 characters. URLs would leave no room for the cause."""
    text = re.sub(r"\s+", " ", re.sub(r"https?://\S+", "URL", str(error) or type(error).__name__))
    return text if len(text) <= 200 else text[:100] + text[-100:]


def follow(way, period_s):
    """Calls once per period. A provider that cannot be created is a failed call, and is tried again."""
    call, due = None, time.time()
    while True:
        time.sleep(max(0, due - time.time()))
        line = {"way": way, "t": time.time(), "ok": True, "id": "", "error": ""}
        try:
            call = call or WAYS[way]()
            line["id"] = call()
        except Exception as error:
            line.update(ok=False, id=getattr(error, "credential", ""), error=explain(error))
        os.write(1, (json.dumps(line) + "\n").encode())
        due += period_s
        if due < time.time():
            due += (time.time() - due) // period_s * period_s + period_s  # missed periods are not made up for


def start_each(names):
    """Starts a process for each way, with the variables of this way from CFR_SDK_CONFIG; all of them share standard input."""
    settings = {}
    if os.environ.get("CFR_SDK_CONFIG"):
        with open(os.environ["CFR_SDK_CONFIG"], encoding="utf-8") as config:
            settings = json.load(config)
    home = os.path.dirname(os.path.abspath(__file__))
    children = []
    for name in names:
        environment = {**os.environ, **settings.get(name, {}), "CFR_SDK_CHILD": "1"}
        venv = "aiobotocore" if name.startswith("aiobotocore:") else "venv"
        children.append(subprocess.Popen([f"{home}/{venv}/bin/python", __file__, name], env=environment))
    sys.exit(max(child.wait() for child in children))


def main(names):
    for name in names:
        if name not in WAYS:
            sys.exit(f'run: unknown way "{name}"')
    if "CFR_SDK_CHILD" not in os.environ:
        start_each(names)
    threading.Thread(target=follow, args=(names[0], int(os.environ.get("CFR_SDK_PERIOD_MS", "1000")) / 1000), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
