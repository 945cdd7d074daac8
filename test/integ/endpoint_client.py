# SPDX-License-Identifier: MIT
"""HTTP to the local endpoints as the SDKs speak it, byte by byte where that matters."""
import http.client
import json
import random
import socket


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.text = body.decode()

    @property
    def json(self):
        return json.loads(self.text)


def ask(where, path, method="GET", headers=None, body=None, timeout=10):
    """An Answer of WHERE, "127.0.0.1:PORT" or the path of a Unix socket."""
    unix = where.startswith("/")
    connection = http.client.HTTPConnection("localhost" if unix else where, timeout=timeout)
    if unix:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(timeout)
        connection.sock.connect(where)
    try:
        connection.putrequest(method, path, skip_host=headers is not None and "Host" in headers)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read())
    finally:
        connection.close()


def free_port():
    """One that is free now, from below those that the kernel gives to outgoing connections of tests beside this one."""
    while True:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", random.randrange(20000, 32000)))
            except OSError:
                continue
            return s.getsockname()[1]
