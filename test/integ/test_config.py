# SPDX-License-Identifier: MIT
"""Every kind of mistake in the configuration and in the machine around it, as `check`, `run` and `once` report them."""
import http.server
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import termios
import threading

import pytest

from conftest import AS_NOBODY, CREDFRESH, ROLE, eventually

BASE = """\
version: 1
state_dir: {dir}/state
log: {{level: debug}}
keep_previous: 10m
credentials:
  - name: demo
    required: true
    token:
      file: {token}
    exchange:
      aws:
        role_arn: {role}
        region: us-east-1
        endpoint: {sts}
        ca_file: {ca}
    publish:
      directory: {dir}/out
      directory_mode: "0755"
      files:
        - name: credentials
          format: aws-credentials
          mode: "0640"
        - name: token
          format: token
    reload:
      - exec: [/bin/true]
        timeout: 5s
"""

# what is replaced, by what, a text on the line that must be named, and what the error must say
MISTAKES = {
    "unknown key": ("keep_previous: 10m", "keep_previos: 10m", "keep_previos", ["unknown key", "keep_previous?"]),
    "unknown key deep down": ("required: true", "requird: true", "requird", ["unknown key", "required?"]),
    "unknown key without a likeness": ("required: true", "colour: red", "colour", ["unknown key", "credential has:"]),
    "duplicate key": ("keep_previous: 10m", "keep_previous: 10m\nkeep_previous: 5m", "keep_previous: 5m",
                      ["given twice", "line 4", "remove one"]),
    "a list for text": ("region: us-east-1", "region: [us-east-1]", "region", ["single value", "a list"]),
    "text for a mapping": ("log: {level: debug}", "log: debug", "log", ["expected a mapping", "level: ..."]),
    "a mapping for a list": ("exec: [/bin/true]", "exec: {a: b}", "exec", ["expected a list"]),
    "text for a boolean": ("required: true", "required: yes", "required", ["write true"]),
    "text for a number": ("version: 1", 'version: "1"', "version", ["without"]),
    "a version to come": ("version: 1", "version: 2", "version", ["must be 1"]),
    "a duration without unit": ("keep_previous: 10m", "keep_previous: 10", "keep_previous", ["no unit", "10s"]),
    "not a duration": ("timeout: 5s", "timeout: soon", "timeout", ["not a duration", "90s"]),
    "a duration out of range": ("timeout: 5s", "timeout: 3h", "timeout", ["timeout", "10m"]),
    "an unquoted mode": ('mode: "0640"', "mode: 0640", "mode: 0640", ['"0640"']),
    "a mode that is none": ('mode: "0640"', 'mode: "0999"', "0999", ["mode"]),
    "a mode writable for all": ('mode: "0640"', 'mode: "0666"', "0666", ["mode"]),
    "an unknown format": ("format: aws-credentials", "format: aws-credential", "format: aws-credential",
                          ["did you mean aws-credentials?"]),
    "an unknown level": ("level: debug", "level: loud", "loud", ["error, warn, info, debug"]),
    "a name with a slash": ("name: credentials", "name: a/b", "a/b", ["without /"]),
    "a name with dots": ("name: credentials", 'name: "..data"', "..data", ["do not begin it with .."]),
    "a path with dots": ("{dir}/out", "{dir}/../out", "/../out", ["component ..", "write the path it leads to"]),
    "a relative path": ("{dir}/out", "out", "directory: out", ["begins with /"]),
    "a missing CA": ("{ca}", "/nonexistent/ca.pem", "ca_file", ["exchange.aws.ca_file", "/nonexistent/ca.pem"]),
    "a CA that is none": ("{ca}", "/etc/passwd", "ca_file", ["no certificate"]),
    "a socket path that is too long": ("keep_previous: 10m", "control_socket: /" + "s" * 120, "control_socket",
                                       ["longer than 107"]),
    "no role": ("        role_arn: {role}\n", "", "        region", ["role_arn", "is missing"]),
    "no token": ("    token:\n      file: {token}\n", "", "role_arn", ["needs a token", "add `token:`"]),
    "a key without value": ("keep_previous: 10m", "keep_previous:", "keep_previous", ["has no value"]),
    "an empty list": ("exec: [/bin/true]", "exec: []", "exec", ["is empty"]),
    "an anchor": ("keep_previous: 10m", "keep_previous: &k 10m", "keep_previous", ["anchors", "write the value out"]),
    "an alias": ("keep_previous: 10m", "keep_previous: *k", "keep_previous", ["aliases", "write the value out"]),
    "a merge key": ("    required: true", "    <<: {required: true}", "<<", ["merge keys"]),
    "a tag": ("keep_previous: 10m", "keep_previous: !!str 10m", "keep_previous", ["tags"]),
    "two documents": ("        timeout: 5s\n", "        timeout: 5s\n---\nversion: 1\n", "---",
                      ["second document"]),
    "a tab": ("    required: true", "\trequired: true", "\trequired", ["tab"]),
    "not YAML": ("log: {level: debug}", "log: {level: debug", None, ["expected `,` or `}`", "line 3"]),
    "not UTF-8": ("keep_previous: 10m", "keep_previous: 10m # \udcff", "keep_previous", ["not UTF-8"]),
    "a relative command": ("exec: [/bin/true]", "exec: [true]", "exec", ["absolute path", "no shell"]),
    "two hooks in one": ("exec: [/bin/true]", "exec: [/bin/true]\n        http: {url: http://127.0.0.1/}", "exec",
                         ["more than one"]),
    "plain http to elsewhere": ("exec: [/bin/true]", "http: {url: http://example.com/}", "- http:",
                                ["loopback", "https://"]),
    "a signal that is none": ("exec: [/bin/true]", "signal: {pid_file: /run/x.pid, signal: KILL}", "signal",
                              ["not a valid value"]),
    "a listen address that is none": ("keep_previous: 10m", "listen: localhost", "listen", ["127.0.0.1:9464"]),
    "a format without its exchange": ("    exchange:\n      aws:\n        role_arn: {role}\n        region: us-east-1\n"
                                      "        endpoint: {sts}\n        ca_file: {ca}\n", "", "format: aws-credentials",
                                      ["exchange:", "format token"]),
    "no region": ("        region: us-east-1\n        endpoint: {sts}\n", "", "role_arn", ["region"]),
    "a role that is none": ("{role}", "demo", "role_arn", ["role_arn"]),
}


class Machine:
    """A configuration file in a folder, and the commands with it."""

    def __init__(self, tmp_path, cloud):
        self.path = tmp_path / "credfresh.yaml"
        self.values = {"dir": tmp_path, "token": cloud.volumes["demo"] / "token", "role": ROLE, "sts": cloud.sts,
                       "ca": cloud.ca}
        self.dir = tmp_path

    def write(self, old="", new=""):
        assert BASE.count(old.replace("{level", "{{level").replace("debug}", "debug}}")) >= 1, old
        text = BASE.format(**self.values)
        for name, value in self.values.items():
            old, new = old.replace("{" + name + "}", str(value)), new.replace("{" + name + "}", str(value))
        if old:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return text

    def run(self, *argv, env=None, wrapper=()):
        return subprocess.run([*wrapper, CREDFRESH, argv[0], "-c", str(self.path), *argv[1:]], capture_output=True,
                              text=True, timeout=30, env={**os.environ, **(env or {})}, cwd=self.dir)


@pytest.fixture
def machine(tmp_path, shared_cloud):
    return Machine(tmp_path, shared_cloud)


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_told_with_its_line_and_the_remedy(machine, kind):
    old, new, marker, words = MISTAKES[kind]
    text = machine.write(old, new)
    done = machine.run("check")
    assert done.returncode == 3, done.stdout + done.stderr
    lines = [n for n, line in enumerate(text.split("\n"), 1) if marker is not None and marker in line]
    told = re.findall(re.escape(str(machine.path)) + r":(\d+): (.*)", done.stdout)
    assert told, done.stdout
    if marker is not None:
        assert lines and int(told[0][0]) == lines[0], done.stdout
    for word in words:
        assert word in told[0][1], done.stdout
    assert "Traceback" not in done.stdout and len(told) <= 2, "one mistake, one line:\n" + done.stdout


# What newcomers write, and each line that `check` prints about it, without "ERROR  FILE:". The text begins on line 3 unless
# it begins with "!".
HEAD = "version: 1\ncredentials:\n"
TOKEN = "  - name: app\n    token: {file: /x/token}\n"
FILES = "    publish: {directory: /d, files: [{name: t, format: token}]}\n"
PATH = "must be an absolute path, which begins with /"
VARIABLE = "variables are not replaced in this file; write the value"
FIRST_CONTACT = {
    "a key too far left": (TOKEN + "  exchange:\n      aws: {}\n",
                           ["5: `exchange` stands further left than `name` on line 3; indent it to the same column"]),
    "a key between two columns": (TOKEN + "   exchange:\n      aws: {}\n",
                                  ["5: `exchange` stands further left than `name` on line 3; indent it to the same column"]),
    "a key too far right": ("!version: 1\n log: {}\n",
                            ["2: `log` stands further right than `version` on line 1; indent it to the same column"]),
    "no space after a colon": ("  - name:app\n    token: {file: /x/token}\n", ["3: write a space after the colon: `name: app`"]),
    "no space after a colon, a value": ("!version: 1\nlog:\n  level:debug\n  format: json\n",
                                        ["3: write a space after the colon: `level: ...`"]),
    "no space after a colon, the only key": ("  - name: app\n    token:\n      file:/x/token\n" + FILES,
                                             ["5: credential app: token: write a space after the colon: `file: ...`"]),
    "no colon": ("!version: 1\ncredentials\n  - name: app\n", ["2: write a colon and a space after the key on this line"]),
    "a colon in a value": ("!version: 1\nlisten: a: b\n", ["2: put a value with a colon and a space in it in quotes"]),
    "a list next to its key": ("!version: 1\ncredentials: - name: app\n", ["2: write the first `- ` on a new line"]),
    "no closing brace": ("!version: 1\nlog: {level: info\ncredentials: []\n",
                         ["3: expected `,` or `}` here, for the `{` on line 2"]),
    "an open quote": ('!version: 1\nlisten: "a\ncredentials: []\n',
                      ["2: the quotation mark on this line has no counterpart up to the end of the file; add it"]),
    "a special character": ("!version: 1\nlisten: @a\n", ["2: a value cannot begin with this character; put it in quotes"]),
    "a tab": (TOKEN + "\texchange: {}\n", ["5: a tab indents this line; write spaces"]),
    "variables": ("  - name: app\n    token: {file: $HOME/token}\n    exchange:\n      aws:\n"
                  "        role_arn: $ROLE_ARN\n        region: eu-west-1\n" + FILES,
                  [f"4: credential app: token.file: {VARIABLE}", f"7: credential app: exchange.aws.role_arn: {VARIABLE}"]),
    "a part that is a variable": (TOKEN + "    exchange:\n      aws:\n        region: eu-west-1\n"
                                  "        role_arn: arn:aws:iam::${ACCOUNT}:role/app\n" + FILES,
                                  [f"8: credential app: exchange.aws.role_arn: {VARIABLE}"]),
    "a variable in braces": (TOKEN + "    exchange:\n      aws: {role_arn: ${ROLE_ARN}, region: eu-west-1}\n" + FILES,
                             [f"6: {VARIABLE}"]),
    "a ConfigMap": ("!apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata:\n  credfresh.yaml: |\n    version: 1\n",
                    ["1: this is a Kubernetes object; credfresh reads the text below `data:`, `credfresh.yaml:`"]),
    "a secret": ("  - name: app\n    exchange:\n      oauth: {token_url: 'https://a.example/', client_id: x, client_secret: s3cr3t}\n"
                 "    publish: {directory: /d, files: [{name: t, format: oauth-access-token}]}\n",
                 ["5: credential app: exchange.oauth: client_secret: secrets are never written here; put it in a file and "
                  "name it in `client_secret_file`"]),
    "a password": ("  - name: app\n    exchange:\n      openstack: {auth_url: 'https://a.example/v3', password: s3cr3t}\n"
                   "    publish: {directory: /d, files: [{name: t, format: openstack-token}]}\n",
                   ["5: credential app: exchange.openstack: password: secrets are never written here; put it in a file and "
                    "name it in `password_file`"]),
    "keys of a cloud": (TOKEN + "    secret_access_key: abc\n" + FILES,
                        ["5: credential app: secret_access_key: secrets are never written here, and this credential has no key "
                         "for the file of one; mount it as a Secret and name that in `secret` of the credential"]),
    "no version": ("!credentials:\n" + TOKEN + FILES, ["1: version: is missing; the file must begin with `version: 1`"]),
    "a service account that is no address": (
        TOKEN + "    exchange:\n      gcp:\n        service_account: sa\n        audience: //iam.googleapis.com/projects/1/"
        "locations/global/workloadIdentityPools/p/providers/q\n" + FILES,
        ["7: credential app: exchange.gcp: service_account: it must be an email address (or the numeric id) of a service "
         "account; write NAME@PROJECT.iam.gserviceaccount.com"]),
    "a URL without its scheme": (
        TOKEN + FILES + "    reload:\n      - http: {url: 127.0.0.1/reload}\n",
        ["7: credential app: reload.http.url: it must be a URL that begins with https://, or http:// on this machine: write "
         "http://127.0.0.1/reload"]),
    "a short role": (TOKEN + "    exchange: {aws: {role_arn: app, region: eu-west-1}}\n" + FILES,
                     ['5: credential app: exchange.aws.role_arn: it must be the ARN of a role, such as '
                      '"arn:aws:iam::123456789012:role/NAME"']),
    "a hook as text": (TOKEN + FILES + "    reload: systemctl reload app\n",
                       ["6: credential app: reload: expected a list, got text; write each item after a dash"]),
    "an empty file": ("!", ["1: the file is empty; begin with `version: 1`"]),
    "all of it at once": (
        "  - name: my app\n    token: {file: token}\n    exchange:\n      aws:\n        role_arn: role/app\n"
        "        region: eu-west-1\n        ca_file: /nonexistent/ca.pem\n"
        "    publish: {directory: d, files: [{name: t, format: gcp-access-token}]}\n    keep_previous: 5\n",
        ["3: credential my app: name: has a character that names cannot have; use letters, digits, dot, dash and underscore",
         f"4: credential my app: token.file: {PATH}",
         '7: credential my app: exchange.aws.role_arn: it must be the ARN of a role, such as "arn:aws:iam::123456789012:role/NAME"',
         "9: credential my app: exchange.aws.ca_file: cannot be used: cannot open /nonexistent/ca.pem: No such file or directory",
         f"10: credential my app: publish.directory: {PATH}",
         "10: credential my app: publish.files.format: gcp-access-token needs gcp_access_token, which this credential does not "
         "have; add an `exchange:` that gives it, or write format token",
         "11: credential my app: keep_previous: 5 has no unit; write 5s if seconds are meant"]),
}


@pytest.mark.parametrize("kind", FIRST_CONTACT)
def test_what_newcomers_write(tmp_path, kind):
    text, lines = FIRST_CONTACT[kind]
    path = tmp_path / "c.yaml"
    path.write_text(text[1:] if text.startswith("!") else HEAD + text)
    done = subprocess.run([CREDFRESH, "check", str(path)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 3 and "s3cr3t" not in done.stdout, done
    assert re.findall(f"^ERROR  {re.escape(str(path))}:(.*)", done.stdout, re.M) == lines


@pytest.mark.parametrize("columns", [60, 90])
def test_a_line_is_wrapped_at_the_terminals_width(machine, columns):
    machine.write("keep_previous: 10m", "keep_previous: a long while that is longer than a terminal")
    for argv in (["check"], ["once"], ["env", "demo"]):
        ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        process = subprocess.Popen([CREDFRESH, *argv, "-c", machine.path.name], stdout=theirs, stderr=theirs, stdin=theirs,
                                   cwd=machine.dir)
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait(30) == 3
        lines = re.sub(r"\033\[[0-9;]*m", "", shown.decode()).splitlines()
        assert len(lines) > 1 and all(len(line) <= columns or " " not in line.strip() for line in lines), lines
        assert "or 1h30m" in " ".join(" ".join(lines).split())


@pytest.mark.parametrize("command", ["run", "once"])
def test_nothing_starts_with_a_mistake(machine, command):
    machine.write("keep_previous: 10m", "keep_previos: 10m")
    done = machine.run(command)
    assert done.returncode == 3
    assert f"{machine.path}:4: unknown key keep_previos; did you mean keep_previous?" in done.stderr
    assert not (machine.dir / "state").exists() and not (machine.dir / "out").exists()


def test_all_mistakes_are_told_in_order(machine):
    machine.write("required: true", "requird: true\n    keep_previous: 5\n    requird: false")
    done = machine.run("check")
    lines = [int(n) for n in re.findall(r"\.yaml:(\d+): ", done.stdout)]
    assert done.returncode == 3 and lines == [7, 8, 9]


@pytest.mark.parametrize("second, words", [
    ({"directory": "{dir}/out"}, ["credential other", "is also written by", "credential demo"]),
    ({"directory": "{dir}/out/deeper"}, ["is in the directory of", "credential demo"]),
    ({"directory": "{token}"}, ["is the token file of"]),
])
def test_two_do_not_write_to_one_path(machine, second, words):
    machine.write()
    extra = "  - name: other\n    token: {file: %s}\n    publish:\n      directory: %s\n      files:\n" \
            "        - {name: token, format: token}\n" % (machine.values["token"],
                                                         second["directory"].format(**machine.values))
    machine.path.write_text(machine.path.read_text() + extra)
    done = machine.run("check")
    assert done.returncode == 3, done.stdout
    assert all(word in done.stdout for word in words), done.stdout


def test_two_credentials_of_one_name(machine):
    text = machine.write()
    again = text[text.index("  - name: demo"):].replace("/out", "/out2")
    machine.path.write_text(text + again)
    done = machine.run("check")
    assert done.returncode == 3 and "another credential has it" in done.stdout


def test_the_default_socket_may_be_too_long_as_well(machine):
    machine.write("state_dir: {dir}/state", "state_dir: {dir}/" + "s" * 100)
    done = machine.run("check")
    assert done.returncode == 3 and "control_socket" in done.stdout and "shorter path" in done.stdout


def test_no_file_and_no_text(machine):
    done = machine.run("check")
    assert done.returncode == 3 and str(machine.path) in done.stdout and "No such file" in done.stdout
    machine.path.write_text("")
    done = machine.run("check")
    assert done.returncode == 3 and f"{machine.path}:1: " in done.stdout and "version: 1" in done.stdout
    machine.path.write_bytes(b"#" * (17 << 20))
    assert machine.run("check").returncode == 3


def test_a_good_one_is_good(machine):
    machine.write()
    done = machine.run("check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "system:serviceaccount:default:demo" in done.stdout and "0 errors" in done.stdout
    assert not (machine.dir / "state").exists() and not (machine.dir / "out").exists()


# ---- the machine ----

@pytest.mark.parametrize("old, new, words", [
    ('mode: "0640"', 'mode: "0640"\n          owner: nobody-of-that-name', "nobody-of-that-name"),
    ('mode: "0640"', 'mode: "0640"\n          group: no-such-group', "no-such-group"),
    ("exec: [/bin/true]", "exec: [/nonexistent/reload]", "/nonexistent/reload"),
    ("exec: [/bin/true]", "exec: [/etc/passwd]", "/etc/passwd"),
    ("directory: {dir}/out", "directory: {dir}/credfresh.yaml/out", "Not a directory"),
])
def test_what_the_machine_lacks(machine, old, new, words):
    machine.write(old, new)
    done = machine.run("check")
    assert done.returncode == 1, done.stdout + done.stderr
    assert words in done.stdout and "ERROR" in done.stdout and "1 error," in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="changes its user")
def test_a_directory_that_refuses_us(machine, tmp_path_factory):
    machine.write("directory: {dir}/out", "directory: /usr/credfresh-out")
    for path in [machine.dir, *machine.dir.parents]:
        if str(path).startswith("/tmp/"):
            os.chmod(path, 0o755)
    for path in [machine.values["token"].parent, *machine.values["token"].parents]:
        if str(path).startswith("/tmp/"):
            os.chmod(path, 0o755)
    done = machine.run("check", wrapper=AS_NOBODY)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "/usr/credfresh-out: cannot write in /usr: Permission denied" in done.stdout


def test_no_token_yet_is_a_warning(machine):
    machine.write("{token}", "{dir}/token")
    done = machine.run("check")
    assert done.returncode == 0 and "waiting for the token file" in done.stdout
    assert machine.run("check", "--online").returncode == 1


# ---- online ----

def test_online_exchanges_and_publishes_nothing(machine, shared_cloud):
    machine.write()
    before = len(shared_cloud.exchanges())
    done = machine.run("check", "--online")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "arn:aws:sts::123456789012:assumed-role/demo/" in done.stdout
    assert len(shared_cloud.exchanges()) == before + 1
    assert not (machine.dir / "out").exists()


def refused(machine, *words):
    done = machine.run("check", "--online")
    assert done.returncode == 1, done.stdout + done.stderr
    for word in words:
        assert word in done.stdout, done.stdout


def test_online_wrong_audience(machine, shared_cloud):
    (machine.dir / "token").write_text(shared_cloud.token(audience=["another"]))
    machine.write("{token}", "{dir}/token")
    refused(machine, "audience")


def test_online_untrusted_role(machine, shared_cloud):
    shared_cloud.admin("/role", {"arn": ROLE.replace("demo", "other"), "trust": [
        {"subject": "system:serviceaccount:default:somebody-else", "audience": ["sts.amazonaws.com"]}]})
    machine.write("{role}", ROLE.replace("demo", "other"))
    refused(machine, "trust")


def test_online_unknown_role(machine):
    machine.write("{role}", ROLE.replace("demo", "nowhere"))
    refused(machine, "the role does not exist, or its trust policy")


def test_online_wrong_ca(machine, shared_cloud):
    machine.write("{ca}", shared_cloud.other_ca)
    refused(machine, "is not signed by a CA in", "other-ca.pem")


def test_online_nobody_there(machine):
    machine.write("{sts}", "https://127.0.0.1:1")
    refused(machine, "127.0.0.1:1", "refused")


def test_online_when_the_wait_itself_fails(machine):
    """poll(2) refuses more descriptors than the limit allows: what was waited for is an error like any other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        machine.write("{sts}", f"https://127.0.0.1:{server.getsockname()[1]}")
        with subprocess.Popen([CREDFRESH, "check", "--online", "-c", str(machine.path)], stdout=subprocess.PIPE,
                              text=True, cwd=machine.dir,
                              env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}) as process:  # takes descriptors
            connection, _ = server.accept()
            assert connection.recv(1)  # the handshake has begun; libcurl now reads the CA file, and then waits
            eventually(lambda: pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S",
                       "waiting for the answer")
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            out = process.communicate(timeout=30)[0]
            connection.close()
    assert process.returncode == 1, out
    assert re.search(r"^ERROR  \S+: demo: .*HTTP engine", out, re.M), out


class Stale(http.server.BaseHTTPRequestHandler):
    """Grants what has expired."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        operation = "AssumeRoleWithWebIdentity"
        keys = {"AccessKeyId": "ASIAEXAMPLE000000000", "SecretAccessKey": "s" * 40, "SessionToken": "t" * 40,
                "Expiration": "2015-01-01T00:00:00Z"}
        text = "".join(f"<{key}>{value}</{key}>" for key, value in keys.items())
        body = (f"<{operation}Response><{operation}Result><Credentials>{text}</Credentials></{operation}Result>"
                f"</{operation}Response>").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_online_what_is_granted_has_expired(machine):
    with http.server.HTTPServer(("127.0.0.1", 0), Stale) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text = machine.write("{sts}", f"http://127.0.0.1:{server.server_port}")
        machine.path.write_text(re.sub(r"\n *ca_file: .*", "", text))
        refused(machine, "the answer's credential expired", "check this machine's clock")
        server.shutdown()


def test_online_token_of_another_issuer(machine, shared_cloud):
    (machine.dir / "token").write_text(shared_cloud.token(stray_key=True))
    machine.write("{token}", "{dir}/token")
    refused(machine, "ERROR  ", ": demo:")


# ---- the reference ----

def test_the_reference_mentions_every_key():
    page = subprocess.run([CREDFRESH, "reference"], capture_output=True, text=True, check=True).stdout
    root = pathlib.Path(__file__).resolve().parents[2]
    sources = [*sorted((root / "agent/config").glob("schema*.c")), *sorted((root / "sts").glob("*/*config.c")),
               *sorted((root / "serve/sdk").glob("*.c"))]
    text = "\n".join(line for path in sources for line in path.read_text().splitlines() if "#define" not in line)
    text = re.sub(r"FIELD\(\w+, (ONE|ANY)_OF\)", "", text)  # no keys themselves, but those of a registry
    keys = {a or b for a, b in re.findall(r'\.key = "(\w+)"|\bFIELD\w*\("?(\w+)"?,', text)}
    assert {"timeout", "command", "role_arn", "keep_previous"} <= keys
    assert len(keys) > 50
    missing = [key for key in sorted(keys) if f"`{key}`" not in page]
    assert not missing
    for name in ["aws-credentials", "aws-config", "aws-credential-process", "token", "env", "json"]:
        assert f"`{name}`" in page


@pytest.mark.parametrize("key, shown, hidden", [
    ("mint.grace", ["## `credentials[].mint`", "| `grace` |", "## `defaults.mint`"], ["`verify_wait`"]),
    ("credentials[].reload[].rollout", ["## `credentials[].reload[].rollout`", "| `kind` |"], ["`pid_file`"]),
    ("fields", ["## Fields", "| `aws_access_key_id` |"], ["## Formats"]),
    ("docker-config", ["## Formats", "| `docker-config` |"], ["`aws-config`"])])
def test_the_reference_of_a_key(key, shown, hidden):
    page = subprocess.run([CREDFRESH, "reference", key], capture_output=True, text=True, check=True).stdout
    assert all(text in page for text in shown) and not any(text in page for text in hidden), page


def test_the_reference_of_an_unknown_key():
    done = subprocess.run([CREDFRESH, "reference", "grase"], capture_output=True, text=True)
    assert done.returncode == 1 and not done.stdout and 'no key "grase"' in done.stderr


# ---- how check says it ----

def test_a_finding_shows_its_line_with_a_caret(machine):
    text = machine.write("format: aws-credentials", "format: aws-credential")
    done = machine.run("check")
    number, line = next((n, line) for n, line in enumerate(text.split("\n"), 1) if "aws-credential," in line or line.endswith("aws-credential"))
    shown = done.stdout.splitlines()
    line = line.lstrip()
    at = shown.index(f"{number:7} | {line}")
    assert shown[at - 1].startswith(f"ERROR  {machine.path}:{number}: credential demo: publish.files.format: ")
    assert shown[at + 1] == "        | " + " " * line.index("aws-credential") + "^" + "~" * (len("aws-credential") - 1)
    assert shown[-1] == f"{machine.path}: 1 error, 0 warnings" and not done.stderr


FILE = """        - name: credentials
          format: aws-credentials
          mode: "0640"
"""

# what is replaced, by what, the key whose line it is, and the excerpt of that line, with ^ where the caret begins and ends
CARETS = {
    "a value next to a name that is a word of the finding": (
        FILE, "        - {name: credentials, format: aws-credentials, mode: 0640}\n", "mode",
        "...mode: ^0640^}"),
    "what a provider refuses": ("region: us-east-1", "region: us-east-1\n        duration: 13h", "duration",
                                "^duration^..."),
    "the part of an ARN is no word": ("{role}", "arn:aws:iam::12:role/aws", "role_arn", "^role_arn^..."),
    "a file": ("{ca}", "/nonexistent/ca.pem", "ca_file", "ca_file: ^/nonexistent/ca.pem^"),
    "of the machine": ("exec: [/bin/true]", "exec: [/nonexistent/name]", "exec", "...^/nonexistent/name^]"),
}


@pytest.mark.parametrize("kind", CARETS)
def test_the_caret_is_below_what_is_wrong(machine, kind):
    old, new, key, excerpt = CARETS[kind]
    text = machine.write(old, new)
    done = machine.run("check")
    number = next(n for n, line in enumerate(text.split("\n"), 1) if re.search(rf"\b{key}:", line))
    before, part, after = excerpt.split("^")
    shown = done.stdout.splitlines()
    at = next((n for n, line in enumerate(shown) if line.startswith(f"{number:7} | ")), None)
    assert at is not None and f"{machine.path}:{number}: " in shown[at - 1], done.stdout
    assert shown[at].endswith(before + part + after)
    assert shown[at + 1] == "        | " + " " * (len(shown[at]) - 10 - len(part + after)) + "^" + "~" * (len(part) - 1)


SECRET = "wJalrXUtnFEMIhQ7pZ"

# what is replaced, by what, and what of the line is shown above the caret
SECRETS = {
    "under an unknown key": ("    required: true", f"    secret_access_key: {SECRET}", "secret_access_key..."),
    "in a URL": ("endpoint: {sts}", f"endpoint: https://demo:{SECRET}@sts.example.com", None),
    "in a URL that is not encrypted": ("exec: [/bin/true]", f"http: {{url: http://demo:{SECRET}@example.com/}}", None),
    "in a flow mapping": ("        - name: token\n          format: token",
                          f"        - {{name: {SECRET}, format: tokne}}", "...format: tokne}"),
    "behind the mistake": ("log: {level: debug}", f"log: {{level: loud, note: {SECRET}}}", "...level: loud..."),
    "pasted in place of its file": ("        ca_file: {ca}", f"        ca_file: {SECRET}", "ca_file..."),
    "in place of a token's file": ("file: {token}", f"file: {SECRET}", "file..."),
    "with a slash in place of its file": ("file: {token}", f"file: /{SECRET}//x", "file..."),
    "in a line that is not YAML": ("log: {level: debug}", f'log: {{level: "{SECRET}', None),
}


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_a_secret_next_to_a_mistake_is_not_shown(machine, kind, more):
    old, new, excerpt = SECRETS[kind]
    text = machine.write(old, new)
    done = machine.run("check", *more)
    assert done.returncode == 3, done.stdout
    assert SECRET[:6] not in done.stdout + done.stderr and SECRET[-6:] not in done.stdout + done.stderr, done.stdout
    if excerpt is not None and not more:
        number = next(n for n, line in enumerate(text.split("\n"), 1) if SECRET in line)
        assert f"{number:7} | {excerpt}\n" in done.stdout, done.stdout


def test_a_file_that_is_no_configuration_is_not_shown(machine):
    machine.path.write_text(f"[default]\naws_secret_access_key = {SECRET}\n")
    for argv in (["check"], ["check", "--json"], ["doctor"], ["run"]):
        done = machine.run(*argv)
        assert done.returncode in (1, 3) and SECRET[:6] not in done.stdout + done.stderr, done
    machine.path.write_text(SECRET + "\n")
    for argv in (["check"], ["check", "--json"], ["doctor"], ["run"]):
        done = machine.run(*argv)
        assert done.returncode in (1, 3) and SECRET[:6] not in done.stdout + done.stderr, done


def test_a_large_configuration_has_excerpts_too(machine):
    text = machine.write("keep_previous: 10m", "keep_previos: 10m")
    machine.path.write_text(text + "# a comment\n" * (2 << 17))
    assert machine.path.stat().st_size > 2 << 20
    done = machine.run("check")
    assert "      4 | keep_previos...\n        | ^~~~~~~~~~~~\n" in done.stdout, done.stdout


def test_findings_of_the_machine_have_their_line_and_come_once(machine):
    machine.write("exec: [/bin/true]", "exec: [/nonexistent/reload]")
    done = machine.run("check")
    line = next(n for n, line in enumerate(machine.path.read_text().split("\n"), 1) if "/nonexistent/reload" in line)
    assert re.search(rf"^ERROR  {re.escape(str(machine.path))}:{line}: demo: /nonexistent/reload cannot be run", done.stdout, re.M)
    found = [one for one in done.stdout.splitlines() if one.startswith(("ERROR", "warn"))]
    assert len(found) == len(set(found)) == 1 and not done.stderr


def test_check_takes_a_file(machine):
    machine.write()
    done = subprocess.run([CREDFRESH, "check", str(machine.path)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and f"{machine.path}: 1 credential, 0 errors, 0 warnings" in done.stdout
    assert machine.run("check", "other.yaml").returncode == 2


def test_strict_fails_for_warnings(machine):
    machine.write("{token}", "{dir}/token")
    assert machine.run("check").returncode == 0
    assert machine.run("check", "--strict").returncode == 1


@pytest.mark.parametrize("old, new, status, check", [
    ("exec: [/bin/true]", "exec: [/nonexistent/reload]", 1, "hook.program"), ("keep_previous: 10m", "keep_previos: 10m", 3, "config")])
def test_json_of_check(machine, old, new, status, check):
    text = machine.write(old, new)
    done = machine.run("check", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == status and report["summary"]["wrong"] == 1
    found = next(one for one in report["findings"] if one["level"] == "wrong")
    line = next(n for n, line in enumerate(text.split("\n"), 1) if new in line)
    assert (found["check"], found["file"], found["line"]) == (check, str(machine.path), line)


@pytest.mark.parametrize("path", ["/proc/self/x", "/sys/kernel/x", "/proc"])
def test_the_kernels_own_file_systems_are_no_targets(machine, path):
    machine.write("directory: {dir}/out", f"directory: {path}")
    for command in ("check", "once"):
        done = machine.run(command)
        assert done.returncode == 3 and "which is not a real file system; publish below /run" in done.stdout + done.stderr


def test_what_once_would_refuse_is_found(machine):
    machine.write()
    (machine.dir / "out").mkdir()
    (machine.dir / "out/credentials").write_text("another program's")
    refusal = f"{machine.dir}/out/credentials exists and is not credfresh's"
    checked = machine.run("check")
    assert checked.returncode == 1 and refusal in checked.stdout
    once = machine.run("once", "--timeout", "5s")
    assert once.returncode != 0 and re.search(rf"not done after \d+ (?:try|tries): {re.escape(refusal)}", once.stderr), once.stderr


def test_a_refused_state_directory_is_named_with_its_key(machine):
    machine.write("state_dir: {dir}/state", "state_dir: {dir}/a-file")
    (machine.dir / "a-file").write_text("")
    assert f"cannot start: state_dir: {machine.dir}/a-file: " in machine.run("once", "--timeout", "5s").stderr


LINKS = {"state_dir": ("state_dir: {dir}/state", "state_dir: {dir}/link", "machine.state-dir"),
         "directory": ("directory: {dir}/out", "directory: {dir}/link", "publish.link"),
         "profile": (BASE[BASE.index("      directory: {dir}"):BASE.index("    reload:")],
                     "      profile: {path: {dir}/link}\n", "publish.link")}


@pytest.mark.parametrize("real", ["real", "nowhere"])
@pytest.mark.parametrize("what", LINKS)
def test_a_link_that_is_not_followed_is_found(machine, what, real):
    old, new, check = LINKS[what]
    machine.write(old, new)
    (machine.dir / "real").mkdir(mode=0o700) if what != "profile" else (machine.dir / "real").write_text("")
    (machine.dir / "link").symlink_to(real)
    words = "is a symbolic link, which is not followed here: remove it or name the real path"
    checked, doctor, once = machine.run("check"), machine.run("doctor", "--json"), machine.run("once", "--timeout", "5s")
    assert checked.returncode == 1 and words in checked.stdout and "1 error," in checked.stdout, checked.stdout
    found = [f for f in json.loads(doctor.stdout)["findings"] if f["level"] == "wrong"]
    assert doctor.returncode == 1 and [f["check"] for f in found] == [check] and words in found[0]["text"]
    assert once.returncode != 0 and words in once.stderr, once.stderr
    machine.write(old, new.replace("/link", "/real"))
    assert machine.run("check").returncode == 0
