#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the tables of docs/sdks.md from the rows of the SDK matrix, which the matrix proves, and its figures in measured.json.

usage: page.py [--write]

Without --write, exits with 1 if the page differs.
"""
import pathlib
import sys

import measured
from rows import ROWS

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/sdks.md"
LANGUAGES = {"go": "Go", "java": "Java", "javascript": "JavaScript", "python": "Python", "rust": "Rust"}
# What users call the SDKs whose row has another name, because two languages share it.
NAMES = {
    "gcp-auth-go": "cloud.google.com/go/auth", "aws-sdk-java-v2": "AWS SDK for Java 2", "aws-sdk-java-v1": "AWS SDK for Java 1",
    "google-auth-java": "google-auth-library", "azure-identity-java": "azure-identity", "client-java": "kubernetes client-java",
    "fabric8": "fabric8 kubernetes-client", "aws-sdk-js-v3": "@aws-sdk (v3)", "google-auth-js": "google-auth-library",
    "azure-identity-js": "@azure/identity", "client-node": "@kubernetes/client-node"}
# What credfresh serves or publishes for a way.
SOURCES = {
    "aws-container": "endpoint `aws_container`", "aws-imds": "endpoint `ec2_imds`", "aws-process": "`credfresh get aws`",
    "aws-file": "format `aws-credentials`", "aws-web-identity": "formats `token` and `aws-config`",
    "gcp-metadata": "endpoint `gce_metadata`", "gcp-executable": "`credfresh get gcp`", "gcp-file": "format `gcp-external-account`",
    "azure-app-service": "endpoint `azure_app_service`", "azure-workload": "format `azure-env`",
    "openstack": "format `clouds-yaml`", "registry": "format `docker-config`"}


def source(row):
    if row.credential == "kube":
        return "`credfresh get kube`" if row.way.startswith("exec") else "format `token`"
    return SOURCES[row.credential]


def recommended():
    lines = ["| language | SDK | recommended | also works | does not work |", "|---|---|---|---|---|"]
    for language, shown in LANGUAGES.items():
        for sdk in dict.fromkeys(row.sdk for row in ROWS if row.language == language):
            ways = [row for row in ROWS if row.sdk == sdk]
            cells = [", ".join(f"{row.way} ({source(row)})" for row in ways if good(row)) or "-" for good in (
                lambda row: row.recommended, lambda row: row.works is True and not row.recommended, lambda row: row.works is not True)]
            lines.append(f"| {shown} | {NAMES.get(sdk, sdk)} | {' | '.join(cells)} |")
    return lines


def figure(number, unit=""):
    """A figure of measured.json as a person would say it; less than a second is at once."""
    return "-" if number is None else "at once" if unit and number < 1 else f"{number:g}{unit}"


def all_rows():
    lines = ["| SDK | method | from | works | asks again | per hour | in an outage | back after | needs |",
             "|---|---|---|---|---|---|---|---|---|"]
    seen = measured.load()
    for language in LANGUAGES:
        for row in ROWS:
            if row.language == language:
                works = "yes" if row.works is True else f"no: {row.works}"
                found = seen[f"{row.sdk}:{row.way}"]
                asks = row.asks if found["left_s"] is None else f"{row.asks} ({found['left_s']} s)"
                back = found["back_s"] and round(found["back_s"])
                cells = [f"{NAMES.get(row.sdk, row.sdk)} {row.version}", row.way, source(row), works, asks,
                         figure(found["per_hour"]), figure(found["pause_s"], " s"), figure(back, " s"), row.needs or "-"]
                lines.append(f"| {' | '.join(cells)} |")
    return lines


def fill(text):
    """TEXT with the tables between their marks."""
    for name, lines in (("recommended", recommended()), ("rows", all_rows())):
        begin, end = f"<!-- {name}: made by test/sdk/page.py -->\n", f"<!-- end of {name} -->"
        head, rest = text.split(begin)
        text = head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]
    return text


def main():
    text = PAGE.read_text()
    made = fill(text)
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(made)
    elif made != text:
        print(f"{PAGE}: its tables are not those of test/sdk/rows.py and measured.json: run test/sdk/page.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
