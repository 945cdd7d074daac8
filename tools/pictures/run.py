# SPDX-License-Identifier: MIT
"""A run of the demonstration (tools/demo.sh), of which docs/pictures/demo.json is the record: credentials over time, outages,
calls. A new record is build/demo/events.json after a run."""
import json

from svg import AMBER, Axis, DIM, GREEN, PALE, Picture, RED, TEXT

NAMES = {"aws": "AWS", "gcp": "Google", "azure": "Azure", "openstack": "OpenStack"}
HEIGHT = 78


def cloud_row(p, axis, y, name, cloud, length):
    calls, failed = sum(cloud["calls"]), len(cloud["failed_at"])
    p.text(16, y + 18, NAMES[name], TEXT, 14, True)
    p.text(16, y + 36, f"{len(cloud['generations'])} generations", DIM, 11)
    p.text(16, y + 56, f"{calls} calls,", DIM, 11)
    p.text(16, y + 70, f"{failed} failed", RED if failed else GREEN, 11, True)
    for start, end in cloud["outages"]:
        p.rect(axis.x(start), y, axis.x(end) - axis.x(start), HEIGHT - 6, PALE[RED])
        p.text((axis.x(start) + axis.x(end)) / 2, y + 44, "down", RED, 11, True, "middle")
    for i, (start, end) in enumerate(cloud["generations"]):
        until = cloud["generations"][i + 1][0] if i + 1 < len(cloud["generations"]) else length
        lane = y + 4 + i % 2 * 15
        # Where the lane's next one begins earlier, what is left of the lifetime is not drawn.
        shown = min(end, length, *(after[0] - 0.3 for after in cloud["generations"][i + 2:i + 3]))
        axis.bar(start, shown, lane, 11, PALE[GREEN], GREEN, 2, f"generation {i + 1}: {start} s to {end} s")
        axis.bar(start, min(until, end), lane, 11, GREEN, None, 2)
        if until - start > 1:
            p.text(axis.x(start) + 4, lane + 9, str(i + 1), "#ffffff", 9, True)
    most = max(cloud["calls"])
    for second, count in enumerate(cloud["calls"]):
        if count and second >= axis.start:
            height = 16 * count / most
            p.rect(axis.x(second) + 1, y + 70 - height, axis.x(second + 1) - axis.x(second) - 2, height, "#2da44e")
    for at in cloud["failed_at"]:
        p.rect(axis.x(at) - 1, y + 50, 2, 22, RED)


def draw(text):
    """TEXT: the record."""
    record = json.loads(text)
    length, clouds = record["length_s"], record["clouds"]
    calls = sum(sum(cloud["calls"]) for cloud in clouds.values())
    failed = sum(len(cloud["failed_at"]) for cloud in clouds.values())
    outages = sum(len(cloud["outages"]) for cloud in clouds.values())
    summary = f"{calls} calls to four clouds, {failed} failed: {outages} outages, a kill -9 and a forced rotation"
    begin = int(min(cloud["generations"][0][0] for cloud in clouds.values()))
    p = Picture(860, 176 + HEIGHT * len(clouds), "A run of the demonstration", summary)
    axis = Axis(p, 132, 836, begin, length)
    bottom = 104 + HEIGHT * len(clouds)
    p.text(16, 28, summary, TEXT, 16, True)
    p.text(16, 48, f"A run of tools/demo.sh. Credentials live one hour, and an hour lasts {record['hour_s']:.0f} s.", DIM, 12)
    axis.ticks(bottom, 62, 5, lambda second: f"{second - begin:.0f} s")
    p.text(16, 83, "agent", TEXT, 14, True)
    axis.bar(begin, length, 70, 16, PALE[GREEN], GREEN, 2)
    for start, end in record["agent_down"]:
        axis.bar(start, end, 70, 16, TEXT, radius=2)
        p.text(axis.x(start) - 5, 82, f"killed, started again after {end - start:.0f} s", TEXT, 11, anchor="end")
    p.line(axis.x(record["rotate_all"]), 70, axis.x(record["rotate_all"]), bottom, AMBER, 1, "3 3")
    p.text(axis.x(record["rotate_all"]) + 5, 82, "rotate --all", AMBER, 11)
    for i, (name, cloud) in enumerate(clouds.items()):
        cloud_row(p, axis, 100 + i * HEIGHT, name, cloud, length)
    y = bottom + 32
    p.rect(132, y, 26, 11, GREEN, None, 2)
    p.text(164, y + 10, "published, and the newest", DIM, 11)
    p.rect(322, y, 26, 11, PALE[GREEN], GREEN, 2)
    p.text(354, y + 10, "replaced, and still valid", DIM, 11)
    p.rect(500, y, 26, 11, "#2da44e")
    p.text(532, y + 10, "calls in each second", DIM, 11)
    p.rect(660, y, 26, 11, PALE[RED])
    p.text(692, y + 10, "token service unavailable", DIM, 11)
    return p.done()
