# SPDX-License-Identifier: MIT
"""The C, shell, CMake and Python blocks of the libraries' pages, used as a reader would: the library is installed, every block is
compiled, and the first program of libcredfresh.md runs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from volume import Volume

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["CFR_RELOAD_BUILD"]).parent
TLS = (BUILD / "libcredfresh/libcredfresh-tls.so").exists()
# What stands around the statements of a page that are no whole file.
AROUND = """
#include <credfresh.h>
%s
#include <err.h>
#include <poll.h>
#include <stdint.h>
void use(const struct credfresh_file *file);
void sign_requests_with(const struct credfresh_file *token);
void show(struct credfresh *w, const struct credfresh_snapshot *s, const struct credfresh_snapshot *snapshot, uint64_t seen,
          char *text, size_t size, void *tls, void *ctx);
void show(struct credfresh *w, const struct credfresh_snapshot *s, const struct credfresh_snapshot *snapshot, uint64_t seen,
          char *text, size_t size, void *tls, void *ctx)
{
    (void)w; (void)s; (void)snapshot; (void)seen; (void)text; (void)size; (void)tls; (void)ctx;
    {
%s
    }
}
"""


def run(*command, **how):
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=120, **how)
    assert done.returncode == 0, done.stdout
    return done.stdout


def fenced(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.M | re.S)


def c_blocks():
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for number, text in enumerate(fenced(page, "c")):
            yield pytest.param(text, id=f"{page.name}-{number}")
    for page in sorted((ROOT / "docs/man").glob("*.3")):
        found = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", page.read_text(), re.M | re.S)
        for number, text in enumerate(text for text in found if not text.startswith("struct credfresh_file {")):
            yield pytest.param(text.replace("\\-", "-").replace("\\e", "\\"), id=f"{page.name}-{number}")


@pytest.mark.parametrize("text", c_blocks())
def test_a_c_block_compiles(text, tmp_path):
    tls = "credfresh_tls" in text or "SSL_CTX" in text
    if tls and not TLS:
        pytest.skip("libcredfresh-tls is not built")
    if "sizeof text" in text and "char text" not in text:
        text = text.replace("sizeof text", "size")
    whole = re.search(r"^#include", text, re.M)
    program = tmp_path / "program.c"
    program.write_text(text if whole else AROUND % ("#include <credfresh-tls.h>" if tls else "", text))
    run("cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-shadow", "-fsyntax-only",
        "-I", ROOT / "libcredfresh/include", program)


def test_blocks_are_found():
    assert len(list(c_blocks())) >= 8


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """What the page's own commands install, from the build that is there."""
    path = tmp_path_factory.mktemp("installed")
    install = "".join(line + "\n" for line in fenced("libcredfresh.md", "sh")[0].splitlines() if "--install" in line)
    assert install.count("--component") == 2
    run("bash", "-euc", install.replace("build/release", str(BUILD)), env=dict(os.environ, PREFIX=str(path)))
    return path


@pytest.fixture
def environment(prefix):
    [pc] = prefix.rglob("credfresh.pc")
    return dict(os.environ, PREFIX=str(prefix), PKG_CONFIG_PATH=str(pc.parent), LD_LIBRARY_PATH=str(pc.parents[1]),
                CMAKE_PREFIX_PATH=str(prefix), PYTHONDONTWRITEBYTECODE="1")


@pytest.fixture
def volume(tmp_path):
    volume = Volume(tmp_path / "volume")
    volume.update(token="twelve bytes")
    return volume


def test_the_first_program(environment, volume, tmp_path):
    """Built with pkg-config and with CMake, as the page says, it reads the token."""
    program = fenced("libcredfresh.md", "c")[0]
    assert "int main" in program and "/run/credentials/registry" in program
    (tmp_path / "program.c").write_text(program.replace("/run/credentials/registry", str(volume.path)))
    [build] = [text for text in fenced("libcredfresh.md", "sh") if text.startswith("cc ")]
    run("sh", "-euc", build, env=environment, cwd=tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(page C)\nadd_executable(program program.c)\n" + fenced("libcredfresh.md", "cmake")[0])
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "built", env=environment)
    run("cmake", "--build", tmp_path / "built", env=environment)
    for built in tmp_path / "program", tmp_path / "built/program":
        process = subprocess.Popen(["stdbuf", "-oL", built], stdout=subprocess.PIPE, text=True, env=environment)
        try:
            assert process.stdout.readline() == "a token of 12 bytes\n"
        finally:
            process.kill()
            process.communicate()


def python_path(prefix, tmp_path, wheel):
    """Where the module is: in the prefix, or where the wheel is installed that the page's commands build. Nothing is fetched."""
    if not wheel:
        return prefix / "share/credfresh/python"
    shutil.copytree(ROOT / "libcredfresh/python", tmp_path / "libcredfresh/python")
    [commands] = [text for text in fenced("libcredfresh.md", "sh") if text.startswith("pip ")]
    commands = commands.replace("pip wheel", f"{sys.executable} -m pip wheel --no-index --no-build-isolation")
    run("sh", "-euc", commands.replace("pip install", f"{sys.executable} -m pip install --no-index --target site"), cwd=tmp_path)
    assert {path.name for path in (tmp_path / "site").iterdir()} - {"__pycache__"} >= {"credfresh.py"}
    return tmp_path / "site"


@pytest.mark.parametrize("wheel", [False, True], ids=["installed", "wheel"])
def test_the_python_program(environment, volume, prefix, tmp_path, wheel):
    path = python_path(prefix, tmp_path, wheel)
    [text] = fenced("libcredfresh.md", "python")
    in_use = tmp_path / "in-use"
    text = text.replace("/run/credentials/registry", str(volume.path)).replace("/run/registry/in-use", str(in_use))
    (tmp_path / "program.py").write_text(text + "        break\n")
    [command] = [text for text in fenced("libcredfresh.md", "sh") if "program.py" in text]
    command = command.replace("$PREFIX/share/credfresh/python", str(path)).replace("python3", sys.executable)
    assert run("sh", "-euc", command, env=environment, cwd=tmp_path) == "12 None\n"
    assert in_use.read_text() == f"{volume.number}\n"
