# SPDX-License-Identifier: MIT
"""The first rows of monitoring/grafana-dashboard.json in the dashboard's own layout, with values that a Prometheus recorded of
running agents (docs/pictures/dashboard.json, written by test/real/test_prometheus.py). Drawn here, because Debian has no Grafana."""
import json
import math
import pathlib

from svg import AMBER, Axis, DIM, GREEN, LINE, PALE, Picture, RED, TEXT

DASHBOARD = pathlib.Path(__file__).resolve().parents[2] / "monitoring/grafana-dashboard.json"
ROWS = 30  # of the grid that are drawn
COLUMN, ROW, LEFT, TOP = 40, 25, 10, 56
SERIES = ["#1a7f37", "#0969da", "#bf8700", "#8250df", "#cf222e", "#1b7c83"]
COLOURS = {"green": GREEN, "orange": AMBER, "red": RED, "blue": "#0969da"}


def shown(value, unit):
    if unit == "percentunit":
        return f"{value * 100:.0f} %"
    return f"{value:.0f} s" if unit == "s" else f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def area(panel):
    """Where PANEL is, with a gap around it: (x, y, width, height)."""
    at = panel["gridPos"]
    return LEFT + at["x"] * COLUMN + 3, TOP + at["y"] * ROW + 3, at["w"] * COLUMN - 6, at["h"] * ROW - 6


def stat(p, panel, values):
    x, y, width, height = area(panel)
    defaults = panel["fieldConfig"]["defaults"]
    value = values[-1]
    colour = [step["color"] for step in defaults["thresholds"]["steps"] if step["value"] is None or value >= step["value"]][-1]
    p.text(x + width / 2, y + height / 2 + 26, shown(value, defaults["unit"]), COLOURS[colour], 30, True, "middle")


def scale(values):
    """(lowest, highest, step) of an axis for VALUES."""
    low, high = min(0, *values), max(1e-9, *values)
    step = next(size * 10 ** power for power in range(-3, 7) for size in (1, 2, 5) if (high - low) / (size * 10 ** power) <= 5)
    return low // step * step, -(-high // step) * step, step


def timeseries(p, panel, series, record):
    x, y, width, height = area(panel)
    defaults = panel["fieldConfig"]["defaults"]
    unit = defaults["unit"]
    # What is outside of the panel's limits is drawn at its edge.
    lowest, highest = defaults.get("min", -math.inf), defaults.get("max", math.inf)
    values = [min(max(value, lowest), highest) for one in series for value in one["values"] if value is not None]
    low, high, step = scale(values)
    top, bottom = y + 32, y + height - 34
    axis = Axis(p, x + 44, x + width - 10, 0, record["length_s"])

    def height_of(value):
        return bottom - (value - low) * (bottom - top) / (high - low)

    at = low
    while at <= high + step / 2:
        p.line(axis.x0, height_of(at), axis.x1, height_of(at), LINE if abs(at) > step / 10 else DIM)
        p.text(x + 40, height_of(at) + 4, shown(at, unit), DIM, 10, anchor="end")
        at += step
    for second in range(0, int(record["length_s"]) + 1, 20):
        p.text(axis.x(second), bottom + 13, f"{second} s", DIM, 10, anchor="middle")
    for i, one in enumerate(series):
        d, pen = "", "M"
        for n, value in enumerate(one["values"]):
            if value is None:
                pen = "M"
                continue
            d += f"{pen}{axis.x(n * record['step_s']):.1f} {height_of(min(max(value, lowest), highest)):.1f}"
            pen = "L"
        p.path(d, SERIES[i % len(SERIES)], 1.5)
    legend, room = x + 10, x + width - 10
    for i, one in enumerate(series):
        size = 26 + 6 * len(one["legend"])
        if legend + size > room:
            break
        p.line(legend, y + height - 12, legend + 12, y + height - 12, SERIES[i % len(SERIES)], 3)
        p.text(legend + 16, y + height - 8, one["legend"], TEXT, 10)
        legend += size


def table(p, panel, rows):
    x, y, width, _ = area(panel)
    step = width / len(rows[0])
    for i, row in enumerate(rows):
        for n, cell in enumerate(row):
            p.text(x + 10 + n * step, y + 46 + i * 22, cell, DIM if i == 0 else TEXT, 11, i == 0)
        p.line(x + 8, y + 53 + i * 22, x + width - 8, y + 53 + i * 22)


def draw(text):
    """TEXT: the record."""
    record = json.loads(text)
    dashboard = json.loads(DASHBOARD.read_text())
    p = Picture(24 * COLUMN + 2 * LEFT, TOP + ROWS * ROW + 10, "The dashboard", "The first rows of the dashboard during an outage")
    p.text(16, 26, "credfresh", TEXT, 16, True)
    p.text(16, 45, f"Two agents, with credentials that live one hour; an hour lasts {record['hour_s']:.0f} s. The cloud is unavailable "
           f"from {record['outage'][0]:.0f} s to {record['outage'][1]:.0f} s.", DIM, 12)
    for panel in dashboard["panels"]:
        if panel["gridPos"]["y"] + panel["gridPos"]["h"] > ROWS:
            continue
        x, y, width, height = area(panel)
        if panel["type"] == "row":
            p.text(x + 4, y + 15, panel["title"], TEXT, 14, True)
            continue
        p.rect(x, y, width, height, PALE[DIM], LINE, 4)
        p.text(x + 10, y + 19, panel["title"], TEXT, 11 if panel["type"] == "stat" else 12, True)
        data = record["panels"][str(panel["id"])]
        if panel["type"] == "stat":
            stat(p, panel, data)
        elif panel["type"] == "table":
            table(p, panel, data)
        else:
            timeseries(p, panel, data, record)
    return p.done()
