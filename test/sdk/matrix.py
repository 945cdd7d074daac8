#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the SDK matrix: real SDKs with one agent against the local cloud, through refreshes and an outage that is longer than
what the agent holds. README.md describes it.

usage: matrix.py [--short | --write] [--cache DIR] [--report FILE] [--keep DIR] BUILD_DIR [LANGUAGE | SDK | SDK:WAY]...

--write keeps in measured.json what a full run has seen, and page.py --write shows it. Exits with 1 if a row is not as rows.py
expects it or far from its figures, or, with CFR_REQUIRE_REAL=1, if a language is skipped.
"""
import argparse
import atexit
import collections
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import lab
import measured
import rows

HERE = pathlib.Path(__file__).resolve().parent
PERIOD_MS = 1000
SLACK_S = 1.5    # a call takes that long at most between the choice of the credential and the judgement
RESTART_S = 3    # an SDK that is refused a connection asks again within this time
START_S = 10     # the first asks of a run are not those of an hour
BACK_S = 65      # an SDK of a recommended way is back that soon after the agent: some read a file once a minute

# What happens when, in seconds. Lifetimes of an hour take 3600 / speed seconds; the agent renews in the middle of them. For
# claims_s the ends of credentials are claimed to be later, to see how long before them an SDK asks again.
Plan = collections.namedtuple("Plan", "speed claims_s restart_at outage_at outage_s length_s")
PLANS = {False: Plan(60, 190, 200, 320, 110, 540), True: Plan(120, 0, 50, 90, 55, 215)}

# What happened when: the start, when endpoints may not have answered because of the agent's restart, the end of the outage.
Course = collections.namedtuple("Course", "began killed restarted ended")


class Way:
    """A row and what was seen of it."""

    def __init__(self, row):
        self.row = row
        self.name = f"{row.sdk}:{row.way}"
        self.calls = []

    def add(self, line):
        self.calls.append(line)

    def judge(self, held, back):
        """HELD(t) is true if a good credential could be had at T, BACK the time when it could again after the outage."""
        good = next((c["t"] for c in self.calls if c["ok"] and back and c["t"] >= back), None)
        failed = [c for c in self.calls if not c["ok"]]
        early = [c for c in failed if held(c["t"]) and not (back and back <= c["t"] < (good or back + BACK_S))]
        refused = [c for c in early if c["id"]]
        ids = [c["id"] for c in self.calls if c["ok"]]
        return {
            "way": self.name, "calls": len(self.calls), "failed": len(failed), "refused": len(refused),
            "unserved": len(early) - len(refused), "credentials": len(set(ids)),
            "back_s": round(good - back, 1) if good and back else None,
            "works": bool(ids) and not refused and good is not None and all(c["ok"] for c in self.calls[-3:]),
            "first_error": next((c["error"] for c in refused or early or failed), ""),
        }

    def measure(self, asked, hour_s, quiet, down):
        """How often it asks. ASKED are the times when it did, None if nobody but itself knows: then each new credential is an
        exchange of its own. QUIET are the times (since, until) of normal work, DOWN those of the outage."""
        if asked is None and self.row.credential not in lab.OWN_EXCHANGE:
            return {"per_hour": None, "pause_s": None}
        firsts = {}
        for call in self.calls:
            if call["ok"]:
                firsts.setdefault(call["id"], call["t"])
        count = sum(since <= t < until for t in (firsts.values() if asked is None else asked) for since, until in quiet)
        long = sum(max(0, until - since) for since, until in quiet)
        rate = count * hour_s / long if long else None
        return {"per_hour": rate and round(rate, 1 if rate < 5 else None),
                "pause_s": self.pause([c["t"] for c in self.calls] if asked is None else asked, *down)}

    def pause(self, tries, since, until):
        """The longest pause between two TRIES in the outage. It ends with the call that succeeds, which may ask several times and
        is over before the next one; without a failed call one call has lasted until there was something."""
        failed = [c["t"] for c in self.calls if not c["ok"] and since <= c["t"] < until]
        after = [c["t"] for c in self.calls if c["t"] > max(failed, default=since + SLACK_S)]
        end = after[1] if len(after) > 1 else self.calls[-1]["t"] if self.calls else 0
        found = [t for t in tries if min(failed, default=since) <= t < end]
        return round(max(later - earlier for earlier, later in zip(found, found[1:]))) if len(found) > 1 else None


def setup(language, cache):
    """Builds the consumers of LANGUAGE; returns why it has to be skipped, or None."""
    wanted = "1" in (os.environ.get("CFR_REAL"), os.environ.get("CFR_REQUIRE_REAL"))
    if not (cache / language / "run").exists() and not wanted:
        return f"they are not in {cache / language}; CFR_REAL=1 fetches and builds them in a few minutes"
    built = subprocess.run(["sh", HERE / language / "setup.sh", cache / language], stdout=subprocess.PIPE, text=True)
    if built.returncode == 77:
        return built.stdout.strip()
    if built.returncode != 0:
        sys.exit(f"sdk: the consumers in {language} could not be built, see above")
    return None


def start(language, ways, place, cache):
    """Starts the consumers of LANGUAGE, with the variables of each way in a file; their lines go to the ways."""
    config = place.directory / f"{language}.json"
    config.write_text(json.dumps({way.name: place.variables(way.row) for way in ways}))
    process = subprocess.Popen([str(cache / language / "run"), *(way.name for way in ways)], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=open(place.directory / f"{language}.log", "wb"),
                               env=place.environment(config, PERIOD_MS))
    atexit.register(lambda: process.poll() is None and process.kill())
    by_name = {way.name: way for way in ways}

    def follow():
        with open(place.directory / f"{language}.lines", "w", encoding="utf-8") as kept:
            for line in process.stdout:
                kept.write(line)
                seen = json.loads(line)
                by_name[seen["way"]].add(seen)

    threading.Thread(target=follow, daemon=True).start()
    return process


class Watch:
    """What the agent holds of each credential, by its status twice a second."""

    def __init__(self, place):
        self.place = place
        self.seen = collections.defaultdict(list)  # credential: [(since, until)]
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        while True:
            now = time.time()
            for credential in self.place.status():
                ends = credential.get("expires")
                until = datetime.datetime.fromisoformat(ends.replace("Z", "+00:00")).timestamp() if ends else 0
                known = self.seen[credential["name"]]
                if credential["ready"] and until > now and (not known or known[-1][1] != until):
                    known.append((now, until))
            time.sleep(0.5)

    def held(self, name, t):
        """Without its first and last seconds, in which a call may be between two credentials. Endpoints give nothing out in the
        last second, and status shows whole ones."""
        return any(since + SLACK_S <= t < until - 2 * SLACK_S for since, until in self.seen[name])

    def back(self, name, after):
        return next((since for since, _ in self.seen[name] if since >= after), None)

    def ended(self, name, before):
        """When the last credential before BEFORE ended."""
        return max((until for since, until in self.seen[name] if since < before), default=before)


def complaint(row, result, short=False):
    """What is not as the row says, or None. A SHORT run does not last long enough for every flaw."""
    if not result["calls"]:
        return "it made no call"
    if row.works != rows.ANONYMOUS and not result["credentials"] and not result["refused"]:
        return f"no call succeeded: {result['first_error']}"
    if row.works is True and not result["works"]:
        return f"refused calls while the agent held a good credential: {result['refused']}; back after {result['back_s']} s: " \
               f"{result['first_error']}"
    always = (rows.DEAD, rows.ANONYMOUS) if short else (rows.DEAD, rows.ANONYMOUS, rows.EXTENDS, rows.SLOW)
    if result["works"] and row.works in always:
        return f"it works, though it is said: {row.works}"
    if row.recommended and result["back_s"] > BACK_S:
        return f"it works again only {result['back_s']} s after the outage"
    if row.recommended and result["unserved"]:
        return f"calls without a credential while the agent held a good one: {result['unserved']}: {result['first_error']}"
    return None


def choose(filters):
    ways = [Way(row) for row in rows.ROWS]
    chosen = [way for way in ways if not filters or {way.row.language, way.row.sdk, way.name} & set(filters)]
    unknown = set(filters) - {name for way in ways for name in (way.row.language, way.row.sdk, way.name)}
    if unknown:
        sys.exit(f"sdk: no row has {', '.join(sorted(unknown))}")
    return chosen


def kube_stops(plan):
    """The tokens of Kubernetes live longer than others here, so their outage begins earlier and ends with the others'."""
    return max(0, plan.outage_at + plan.outage_s - lab.KUBE_TOKEN_S - plan.outage_s / 4)


def follow_plan(plan, place, began):
    """The refreshes, a restart of the agent, the outage of every token service and of the kubelet, and the time after it.
    Returns when endpoints may not have answered because of the restart, and when the outage ended."""
    restart = ended = 0
    over = plan.outage_at + plan.outage_s
    events = [(t, "renew") for t in range(lab.KUBE_RENEWAL_S, plan.length_s, lab.KUBE_RENEWAL_S)
              if not kube_stops(plan) <= t <= over]
    events += [(kube_stops(plan), "pause"), (plan.restart_at, "restart"), (plan.outage_at, "outage"), (over, "over"),
               (plan.claims_s, "truth"), (plan.length_s, "end")]
    place.books.claiming = plan.claims_s > 0
    for moment, event in sorted(events):
        time.sleep(max(0, began + moment - time.time()))
        if event == "renew":
            place.renew_kube()
        elif event == "pause":
            place.renew_kube()
            place.pause_kube(True)
        elif event == "restart":
            print("sdk: kill -9 of the agent, which is started again", flush=True)
            killed = time.time()
            place.restart_agent()
            restart = (killed - SLACK_S, time.time() + RESTART_S)
        elif event == "truth":
            place.books.claiming = False
        elif event == "outage":
            print(f"sdk: outage of {plan.outage_s} s", flush=True)
            place.outage(True)
        elif event == "over":
            place.outage(False)
            place.pause_kube(False)
            place.renew_kube()
            ended = time.time()
            print("sdk: the token services are back", flush=True)
    return restart, ended


def look(way, place, watch, plan, course):
    """What was seen of a way in the COURSE of a run."""
    name = way.row.credential
    if name in lab.OWN_EXCHANGE:  # what the agent holds is only what they begin with
        down = (course.ended - plan.outage_s - SLACK_S, course.ended + SLACK_S)
        held, back = (lambda t: not down[0] < t < down[1]), course.ended
    else:
        held, back = (lambda t: watch.held(name, t)), watch.back(name, course.ended)
        down = (watch.ended(name, course.ended), back or time.time())
    result = way.judge(lambda t: held(t) and not course.killed < t < course.restarted, back)
    stops = course.began + (kube_stops(plan) if name == "kube" else plan.outage_at)
    settled = down[1] + max(result["back_s"] or 0, START_S)
    quiet = [(course.began + plan.claims_s + START_S, course.killed), (course.restarted, stops),
             (settled, course.began + plan.length_s)]
    asked = place.books.asked(way.name)
    return {**result, "left_s": place.books.left_s(way.name), **way.measure(asked, 3600 / plan.speed, quiet, down)}


def show(number):
    return "-" if number is None else f"{number:g}"


def tell(result):
    return (f"{result['way']:<36}{result['calls']:>4} calls{result['failed']:>4} failed{result['refused']:>4} refused"
            f"{result['unserved']:>4} unserved{result['credentials']:>4} credentials, asks {show(result['per_hour'])} per hour, "
            f"{show(result['left_s'])} s before the end, within {show(result['pause_s'])} s in the outage, "
            f"back {show(result['back_s'])} s")


def main():
    options = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    options.add_argument("--short", action="store_true")
    options.add_argument("--cache", type=pathlib.Path, default=os.environ.get("CFR_CACHE", "/var/cache/credfresh") + "/sdk")
    options.add_argument("--report", type=pathlib.Path)
    options.add_argument("--write", action="store_true")
    options.add_argument("--keep", type=pathlib.Path)
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("filters", nargs="*")
    given = options.parse_args()
    if given.short and given.write:
        options.error("the figures come from full runs")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ways, skipped = choose(given.filters), {}
    for language in dict.fromkeys(way.row.language for way in ways):
        why = setup(language, given.cache)
        if why:
            skipped[language] = why
            print(f"sdk: SKIPPED {language}: {why}", flush=True)
    ways = [way for way in ways if way.row.language not in skipped]
    results, wrong = [], []
    if ways:
        directory = given.keep or pathlib.Path(tempfile.mkdtemp(prefix="cfr-sdk-"))
        plan = PLANS[given.short]
        place = lab.Place(directory, given.build.resolve(), plan.speed)
        watch = Watch(place)
        processes = [start(language, [way for way in ways if way.row.language == language], place, given.cache)
                     for language in dict.fromkeys(way.row.language for way in ways)]
        print(f"sdk: {len(ways)} ways of {len({way.row.sdk for way in ways})} SDKs, {plan.length_s} s", flush=True)
        began = time.time()
        restart, ended = follow_plan(plan, place, began)
        for process in processes:
            process.stdin.close()
            process.wait(20)
        for way in ways:
            results.append(look(way, place, watch, plan, Course(began, *restart, ended)))
            why = complaint(way.row, results[-1], given.short)
            if not why and not given.short and not given.write and way.row.works != rows.ABANDONS:
                why = measured.difference(results[-1])
            print(tell(results[-1]) + (f"  WRONG: {why}" if why else ""))
            wrong += [way.name] if why else []
        place.stop()
        if not given.keep and not wrong:
            shutil.rmtree(directory)
        elif wrong:
            print(f"sdk: not as rows.py says: {', '.join(wrong)}; the logs are in {directory}")
    if given.write:
        measured.write(results)
    if given.report:
        given.report.write_text(json.dumps({"skipped": skipped, "rows": results}, indent=1) + "\n")
    if skipped and os.environ.get("CFR_REQUIRE_REAL") == "1":
        print("sdk: CFR_REQUIRE_REAL=1, so what is skipped is a failure")
        return 1
    if wrong and given.short and not given.filters:
        # Eighty programs on a small machine are slow now and then; a defect is there again.
        print("sdk: these once more, by themselves", flush=True)
        os.execv(sys.executable, [sys.executable, __file__, "--short", "--cache", str(given.cache), str(given.build), *wrong])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
