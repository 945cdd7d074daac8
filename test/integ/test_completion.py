# SPDX-License-Identifier: MIT
"""The completions of bash, zsh and fish, asked as the shells ask them."""
import os
import pty
import select
import shutil
import signal
import subprocess

import pytest

from conftest import CREDFRESH, OIDC, REPO, eventually

ZSH = REPO / "tools/completions"
CONFIG = """\
version: 1
state_dir: {0}/state
credentials:
  - name: registry
    token: {{file: {0}/token}}
    publish: {{directory: {0}/one, files: [{{name: token, format: token}}]}}
  - name: web
    token: {{file: {0}/token}}
    publish: {{directory: {0}/two, files: [{{name: token, format: token}}]}}
"""
# A line, and some of what completes it; {} is the configuration. The last word is what is being typed.
LINES = [
    ("credfresh ", {"run", "rotate", "image-credential-provider", "completion"}),
    ("credfresh re", {"reload", "reference"}),
    ("credfresh env --f", {"--format"}),
    ("credfresh env --format ", {"sh", "env", "json"}),
    ("credfresh env --format=j", {"json"}),
    ("credfresh reference --format m", {"markdown", "man"}),
    ("credfresh rotate -c {} ", {"registry", "web"}),
    ("credfresh rotate --config={} registry w", {"web"}),
    ("credfresh wait --config {} --timeout 5s r", {"registry"}),
    ("credfresh get ", {"aws", "gcp", "kube", "token"}),
    ("credfresh get -c {} aws ", {"registry", "web"}),
    ("credfresh exec -c {} --name w", {"web"}),
    ("credfresh exec -- mandat", {"mandatory"}),
    ("credfresh exec mandatory fil", {"file one"}),
    ("credfresh inspect fil", {"file one"}),
    ("credfresh help qu", {"quit"}),
    ("credfresh completion f", {"fish"}),
    ("credfresh-oidc ro", {"rotate"}),
    ("credfresh-oidc init -d bi", {"bin"}),
    ("credfresh-oidc publish -c {} --name w", {"web"}),
]
# Nothing is to be offered here.
NOWHERE = ["credfresh nothing ", "credfresh get -c {} aws web ", "credfresh rotate --reason ", "credfresh version "]


def environment(where):
    """WHERE/bin comes first in PATH: it has this credfresh, and a program to be found."""
    folder = where / "bin"
    if not folder.exists():
        folder.mkdir()
        (folder / "credfresh").symlink_to(CREDFRESH)
        (folder / "credfresh-oidc").symlink_to(OIDC)
        (folder / "mandatory").write_text("#!/bin/sh\n")
        (folder / "mandatory").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(where), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "file one").write_text("")
    (tmp_path / "credfresh.yaml").write_text(CONFIG.format(tmp_path))
    return tmp_path


def run(where, *argv):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, cwd=where, env=environment(where))
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def in_bash(where, line):
    """As readline does: words end at blanks and at `=`, which is one of its own."""
    words = [part for word in line.split(" ")
             for part in ([word.partition("=")[0], "=", word.partition("=")[2]] if word.startswith("--") and "=" in word
                          else [word])]
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_${1//-/_}" "$1"; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return set(run(where, "bash", "-c", script, "bash", REPO / f"tools/completions/{words[0]}.bash", *words).split("\n")) - {""}


def in_fish(where, line):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = f"source {REPO}/tools/completions/{line.partition(' ')[0]}.fish; complete -C $argv[1]"
    lines = run(where, "fish", "--no-config", "-c", script, line).splitlines()
    answers = {answer.partition("\t")[0].replace("\\", "") for answer in lines}
    # Newer ones also print what only resembles the word, but show it to nobody when anything begins with the word.
    answers = {answer for answer in answers if answer.startswith(line.rpartition(" ")[2])} or answers
    return {answer.removeprefix("--format=").rstrip("/") for answer in answers}


@pytest.mark.parametrize("shell", [in_bash, in_fish], ids=["bash", "fish"])
def test_lines(place, shell):
    config = place / "credfresh.yaml"
    for line, wanted in LINES:
        answers = shell(place, line.format(config))
        assert wanted <= answers, (line, answers)
        assert line.endswith(" ") or len(answers) == len(wanted), (line, answers)
    for line in NOWHERE:
        assert not shell(place, line.format(config)), line


class Zsh:
    """An interactive zsh, in which ^T completes the line and writes down what it has become."""

    SETUP = """fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; unsetopt BEEP
        answer() {{ zle expand-or-complete; print -rn -- "$BUFFER" >answer.new; mv answer.new answer; zle kill-whole-line }}
        zle -N answer; bindkey ^T answer; : >ready"""

    def __init__(self, where):
        self.where = where
        (where / ".zshrc").write_text(self.SETUP.format(folder=ZSH))
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(where)
            os.execve("/usr/bin/zsh", ["zsh", "-i", "-o", "noglobalrcs"], environment(where))
        self.wait_for("ready")

    def wait_for(self, name):
        """What the shell prints meanwhile has to be read, or it stops."""
        def there():
            while select.select([self.fd], [], [], 0)[0]:
                os.read(self.fd, 4096)
            return (self.where / name).exists()
        eventually(there, name)

    def complete(self, line):
        os.write(self.fd, line.encode() + b"\x14")
        self.wait_for("answer")
        text = (self.where / "answer").read_text()
        (self.where / "answer").unlink()
        return text.rstrip()

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh(place):
    zsh = Zsh(place)
    try:
        config = place / "credfresh.yaml"
        for line, whole in [("credfresh rot", "credfresh rotate"), ("credfresh env --fo", "credfresh env --format="),
                            ("credfresh env --format=j", "credfresh env --format=json"),
                            (f"credfresh rotate -c {config} w", f"credfresh rotate -c {config} web"),
                            (f"credfresh get -c {config} aws reg", f"credfresh get -c {config} aws registry"),
                            ("credfresh get tok", "credfresh get token"),
                            ("credfresh help qu", "credfresh help quit"),
                            ("credfresh-oidc rot", "credfresh-oidc rotate"),
                            (f"credfresh-oidc publish -c {config} --name w", f"credfresh-oidc publish -c {config} --name web")]:
            assert zsh.complete(line) == whole
    finally:
        zsh.close()


@pytest.mark.parametrize("program", ["credfresh", "credfresh-oidc"])
@pytest.mark.parametrize("shell, name", [("bash", "{}.bash"), ("zsh", "_{}"), ("fish", "{}.fish")])
def test_syntax(shell, name, program):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = REPO / "tools/completions" / name.format(program)
    done = subprocess.run([shell, "-n", file], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and not done.stderr, done.stderr


def names(*argv):
    done = subprocess.run([CREDFRESH, "completion", "names", *map(str, argv)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


def test_names(agent, tmp_path):
    """Of the agent that runs; of the file while that does not answer; else none, and never a word on what is wrong."""
    agent.configure(agent.credential("demo"), agent.credential("other")).start()
    # A busy machine may not answer within the half second.
    eventually(lambda: names("-s", agent.socket) == ["demo", "other"], "the names of the agent")
    agent.configure(agent.credential("later"))
    eventually(lambda: names("-c", agent.config_path) == ["demo", "other"], "the names of the agent, not of the file")
    agent.process.send_signal(signal.SIGSTOP)
    try:
        assert names("-c", agent.config_path) == ["later"]
    finally:
        agent.process.send_signal(signal.SIGCONT)
    agent.config_path.write_text("version: [")
    agent.stop()
    assert names("-c", agent.config_path) == []
    assert names("-c", tmp_path / "nowhere") == []
    assert names("-s", tmp_path / "nowhere", "-c", tmp_path / "nowhere") == []


def test_other_words_are_refused():
    done = subprocess.run([CREDFRESH, "completion", "tcsh"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "use bash, zsh, fish or names" in done.stderr and not done.stdout
    done = subprocess.run([CREDFRESH, "reference", "--format", "html"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "use markdown or man" in done.stderr and not done.stdout
