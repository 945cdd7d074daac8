# SPDX-License-Identifier: MIT
"""HTTP requests on connections that are kept. A test that waits asks many times, and a new TLS connection takes more processor
time than the rest of such a request."""
import collections
import http.client
import ssl
import urllib.parse


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def good(self):
        """The body of an answer that must be a good one."""
        assert self.status < 300, f"{self.status} {self.body.decode()[:500]}"
        return self.body


class KeptClient:
    """Sends requests to servers that CA_FILE vouches for. Threads may share it: each request has a connection to itself."""

    def __init__(self, ca_file):
        self.ca_file = ca_file
        self.trust = None
        self.kept = collections.defaultdict(list)

    def ask(self, url, data=None, headers=None, method=None):
        """The Answer, whatever it is. Without METHOD it is POST where there is DATA, and GET elsewhere."""
        where = urllib.parse.urlsplit(url)
        kept = self.kept[where.scheme, where.netloc]
        form = {"Content-Type": "application/x-www-form-urlencoded"} if data is not None else {}
        asked = (method or ("GET" if data is None else "POST"), urllib.parse.urlunsplit(where._replace(scheme="", netloc="")),
                 data, {**form, **(headers or {})})
        while kept:
            connection = kept.pop()
            try:
                connection.request(*asked)
                answer = connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                # The server has ended it since.
                connection.close()
                continue
            return self.read(answer, connection, kept)
        connection = self.connect(where)
        try:
            connection.request(*asked)
            return self.read(connection.getresponse(), connection, kept)
        except BaseException:
            connection.close()
            raise

    def connect(self, where):
        if where.scheme == "http":
            return http.client.HTTPConnection(where.netloc, timeout=60)
        if self.trust is None:
            self.trust = ssl.create_default_context(cafile=self.ca_file)
        return http.client.HTTPSConnection(where.netloc, timeout=60, context=self.trust)

    @staticmethod
    def read(answer, connection, kept):
        body = answer.read()
        kept.append(connection)
        return Answer(answer.status, answer.headers, body)

    def close(self):
        for kept in self.kept.values():
            while kept:
                kept.pop().close()
