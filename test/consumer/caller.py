#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A consumer as most are: it reads its credential from a published directory once, uses it several times a second, and
reads it again only when a reload hook sends SIGHUP. Writes one JSON line per call to standard output.

usage: caller.py aws|gcp|azure|openstack DIRECTORY READY_JSON PID_FILE [CALLS_PER_SECOND]

READY_JSON is the ready.json of the local cloud that is called. Every cloud's answer says whom it took the caller for.
"""
import http.client
import json
import os
import pathlib
import signal
import ssl
import sys
import time
import urllib.parse

LIMIT_S = 5
RESOURCE = "https://management.azure.com"


class Aws:
    """Calls signed by botocore with the keys of `credentials`."""

    def __init__(self, directory, cloud):
        import botocore.config
        import botocore.session

        os.environ["AWS_SHARED_CREDENTIALS_FILE"] = str(directory / "credentials")
        os.environ["AWS_CONFIG_FILE"] = os.devnull
        os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
        config = botocore.config.Config(retries={"max_attempts": 0}, connect_timeout=LIMIT_S, read_timeout=LIMIT_S)
        self.sts = botocore.session.Session().create_client(
            "sts", region_name="us-east-1", endpoint_url=cloud["sts_url"], verify=cloud["ca_file"], config=config)

    def call(self):
        return self.sts.get_caller_identity()["Arn"]


class Token:
    """GET requests that show a token; on one connection as long as it lasts."""

    def __init__(self, url, ca_file, headers):
        self.url = urllib.parse.urlsplit(url)
        self.target = self.url.path + ("?" + self.url.query if self.url.query else "")
        self.headers = headers
        self.connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, timeout=LIMIT_S,
                                                      context=ssl.create_default_context(cafile=ca_file))

    def call(self):
        try:
            self.connection.request("GET", self.target, headers=self.headers)
            answer = self.connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            self.connection.close()  # the next request opens another
            raise
        if answer.status != 200:
            raise RuntimeError(f"HTTP {answer.status} {text[:300]}")
        return self.identity(json.loads(text))

    def identity(self, document):
        return document["identity"]


class Gcp(Token):
    """The bare token of `access-token`."""

    def __init__(self, directory, cloud):
        token = (directory / "access-token").read_text()
        super().__init__(cloud["gcp_url"] + "/whoami", cloud["ca_file"], {"Authorization": "Bearer " + token})


class Azure(Token):
    """`access_token` of `token.json`, shown to the resource that it is for."""

    def __init__(self, directory, cloud):
        token = json.loads((directory / "token.json").read_text())["access_token"]
        query = "?" + urllib.parse.urlencode({"resource": RESOURCE})
        super().__init__(cloud["azure_url"] + "/whoami" + query, cloud["ca_file"], {"Authorization": "Bearer " + token})


class Openstack(Token):
    """The Keystone token of `token`, validated as a service of the cloud does it."""

    def __init__(self, directory, cloud):
        token = (directory / "token").read_text()
        super().__init__(cloud["keystone_url"] + "/auth/tokens", cloud["ca_file"],
                         {"X-Auth-Token": token, "X-Subject-Token": token})

    def identity(self, document):
        return document["token"]["user"]["name"]


CLOUDS = {"aws": Aws, "gcp": Gcp, "azure": Azure, "openstack": Openstack}


def write_pid(path):
    pathlib.Path(path + ".new").write_text(f"{os.getpid()}\n", encoding="ascii")
    os.rename(path + ".new", path)


def main():
    kind, directory, ready, pid_file = sys.argv[1:5]
    pause = 1.0 / float(sys.argv[5] if len(sys.argv) > 5 else 5)
    cloud = json.loads(pathlib.Path(ready).read_text())
    flags = {"reload": True, "stop": False}
    signal.signal(signal.SIGHUP, lambda *_: flags.update(reload=True))
    signal.signal(signal.SIGTERM, lambda *_: flags.update(stop=True))
    write_pid(pid_file)
    consumer = None
    while not flags["stop"]:
        start = time.monotonic()
        call = {"t": time.time(), "event": "call", "ok": True}
        try:
            if flags["reload"] or consumer is None:
                flags["reload"] = False
                consumer = CLOUDS[kind](pathlib.Path(directory), cloud)
                print(json.dumps({"t": time.time(), "event": "reload"}), flush=True)
            call["identity"] = consumer.call()
        except Exception as error:  # whatever it is, it is a call that failed
            call.update(ok=False, error=f"{type(error).__name__}: {error}")
        print(json.dumps(call), flush=True)
        time.sleep(max(0.0, pause - (time.monotonic() - start)))


if __name__ == "__main__":
    main()
