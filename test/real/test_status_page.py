# SPDX-License-Identifier: MIT
"""The status page in a real browser, of an agent that has lived through a day. CFR_PICTURES=1 writes its picture to docs/pictures."""
import json
import os
import pathlib
import re
import shutil

import pytest

import shifted_clock
from browser import Browser, is_installed
from conftest import free_port
from harness import CREDFRESH, Agent, LocalCloud, eventually

PICTURES = pathlib.Path(__file__).resolve().parents[2] / "docs/pictures"
PICTURE_MAX = 150_000
SLOT_S, SLOTS = 900, 96
ROLES = ("registry", "billing", "reports")

missing = "chromium" if not is_installed() else shifted_clock.missing(CREDFRESH)
if missing is not None:
    if os.environ.get("CFR_REQUIRE_REAL") == "1":
        raise RuntimeError(f"there is no {missing}")
    pytest.skip(f"there is no {missing}; CFR_REAL=1 installs it", allow_module_level=True)


def role(name):
    return f"arn:aws:iam::123456789012:role/{name}"


class Day:
    """An agent whose wall clock is set forward through a day, a quarter of an hour at a time."""

    def __init__(self, directory):
        trust = [{"subject": "system:serviceaccount:default:demo", "audience": ["sts.amazonaws.com"]}]
        self.cloud = LocalCloud(directory / "cloud", config={"roles": [{"arn": role(name), "trust": trust} for name in ROLES]})
        self.agent = Agent(directory / "agent", self.cloud)
        self.agent.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.agent.address}/"
        self.token = self.agent.dir / "token"
        self.renew_token(0)
        self.down = {}
        self.clock = shifted_clock.ShiftedClock(self.agent.dir, -SLOTS * SLOT_S)
        self.agent.configure(*[self.credential(name) for name in ROLES], listen=self.agent.address)
        self.agent.start(env=self.clock.env)

    def credential(self, name):
        # Without TLS, because certificates have their own opinion of the time.
        return self.agent.credential(name, token={"file": str(self.token)}, reload=[{"exec": ["/bin/true"]}], exchange={
            "aws": {"role_arn": role(name), "region": "us-east-1", "endpoint": self.cloud.http}})

    def renew_token(self, slot):
        """For twelve hours at least: issued when it is SLOT for the agent, and good today."""
        new = self.token.with_suffix(".new")
        new.write_text(self.cloud.token(issued_ago_s=(SLOTS - slot) * SLOT_S + 60, expires_in_s=30 * 86400))
        new.rename(self.token)

    def outage(self, name, on):
        self.cloud.clear_faults()
        self.down[name] = on
        for each in (each for each in self.down if self.down[each]):
            self.cloud.fault(kind="error", code="ServiceUnavailable", status=503, count=-1, match={"role": role(each)})
        self.agent.run("rotate", name)

    def is_settled(self):
        doc = self.agent.request("GET", "/v1/credentials")[1]
        return all((c["last_error"] is not None and c["state"] == "backoff") if self.down.get(c["name"])
                   else c["state"] == "fresh" and c["next_refresh"] > doc["agent"]["now"] for c in doc["credentials"])

    def live(self, scenes):
        """SCENES: {slot: [(credential, whether its role is unavailable from then on)]}; each is renewed at its scenes."""
        for slot in range(1, SLOTS + 1):
            self.clock.set((slot - SLOTS) * SLOT_S)
            if slot % 40 == 0:
                self.renew_token(slot)
            for name, on in scenes.get(slot, ()):
                self.outage(name, on)
            eventually(self.is_settled, lambda: f"slot {slot}: {self.agent.request('GET', '/v1/credentials')}")

    def stop(self):
        self.agent.stop()
        self.cloud.stop()


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    made = Day(tmp_path_factory.mktemp("day"))
    made.live({20: [(name, True) for name in ROLES], 22: [(name, False) for name in ROLES],
               57: [("billing", True)], 58: [("billing", False)],
               83: [("reports", False)], 84: [("reports", True)],
               93: [("billing", False)], 94: [("billing", True), ("registry", False)]})
    yield made
    made.stop()


@pytest.fixture
def browser(tmp_path):
    made = Browser(tmp_path / "browser")
    yield made
    made.close()


def texts(browser, selector):
    return browser.value(f"Array.from(document.querySelectorAll({json.dumps(selector)}), e => e.textContent)")


def overflow(browser):
    return browser.value("document.documentElement.scrollWidth - window.innerWidth")


def test_a_day_at_a_glance(day, browser):
    browser.show(700)
    browser.open(day.url)
    assert browser.value("document.title") == "2 of 3 ready - credfresh"
    assert texts(browser, "h2") == ["reports", "billing", "registry"], "what needs attention comes first"
    assert texts(browser, "section .top b") == ["EXPIRED", "renewal fails", "fresh"]
    rows = browser.value("""Array.from(document.querySelectorAll("section"), s => Object.fromEntries(
        Array.from(s.querySelectorAll("dt"), t => [t.textContent, t.nextElementSibling.textContent])))""")
    assert re.match(r"expired 2 h", rows[0]["Lifetime"]) and "ServiceUnavailable" in rows[0]["Last error"], rows[0]
    assert re.match(r"expires in \d+ min", rows[1]["Lifetime"]) and "tries left" in rows[1]["Next"], rows[1]
    assert re.match(r"refresh in \d+ (min|s)", rows[2]["Next"]) and "Last error" not in rows[2], rows[2]
    assert "/bin/true: ok" in rows[2]["Hooks"]
    strips = browser.value("""Array.from(document.querySelectorAll("svg.day"), s => Array.from(
        s.querySelectorAll("rect"), r => [r.className.baseVal, r.width.baseVal.value]))""")
    assert all(sum(width for _, width in strip) == SLOTS for strip in strips)
    assert [kind for kind, _ in strips[0][-3:]] == ["good", "failing", "bad"]
    assert [kind for kind, _ in strips[1]] == ["good", "failing", "good", "failing", "good", "failing"]
    assert [kind for kind, _ in strips[2]] == ["good", "failing", "good"]


def test_nothing_comes_from_elsewhere(day, browser):
    browser.open(day.url)
    assert browser.requests() == [day.url]
    assert not browser.complaints()
    assert texts(browser, "script, img, link, iframe, object, form") == []


def test_it_loads_itself_again(day, browser):
    browser.open(day.url)
    browser.events.clear()
    browser.wait("Page.loadEventFired")
    assert browser.requests() == [day.url]


@pytest.mark.parametrize("width", [320, 390, 640, 1600])
def test_it_fits(day, browser, width):
    browser.show(width)
    browser.open(day.url)
    assert overflow(browser) <= 0
    widest = browser.value("Math.max(...Array.from(document.querySelectorAll('section'), e => e.getBoundingClientRect().right))")
    assert widest <= width
    tops = browser.value("Array.from(document.querySelectorAll('section'), e => e.getBoundingClientRect().top)")
    assert len(set(tops)) == (1 if width == 1600 else len(tops)), "cards stand side by side where there is room"


def test_light_and_dark(day, browser, tmp_path):
    colours = []
    for dark in (False, True):
        browser.show(700, dark=dark)
        browser.open(day.url)
        colours.append(browser.value("getComputedStyle(document.body).backgroundColor"))
        path = tmp_path / f"{dark}.png"
        browser.screenshot(path)
        assert 20_000 < path.stat().st_size < PICTURE_MAX
    assert colours == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]
    if os.environ.get("CFR_PICTURES") == "1":
        shutil.copyfile(tmp_path / "False.png", PICTURES / "status-page.png")


def test_names_are_only_text(browser, tmp_path):
    """Markup in the configuration, in a name and in an error, is shown and is none."""
    cloud = LocalCloud(tmp_path / "cloud")
    agent = Agent(tmp_path / "agent", cloud)
    address = f"127.0.0.1:{free_port()}"
    markup = "<script>document.title='owned'<img src=x onerror=alert(1)>\"'&amp;"
    (agent.dir / markup).symlink_to("/bin/true")
    agent.configure(agent.credential(reload=[{"exec": [f"{agent.dir}/{markup}"]}]),
                    agent.credential("other", token={"file": f"{agent.dir}/{markup}-token"}), listen=address).start()
    try:
        agent.wait_generation(1)
        eventually(lambda: agent.status("other").get("last_error"), lambda: agent.log)
        browser.open(f"http://{address}/")
        assert browser.value("document.title") == "1 of 2 ready - credfresh"
        assert texts(browser, "script, img") == []
        assert any(markup in text for text in texts(browser, "li")), texts(browser, "li")
        assert f"{markup}-token" in texts(browser, ".error")[0]
        assert not browser.complaints()
    finally:
        agent.stop()
        cloud.stop()
