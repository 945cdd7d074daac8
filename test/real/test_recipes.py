# SPDX-License-Identifier: MIT
"""The blocks of docs/recipes.md with the real programs. A recipe's paths are below a temporary directory, its ports are free ones,
and all its users are one that is not root. Programs that Debian does not have get their configuration parsed only."""
import base64
import contextlib
import getpass
import http.server
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time

import pytest
import yaml

from conftest import free_port
from harness import AS_NOBODY, CREDFRESH, REPO, Agent, Mounted, eventually, let_others_in, read_text

PAGE = (REPO / "docs/recipes.md").read_text()
ROOT = os.getuid() == 0
# PostgreSQL refuses root, so everything runs as another user.
AS_USER = AS_NOBODY if ROOT else ()
UID, GID = (65534, 65534) if ROOT else (os.getuid(), os.getgid())
USER = "nobody" if ROOT else getpass.getuser()


def blocks(recipe, language):
    text = PAGE.split(f"\n## {recipe}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def needs(*programs):
    """The paths of PROGRAMS; the test is skipped, with a word, where one is missing."""
    where = os.pathsep.join([os.environ["PATH"], "/usr/sbin", *map(str, pathlib.Path("/").glob("usr/lib/postgresql/*/bin"))])
    for program in programs:
        if shutil.which(program, path=where) is None:
            pytest.skip(f"there is no {program}; CFR_REAL=1 installs it")
    return [shutil.which(program, path=where) for program in programs]


class Machine:
    """Where the files of a recipe are."""

    def __init__(self, directory):
        self.dir, self.processes, self.agents = directory, [], []
        self.words = {}
        for path in ("/run/secrets/credfresh", "/run/credfresh-reload", "/var/lib/credfresh", "/run/credentials", "/run/mysqld",
                     "/run/redis", "/etc/redis", "/usr/local/lib/credfresh", "/usr/local/bin", "/var/run/secrets/app-db",
                     "/var/lib/tokens", "/var/lib/backup", "/etc/credfresh"):
            self.words[path] = self.make(path.strip("/").replace("/", "-"))
        let_others_in(directory)

    def make(self, name):
        path = self.dir / name
        path.mkdir()
        self.give(path)
        return path

    def give(self, path):
        if ROOT:
            os.chown(path, UID, GID)

    def here(self, text, **more):
        """TEXT with the paths of this machine, and MORE words."""
        words = {**self.words, **more}
        pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        return re.sub(pattern, lambda found: str(words[found[0]]), text)

    def write(self, path, text, mode=0o644):
        file = pathlib.Path(self.here(str(path)))
        file.write_text(text)
        file.chmod(mode)
        self.give(file)
        return file

    def spawn(self, *command, **how):
        log = open(self.dir / f"{pathlib.Path(command[0]).name}.log", "ab")
        self.processes.append(subprocess.Popen([*AS_USER, *map(str, command)], stdout=log, stderr=log, cwd=self.dir, **how))
        return self.processes[-1]

    def logs(self):
        return "\n".join(read_text(path)[-3000:] for path in [*self.dir.glob("*.log"), *self.dir.glob("*/agent.log")])

    def run(self, *command, env=None, status=0):
        done = subprocess.run([*AS_USER, *map(str, command)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                              cwd=self.dir, env={**os.environ, "HOME": str(self.dir), **(env or {})})
        assert status is None or done.returncode == status, f"{command}: {done.stdout}\n{self.logs()}"
        return done.stdout

    def shell(self, text, **how):
        """A shell block of the page."""
        return self.run("sh", "-euc", text, **how)

    def agent(self, text, change=lambda configuration: None):
        """A running agent with a YAML block of the page."""
        agent = Agent(self.make(f"agent{len(self.agents)}"), None)
        configuration = yaml.safe_load(self.here(text))
        configuration.setdefault("state_dir", str(agent.dir / "state"))
        for credential in configuration["credentials"]:
            publish = credential["publish"]
            for file in [publish["file"]] if "file" in publish else publish["files"]:
                file.update({key: str(number) for key, number in (("owner", UID), ("group", GID)) if key in file})
        change(configuration)
        agent.config_path.write_text(json.dumps(configuration, indent=1))
        agent.keep_state_in(pathlib.Path(configuration["state_dir"]))
        self.agents.append(agent)
        return agent.start(wrapper=AS_USER)

    def reloaded(self, unit, reload):
        """What systemd does with a request of the agent."""
        request = self.words["/run/credfresh-reload"] / unit
        eventually(request.exists, lambda: f"a request to reload {unit}: {self.logs()}")
        request.unlink()
        reload()

    def stop(self):
        for agent in self.agents:
            agent.stop()
        for process in reversed(self.processes):
            with contextlib.suppress(PermissionError, ProcessLookupError):
                process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    yield made
    made.stop()


def first_certificate(text):
    return re.search(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", text, re.S)


def served(port, *starttls):
    """The certificate that a server shows."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"localhost:{port}", *starttls], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)
    found = first_certificate(done.stdout)
    return found and found[0]


def follows(machine, agent, name, file, port, *starttls, reload=lambda: None):
    """The server shows the published certificate, and the next one after a rotation. RELOAD is what a request of the agent causes."""
    for generation in (1, 2, 3):
        agent.wait_generation(generation, name)
        reload()
        eventually(lambda: served(port, *starttls) == first_certificate(file.read_text())[0],
                   lambda: f"generation {generation}: {machine.logs()}", pause_s=0.2)
        if generation < 3:
            assert agent.request("POST", f"/v1/credentials/{name}/rotate")[0] == 202


def test_every_recipe_is_listed():
    titles = re.findall(r"^## (.*)$", PAGE, re.M)
    assert titles == re.findall(r"^\| \[(.*?)\]", PAGE, re.M)


def test_postgresql(machine):
    initdb, postgres, psql = needs("initdb", "postgres", "psql")
    server_yaml, client_yaml = blocks("PostgreSQL", "yaml")
    [conf], [command] = blocks("PostgreSQL", "ini"), blocks("PostgreSQL", "sh")
    agent = machine.agent(server_yaml)
    agent.wait_generation(1, "postgresql")
    port, data, sockets = free_port(), machine.make("data"), machine.make("s")
    machine.run(initdb, "-D", data, "-U", "postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync", "--no-instructions")
    with open(data / "postgresql.conf", "a", encoding="utf-8") as file:
        file.write(machine.here(conf) + f"port = {port}\nlisten_addresses = 'localhost'\nunix_socket_directories = '{sockets}'\nfsync = off\n")
    server = machine.spawn(postgres, "-D", data)

    def admin(sql, status=0):
        return machine.run(psql, "-h", sockets, "-p", port, "-U", "postgres", "-d", "postgres", "-Atc", sql, status=status)

    eventually(lambda: admin("select 1", None) == "1\n", machine.logs)
    admin("create role app login password 'first'")
    secret = Mounted(machine.words["/var/run/secrets/app-db"]).put({"username": "app", "password": "first"})
    client = machine.agent(client_yaml)
    client.wait_generation(1, "app-db")
    environment = {"PGPORT": str(port), "PATH": f"{pathlib.Path(psql).parent}:{os.environ['PATH']}"}
    assert machine.shell(machine.here(command), env=environment) == "TLSv1.3\n"

    # 1. The password is rotated.
    admin("alter role app password 'second'")
    assert "password authentication failed" in machine.shell(machine.here(command), env=environment, status=2)
    secret.put({"username": "app", "password": "second"})
    client.wait_generation(2, "app-db")
    assert machine.shell(machine.here(command), env=environment) == "TLSv1.3\n"

    # 2. The certificate is rotated.
    follows(machine, agent, "postgresql", machine.words["/run/secrets/credfresh"] / "postgresql/tls.crt", port, "-starttls", "postgres",
            reload=lambda: machine.reloaded("postgresql", lambda: server.send_signal(signal.SIGHUP)))
    assert machine.shell(machine.here(command), env=environment) == "TLSv1.3\n"
    server.send_signal(signal.SIGINT)


def test_mariadb(machine):
    install, mariadbd, mariadb = needs("mariadb-install-db", "mariadbd", "mariadb")
    server_yaml, client_yaml = blocks("MySQL and MariaDB", "yaml")
    [conf], [sql], [command] = (blocks("MySQL and MariaDB", language) for language in ("ini", "text", "sh"))
    port, data, socket = free_port(), machine.make("data"), machine.words["/run/mysqld"] / "mysqld.sock"
    machine.run(install, "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-log-bin")
    agent = machine.agent(server_yaml)
    agent.wait_generation(1, "mysql")  # the hook fails until the server has started, and is repeated
    machine.write(machine.dir / "my.cnf", f"{machine.here(conf)}datadir={data}\nsocket={socket}\nport={port}\n"
                  f"bind-address=127.0.0.1\npid-file={data}/pid\ninnodb_flush_method=fsync\ninnodb_buffer_pool_size=8M\n")
    machine.spawn(mariadbd, f"--defaults-file={machine.dir}/my.cnf")

    def admin(text, status=0):
        return machine.run(mariadb, "--no-defaults", f"--socket={socket}", "--user=root", "--skip-column-names", f"--execute={text}", status=status)

    eventually(lambda: admin("select 1", None) == "1\n", machine.logs)
    admin(sql.replace("credfresh@", f"{USER}@"))
    admin("create user app identified by 'fir\"st'")
    secret = Mounted(machine.words["/var/run/secrets/app-db"]).put({"username": "app", "password": "fir\\\"st"})
    client = machine.agent(client_yaml)
    client.wait_generation(1, "app-db")
    environment = {"MYSQL_TCP_PORT": str(port)}
    assert machine.shell(machine.here(command), env=environment) == "Ssl_version\tTLSv1.3\n"
    admin("alter user app identified by 'second'")
    secret.put({"username": "app", "password": "second"})
    client.wait_generation(2, "app-db")
    assert machine.shell(machine.here(command), env=environment) == "Ssl_version\tTLSv1.3\n"
    follows(machine, agent, "mysql", machine.words["/run/secrets/credfresh"] / "mysql/tls.crt", port, "-starttls", "mysql")


def test_redis(machine):
    server, _ = needs("redis-server", "redis-cli")
    [server_yaml], [conf] = blocks("Redis", "yaml"), blocks("Redis", "text")
    script, command = blocks("Redis", "sh")
    [user] = re.findall(r"`(user credfresh .*?)`", PAGE)
    machine.write("/usr/local/lib/credfresh/reload-redis", machine.here(script), 0o755)
    machine.write("/etc/redis/credfresh-password", "secret\n", 0o600)
    machine.write("/etc/redis/users.acl", f"user default on nopass ~* &* +@all\n{user.replace('PASSWORD', 'secret')}\n")
    agent = machine.agent(server_yaml)
    agent.wait_generation(1, "redis")
    port = free_port()
    machine.write(machine.dir / "redis.conf", machine.here(conf, **{"6379": port}) + "bind 127.0.0.1\nsave \"\"\n")
    machine.spawn(server, machine.dir / "redis.conf")
    command = machine.here(command, **{"6379": port})
    eventually(lambda: machine.shell(command, status=None) == "PONG\n", machine.logs)
    follows(machine, agent, "redis", machine.words["/run/secrets/credfresh"] / "redis/tls.crt", port)
    assert machine.shell(command) == "PONG\n"


def jwt(number):
    """A token as an issuer makes it; only its receiver would verify it."""
    now = int(time.time())
    parts = {"alg": "RS256"}, {"iss": "https://issuer.test", "sub": "app", "aud": "upstream", "iat": now, "exp": now + 3600, "jti": str(number)}
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (*parts, "signature"))


@contextlib.contextmanager
def upstream():
    """(port, list of the Authorization headers that came)."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("Authorization"))
            self.send_response(200)
            self.send_header("Content-Length", "3")
            self.end_headers()
            self.wfile.write(b"ok\n")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, seen
        server.shutdown()


def test_nginx(machine):
    [nginx] = needs("nginx")
    [server_yaml], [conf], [command] = (blocks("nginx", language) for language in ("yaml", "nginx", "sh"))
    token = machine.write("/var/lib/tokens/upstream", jwt(1), 0o600)
    agent = machine.agent(server_yaml)
    agent.wait_generation(1, "web")
    agent.wait_generation(1, "upstream")
    port, work = free_port(), machine.make("work")
    with upstream() as (behind, seen):
        paths = "".join(f"{name}_temp_path {work}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        site = machine.here(conf, **{"listen 8443": f"listen 127.0.0.1:{port}", "8080": behind})
        machine.write(machine.dir / "nginx.conf", f"daemon off;\npid {work}/pid;\nerror_log stderr;\nevents {{}}\n"
                      f"http {{\naccess_log off;\n{paths}{site}}}\n")
        server = machine.spawn(nginx, "-e", "stderr", "-c", machine.dir / "nginx.conf")

        def reload():
            machine.reloaded("nginx", lambda: server.send_signal(signal.SIGHUP))

        def ask():
            return machine.shell(machine.here(command, **{"8443": port}), status=None).endswith("ok\n") and seen[-1]

        assert eventually(ask, machine.logs) == f"Bearer {token.read_text()}"
        follows(machine, agent, "web", machine.words["/run/secrets/credfresh"] / "web/tls.crt", port, reload=reload)
        machine.write(machine.dir / "token", jwt(2), 0o600).rename(token)
        agent.wait_generation(2, "upstream")
        reload()
        eventually(lambda: ask() == f"Bearer {token.read_text()}", machine.logs)


def test_haproxy(machine):
    [haproxy] = needs("haproxy")
    [server_yaml], [conf], [command] = (blocks("HAProxy", language) for language in ("yaml", "text", "sh"))
    agent = machine.agent(server_yaml)
    agent.wait_generation(1, "site")
    port = free_port()
    with upstream() as (behind, _):
        machine.write(machine.dir / "haproxy.cfg", machine.here(conf, **{"bind :8443": f"bind 127.0.0.1:{port}", "8080": behind}))
        server = machine.spawn(haproxy, "-W", "-f", machine.dir / "haproxy.cfg")
        command = machine.here(command, **{"8443": port})
        eventually(lambda: machine.shell(command, status=None).endswith("ok\n"), machine.logs)

        def loaded():
            return read_text(machine.dir / "haproxy.log").count("Loading success")

        def reload():
            before = eventually(loaded, machine.logs)  # a signal during a start or a reload is lost
            server.send_signal(signal.SIGUSR2)
            eventually(lambda: loaded() > before, machine.logs)

        follows(machine, agent, "site", machine.words["/run/secrets/credfresh"] / "site/site.pem", port,
                reload=lambda: machine.reloaded("haproxy", reload))
        assert machine.shell(command).endswith("ok\n")


def test_envoy(machine):
    """Envoy is not in Debian: the files that its configuration names exist."""
    server_yaml, secrets = blocks("Envoy", "yaml")
    agent = machine.agent(server_yaml)
    agent.wait_generation(1, "edge")
    [secret] = yaml.safe_load(machine.here(secrets))["resources"]
    certificate = secret["tls_certificate"]
    assert all(pathlib.Path(certificate[key]["filename"]).is_file() for key in ("certificate_chain", "private_key"))
    assert (pathlib.Path(certificate["watched_directory"]["path"]) / "..data").is_symlink()
    [context] = blocks("Envoy", "json")
    [named] = json.loads(context)["common_tls_context"]["tls_certificate_sds_secret_configs"]
    assert named["name"] == secret["name"]


def test_kafka(machine):
    """Kafka is not in Debian: its configuration is lines of properties, and the file of the keystore has key and certificate."""
    server_yaml, _ = blocks("Kafka", "yaml")
    machine.write("/usr/local/lib/credfresh/reload-kafka", "#!/bin/sh\n", 0o755)
    agent = machine.agent(server_yaml)
    agent.wait_generation(1, "kafka")
    broker, client = (dict(line.split("=", 1) for line in machine.here(text).splitlines()) for text in blocks("Kafka", "ini"))
    store = pathlib.Path(broker["listener.name.tls.ssl.keystore.location"])
    assert re.findall(r"BEGIN (.*?)-", store.read_text())[:2] == ["PRIVATE KEY", "CERTIFICATE"]
    keys = [machine.run("openssl", *command, "-in", store) for command in (("pkey", "-pubout"), ("x509", "-pubkey", "-noout"))]
    assert keys[0] == keys[1]
    assert pathlib.Path(client["ssl.truststore.location"]).is_file()
    assert client["sasl.oauthbearer.token.endpoint.url"] == "file://" + machine.here("/run/credentials/kafka-token")


def test_terraform():
    """Terraform is not in Debian: braces and quotes are balanced."""
    [text] = blocks("Terraform", "hcl")
    text = re.sub(r"#.*$", "", text, flags=re.M)
    for line in text.splitlines():
        assert re.sub(r'\$\{[^}]*\}', "", line).count('"') % 2 == 0, line
    for opening, closing in ("{}", "()", "[]"):
        assert text.count(opening) == text.count(closing)


def test_cron(machine, cloud):
    [config_yaml], [crontab] = blocks("cron", "yaml"), blocks("cron", "text")
    configuration = yaml.safe_load(machine.here(config_yaml, **{"/var/lib/tokens/backup": cloud.volumes["demo"] / "token"}))
    configuration["credentials"][0]["exchange"]["aws"].update(role_arn="arn:aws:iam::123456789012:role/demo", region="us-east-1",
                                                             endpoint=cloud.sts, ca_file=cloud.ca)
    machine.write("/etc/credfresh/backup.yaml", json.dumps(configuration))
    machine.write("/usr/local/bin/backup", '#!/bin/sh\ngrep -c aws_session_token "$AWS_SHARED_CREDENTIALS_FILE"\nexit 7\n', 0o755)
    line = crontab.splitlines()[1].split(None, 6)
    assert line[5] == "backup" and line[6].startswith("credfresh exec ")
    command = shlex.split(machine.here(line[6]))
    if ROOT:  # the files belong to another user
        shutil.chown(machine.words["/var/lib/backup"], 0, 0)
    done = subprocess.run([CREDFRESH, *command[1:]], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (7, "1\n"), done.stderr
