# SPDX-License-Identifier: MIT
"""docs/errors.md and the pages below it have every refusal of the tables, and every error code of the program."""
import re

import pytest

from conftest import REPO
from test_doctor import doctor, gcp_credential

# Where the rows of each table's file are told.
PLACES = {
    "base/error_table.c": "Anything else that answers",
    "wire/aws.c": "AWS",
    "sts/aws/error.c": "AWS",
    "sts/aws/container_answer.c": "EKS Pod Identity and container endpoints",
    "sts/aws/ecr_error.c": "ECR",
    "sts/gcp/error.c": "Google",
    "sts/azure/error.c": "Azure",
    "sts/openstack/error.c": "OpenStack",
    "sts/oauth/error.c": "OAuth servers",
    "rotation/aws_answer.c": "IAM access keys",
    "rotation/gcp_answer.c": "Google service-account keys",
    "rotation/azure_answer.c": "Entra ID client secrets",
    "rotation/openstack_answer.c": "Keystone application credentials",
    "rotation/ibm_answer.c": "IBM Cloud API keys",
    "oidc/objects/object_answer.c": "Object stores",
    "kube/status.c": "Kubernetes",
}
# Rows that several services share.
SHARED = {"sts/aws/error.c": ["wire/aws.c"], "wire/aws.c": ["sts/aws/error.c"], "sts/aws/container_answer.c": ["wire/aws.c"],
          "sts/aws/ecr_error.c": ["wire/aws.c"], "rotation/aws_answer.c": ["wire/aws.c"]}
ERRORS = (REPO / "docs/errors.md").read_text()
PAGES = "\n".join(path.read_text() for path in [REPO / "docs/errors.md", *sorted((REPO / "docs/errors").glob("*.md"))])
# Our codes: {name in C: (code, class)}.
CODES = {name: (code, kind.lower()) for name, kind, code in
         re.findall(r'^    X\((\w+), (\w+), "([a-z-]+)"\)', (REPO / "base/err.h").read_text(), re.M)}
TEXT = r'"(?:[^"\\]|\\.)*"'
WHO = "*who*"


def joined(literals):
    return "".join(re.sub(r"\\(.)", r"\1", text[1:-1]) for text in re.findall(TEXT, literals))


def rows(path):
    """The rows in a C file: (what names it: code, status, message; the advice; our code and class)."""
    source = re.sub(r"/\*.*?\*/", " ", (REPO / path).read_text().replace("\\\n", " "), flags=re.S)
    macros = dict(re.findall(r"^#define ([A-Z_]+)[ \t]+(.*)$", source, re.M))

    def expand(text):
        return re.sub(rf"{TEXT}|\b[A-Z][A-Z_]+\b", lambda m: expand(macros[m[0]]) if m[0] in macros else m[0], text)

    tables = re.findall(r"const struct (?:cfr_error_table_)?row \w+\[\] = \{(.*?)\n\};", source, re.S)
    single = re.findall(r"const struct cfr_error_table_row \w+ = (\{.*?\});", source, re.S)
    for table in map(expand, tables + single):
        found = re.findall(rf"\{{\s*(?:(NULL|{TEXT}(?:\s*{TEXT})*),\s*)??(NULL|{TEXT}|\d+),\s*(NULL|{TEXT}|\d+),"
                           rf"\s*CFR_E_(\w+),\s*((?:\s*{TEXT})+)"
                           r"(?:,\s*ADVICE_\w+)?\}", table)
        assert len(found) == table.count("CFR_E_"), table
        for code, one, other, ours, advice in found:
            message, status = (other, one) if one.isdigit() else (one, other)
            # A receipt is what Keystone gives who has to show more; no code of its.
            for one_code in joined(code).split() if code.startswith('"') else [""]:
                names = [f"`{one_code}`"] if one_code not in ("", "receipt") else []
                names += [f"HTTP {status}"] if status != "0" else []
                names += [joined(message)] if message.startswith('"') else []
                yield names, joined(advice).replace("{who}", WHO), CODES[ours]


def entries(place):
    """The entries of the parts that begin with this heading: (text up to the advice, [(advice, [(code, class)])])."""
    parts = re.findall(rf"^## {re.escape(place)}(?::[^\n]*)?\n(.*?)(?=^##? |\Z)", PAGES, re.M | re.S)
    assert parts, place
    for entry in (entry for part in parts for entry in re.split(r"^### ", part, flags=re.M)[1:]):
        names, _, _ = entry.partition("\n>")
        advices = re.findall(r"^> (.+?)((?: (?:or )?\[[a-z, -]+\])+)$", entry, re.M)
        assert len(advices) == len(re.findall("^> .", entry, re.M)), f"code and class are missing: {entry}"
        yield " ".join(names.split()), [
            (advice, [(code, kind) for codes, kind in re.findall(r"\[([a-z -]+), (\w+)\]", ours) for code in codes.split(" or ")])
            for advice, ours in advices]


@pytest.mark.parametrize("path", PLACES)
def test_every_row_is_told(path):
    table = list(rows(path))
    assert len(table) >= 5, path
    page = list(entries(PLACES[path]))
    for names, advice, ours in table:
        assert any(advice == text and ours in codes for head, told in page for text, codes in told
                   if all(name in head for name in names)), \
            f"{PLACES[path]}: {' '.join(names)}: > {advice} [{', '.join(ours)}]"


@pytest.mark.parametrize("path", PLACES)
def test_no_advice_is_made_up(path):
    known = {(advice, ours) for file in [path, *SHARED.get(path, [])] for _, advice, ours in rows(file)}
    assert not [(advice, ours) for _, told in entries(PLACES[path]) for advice, codes in told for ours in codes
                if (advice, ours) not in known]


@pytest.mark.parametrize("path", PLACES)
def test_no_advice_promises_a_retry(path):
    """`doctor` and `check --online` print the same texts, and make one try."""
    source = re.sub(r'"\s*\\?\n\s*"', "", (REPO / path).read_text())
    assert not [text for text in re.findall(TEXT, source) if re.search(r"\b(tried|begins|starts|read) again|\bretrie[sd]", text)]


def test_every_code_of_ours():
    table = ERRORS.partition("## Error codes")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z-]+)` \| (\w+) \|", table, re.M) == list(CODES.values())


def test_every_entry_says_what_to_do():
    for entry in re.split(r"^### ", PAGES, flags=re.M)[1:]:
        name, _, body = re.split("\n##? ", entry)[0].partition("\n")
        assert len(re.sub(r"^>.*$", "", body, flags=re.M).strip()) > 5, name


def quoted():
    """The sentences of clouds that the pages quote: (part, entry's names, sentence)."""
    for part in re.findall(r"^## (.*?)(?=^##? |\Z)", PAGES, re.M | re.S):
        for entry in re.split(r"^### ", part, flags=re.M)[1:]:
            for sentence in re.findall(r'^(?:AWS|Google|Keystone): "(.*)"$', entry, re.M):
                yield part.partition("\n")[0], entry.partition("\n>")[0], sentence


def keystone_credential(agent):
    secret = agent.dir / "secret"
    secret.write_text("demo-secret")
    exchange = {"openstack": {"auth_url": agent.cloud.ready["keystone_url"], "ca_file": agent.cloud.ca,
                              "application_credential_id": "demo-app-credential",
                              "application_credential_secret_file": str(secret)}}
    publish = {"directory": str(agent.out), "files": [{"name": "t", "format": "openstack-token"}]}
    return agent.credential(exchange=exchange, token=None, publish=publish)


ASKED = {"AWS": ("AssumeRoleWithWebIdentity", lambda agent: agent.credential()),
         "Google: from the token service": ("gcp.token", gcp_credential),
         "Google: from impersonation": ("gcp.generateAccessToken", gcp_credential),
         "OpenStack: application credentials": ("keystone.auth", keystone_credential)}


@pytest.mark.parametrize("part, names, sentence", list(quoted()), ids=lambda value: value[:30])
def test_the_clouds_words_lead_to_the_entry(agent_factory, shared_cloud, part, names, sentence):
    """The cloud says it, and what credfresh prints is what stands below it on the page."""
    action, credential = ASKED[part]
    agent = agent_factory(shared_cloud)
    agent.configure(credential(agent))
    code = re.search(r'`(\w+)` with "', names) or re.search(r"`(\w+)`", names)
    status = re.search(r"HTTP (\d+)", names)
    said = sentence.replace("...", "2026-01-02")
    shared_cloud.fault(kind="error", code=code[1] if code else "Unauthorized", message=said,
                       status=int(status[1]) if status else 400, match={"action": action}, count=9)
    told = doctor(agent).one("cloud.exchange", "wrong", said[:60])["text"]
    advices = [advice for text, advice in entries(part) if text == " ".join(names.split())][0]
    assert any(all(piece in told for piece in advice.split(WHO)) for advice, _ in advices), (told, advices)


def test_the_clouds_words_are_there():
    assert {part for part, _, _ in quoted()} == set(ASKED)
