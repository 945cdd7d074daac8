# SPDX-License-Identifier: MIT
"""Tokens requested from a real Kubernetes API server with each kind of identity, and Secrets applied to it: what is granted,
what is refused, the error then, and that credfresh continues once the cause is removed. API servers of 1.20 and 1.36 are
known; where they differ, the test says so.
"""
import base64
import calendar
import json
import re
import time

import jwt
import pytest
import yaml

from conftest import ISSUER, MAX_EXPIRATION_S, NEWEST, OLDEST, eventually, needs_namespace, project, read_text

AUDIENCE = "sts.amazonaws.com"


# ---- helpers ----

def asked(agent, space, name="demo", files=None, publish=None, **request):
    """A credential that is nothing but a token asked for."""
    request = {"service_account": "registry", "namespace": space.name, **request}
    request = {key: value for key, value in request.items() if value is not None}
    out = agent.out if name == "demo" else agent.dir / f"out-{name}"
    return {"name": name, "token": {"audience": AUDIENCE, "request": request},
            "publish": publish or {"directory": str(out),
                                   "files": files or [{"name": "token", "format": "token"},
                                                      {"name": "creds.json", "format": "json"}]}}


def published(agent, name="demo"):
    return ((agent.out if name == "demo" else agent.dir / f"out-{name}") / "token").read_text()


def claims(kube, token, audience=AUDIENCE):
    """The claims of TOKEN, after its signature was checked with what the API server publishes."""
    kid = jwt.get_unverified_header(token)["kid"]
    (key,) = [k for k in jwt.PyJWKSet.from_dict(kube.jwks()).keys if k.key_id == kid]
    return jwt.decode(token, key.key, algorithms=["RS256"], audience=audience, issuer=ISSUER,
                      options={"require": ["exp", "iat", "nbf", "aud", "iss", "sub"]})


def assert_for(space, token, account="registry"):
    assert claims(space.kube, token)["sub"] == f"system:serviceaccount:{space.name}:{account}"


def last_error(agent, name="demo"):
    return (agent.status(name).get("last_error") or {}).get("message", "")


def wait_error(agent, *parts, name="demo"):
    eventually(lambda: all(p in last_error(agent, name) for p in parts),
               lambda: f"{parts} in {last_error(agent, name)!r}\n{agent.log}")
    return last_error(agent, name)


def rotate(agent, name="demo"):
    assert agent.request("POST", f"/v1/credentials/{name}/rotate")[0] == 202


def rule_in(text):
    """The RBAC rule that an error says is missing."""
    return yaml.safe_load(re.search(r"\{apiGroups: .*?\}", text)[0])


def seconds(stamp):
    return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))


# ---- who asks ----

# Puts the folder that the kubelet would have mounted where a pod has it, and nothing of the machine's in its place.
POD = """d=$(readlink -f /var/run) && s=/var/run/secrets/kubernetes.io/serviceaccount &&
mount -t tmpfs tmpfs "$d" && mkdir -p $s && mount --bind "$0" $s && exec "$@" """


def test_in_a_pod(space, agent_factory, tmp_path):
    needs_namespace("--mount")
    space.account("sidecar")
    space.allow_tokens(user="sidecar", kind="ServiceAccount")
    volume = tmp_path / "pod"
    # At first a token that this API server does not take.
    project(volume, 1, token=space.mint("vault", account="sidecar"), ca_crt=space.kube.ca, namespace=space.name + "\n")
    agent = agent_factory(None)
    agent.configure(asked(agent, space, namespace=None))
    agent.start(wrapper=["unshare", "--mount", "sh", "-c", POD, str(volume)],
                env={"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(space.kube.port)})
    wait_error(agent, f"a token for the service account {space.name}/registry", "HTTP 401",
               "does not accept credfresh's own token")
    project(volume, 2, token=space.mint("kubernetes", account="sidecar"), ca_crt=space.kube.ca, namespace=space.name)
    agent.wait_generation(1)
    assert_for(space, published(agent))


def robot_certificate(kube, _):
    certificate, key = kube.certificate("robot")
    return {"client-certificate": certificate.name, "client-key": key.name}


def robot_certificate_data(kube, _):
    certificate, key = (base64.b64encode(p.read_bytes()).decode() for p in kube.certificate("robot"))
    return {"client-certificate-data": certificate, "client-key-data": key}


def robot_token(_, __):
    return {"token": "tok-robot"}


def robot_token_file(_, directory):
    (directory / "robot-token").write_text("tok-robot\n")
    return {"tokenFile": str(directory / "robot-token")}


def robot_plugin(_, directory):
    """The first credential that it prints is refused, so it has to be run once more."""
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    for run, token in ((1, "tok-outdated"), (2, "tok-robot")):
        (directory / f"answer{run}").write_text(json.dumps({**answer, "status": {"token": token}}))
    script = directory / "plugin"
    script.write_text('#!/bin/sh\ncd "$1" && echo "$KUBERNETES_EXEC_INFO" >>runs && cat "answer$(wc -l <runs)"\n')
    script.chmod(0o755)
    return {"exec": {"apiVersion": answer["apiVersion"], "command": str(script), "args": [str(directory)],
                     "interactiveMode": "Never", "provideClusterInfo": True}}


@pytest.mark.parametrize("user", [robot_certificate, robot_certificate_data, robot_token, robot_token_file,
                                  robot_plugin], ids=lambda f: f.__name__)
def test_a_kubeconfig(space, agent_factory, tmp_path, user):
    space.allow_tokens()
    agent = agent_factory(None)
    kubeconfig = space.kube.kubeconfig(user(space.kube, tmp_path), space.name)
    agent.configure(asked(agent, space, namespace=None, kubeconfig=kubeconfig))
    checked = agent.run("check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    agent.start()
    agent.wait_generation(1)
    assert_for(space, published(agent))
    assert agent.status()["token"]["requested"]
    assert "[backoff]" not in agent.log and "tok-" not in agent.log
    if user is robot_plugin:
        runs = [json.loads(line) for line in read_text(tmp_path / "runs").splitlines()]
        assert [r["spec"]["cluster"]["server"] for r in runs] == [space.kube.url] * 2


@pytest.mark.parametrize("way", ["certificate", "token"])
def test_a_node(space, agent_factory, way):
    kube = space.kube
    uid, elsewhere = space.pod("here", "node1"), space.pod("elsewhere", "node2")
    if way == "certificate":
        certificate, key = kube.certificate("system:node:node1", "system:nodes")
        kubeconfig = kube.kubeconfig({"client-certificate": str(certificate), "client-key": str(key)})
    else:
        kubeconfig = kube.kubeconfig({"token": "tok-node1"})
    agent = agent_factory(None)
    agent.configure(*(asked(agent, space, name, kubeconfig=kubeconfig, bound_to=bound) for name, bound in {
        "demo": {"name_env": "POD_NAME", "uid_env": "POD_UID"},
        "unbound": None,
        "no-uid": {"name": "here"},
        "other-uid": {"name": "here", "uid": elsewhere},
        "other-node": {"name": "elsewhere", "uid": elsewhere},
        "no-pod": {"name": "gone", "uid": uid},
    }.items()))
    agent.start(env={"POD_NAME": "here", "POD_UID": uid})
    agent.wait_generation(1)
    token = published(agent)
    assert_for(space, token)
    assert claims(kube, token)["kubernetes.io"]["pod"] == {"name": "here", "uid": uid}
    bind = "bind the request to a pod, by name and uid"
    wait_error(agent, "token not bound to a pod", "HTTP 403", bind, name="unbound")
    wait_error(agent, "without a uid", bind, name="no-uid")
    wait_error(agent, "name its present uid, or leave the uid out", name="other-uid")
    wait_error(agent, "the pod runs on another node", name="other-node")
    wait_error(agent, "does not exist (any more), or is in another namespace", name="no-pod")
    # The pod is deleted: the token that is bound to it ends with it, and there is no other.
    assert kube.review(token, AUDIENCE) == f"system:serviceaccount:{space.name}:registry"
    kube.request("DELETE", f"{space.base}/pods/here", {"gracePeriodSeconds": 0})
    rotate(agent)
    wait_error(agent, f"a token for the service account {space.name}/registry")
    assert published(agent) == token


# ---- what is granted ----

def test_what_is_granted_counts(space, agent_factory):
    space.allow_tokens()
    uid = space.pod("here", "node1")
    robot = space.kube.kubeconfig({"token": "tok-robot"})
    agent = agent_factory(None)
    agent.configure(
        asked(agent, space, kubeconfig=robot, expiration="10m"),
        asked(agent, space, "shortened", kubeconfig=robot, expiration="24h"),
        # What an old API server makes a token of a year of, which it warns of after the time that was asked for.
        asked(agent, space, "extended", kubeconfig=robot, expiration="1h7s", bound_to={"name": "here", "uid": uid}),
        asked(agent, space, "two", kubeconfig=robot, audiences=[AUDIENCE, "vault"]))
    agent.start()
    # A newer one extends only what is for itself alone.
    extended = {OLDEST: [365 * 86400], NEWEST: [3607]}.get(space.kube.version, [3607, 365 * 86400])
    for name, life_s, in_token_s in (("demo", 600, [600]), ("shortened", MAX_EXPIRATION_S, [MAX_EXPIRATION_S]),
                                     ("extended", 3607, extended), ("two", 3600, [3600])):
        agent.wait_generation(1, name)
        token = published(agent, name)
        assert_for(space, token)
        has, status = claims(space.kube, token), agent.status(name)
        assert has["aud"] == [AUDIENCE, "vault"] if name == "two" else [AUDIENCE]
        assert has["exp"] - has["iat"] in in_token_s
        # The times of the answer and of the token are taken one after the other.
        assert -1 <= seconds(status["expires"]) - has["iat"] - life_s <= 1, (name, status)
        # The first life ends at one of the credential's own times, a quarter of a period away at least.
        assert 0.17 * life_s - 2 <= seconds(status["next_refresh"]) - has["iat"] <= 0.8 * life_s + 2, (name, status)
        assert seconds(status["token"]["expires"]) == seconds(status["expires"])
        assert space.kube.review(token, AUDIENCE) == has["sub"] and space.kube.review(token, "kubernetes") is None


def test_less_than_ten_minutes_is_refused_before_anybody_is_asked(space, agent_factory):
    agent = agent_factory(None)
    agent.configure(asked(agent, space, kubeconfig=space.kube.kubeconfig({"token": "tok-robot"}), expiration="599s"))
    checked = agent.run("check")
    assert checked.returncode != 0
    assert "expiration" in checked.stdout + checked.stderr and "10m" in checked.stdout + checked.stderr


# ---- what is refused ----

def test_a_missing_rule_and_a_missing_account_are_named_and_mended(space, agent_factory):
    robot = space.kube.kubeconfig({"token": "tok-robot"})
    agent = agent_factory(None)
    agent.configure(asked(agent, space, kubeconfig=robot),
                    asked(agent, space, "nobody", kubeconfig=space.kube.admin, service_account="nobody"),
                    asked(agent, space, "nowhere", kubeconfig=space.kube.admin, namespace="nowhere"))
    agent.start()
    text = wait_error(agent, "Forbidden", '"robot" cannot create resource "serviceaccounts/token"', "HTTP 403",
                      f"a Role in {space.name} for the caller needs the rule")
    rule = rule_in(text)
    assert rule == {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"],
                    "resourceNames": ["registry"]}
    wait_error(agent, 'serviceaccounts "nobody" not found', "HTTP 404", "the service account does not exist: create it",
               name="nobody")
    wait_error(agent, "HTTP 404", "the namespace does not exist: create it", name="nowhere")
    assert not agent.out.exists() or not list(agent.out.iterdir())
    # Exactly what was said, and nobody tells the agent.
    space.allow(rule)
    space.account("nobody")
    agent.wait_generation(1)
    agent.wait_generation(1, "nobody")
    assert_for(space, published(agent))
    assert_for(space, published(agent, "nobody"), "nobody")
    assert agent.status()["last_error"] is None


def test_the_account_is_deleted_and_made_anew(space, agent_factory):
    kube = space.kube
    agent = agent_factory(None)
    agent.configure(asked(agent, space, kubeconfig=kube.admin))
    agent.start()
    agent.wait_generation(1)
    before = published(agent)
    space.kubectl("delete", "serviceaccount", "registry")
    rotate(agent)
    wait_error(agent, "the service account does not exist: create it")
    assert published(agent) == before and kube.review(before, AUDIENCE) is None
    space.account("registry")
    agent.wait_generation(2)
    after = published(agent)
    assert kube.review(after, AUDIENCE) == f"system:serviceaccount:{space.name}:registry"
    accounts = [claims(kube, t)["kubernetes.io"]["serviceaccount"] for t in (before, after)]
    assert accounts[0]["name"] == accounts[1]["name"] and accounts[0]["uid"] != accounts[1]["uid"]


# ---- the token itself as what is published ----

def test_the_token_alone_is_a_projection(space, agent_factory):
    agent = agent_factory(None)
    agent.configure(asked(agent, space, kubeconfig=space.kube.admin, files=[{"name": "token", "format": "token"}]))
    agent.start()
    tokens = []
    for generation in (1, 2):
        agent.wait_generation(generation)
        # The layout of a volume of the kubelet's.
        data = (agent.out / "..data").readlink()
        assert (agent.out / "token").readlink().as_posix() == "..data/token"
        assert (agent.out / data).is_dir() and data.name.startswith("..") and data.parent.as_posix() == "."
        tokens.append((agent.out / "token").read_bytes())
        assert tokens[-1].count(b".") == 2 and tokens[-1] == tokens[-1].strip()
        assert_for(space, tokens[-1].decode())
        if generation == 1:
            # Version 1.20 gives no jti: within the same second it would be the same token.
            eventually(lambda: time.time() > claims(space.kube, tokens[0].decode())["iat"] + 1, "the next second")
            rotate(agent)
    assert tokens[0] != tokens[1]


def test_a_request_stands_in_for_the_file(space, agent_factory, tmp_path):
    volume = tmp_path / "volume"
    agent = agent_factory(None)
    credential = asked(agent, space, kubeconfig=space.kube.admin, expiration="10m")
    credential["token"]["file"] = str(volume / "token")
    agent.configure(credential).start()
    agent.wait_generation(1)
    assert_for(space, published(agent))
    assert agent.status()["token"]["requested"]
    # The file comes, and counts.
    good = space.mint(AUDIENCE, 1200)
    project(volume, 1, token=good)
    agent.wait_generation(2)
    assert published(agent) == good and not agent.status()["token"]["requested"]
    # It is no good: the request stands in, here at once, because a rotation takes a shorter life, too.
    project(volume, 2, token=space.mint("vault"))
    eventually(lambda: agent.log.count("now requesting tokens from the API server") == 2, lambda: agent.log)
    rotate(agent)
    agent.wait_generation(3)
    assert_for(space, published(agent))
    assert agent.status()["token"]["requested"] and "audience" in agent.log
    # It is good again.
    better = space.mint(AUDIENCE, 1260)
    project(volume, 3, token=better)
    agent.wait_generation(4)
    assert published(agent) == better and not agent.status()["token"]["requested"]


# ---- Secrets ----

def into_secret(agent, space, name="creds", kubeconfig=None, **secret):
    """A credential that is asked for as the administrator, and applied as whoever KUBECONFIG is."""
    secret = {"name": name, "namespace": space.name, "kubeconfig": kubeconfig or space.kube.admin,
              "keys": [{"name": "token", "format": "token"}], **secret}
    return asked(agent, space, kubeconfig=space.kube.admin, publish={"secret": secret})


def delivery(agent):
    return agent.status()["deliveries"][0]


def wait_delivered(agent, generation):
    eventually(lambda: delivery(agent)["generation"] >= generation and delivery(agent)["result"] == "ok",
               lambda: f"generation {generation} in the Secret: {delivery(agent)}\n{agent.log}")


def wait_refused(agent, *parts):
    eventually(lambda: all(p in (delivery(agent)["error"] or "") for p in parts),
               lambda: f"{parts} in {delivery(agent)}\n{agent.log}")
    return delivery(agent)["error"]


def value(secret, key="token"):
    return base64.b64decode(secret["data"][key], validate=True).decode()


def annotations(secret):
    return {k: v for k, v in secret["metadata"].get("annotations", {}).items() if k.startswith("credfresh.io/")}


def test_a_secret_from_its_first_day_to_its_last(space, agent_factory):
    agent = agent_factory(None)
    agent.configure(into_secret(agent, space))
    agent.start()
    wait_delivered(agent, 1)
    first = space.secret("creds")
    assert first["type"] == "Opaque" and list(first["data"]) == ["token"]
    assert_for(space, value(first))
    assert first["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "credfresh"}
    marks = annotations(first)
    assert re.fullmatch(r"20[0-9T:-]+Z/[0-9a-f]{16}", marks.pop("credfresh.io/publisher"))
    assert marks == {"credfresh.io/credential": "demo", "credfresh.io/generation": "1",
                     "credfresh.io/expires": agent.status()["expires"]}
    (manager,) = first["metadata"]["managedFields"]
    assert (manager["manager"], manager["operation"]) == ("credfresh", "Apply")
    assert set(manager["fieldsV1"]["f:data"]) == {"f:token"}
    # What others add stays.
    space.kubectl("label", "secret", "creds", "team=registry")
    rotate(agent)
    wait_delivered(agent, 2)
    second = space.secret("creds")
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    assert annotations(second)["credfresh.io/generation"] == "2"
    assert second["metadata"]["labels"]["team"] == "registry"
    assert {(m["manager"], m["operation"]) for m in second["metadata"]["managedFields"]} == {
        ("credfresh", "Apply"), ("kubectl-label", "Update")}
    # Somebody deletes it: the watch sees it.
    space.kubectl("delete", "secret", "creds")
    wait_delivered(agent, 3)
    third = space.secret("creds")
    assert third["metadata"]["uid"] != first["metadata"]["uid"] and annotations(third)["credfresh.io/generation"] == "3"
    assert_for(space, value(third))


def test_a_secret_that_was_deleted_or_edited_is_published_again(space, agent_factory):
    """A restart looks at what the Secret holds; so does `once`."""
    agent = agent_factory(None)
    agent.configure(into_secret(agent, space))
    agent.start()
    wait_delivered(agent, 1)
    first = space.secret("creds")
    agent.stop()
    agent.start()
    agent.wait_state("fresh")
    agent.stop()
    assert space.secret("creds")["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    space.kubectl("delete", "secret", "creds")
    agent.start()
    wait_delivered(agent, 2)
    assert space.secret("creds")["metadata"]["uid"] != first["metadata"]["uid"]
    agent.stop()
    # The key is taken by another manager: the error names its owner, and it stays.
    space.kubectl("patch", "secret", "creds", "--patch", '{"stringData":{"token":"edited"}}')
    done = agent.run("once")
    assert done.returncode == 1 and 'overwritten by "kubectl-patch"' in done.stderr, done.stderr
    assert '"kubectl-patch" owns .data.token' in done.stderr and value(space.secret("creds")) == "edited"
    space.kubectl("patch", "secret", "creds", "--type=json", "--patch", '[{"op":"remove","path":"/data/token"}]')
    done = agent.run("once")
    assert done.returncode == 0, done.stderr
    assert_for(space, value(space.secret("creds")))


def test_a_pull_secret(space, agent_factory, cloud_factory):
    """All the way: a token of this API server, a role's session for it, ECR's login for that, and a pull secret."""
    role = "arn:aws:iam::123456789012:role/registry"
    host = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
    cloud = cloud_factory(config={"roles": [{"arn": role, "trust": [{
        "federated_issuer": ISSUER, "jwks": space.kube.jwks(), "audience": [AUDIENCE],
        "subject": f"system:serviceaccount:{space.name}:registry"}]}]})
    agent = agent_factory(cloud)
    credential = into_secret(agent, space, type="kubernetes.io/dockerconfigjson",
                             keys=[{"name": ".dockerconfigjson", "format": "docker-config"}])
    credential["exchange"] = {"aws": {"role_arn": role, "region": "eu-west-1", "endpoint": cloud.sts,
                                      "ca_file": cloud.ca,
                                      "ecr": {"endpoint": cloud.ready["ecr_url"], "registries": [host]}}}
    agent.configure(credential).start()
    wait_delivered(agent, 1)
    secret = space.secret("creds")
    assert secret["type"] == "kubernetes.io/dockerconfigjson"
    login = json.loads(value(secret, ".dockerconfigjson"))["auths"][host]
    assert base64.b64decode(login["auth"]).decode().startswith("AWS:")
    # And what has another type than it should is refused, for that cannot be changed.
    agent.stop()
    space.kubectl("delete", "secret", "creds")
    space.kubectl("create", "secret", "generic", "creds", "--from-literal=a=b")
    space.kubectl("label", "secret", "creds", "app.kubernetes.io/managed-by=credfresh")
    agent.start()
    wait_refused(agent, 'has the type "Opaque", which cannot be changed to kubernetes.io/dockerconfigjson')
    assert space.secret("creds")["data"] == {"a": base64.b64encode(b"b").decode()}


def test_an_immutable_secret_is_left_alone(space, agent_factory):
    agent = agent_factory(None)
    agent.configure(into_secret(agent, space))
    agent.start()
    wait_delivered(agent, 1)
    space.kubectl("patch", "secret", "creds", "-p", '{"immutable": true}')
    before = space.secret("creds")
    rotate(agent)
    wait_refused(agent, f"the Secret {space.name}/creds is immutable: delete it, or publish under another name")
    assert space.secret("creds") == before
    # It is done as it was said, and nobody tells the agent.
    space.kubectl("delete", "secret", "creds")
    wait_delivered(agent, 2)
    assert "immutable" not in space.secret("creds")


def reload_with(agent, credential):
    agent.configure(credential)
    done = agent.run("reload")
    assert done.returncode == 0, done.stderr


def test_a_foreign_secret_is_refused_and_adopted(space, agent_factory):
    space.kubectl("create", "secret", "generic", "creds", "--from-literal=token=theirs", "--from-literal=other=kept")
    before = space.secret("creds")
    agent = agent_factory(None)
    agent.configure(into_secret(agent, space))
    agent.start()
    wait_refused(agent, f"the Secret {space.name}/creds was not made by credfresh: publish under another name, or set "
                        "`adopt: true` in `publish.secret`")
    assert space.secret("creds") == before and not agent.status()["ready"]
    reload_with(agent, into_secret(agent, space, adopt=True))
    eventually(lambda: annotations(space.secret("creds")), lambda: f"the adoption\n{agent.log}")
    after = space.secret("creds")
    assert_for(space, value(after))
    assert value(after, "other") == "kept" and after["metadata"]["uid"] == before["metadata"]["uid"]
    ours, = [m for m in after["metadata"]["managedFields"] if m["manager"] == "credfresh"]
    assert ours["operation"] == "Apply" and set(ours["fieldsV1"]["f:data"]) == {"f:token"}


def test_another_manager_is_named(space, agent_factory):
    agent = agent_factory(None)
    agent.configure(into_secret(agent, space))
    agent.start()
    wait_delivered(agent, 1)
    theirs = json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds"},
                         "data": {"token": base64.b64encode(b"theirs").decode()}})
    space.kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=helm", "-f", "-", text=theirs)
    rotate(agent)
    wait_refused(agent, f"the Secret {space.name}/creds", '"helm" owns .data.token')
    assert value(space.secret("creds")) == "theirs"
    # Adopted, the field is taken back.
    reload_with(agent, into_secret(agent, space, adopt=True))
    rotate(agent)
    eventually(lambda: value(space.secret("creds")) != "theirs", lambda: f"our token\n{agent.log}")
    assert_for(space, value(space.secret("creds")))


def test_every_missing_rule_is_named(space, agent_factory):
    agent = agent_factory(None)
    agent.configure(into_secret(agent, space, kubeconfig=space.kube.kubeconfig({"token": "tok-robot"})))
    agent.start()
    rules = []
    for verb in ("get", "patch", "create"):
        # Of the last one the API server says no more than that it is forbidden.
        text = wait_refused(agent, 'secrets "creds" is forbidden', "HTTP 403", f'verbs: ["{verb}"]')
        rules.append(rule_in(text))
        assert space.secret("creds") is None
        space.allow(rules[-1])
        # The rest is not waited for.
        rotate(agent)
    wait_delivered(agent, 1)
    assert_for(space, value(space.secret("creds")))
    assert rules == [{"apiGroups": [""], "resources": ["secrets"], "verbs": [verb], "resourceNames": ["creds"]}
                     for verb in ("get", "patch", "create")]
