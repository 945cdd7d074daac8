# SPDX-License-Identifier: MIT
"""What is installed, as a stranger's project uses it: through CMake's package, pkg-config, shared and static."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from volume import Volume

HERE = pathlib.Path(__file__).resolve().parent
BUILD = os.environ["CFR_RELOAD_BUILD"]


def run(*command, **how):
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **how)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    path = tmp_path_factory.mktemp("installed") / "prefix"
    for component in "libcredfresh", "libcredfresh-dev":
        run("cmake", "--install", BUILD, "--prefix", path, "--component", component)
    return path


@pytest.fixture(scope="module")
def library(prefix):
    [pc] = prefix.rglob("credfresh.pc")
    return pc.parents[1]


def test_project(prefix, library, tmp_path):
    volume = Volume(tmp_path / "volume")
    volume.update(a="1", b="2")
    built = tmp_path / "built"
    environment = dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"), LD_LIBRARY_PATH=str(library))
    run("cmake", "-S", HERE / "project", "-B", built, f"-DCMAKE_PREFIX_PATH={prefix}", env=environment)
    run("cmake", "--build", built, env=environment)
    version = (HERE.parents[1] / "CMakeLists.txt").read_text().split("credfresh VERSION ")[1].split(" ")[0]
    for program in "shared", "static", "pkgconfig":
        assert run(built / program, volume.path, env=environment) == f"a=1\nb=2\n{version}\n"
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", built / program))
        assert ("libcredfresh.so.0" in needed) == (program != "static")
        assert set(needed) <= {"libcredfresh.so.0", "libc.so.6"}


def test_an_older_version_is_asked_for(prefix, tmp_path):
    """docs/stability.md: before 1.0.0 the second number is the one that may break a program."""
    major, minor, _ = (HERE.parents[1] / "CMakeLists.txt").read_text().split("credfresh VERSION ")[1].split(" ")[0].split(".")
    older = f"0.{int(minor) - 1}" if major == "0" else f"{int(major) - 1}.0"
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(asks NONE)
foreach(version {major}.{minor} {older})
    find_package(credfresh ${{version}} QUIET)
    message("${{version}}: ${{credfresh_FOUND}}")
endforeach()
""")
    said = run("cmake", "-S", tmp_path, "-B", tmp_path / "built", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert f"{major}.{minor}: 1\n" in said and f"{older}: 0\n" in said, said


def test_library_needs_libc_only(library):
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library / "libcredfresh.so.0"))
    assert needed == ["libc.so.6"]
    # No state of its own: not one writable byte that is not for the dynamic linker.
    sizes = run("nm", "-S", "--defined-only", library / "libcredfresh.a")
    assert not [line for line in sizes.splitlines() if re.search(r" [bBdDcC] ", line)], sizes
    # A program that links it statically meets no names but these.
    assert not [line for line in sizes.splitlines() if re.search(r" [TRV] (?!credfresh_|cfl_)", line)], sizes


@pytest.mark.parametrize("compiler", [("cc", "-std=c99", "-x", "c"), ("cc", "-std=c17", "-x", "c"), ("clang", "-x", "c++")])
def test_header_stands_alone(prefix, compiler, tmp_path):
    run(*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", prefix / "include/credfresh.h")


@pytest.mark.parametrize("tls", [False, True], ids=["libc only", "with OpenSSL"])
def test_the_folder_builds_alone(tls, tmp_path):
    """The folder without the rest of the sources: configured, built, installed, and the installed examples built against it."""
    sources = shutil.copytree(HERE.parents[1] / "libcredfresh", tmp_path / "libcredfresh")
    built, root = tmp_path / "built", tmp_path / "root"
    run("cmake", "-G", "Ninja", "-S", sources, "-B", built, f"-DCREDFRESH_TLS={tls}", "-DCMAKE_INSTALL_PREFIX=/usr")
    run("cmake", "--build", built)
    run("cmake", "--install", built, env=dict(os.environ, DESTDIR=str(root)))
    [library] = root.rglob("libcredfresh.so.0")
    assert re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library)) == ["libc.so.6"]
    assert bool(list(root.rglob("libcredfresh-tls*"))) == tls
    shutil.rmtree(sources)
    programs = tmp_path / "programs"
    run("cmake", "-G", "Ninja", "-S", root / "usr/share/doc/libcredfresh-dev/examples", "-B", programs,
        f"-DCMAKE_PREFIX_PATH={root}/usr")
    run("cmake", "--build", programs)
    wanted = {"plain_poll", "workers", "with_libevent", "with_libuv", "aws_client"} | ({"tls_server"} if tls else set())
    assert wanted == {path.name for path in programs.iterdir() if path.is_file() and os.access(path, os.X_OK)}
    volume = Volume(tmp_path / "volume")
    volume.update(token="from the volume")
    assert run(programs / "plain_poll", volume.path, stdin=subprocess.DEVNULL,
               env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent))) == "1 from the volume\n"
