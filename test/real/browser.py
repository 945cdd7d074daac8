# SPDX-License-Identifier: MIT
"""Debian's chromium without a window, driven over its debugging pipe."""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

from png import reduced

LIMIT_S = 60


def is_installed():
    return shutil.which("chromium") is not None


class Browser:
    """One page of a browser with a profile of its own in DIRECTORY, which knows no host but this machine."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir()
        self.events = []
        self.serial = 0
        self.rest = b""
        self.log = self.dir / "log"
        requests, self.to = os.pipe()
        self.answers, answers = os.pipe()
        # The browser wants its ends as 3 and 4, which may be other ends here.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (requests, answers)]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["chromium", "--headless", "--no-sandbox",
                 "--disable-gpu", "--disable-lcd-text", "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
                 "--no-first-run", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                 f"--user-data-dir={self.dir / 'profile'}", "--remote-debugging-pipe", "about:blank"],
                stdout=log, stderr=log, pass_fds=(3, 4), env={**os.environ, "HOME": str(self.dir)},
                preexec_fn=lambda: [os.dup2(fd, to) for fd, to in zip(ends, (3, 4))])
        for fd in (requests, answers, *ends):
            os.close(fd)
        self.session = None
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime", "Audits"):
            self.call(domain + ".enable")

    def read(self, end):
        while b"\0" not in self.rest:
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.answers], [], [], left)[0]
            data = os.read(self.answers, 1 << 20) if ready else b""
            assert data, "chromium: " + self.log.read_text(errors="replace")[-2000:]
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        """The result of METHOD. Events that come meanwhile are kept."""
        self.serial += 1
        request = {"id": self.serial, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        end = time.monotonic() + LIMIT_S
        while True:
            message = self.read(end)
            if message.get("id") == self.serial:
                assert "error" not in message, (method, message)
                return message["result"]
            self.events.append(message)

    def wait(self, event):
        """The parameters of the next EVENT since the last `open`."""
        end = time.monotonic() + LIMIT_S
        while True:
            for known in self.events:
                if known.get("method") == event:
                    self.events.remove(known)
                    return known["params"]
            self.events.append(self.read(end))

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def show(self, width, height=800, dark=False):
        """A window of WIDTH CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def value(self, expression):
        """Of JavaScript that the page itself may not run."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """What the browser's console and its audits say of the page."""
        return [e["params"] for e in self.events
                if e.get("method") in ("Log.entryAdded", "Audits.issueAdded", "Runtime.exceptionThrown")]

    def screenshot(self, path):
        """The whole page as a small PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        pathlib.Path(path).write_bytes(reduced(base64.b64decode(shot["data"])))

    def close(self):
        os.close(self.to)
        os.close(self.answers)
        self.process.terminate()
        self.process.wait(30)
