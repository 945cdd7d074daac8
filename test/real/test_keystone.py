# SPDX-License-Identifier: MIT
"""OpenStack with a real Keystone: application credential, password and federation, what is published used by the real
client, what is said when the credential is deleted, and application credentials that are rotated while they are in use.
"""
import base64
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integ"))
from conftest import *  # noqa: F401,F403,E402  the fixtures
from conftest import eventually, read_text  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MODULES = "/usr/lib/apache2/modules"
ROTATIONS = 50
IDP_PATH = "/OS-FEDERATION/identity_providers/k8s/protocols/openid"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Process:
    """A server with its log, ended by SIGTERM. It has a session of its own, for Apache ends its whole process group."""

    def __init__(self, log, argv, env=None):
        self.log = log
        with open(log, "wb") as out:
            self.process = subprocess.Popen([str(a) for a in argv], stdout=out, stderr=out, start_new_session=True,
                                            env={**os.environ, **(env or {})})

    def wait_for(self, port, limit_s):
        eventually(lambda: self.process.poll() is not None or is_open(port), f"port {port}", limit_s, 0.1)
        assert self.process.poll() is None, read_text(self.log)[-2000:]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def is_open(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Keystone:
    """A real Keystone, and its administrator."""

    def __init__(self, directory):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/v3"
        self.server = Process(directory.with_suffix(".log"), ["sh", HERE / "keystone-up.sh", directory, self.port],
                              {"FEDERATION": "1"})
        self.server.wait_for(self.port, 120)
        self.admin = self.login("admin", "adminpw", {"project": {"name": "admin", "domain": {"id": "default"}}})
        self.role = self.make("/roles", "role", name="robot")["id"]

    def call(self, method, path, body=None, token=None):
        """(headers, parsed body); TOKEN is the administrator's unless one is given."""
        headers = {"Content-Type": "application/json", "X-Auth-Token": self.admin if token is None else token}
        request = urllib.request.Request(self.url + path, method=method, headers=headers,
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
            return answer.headers, json.loads(text) if text else None

    def login(self, user, password, scope):
        headers, _ = self.call("POST", "/auth/tokens", {"auth": {"identity": {"methods": ["password"], "password": {
            "user": {"name": user, "domain": {"id": "default"}, "password": password}}}, "scope": scope}}, token="")
        return headers["X-Subject-Token"]

    def make(self, path, kind, method="POST", token=None, **what):
        return self.call(method, path, {kind: what}, token)[1][kind]

    def make_user(self, name, password):
        """(user id, project id): a user with the role in a project of its own."""
        project = self.make("/projects", "project", name=f"{name}-project", domain_id="default")["id"]
        user = self.make("/users", "user", name=name, domain_id="default", password=password)["id"]
        self.call("PUT", f"/projects/{project}/users/{user}/roles/{self.role}")
        return user, project

    def make_application_credential(self, owner, user, name):
        """What Keystone answers, with the id and the secret. OWNER is a token of the user."""
        return self.make(f"/users/{user}/application_credentials", "application_credential", token=owner, name=name)


@pytest.fixture(scope="module")
def keystone(tmp_path_factory):
    k = Keystone(tmp_path_factory.mktemp("keystone") / "run")
    yield k
    k.server.stop()


@pytest.fixture
def secret_file(tmp_path):
    def write(secret, name="secret"):
        path = tmp_path / name
        path.write_text(secret + "\n")
        path.chmod(0o600)
        return str(path)

    return write


def credential(out, exchange, files, token=None):
    return {"name": "demo", "exchange": {"openstack": exchange}, "publish": {"directory": str(out), "files": files},
            **({"token": token} if token else {})}


def openstack(out, *argv, cloud="openstack"):
    """The real client with nothing but the published file; what it prints as JSON."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
    env |= {"OS_CLIENT_CONFIG_FILE": str(out / "clouds.yaml"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["openstack", "--os-cloud", cloud, *argv, "-f", "json"], capture_output=True, text=True,
                          timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def last_error(agent):
    return (agent.status().get("last_error") or {}).get("message", "")


YAML = {"name": "clouds.yaml", "format": "clouds-yaml"}
TOKEN = {"name": "token", "format": "openstack-token"}


def test_an_application_credential(keystone, agent_factory, secret_file):
    user, project = keystone.make_user("robot", "robot pw")
    owner = keystone.login("robot", "robot pw", {"project": {"id": project}})
    made = keystone.make_application_credential(owner, user, "one")
    agent = agent_factory(None)
    agent.configure(credential(agent.out, {
        "auth_url": keystone.url, "application_credential_id": made["id"],
        "application_credential_secret_file": secret_file(made["secret"]),
        "region_name": "RegionOne", "catalog": True,
    }, [YAML, TOKEN, {"name": "cloud.conf", "format": "clouds-conf"}, {"name": "creds.json", "format": "json"}]))
    checked = agent.run("check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    agent.start()
    agent.wait_generation(1)
    assert agent.status()["identity"] == "robot@Default/robot-project"
    # What it published, the real client takes, and Keystone knows the token.
    issued = openstack(agent.out, "token", "issue")
    assert (issued["project_id"], issued["user_id"]) == (project, user)
    token = (agent.out / "token").read_text()
    assert keystone.call("GET", "/auth/projects", token=token)[1]["projects"][0]["id"] == project
    assert made["secret"] not in (agent.out / "creds.json").read_text(), "a long-lived secret where none is meant to be"
    assert f'application-credential-secret = "{made["secret"]}"' in (agent.out / "cloud.conf").read_text()
    # It is deleted: the error says so, and what is published stays.
    before = {p.name: p.read_bytes() for p in agent.out.iterdir() if not p.name.startswith("..")}
    keystone.call("DELETE", f"/users/{user}/application_credentials/{made['id']}", token=owner)
    agent.request("POST", "/v1/credentials/demo/rotate")
    eventually(lambda: "its owner, its project or one of its roles was deleted" in last_error(agent), "the refusal")
    assert f'application credential "{made["id"]}", its owner' in last_error(agent)
    assert "HTTP 404, request req-" in last_error(agent)
    assert {p.name: p.read_bytes() for p in agent.out.iterdir() if not p.name.startswith("..")} == before
    assert made["secret"] not in agent.log


def test_an_application_credential_by_name_with_a_wrong_secret(keystone, agent_factory, secret_file):
    user, project = keystone.make_user("named", "named pw")
    owner = keystone.login("named", "named pw", {"project": {"id": project}})
    made = keystone.make_application_credential(owner, user, "by name")
    path = secret_file("not the secret")
    agent = agent_factory(None)
    agent.configure(credential(agent.out, {
        "auth_url": keystone.url[:-3], "application_credential_name": "by name", "username": "named",
        "user_domain_name": "Default", "application_credential_secret_file": path}, [{**YAML, "cloud": "my: cloud"}]))
    agent.start()
    eventually(lambda: "its secret is wrong" in last_error(agent), "the refusal")
    assert not (agent.out / "clouds.yaml").exists()
    # The right one arrives: nobody has to say so.
    secret_file(made["secret"])
    agent.wait_generation(1)
    auth = yaml.safe_load((agent.out / "clouds.yaml").read_text())["clouds"]["my: cloud"]["auth"]
    assert auth["application_credential_id"] == made["id"]
    assert openstack(agent.out, "token", "issue", cloud="my: cloud")["project_id"] == project


@pytest.mark.parametrize("clouds_auth", ["credential", "token"])
def test_a_password(keystone, agent_factory, secret_file, clouds_auth):
    password = "p\u00e4ss \"w\\rd\" # of: " + clouds_auth
    user, project = keystone.make_user(f"user-{clouds_auth}", password)
    agent = agent_factory(None)
    agent.configure(credential(agent.out, {
        "auth_url": keystone.url, "username": f"user-{clouds_auth}", "user_domain_id": "default",
        "password_file": secret_file(password), "project_id": project}, [{**YAML, "clouds_auth": clouds_auth}]))
    agent.start()
    agent.wait_generation(1)
    published = yaml.safe_load((agent.out / "clouds.yaml").read_text())["clouds"]["openstack"]
    assert published["auth"].get("password") == (password if clouds_auth == "credential" else None)
    assert openstack(agent.out, "token", "issue")["user_id"] == user


def public_key(jwk):
    """The PEM form of an RSA key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    def number(text):
        return int.from_bytes(base64.urlsafe_b64decode(text + "=="), "big")

    key = rsa.RSAPublicNumbers(number(jwk["e"]), number(jwk["n"])).public_key()
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class Front:
    """The web server in front of Keystone that takes the issuer's tokens, as mod_auth_openidc's users set it up."""

    def __init__(self, directory, keystone, jwk):
        directory.mkdir()
        (directory / "issuer.pem").write_bytes(public_key(jwk))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/v3"
        modules = ["mpm_prefork", "authn_core", "authz_core", "authz_user", "proxy", "proxy_http", "auth_openidc"]
        (directory / "apache.conf").write_text("\n".join([
            f"ServerRoot {directory}", "ServerName 127.0.0.1", f"Listen 127.0.0.1:{self.port}",
            f"PidFile {directory}/pid", f"ErrorLog {directory}/error.log", f"DefaultRuntimeDir {directory}",
            *[f"LoadModule {m}_module {MODULES}/mod_{m}.so" for m in modules],
            "Mutex posixsem default", "User www-data", "Group www-data", "StartServers 1", "MaxRequestWorkers 4",
            "OIDCCryptoPassphrase unused", f"OIDCOAuthVerifyCertFiles {jwk['kid']}#{directory}/issuer.pem",
            "OIDCOAuthRemoteUserClaim sub", 'OIDCClaimPrefix "OIDC-"',
            f"<Location /v3{IDP_PATH}/auth>", "AuthType oauth20", "<RequireAll>", "Require valid-user",
            "Require claim aud:keystone", "</RequireAll>", "</Location>",
            f"ProxyPass / http://127.0.0.1:{keystone.port}/", ""]))
        self.server = Process(directory / "apache.log", ["apache2", "-f", directory / "apache.conf", "-DFOREGROUND"])
        self.server.wait_for(self.port, 30)


@pytest.fixture
def federation(keystone, cloud, tmp_path):
    """A front that trusts the local cloud's issuer, whose service accounts Keystone maps to users of one project."""
    import ssl
    context = ssl.create_default_context(cafile=cloud.ca)
    with urllib.request.urlopen(cloud.ready["issuer"] + "/openid/v1/jwks", context=context, timeout=10) as answer:
        front = Front(tmp_path / "front", keystone, json.load(answer)["keys"][0])
    idp = "/OS-FEDERATION/identity_providers/k8s"
    keystone.make(idp, "identity_provider", "PUT", remote_ids=[cloud.ready["issuer"]], enabled=True)
    keystone.make("/OS-FEDERATION/mappings/k8s", "mapping", "PUT", rules=[{
        "local": [{"user": {"name": "{0}"}, "projects": [{"name": "federated", "roles": [{"name": "robot"}]}]}],
        "remote": [{"type": "HTTP_OIDC_SUB"}]}])
    keystone.make(IDP_PATH, "protocol", "PUT", mapping_id="k8s")
    # The mapping makes the project when the first user comes.
    first = urllib.request.Request(f"{front.url}{IDP_PATH}/auth", method="POST",
                                   headers={"Authorization": f"Bearer {cloud_token(cloud)}"})
    urllib.request.urlopen(first, timeout=30).close()
    yield front
    front.server.stop()
    keystone.call("DELETE", idp)


def cloud_token(cloud, audience="keystone"):
    return cloud.token(audience=[audience])


def test_federation(keystone, federation, cloud, agent_factory, tmp_path):
    token = tmp_path / "token"
    token.write_text(cloud_token(cloud))
    agent = agent_factory(None)
    domain = keystone.call("GET", "/OS-FEDERATION/identity_providers/k8s")[1]["identity_provider"]["domain_id"]
    agent.configure(credential(agent.out, {
        "auth_url": federation.url, "identity_provider": "k8s", "protocol": "openid", "project_name": "federated",
        "project_domain_id": domain}, [YAML, TOKEN], {"file": str(token)}))
    agent.start()
    agent.wait_generation(1)
    assert agent.status()["identity"].startswith("system:serviceaccount:default:demo@")
    issued = openstack(agent.out, "token", "issue")
    published = yaml.safe_load((agent.out / "clouds.yaml").read_text())["clouds"]["openstack"]
    assert published["auth_type"] == "v3oidcaccesstoken"
    assert issued["project_id"] == published["auth"]["project_id"]
    projects = keystone.call("GET", "/auth/projects", token=(agent.out / "token").read_text())[1]["projects"]
    assert [p["name"] for p in projects] == ["federated"]
    # A token for another audience is refused by the web server, and that is what is said.
    (tmp_path / "new").write_text(cloud_token(cloud, "vault"))
    (tmp_path / "new").rename(token)
    refusal = "the web server in front of Keystone does not accept the token"
    eventually(lambda: refusal in last_error(agent), "the refusal")
    assert openstack(agent.out, "token", "issue")["project_id"] == issued["project_id"]


class User:
    """A process that uses what an agent publishes, is told of each rotation, and says what it has in use."""

    def __init__(self, agent):
        self.agent = agent
        self.pid_file, self.in_use = agent.dir / "pid", agent.dir / "in-use"
        self.process = subprocess.Popen([sys.executable, HERE / "consumers/openstack_user.py", agent.out, self.in_use],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.pid_file.write_text(str(self.process.pid))

    def mint(self, **operator):
        """What it uses is minted by OPERATOR, an exchange. The old one goes as soon as it says that it uses the new one."""
        return self.agent.configure(
            {"name": "demo",
             "mint": {"openstack": {"roles": ["robot"]}, "with": "operator", "grace": "1s", "verify_wait": "0s"},
             "publish": {"directory": str(self.agent.out), "files": [YAML]},
             "reload": [{"signal": {"pid_file": str(self.pid_file)}}], "acknowledge": {"file": str(self.in_use)}},
            {"name": "operator", "exchange": {"openstack": operator}})

    def wait_rotated(self, generation):
        def is_over():
            status = self.agent.status()
            mint = status.get("mint") or {}
            return (status.get("generation"), mint.get("step"), mint.get("state")) == (generation, "rest", "UPDATE_COMPLETE")

        eventually(is_over, lambda: f"{self.agent.status()}\n{self.agent.log[-4000:]}", 120, 0.1)

    def end(self):
        """What it did."""
        return json.loads(self.process.communicate(timeout=60)[0])


@pytest.fixture
def consumer(agent_factory):
    user = User(agent_factory(None))
    yield user
    user.process.stdin.close()
    user.process.wait(60)


def test_rotation(keystone, consumer, secret_file):
    """Credentials are made by their owner with a password, and then by a credential that is unrestricted."""
    user, project = keystone.make_user("rotated", "rotated pw")
    owner = keystone.login("rotated", "rotated pw", {"project": {"id": project}})
    unrestricted = keystone.make(f"/users/{user}/application_credentials", "application_credential", token=owner,
                                 name="operator", unrestricted=True)
    agent = consumer.mint(auth_url=keystone.url, username="rotated", user_domain_id="default", project_id=project,
                          password_file=secret_file("rotated pw", "password"))
    agent.start()
    consumer.wait_rotated(1)
    for number in range(1, ROTATIONS + 1):
        if number == ROTATIONS // 2:
            consumer.mint(auth_url=keystone.url, application_credential_id=unrestricted["id"],
                          application_credential_secret_file=secret_file(unrestricted["secret"]))
            assert agent.run("reload").returncode == 0
        done = agent.run("rotate", "demo", "--reason", f"drill {number}")
        assert done.returncode == 0, done.stderr
        consumer.wait_rotated(number + 1)
    report = consumer.end()
    print(report["done"])
    assert report["failures"] == []
    assert min(report["done"][kind] for kind in ("old token", "old credential", "token", "login")) >= ROTATIONS
    assert len(report["used"]) == ROTATIONS + 1
    left = keystone.call("GET", f"/users/{user}/application_credentials", token=owner)[1]["application_credentials"]
    auth = yaml.safe_load((agent.out / "clouds.yaml").read_text())["clouds"]["openstack"]["auth"]
    assert {one["id"] for one in left} == {auth["application_credential_id"], unrestricted["id"]}
