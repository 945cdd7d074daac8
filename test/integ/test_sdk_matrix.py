# SPDX-License-Identifier: MIT
"""How the SDK matrix judges what consumers report; the matrix itself is the stage sdk of tools/test.sh."""
import http.client
import http.server
import pathlib
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

SDK = pathlib.Path(__file__).resolve().parents[1] / "sdk"
sys.path.insert(0, str(SDK))
import books  # noqa: E402
import lab  # noqa: E402
import matrix  # noqa: E402
import measured  # noqa: E402
import rows  # noqa: E402

BACK = 120.0  # the agent has a good credential until 60 and again from then on


def held(t):
    return t < 60 or t >= BACK


def row(works=True, recommended=True, credential="aws-container"):
    return rows.Row("go", "an-sdk", "1", "container", credential, works, recommended)


def judge(calls, row):
    """CALLS are (time, ok, id); returns the result and what is not as the row says."""
    way = matrix.Way(row)
    for t, ok, name in calls:
        way.add({"t": float(t), "ok": ok, "id": name, "error": "" if ok else "refused"})
    result = way.judge(held, BACK)
    return result, matrix.complaint(row, result)


def steady(until, name="one", start=0):
    return [(t, True, name) for t in range(start, until)]


def test_an_sdk_that_follows_the_agent_works():
    outage = [(t, False, "") for t in range(60, 122)]
    result, wrong = judge(steady(60) + outage + steady(150, "two", 122), row())
    assert (result["works"], result["refused"], result["unserved"], result["back_s"], result["credentials"]) == (True, 0, 0, 2.0, 2)
    assert wrong is None


@pytest.mark.parametrize("name, said", [("old", "good credential: 1"), ("", "good one: 1")])
def test_a_failed_call_while_the_agent_has_a_credential_is_found(name, said):
    calls = steady(30) + [(30, False, name)] + steady(60, start=31) + steady(150, "two", 121)
    assert said in judge(calls, row())[1]


def test_an_sdk_that_does_not_come_back_is_found():
    calls = steady(60) + [(t, False, "one") for t in range(60, 150)]
    result, wrong = judge(calls, row())
    assert not result["works"] and "back after None s" in wrong
    assert judge(calls, row(rows.DEAD, False))[1] is None


def test_an_sdk_that_works_contrary_to_its_row_is_found():
    assert rows.DEAD in judge(steady(60) + steady(150, "two", 121), row(rows.DEAD, False))[1]
    assert judge([], row())[1] == "it made no call"


def test_only_a_full_run_is_long_enough_for_an_sdk_that_extends_lives():
    result, wrong = judge(steady(60) + steady(150, "two", 121), row(rows.EXTENDS, False))
    assert rows.EXTENDS in wrong and matrix.complaint(row(rows.EXTENDS, False), result, short=True) is None
    assert judge(steady(60) + steady(150, "two", 121), row(rows.ABANDONS, False))[1] is None


def test_a_way_that_never_worked_is_found_though_it_is_not_expected_to():
    calls = [(t, False, "") for t in range(150)]
    assert "no call succeeded" in judge(calls, row(rows.DEAD, False))[1]
    assert judge(calls, row(rows.ANONYMOUS, False))[1] is None


QUIET, DOWN = [(10, 70), (80, 140)], (140, 200)


def measure(asked, calls=(), credential="aws-container"):
    way = matrix.Way(row(credential=credential))
    for t, ok, name in calls:
        way.add({"t": float(t), "ok": ok, "id": name, "error": ""})
    return way.measure(asked, 60, QUIET, DOWN)


def test_what_is_asked_in_quiet_times_counts_and_in_the_outage_the_longest_pause():
    calls = [(t, t < 140 or t >= 200, "id") for t in range(0, 260, 5)]
    asked = [*range(0, 140, 2), 141, 145, 175, 201, 250]
    assert measure(asked, calls) == {"per_hour": 30, "pause_s": 30}
    hangs = [(t, True, "id") for t in (*range(0, 145, 5), *range(200, 260, 5))]
    assert measure(asked, hangs) == {"per_hour": 30, "pause_s": 30}
    assert measure([20, 90, 100], calls) == {"per_hour": 1.5, "pause_s": None}
    assert measure([]) == {"per_hour": 0, "pause_s": None}


def test_an_exchange_of_its_own_is_counted_by_its_credentials():
    calls = [(t, True, f"id{t // 20}") for t in range(140)] + [(t, False, "") for t in (145, 150, 170)] + [(201, True, "new")]
    assert measure(None, calls, "aws-web-identity") == {"per_hour": 3, "pause_s": 20}
    assert measure(None, calls, "aws-file") == {"per_hour": None, "pause_s": None}


KEPT = {"left_s": 300, "per_hour": 60, "pause_s": 2}


@pytest.mark.parametrize("seen, wrong", [
    ({"per_hour": 50}, None), ({"per_hour": 3}, "asks 3 times per hour, not 60"), ({"per_hour": None}, "asks None times"),
    ({"pause_s": 90}, "within 90 s in an outage, not 2"), ({"left_s": 290}, None), ({"left_s": None}, None),
    ({"left_s": 60}, "60 s before the end, not 300")])
def test_what_is_not_as_it_was_measured_is_found(seen, wrong):
    found = measured.difference({"way": "a:b", **KEPT, **seen}, {"a:b": KEPT})
    assert found is wrong is None or wrong in found
    assert "no figures" in measured.difference({"way": "a:c", **KEPT}, {})


@pytest.mark.parametrize("window_s", [0, 10, 300, 900])
def test_claims_find_how_long_before_the_end_an_sdk_asks(window_s):
    """With a call each second, of an SDK that then asks three times; what is claimed too long is so for 25 s at most."""
    claim, now, until = books.Claim(), 1000.0, 0
    while not claim.settled:
        now += 1
        if until - now <= window_s:
            asked = now
            for later in (0, 0.1, 0.2):
                until = claim.next(now + later)
        assert now - asked <= 26 and now < 1180
    assert claim.left_s == pytest.approx(window_s, abs=1.5)


@pytest.mark.parametrize("body, claimed", [
    (b'{"Expiration":"2026-01-01T00:00:00Z","Code":"Success"}', b'{"Expiration":"1970-01-01T00:01:25Z","Code":"Success"}'),
    (b'{"expires_in":59,"token":"expires_in"}', b'{"expires_in":25,"token":"expires_in"}'),
    (b'{"expires_on":"1767225600"}', b'{"expires_on":"85"}'), (b"role", b"role")])
def test_each_shape_of_an_end_is_claimed(body, claimed):
    assert books.Claim().rewrite(body, 60) == claimed


def test_doors_count_requests_for_their_way_and_hide_from_the_agent(tmp_path):
    hosts = []

    class Agent(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            hosts.append(self.headers["Host"])
            self.send_response(200)
            self.send_header("Content-Length", "16")
            self.end_headers()
            self.wfile.write(b'{"expires_in":9}')

    agent = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Agent)
    threading.Thread(target=agent.serve_forever, daemon=True).start()
    found = books.Books(tmp_path, "/bin/true")
    doors = {way: found.door(way, agent.server_port, way == "a:b") for way in ("a:b", "a:c")}
    found.claiming = True
    for way in ("a:b", "a:b", "a:c"):
        with urllib.request.urlopen(f"http://127.0.0.1:{doors[way]}/", timeout=10) as answer:
            assert answer.read() == (b'{"expires_in":25}' if way == "a:b" else b'{"expires_in":9}')
    assert [len(found.asked(way)) for way in doors] == [2, 1] and set(hosts) == {f"127.0.0.1:{agent.server_port}"}
    assert found.asked("a:d") is None
    agent.shutdown()
    agent.server_close()
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(f"http://127.0.0.1:{doors['a:b']}/", timeout=10)


def test_a_door_hangs_up_where_the_agent_dies_in_the_middle_of_an_answer(tmp_path):
    listener = socket.create_server(("127.0.0.1", 0))

    def die():
        connection, _ = listener.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\nhalf")
        connection.close()

    threading.Thread(target=die, daemon=True).start()
    door = books.Books(tmp_path, "/bin/true").door("a:b", listener.getsockname()[1])
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        urllib.request.urlopen(f"http://127.0.0.1:{door}/", timeout=10).read()


def test_runs_of_a_program_are_counted_for_their_way(tmp_path):
    found = books.Books(tmp_path, "/bin/echo")
    program = found.program("a:b")
    for _ in range(2):
        assert subprocess.run([program, "get", "kube"], capture_output=True, text=True).stdout == "get kube\n"
    assert len(found.asked("a:b")) == 2


@pytest.mark.parametrize("required", [False, True])
def test_a_missing_toolchain_is_a_failure_where_it_is_required(required, tmp_path):
    for tool in ("sh", "dirname"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    environment = {"PATH": str(tmp_path), "CFR_REAL": "1", **({"CFR_REQUIRE_REAL": "1"} if required else {})}
    done = subprocess.run(["/usr/bin/python3", "-B", SDK / "matrix.py", "--cache", tmp_path, tmp_path, "go", "rust"],
                          env=environment, capture_output=True, text=True)
    assert done.returncode == (1 if required else 0), done.stderr
    assert "SKIPPED go: there is no Go toolchain" in done.stdout and "SKIPPED rust:" in done.stdout


def test_every_way_has_figures():
    assert set(measured.load()) == {f"{row.sdk}:{row.way}" for row in rows.ROWS}


def test_rows_are_whole():
    names = [f"{row.sdk}:{row.way}" for row in rows.ROWS]
    assert len(names) == len(set(names))
    assert all(row.asks for row in rows.ROWS)
    for sdk in {row.sdk for row in rows.ROWS}:
        best = [row for row in rows.ROWS if row.sdk == sdk and row.recommended]
        assert best and all(row.works is True for row in best), sdk
    assert {row.credential for row in rows.ROWS} >= set(lab.OWN_EXCHANGE)
