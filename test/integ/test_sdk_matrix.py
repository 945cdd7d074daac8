# SPDX-License-Identifier: MIT
"""How the SDK matrix judges what consumers report; the matrix itself is the stage sdk of tools/test.sh."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "sdk"))
import lab  # noqa: E402
import matrix  # noqa: E402
import rows  # noqa: E402

BACK = 120.0  # the agent has a good credential until 60 and again from then on


def held(t):
    return t < 60 or t >= BACK


def row(works=True, recommended=True):
    return rows.Row("go", "an-sdk", "1", "container", "aws-container", works, recommended)


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


def test_rows_are_whole():
    names = [f"{row.sdk}:{row.way}" for row in rows.ROWS]
    assert len(names) == len(set(names))
    assert all(row.asks for row in rows.ROWS)
    for sdk in {row.sdk for row in rows.ROWS}:
        best = [row for row in rows.ROWS if row.sdk == sdk and row.recommended]
        assert best and all(row.works is True for row in best), sdk
    assert {row.credential for row in rows.ROWS} >= set(lab.OWN_EXCHANGE)
