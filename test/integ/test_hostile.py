# SPDX-License-Identifier: MIT
"""A consumer that means no good: it spoils its own credential at most."""
import os
import shutil
import struct
import subprocess
import time

import pytest

from conftest import eventually, let_others_in
from endpoint_client import ask, free_port

CONSUMER = 1234
GROUP = 4321  # the consumer is not in it
HANG_S = 5  # an answer that waits for a file system takes ten seconds, or as long as the file system hangs

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the agent takes another user's rights")


def lacking(reason):
    """Ends the test: the machine has not what the attack needs."""
    (pytest.fail if os.environ.get("CFR_REQUIRE_REAL") == "1" else pytest.skip)(reason)


@pytest.fixture
def cloud(shared_cloud):
    return shared_cloud


@pytest.fixture
def home(agent):
    """A directory of the consumer's, in one of root's that it may pass."""
    let_others_in(agent.dir)
    home = agent.dir / "home"
    home.mkdir()
    os.chown(home, CONSUMER, CONSUMER)
    return home


def as_consumer(*argv):
    done = subprocess.run(["setpriv", f"--reuid={CONSUMER}", f"--regid={CONSUMER}", "--clear-groups", *argv],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def one_file(path):
    return {"file": {"path": str(path), "format": "json"}}


def a_directory(path, name="token"):
    return {"directory": str(path), "files": [{"name": name, "format": "token"}]}


def children(agent):
    """The states of the agent's child processes, without the one that writes the log."""
    text = subprocess.run(["ps", "--ppid", str(agent.process.pid), "-o", "stat=,comm="], capture_output=True, text=True).stdout
    return [line[0] for line in text.splitlines() if not line.endswith("credfresh-log")]


def error_of(agent, name="demo"):
    return (agent.status(name).get("last_error") or {}).get("message", "")


def wait_error(agent, *words, name="demo"):
    eventually(lambda: all(word in error_of(agent, name) for word in words),
               lambda: f"{words} in: {error_of(agent, name)}\n{agent.log}")


def untouched(directory):
    return {p.relative_to(directory): p.read_bytes() if p.is_file() else None for p in directory.rglob("*")}


def slowest_of(ask, until, limit_s=60):
    """Seconds that the slowest ASK took until UNTIL was true."""
    slowest = 0.0
    end = time.monotonic() + limit_s
    while not until():
        assert time.monotonic() < end
        before = time.monotonic()
        ask()
        slowest = max(slowest, time.monotonic() - before)
        time.sleep(0.01)
    return slowest


def slowest_answer(agent, until, limit_s=60):
    """Of the control socket."""
    def ask():
        assert agent.request("GET", "/v1/credentials")[0] == 200
    return slowest_of(ask, until, limit_s)


# ---- links ----

@root_only
@pytest.mark.parametrize("kind", ["directory", "file", "profile"])
def test_planted_links_lead_nowhere(agent, home, kind):
    """The consumer puts a link to root's own directory where its own was."""
    victim = agent.dir / "victim"
    victim.mkdir(mode=0o755)
    (victim / "credentials").write_text("[default]\naws_access_key_id = ROOTS\n")
    before = untouched(victim)
    as_consumer("ln", "-s", str(victim), str(home / "app"))
    path = home / "app" / ("creds" if kind == "directory" else "credentials")
    publish = {"directory": {"directory": str(path), "files": [{"name": "token", "format": "token"}]},
               "file": one_file(path),
               "profile": {"profile": {"path": str(path)}}}[kind]
    agent.configure(agent.credential(publish=publish), agent.credential("other")).start()
    agent.wait_state("fresh", "other")
    wait_error(agent, "user 1234")
    assert untouched(victim) == before


@root_only
def test_what_is_the_consumers_is_written_with_its_rights(agent, home):
    as_consumer("mkdir", str(home / "app"))
    agent.configure(agent.credential(publish=one_file(home / "app" / "deep" / "creds.json"))).start()
    agent.wait_state("fresh")
    for made in (home / "app" / "deep", home / "app" / "deep" / "creds.json"):
        assert (made.stat().st_uid, made.stat().st_gid) == (CONSUMER, 65534), made
    # Its own links are its own business, as far as its rights go.
    as_consumer("mkdir", str(home / "elsewhere"))
    as_consumer("ln", "-s", str(home / "elsewhere"), str(home / "linked"))
    agent.stop()
    agent.configure(agent.credential(publish=one_file(home / "linked" / "creds.json"))).start()
    eventually((home / "elsewhere" / "creds.json").exists, lambda: agent.log)


@root_only
def test_a_link_where_anybody_can_write_is_not_followed(agent):
    """As in an emptyDir, which has mode 0777."""
    victim = agent.dir / "victim"
    victim.mkdir(mode=0o700)
    let_others_in(agent.dir)
    shared = agent.dir / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    as_consumer("ln", "-s", str(victim), str(shared / "app"))
    agent.configure(agent.credential(publish=one_file(shared / "app" / "creds.json"))).start()
    wait_error(agent, "app is a symbolic link in a directory that other users can write to")
    assert list(victim.iterdir()) == []
    as_consumer("rm", str(shared / "app"))
    eventually(lambda: agent.status().get("state") == "fresh", lambda: agent.log)


@root_only
def test_the_group_of_files_does_not_help_a_consumers_link(agent, home):
    """The child may set the group that the configuration names only where the consumer cannot lead it elsewhere."""
    victim = agent.dir / "victim"
    victim.mkdir()
    os.chown(victim, 0, GROUP)
    victim.chmod(0o770)
    as_consumer("ln", "-s", str(victim), str(home / "link"))
    publish = {**a_directory(home / "link" / "creds"), "owner": str(CONSUMER), "group": str(GROUP)}
    agent.configure(agent.credential(publish=publish), agent.credential("other"), sandbox={"landlock": False}).start()
    agent.wait_state("fresh", "other")
    wait_error(agent, f"user {CONSUMER}")
    assert list(victim.iterdir()) == []


def let_consumer_write(path):
    """Lets the consumer write by an ACL, whose mask is then in the place of the group's permissions (acl(5))."""
    mode = path.stat().st_mode
    entries = [(0x01, mode >> 6 & 7, -1), (0x02, 7, CONSUMER), (0x04, mode >> 3 & 7, -1), (0x10, 7, -1), (0x20, mode & 7, -1)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", acl)
    except OSError as e:
        lacking(f"no ACL can be set: {e}")


@root_only
@pytest.mark.parametrize("kind", ["directory", "file", "profile"])
@pytest.mark.parametrize("by", ["acl", "group"])
def test_a_link_where_a_group_or_an_acl_lets_others_write_is_not_followed(agent, by, kind):
    """Root's directory of root's group; the consumer is in that group, as all are on OpenShift, or in its ACL."""
    let_others_in(agent.dir)
    victim = agent.dir / "victim"
    victim.mkdir(mode=0o700)
    (victim / "credentials").write_text("[default]\naws_access_key_id = ROOTS\n")
    before = untouched(victim)
    shared = agent.dir / "shared"
    shared.mkdir()
    shared.chmod(0o755 if by == "acl" else 0o775)
    if by == "acl":
        let_consumer_write(shared)
    link = ["ln", "-s", str(victim), str(shared / "app")]
    subprocess.run(["setpriv", f"--reuid={CONSUMER}", f"--regid={CONSUMER if by == 'acl' else 0}", "--clear-groups", *link], check=True)
    path = shared / "app" / ("creds" if kind == "directory" else "credentials")
    publish = {"directory": a_directory(path), "file": one_file(path), "profile": {"profile": {"path": str(path)}}}[kind]
    # Landlock would keep it from the victim's directory, too.
    agent.configure(agent.credential(publish=publish), sandbox={"landlock": False}).start(wait=False)
    wait_error(agent, "app is a symbolic link in a directory that other users can write to",
               "or chmod g-w that directory (its mode is 0775)")
    assert untouched(victim) == before
    # What the error asks for makes it root's own link.
    (shared / "app").unlink()
    (shared / "app").symlink_to(victim)
    shared.chmod(0o755)
    agent.wait_state("fresh")


@root_only
def test_root_that_may_not_take_a_users_rights_writes_nothing(agent, home):
    """Without CAP_SETUID and CAP_SETGID, what the consumer's links lead to would be written with root's own rights."""
    as_consumer("mkdir", str(home / "app"))
    victim = agent.dir / "victim"
    victim.mkdir(mode=0o700)
    as_consumer("ln", "-s", str(victim), str(home / "app" / "link"))
    agent.configure(agent.credential(publish=one_file(home / "app" / "link" / "creds.json")),
                    agent.credential("own", publish=one_file(home / "app" / "creds.json")),
                    agent.credential("other"), sandbox={"landlock": False})
    agent.start(wrapper=["setpriv", "--bounding-set=-setuid,-setgid", "--inh-caps=-setuid,-setgid"])
    agent.wait_state("fresh", "other")
    wait_error(agent, "CAP_SETUID and CAP_SETGID", name="own")
    assert list(victim.iterdir()) == []
    assert [p.name for p in (home / "app").iterdir()] == ["link"]


# ---- obstacles ----

@root_only
def test_a_generation_number_near_the_end_is_not_continued(agent, home):
    out = home / "creds"
    agent.configure(agent.credential(publish={"directory": str(out), "files": [{"name": "token", "format": "token"}]}))
    agent.start()
    agent.wait_state("fresh")
    now = os.readlink(out / "..data")
    evil = f"{now.rsplit('.', 1)[0]}.{2**64 - 2}"
    as_consumer("cp", "-r", str(out / now), str(out / evil))
    as_consumer("ln", "-sfn", evil, str(out / "..data"))
    agent.stop()
    shutil.rmtree(agent.state)
    agent.start()
    agent.wait_state("fresh")
    assert agent.generation() < 10
    assert os.readlink(out / "..data") != evil


@root_only
@pytest.mark.parametrize("number", [5 * 10**9, 10**10 - 1])
@pytest.mark.parametrize("where, state", [("shared", "kept"), ("shared", "lost"), ("home", "kept")])
def test_a_planted_generation_does_not_decide_on_the_number(agent, home, where, state, number):
    """In a directory where everybody can write, the consumer's generation is not ours; in its own, the record decides."""
    out = home / "creds"
    if where == "shared":
        out = agent.dir / "creds"
        out.mkdir()
        out.chmod(0o777)
    files = [{"name": "token", "format": "token", "mode": "0644"}]
    agent.configure(agent.credential(publish={"directory": str(out), "files": files})).start()
    agent.wait_state("fresh")
    now = os.readlink(out / "..data")
    agent.stop()
    evil = f"{now.rsplit('.', 1)[0]}.{number}"
    as_consumer("mkdir", str(out / evil))
    as_consumer("cp", str(out / "token"), str(out / evil / "token"))
    as_consumer("ln", "-s", evil, str(out / "..planted"))
    as_consumer("mv", "-T", str(out / "..planted"), str(out / "..data"))
    if state == "lost":
        shutil.rmtree(agent.state)
    agent.start()
    eventually(lambda: os.readlink(out / "..data") != evil, lambda: agent.log)
    eventually(lambda: 0 < agent.generation() < 10, lambda: agent.log)


@root_only
def test_planted_generations_keep_nobody_waiting(agent):
    """In a volume in memory where everybody can write, such as an emptyDir: sparse files where old generations would be."""
    let_others_in(agent.dir)
    out = agent.dir / "memory"
    out.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0777,size=64m,nr_inodes=0", "none", str(out)], capture_output=True).returncode != 0:
        lacking("no tmpfs can be mounted")
    try:
        (out / "creds").mkdir()
        (out / "creds").chmod(0o777)
        agent.configure(agent.credential(publish=[a_directory(out / "creds"), one_file(out / "creds.json")])).start()
        agent.wait_state("fresh")
        as_consumer("/usr/bin/python3", "-c", f"""
import os
os.chdir({str(out)!r})
def plant(name):
    with open(name, 'w') as f:
        f.truncate(4 << 20)
    os.chmod(name, 0o666)
for i in range(4):
    directory = 'creds/..2026_11_28_00_00_00.%09d' % (i + 1000)
    os.mkdir(directory)
    os.chmod(directory, 0o777)
    for k in range(3000):
        plant(directory + '/%d' % k)
for i in range(3000):
    plant('.creds.json.credfresh-%08x' % i)""")
        generation = agent.generation()
        assert agent.request("POST", "/v1/credentials/demo/rotate")[0] < 300
        assert slowest_answer(agent, lambda: agent.generation() > generation) < HANG_S
        agent.stop()
        agent.start(wait=False)
        eventually(agent.socket.exists, lambda: agent.log)
        assert slowest_answer(agent, lambda: agent.status().get("state") == "fresh") < HANG_S
    finally:
        agent.stop()
        subprocess.run(["umount", str(out)], check=True)


@root_only
def test_one_target_in_the_way_holds_back_no_other(agent, home, cloud):
    """A directory stands where the link of one target belongs: the other is published, its hook runs once, the pauses
    grow, and no second exchange is made for the first once it is out of the way."""
    out = home / "creds"
    as_consumer("mkdir", "-p", str(out / "..data" / "x"))
    hooked = agent.dir / "hooked"
    publish = [{"directory": str(out), "files": [{"name": "token", "format": "token"}]}, one_file(agent.dir / "good.json")]
    agent.configure(agent.credential(publish=publish, reload=[{"exec": ["/bin/sh", "-c", f"echo $CREDFRESH_GENERATION >> {hooked}"]}])).start()
    wait_error(agent, str(out))
    assert (agent.dir / "good.json").exists()
    eventually(hooked.exists, lambda: agent.log)
    exchanges = cloud.exchanges()
    eventually(lambda: agent.status()["consecutive_failures"] >= 3, lambda: agent.log)
    assert agent.generation() == 1 and hooked.read_text() == "1\n" and "recovered" not in agent.log
    as_consumer("rm", "-r", str(out / "..data"))
    agent.wait_state("fresh")
    assert cloud.exchanges() == exchanges
    assert (out / "token").exists()
    assert hooked.read_text() == "1\n2\n" and agent.log.count("recovered after") == 1


def served_by(path, **over):
    """The endpoints of one that serves credential demo to those who show what is in PATH, and its address."""
    at = f"127.0.0.1:{free_port()}"
    authorization = {"file": str(path), **over}
    return at, [{"listen": at, "aws_container": {"credential": "demo", "authorization": authorization}}]


@root_only
@pytest.mark.parametrize("kind", ["link", "link to a secret", "directory", "fifo", "parent", "full"])
def test_an_authorization_file_in_the_way_stops_only_its_endpoint(agent, home, kind):
    """The consumer has put something else there, or its file system is full: the agent starts, and reloads."""
    victim = agent.dir / "victim"
    victim.mkdir(mode=0o700)
    (victim / "secret").write_text("A" * 43)
    before = untouched(victim)
    path = home / "auth"
    plant = {"link": ["ln", "-s", str(victim / "none"), str(path)],
             "link to a secret": ["ln", "-s", str(victim / "secret"), str(path)],
             "directory": ["mkdir", str(path)],
             "fifo": ["mkfifo", str(path)],
             "parent": ["ln", "-s", str(victim), str(home / "auth.d")]}
    if kind == "parent":
        path = home / "auth.d" / "auth"
    if kind == "full":
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=1", "none", str(home)], capture_output=True).returncode != 0:
            lacking("no tmpfs can be mounted")
    else:
        as_consumer(*plant[kind])
    try:
        at, endpoints = served_by(path, mode="0644")
        agent.configure(agent.credential(), agent.credential("other"), endpoints=endpoints).start()
        agent.wait_state("fresh", "other")
        agent.wait_state("fresh")
        assert ask(at, "/aws/demo", headers={"Authorization": "A" * 43}).status == 503
        assert f"clients that must show the content of {path} are not served: {path}" in agent.log
        assert agent.request("POST", "/v1/reload")[0] == 200
        assert untouched(victim) == before
        if kind == "full":
            subprocess.run(["mount", "-o", "remount,nr_inodes=10", str(home)], check=True)
        else:
            as_consumer("rm", "-r", str(path if kind != "parent" else path.parent))
        eventually(lambda: ask(at, "/aws/demo", headers={"Authorization": "x"}).status == 403, lambda: agent.log)
        assert ask(at, "/aws/demo", headers={"Authorization": path.read_text()}).status == 200
    finally:
        agent.stop()
        if kind == "full":
            subprocess.run(["umount", str(home)], check=True)


@root_only
@pytest.mark.parametrize("where", ["disk", "memory"])
def test_an_authorization_file_in_a_consumers_directory_is_made_with_its_rights(agent, home, where):
    if where == "memory":
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"uid={CONSUMER},gid={CONSUMER}", "none", str(home)], capture_output=True).returncode != 0:
            lacking("no tmpfs can be mounted")
    try:
        path = home / "auth"
        at, endpoints = served_by(path)
        agent.configure(agent.credential(), endpoints=endpoints).start()
        agent.wait_state("fresh")
        eventually(path.exists, lambda: agent.log)
        status = path.stat()
        assert (status.st_uid, status.st_mode & 0o777) == (CONSUMER, 0o600)
        secret = path.read_text()
        eventually(lambda: ask(at, "/aws/demo", headers={"Authorization": secret}).status == 200, lambda: agent.log)
        agent.stop()
        agent.start()
        agent.wait_state("fresh")
        eventually(lambda: ask(at, "/aws/demo", headers={"Authorization": secret}).status == 200, lambda: agent.log)
        # It cannot be given to root there.
        agent.stop()
        path.unlink()
        at, endpoints = served_by(path, owner="root", group="0")
        agent.configure(agent.credential(), endpoints=endpoints).start()
        agent.wait_state("fresh")
        eventually(lambda: ask(at, "/aws/demo", headers={"Authorization": secret}).status == 503, lambda: agent.log)
        eventually(lambda: f"the path leads through a directory of user {CONSUMER}" in agent.log, lambda: agent.log)
    finally:
        agent.stop()
        if where == "memory":
            subprocess.run(["umount", str(home)], check=True)


@root_only
def test_a_held_lock_and_a_sparse_file_keep_nobody_waiting(agent, home):
    as_consumer("mkdir", str(home / ".aws"))
    holder = subprocess.Popen(["setpriv", f"--reuid={CONSUMER}", f"--regid={CONSUMER}", "--clear-groups", "/usr/bin/python3", "-c", f"""
import fcntl, struct, sys, time
f = open({str(home / '.aws' / 'credentials.lock')!r}, 'w')
fcntl.lockf(f, fcntl.LOCK_EX)
print('held', flush=True)
time.sleep(600)"""], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    huge = home / "huge"
    as_consumer("truncate", "-s", "4T", str(huge))
    try:
        agent.configure(agent.credential(publish={"profile": {"path": str(home / ".aws" / "credentials")}}),
                        agent.credential("huge", publish=one_file(huge)), agent.credential("other")).start()
        agent.wait_state("fresh", "other")
        assert slowest_answer(agent, lambda: "lock" in error_of(agent)) < HANG_S
        agent.wait_state("fresh", "huge")
        assert huge.stat().st_size < 10000
    finally:
        holder.kill()
        holder.wait()
    agent.wait_state("fresh")


def test_many_profiles_go_into_one_file_at_once(agent):
    """Each child cleans up what a crash has left, and leaves alone what the others are writing."""
    path = agent.dir / "aws" / "credentials"
    names = [f"p{i}" for i in range(60)]
    agent.configure(*[agent.credential(name, publish={"profile": {"path": str(path), "name": name}}) for name in names])
    agent.start()
    for name in names:
        agent.wait_state("fresh", name)
    text = path.read_text()
    assert [name for name in names if f"[{name}]" not in text] == []


# ---- processes ----

@root_only
def test_a_pid_file_of_the_consumers_names_only_its_own_processes(agent, home):
    """It names root's process: that gets no signal. It names one of the consumer's: that does."""
    pid_file = home / "app.pid"
    roots = subprocess.Popen(["sleep", "600"])
    its = subprocess.Popen(["setpriv", f"--reuid={CONSUMER}", f"--regid={CONSUMER}", "--clear-groups", "sleep", "600"])
    try:
        as_consumer("sh", "-c", f"echo {roots.pid} > {pid_file}")
        agent.configure(agent.credential(reload=[{"signal": {"pid_file": str(pid_file), "signal": "TERM"}, "on_first": "run"}])).start()
        eventually(lambda: f"names process {roots.pid} of user 0" in agent.log, lambda: agent.log)
        assert roots.poll() is None
        as_consumer("sh", "-c", f"echo {its.pid} > {pid_file}")
        eventually(lambda: its.poll() is not None, lambda: agent.log)
    finally:
        for process in (roots, its):
            process.kill()
            process.wait()


@root_only
@pytest.mark.parametrize("by", ["acl", "group", "all"])
def test_a_pid_file_of_roots_that_others_can_write_names_no_process(agent, by):
    let_others_in(agent.dir)
    pid_file = agent.dir / "app.pid"
    roots = subprocess.Popen(["sleep", "600"])
    try:
        pid_file.write_text(f"{roots.pid}\n")
        pid_file.chmod({"acl": 0o644, "group": 0o664, "all": 0o646}[by])
        if by == "acl":
            let_consumer_write(pid_file)
        agent.configure(agent.credential(reload=[{"signal": {"pid_file": str(pid_file), "signal": "TERM"}, "on_first": "run"}])).start()
        eventually(lambda: f"so the process that it names is not signalled: chmod go-w {pid_file}" in agent.log, lambda: agent.log)
        assert roots.poll() is None
        os.removexattr(pid_file, "system.posix_acl_access") if by == "acl" else None
        pid_file.chmod(0o644)
        eventually(lambda: roots.poll() is not None, lambda: agent.log)
    finally:
        roots.kill()
        roots.wait()


@root_only
@pytest.mark.parametrize("where", ["home", "sticky"])
def test_a_pid_file_of_another_service_under_a_name_of_the_consumers_names_no_process(agent, home, where):
    """A hard link to a file of root's: where fs.protected_hardlinks is 0, as it is by default, every user may make it."""
    there = home
    if where == "sticky":
        there = agent.dir / "all"
        there.mkdir()
        there.chmod(0o1777)
    service, pid_file = agent.dir / "service.pid", there / "app.pid"
    roots = subprocess.Popen(["sleep", "600"])
    try:
        service.write_text(f"{roots.pid}\n")
        os.link(service, pid_file)
        agent.configure(agent.credential(reload=[{"signal": {"pid_file": str(pid_file), "signal": "TERM"}, "on_first": "run"}])).start()
        eventually(lambda: f"{pid_file} belongs to user 0 and has another name" in agent.log or roots.poll() is not None, lambda: agent.log)
        assert roots.poll() is None
        # One that root itself put there names it.
        pid_file.unlink()
        pid_file.write_text(f"{roots.pid}\n")
        eventually(lambda: roots.poll() is not None, lambda: agent.log)
    finally:
        roots.kill()
        roots.wait()


def test_sigchld_that_was_ignored_ends_hooks_all_the_same(agent):
    """It is inherited, and the kernel then tells of no end and keeps no exit status."""
    agent.configure(agent.credential(reload=[{"exec": ["/bin/true"], "on_first": "run"}]))
    agent.start(wrapper=["/usr/bin/python3", "-c", "import os, signal, sys\n"
                         "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nos.execv(sys.argv[1], sys.argv[1:])"])
    eventually(lambda: 'hook "exec /bin/true" done' in agent.log, lambda: agent.log)
