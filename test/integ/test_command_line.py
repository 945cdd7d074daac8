# SPDX-License-Identifier: MIT
"""What the command line answers to a newcomer: help, typing errors, the version, pipes, relative paths, and what it waits for."""
import os
import pty
import re
import subprocess

import pytest

from conftest import CREDFRESH, OIDC


def run(*argv, program=CREDFRESH, **how):
    return subprocess.run([program, *argv], capture_output=True, text=True, timeout=60, **how)


def run_oidc(*argv, **how):
    return run(*argv, program=OIDC, **how)


@pytest.mark.parametrize("argv", [["-V"], ["--version"], ["version"]])
def test_the_version_says_what_it_was_built_from(argv):
    done = run(*argv)
    assert done.returncode == 0
    assert re.fullmatch(r"credfresh \d+\.\d+\.\d+( \(([0-9a-f]{12}, )?\d{4}-\d\d-\d\d\))?\n", done.stdout)


@pytest.mark.parametrize("argv, says", [
    (["statsu"], 'unknown command "statsu": did you mean "status"?'),
    (["frobnicate"], 'unknown command "frobnicate": `credfresh help` lists the commands'),
    (["help", "docter"], 'did you mean "doctor"?'),
    (["status", "--wacth"], 'unknown option "--wacth" of status: did you mean --watch?'),
    (["status", "-zc"], 'unknown option "-z" of status'),
    (["status", "--json", "-jz"], 'unknown option "-j" of status'),
    (["status", "--json=yes"], 'unknown option "--json=yes" of status'),
    (["status", "--timeout", "3s"], 'unknown option "--timeout" of status'),
    (["status", "--timeout=3s"], 'unknown option "--timeout" of status'),
    (["status", "-sx", "--name", "aws"], 'unknown option "--name" of status'),
    (["status", "--timeout"], 'unknown option "--timeout" of status'),
    (["run", "-d"], 'unknown option "-d" of run'),
    (["run", "-c"], 'option "-c" needs a value'),
    (["once", "--timeout"], 'option "--timeout" needs a value'),
    (["run", "--watch"], 'unknown option "--watch" of run: `credfresh help run` lists its options'),
    (["-c", "file", "run"], '"-c": options come after the command'),
    (["help", "status", "aws"], 'status has no page for "aws"')], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_typing_error(argv, says):
    done = run(*argv)
    assert done.returncode == 2 and says in done.stderr, done


def test_every_command_and_verb_has_a_page_with_an_example():
    commands = re.findall(r"^  ([a-z-]+)\b", run("help").stdout, re.M)
    assert len(commands) > 15
    pages = [[c] for c in commands] + [["get", v] for v in ("aws", "gcp", "kube", "token")]
    for page in pages:
        text = run("help", *page).stdout
        assert text.startswith("usage: credfresh " + " ".join(page)) and "\nExample:\n  " in text, page
        assert max(map(len, text.splitlines())) <= 80, page
    assert run("init", "aws", "--help").stdout == run("help", "init", "aws").stdout


def test_every_command_of_oidc_has_a_page_with_an_example():
    commands = re.findall(r"^  ([a-z-]+)\b", run_oidc("help").stdout, re.M)
    assert {"init", "rotate", "publish", "manifests", "status"} <= set(commands)
    for command in commands:
        text = run_oidc("help", command).stdout
        assert text.startswith(f"usage: credfresh-oidc {command}") and "\nExample:\n  credfresh-oidc " in text, command
        assert max(map(len, text.splitlines())) <= 80, command
        assert run_oidc(command, "--help").stdout == text
    alone = run_oidc()
    assert alone.returncode == 2 and alone.stdout == "" and alone.stderr == run_oidc("help").stdout
    assert re.fullmatch(r"credfresh-oidc \d+\.\d+\.\d+\n", run_oidc("--version").stdout)


@pytest.mark.parametrize("argv, says", [
    (["statsu"], 'credfresh-oidc: unknown command "statsu": did you mean "status"? `credfresh-oidc help` lists the commands'),
    (["status", "--replace"], 'unknown option "--replace" of status: `credfresh-oidc help status` lists its options'),
    (["status"], "-d is missing: name the issuer's directory"),
    (["rotate", "-d", "x", "--confirm", "--recount"], "--confirm, --continue and --recount exclude each other"),
    (["manifests", "-d", "x"], "manifests needs --output")], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_typing_error_of_oidc(argv, says):
    done = run_oidc(*argv)
    assert done.returncode == 2 and says in done.stderr, done


@pytest.mark.parametrize("argv", [["oidc"], ["oidc", "status", "-d", "x"], ["help", "oidc"]], ids=" ".join)
def test_the_subcommand_oidc_names_its_program(argv):
    done = run(*argv)
    assert done.returncode == 2 and done.stdout == "", done
    assert "oidc is a separate program now: run `credfresh-oidc`" in done.stderr, done


def test_inspect_takes_a_pipe(shared_cloud):
    token = shared_cloud.token()
    subject = "system:serviceaccount:default:demo"
    assert subject in run("inspect", "-", input=token).stdout
    pipe = subprocess.run(["/bin/bash", "-c", '"$0" inspect <(printf %s "$1")', CREDFRESH, token], capture_output=True, text=True,
                          timeout=60)
    assert subject in pipe.stdout, pipe
    too_long = run("inspect", "-", input="a" * 2000000)
    assert too_long.returncode == 1 and "standard input: it is longer than" in too_long.stderr


def test_oidc_takes_a_relative_directory(tmp_path):
    made = run_oidc("init", "-d", "issuer", "--issuer", "https://id.shop.example", "--token-life", "1h", cwd=tmp_path)
    assert made.returncode == 0, made
    assert f"web root  {tmp_path}/issuer/web\n" in run_oidc("status", "-d", "./issuer", cwd=tmp_path).stdout
    assert f"web root  {tmp_path}/issuer/web\n" in run_oidc("status", "-d", ".", cwd=tmp_path / "issuer").stdout


def test_a_mistake_is_reported_once_by_exec(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("version: 1\nnonsense: 1\n")
    done = run("exec", "-c", str(config), "--", "true")
    assert done.returncode == 3 and done.stderr.count("unknown key nonsense") == 1
    config.unlink()
    done = run("exec", "-c", str(config), "--", "true")
    assert done.returncode == 3 and done.stderr.count("cannot open") == 1


def test_an_empty_variable_is_as_good_as_none(tmp_path):
    empty = {"CREDFRESH_" + name: "" for name in ("CONFIG", "SOCKET", "LOG_LEVEL", "LOG_FORMAT")}
    done = run("status", "-c", str(tmp_path / "none.yaml"), env={**os.environ, **empty})
    assert "thus it is not known which agent to ask" in done.stderr
    done = run("once", "-c", str(tmp_path / "none.yaml"), env={**os.environ, **empty})
    assert "cannot open" in done.stderr and "unknown log" not in done.stderr
    done = run("check", env={**os.environ, **empty}, cwd=tmp_path)
    assert "cannot open :" not in done.stdout + done.stderr
    assert "nothing in the environment to work from" in done.stdout + done.stderr


def test_without_a_command_it_lists_them():
    alone = run()
    assert alone.returncode == 2 and alone.stdout == "" and alone.stderr == run("help").stdout


@pytest.fixture
def waiting(agent_factory, shared_cloud):
    """An agent whose token is not there yet."""
    agent = agent_factory(shared_cloud)
    return agent.configure(agent.credential(token={"file": str(agent.dir / "none")}))


def test_wait_says_on_a_terminal_what_it_waits_for(waiting):
    ours, theirs = pty.openpty()
    with subprocess.Popen([CREDFRESH, "wait", "-c", waiting.config_path, "--timeout", "60s"], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        said = os.read(ours, 4096).decode()
        waiting.start()
        (waiting.dir / "none").write_text(waiting.cloud.token())
        assert process.wait(60) == 0 and process.stdout.read() == b""
    os.close(ours)
    assert re.match(r"credfresh: waiting for the agent: no agent: there is no socket\s", said), said


def test_wait_says_what_the_agent_does(waiting):
    waiting.start()
    with subprocess.Popen([CREDFRESH, "wait", "-c", waiting.config_path, "--timeout", "60s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        said = process.stderr.readline()
        (waiting.dir / "none").write_text(waiting.cloud.token())
        assert process.wait(60) == 0 and process.stdout.read() == ""
    assert re.match(r"credfresh: waiting for demo: \w+ \(.*/none.*\)$", said), said


def test_once_says_what_it_waits_for(waiting):
    with subprocess.Popen([CREDFRESH, "once", "-c", waiting.config_path, "--timeout", "60s"], stderr=subprocess.PIPE, text=True) as process:
        assert any(re.search(r" info  waiting for demo \(\w+\)$", line) for line in process.stderr)
        (waiting.dir / "none").write_text(waiting.cloud.token())
        process.stderr.read()
        assert process.wait(60) == 0


@pytest.mark.parametrize("given", ["", "--signing-key", "--public-key"])
def test_oidc_init_says_what_it_made(tmp_path, given):
    subprocess.run(["openssl", "genrsa", "-out", tmp_path / "--signing-key"], check=True, capture_output=True)
    subprocess.run(["openssl", "rsa", "-in", tmp_path / "--signing-key", "-pubout", "-out", tmp_path / "--public-key"], check=True,
                   capture_output=True)
    key = [given, tmp_path / given] if given else []
    made = run_oidc("init", "-d", tmp_path / "issuer", "--issuer", "https://id.shop.example", "--token-life", "1h", *key)
    assert made.returncode == 0 and made.stdout.startswith("created the issuer https://id.shop.example\n"), made
    named = re.findall(rf"^{tmp_path}/issuer/([a-z.]+): ", made.stdout, re.M)
    assert named == ["web", *(["signing.key"] if given != "--public-key" else []), "signing.pub"]
    assert all((tmp_path / "issuer" / name).exists() for name in named)
    assert "credfresh-oidc manifests" in made.stdout.splitlines()[-1]
