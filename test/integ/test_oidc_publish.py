# SPDX-License-Identifier: MIT
"""`credfresh-oidc publish`: documents in S3, Blob Storage and Cloud Storage, in the safe order and through a cache."""
import http.server
import json
import threading

import pytest

from conftest import eventually
from test_oidc import DATA, HOUR, Issuer

JWKS = "keys.json"
DISCOVERY = ".well-known/openid-configuration"
STORES = {"s3": "s3@eu-west-1:", "blob": "blob:", "gcs": "gcs:"}
CREDENTIALS = {"s3": "aws", "blob": "azure", "gcs": "gcp"}


class Published(Issuer):
    """An issuer whose documents are in a store of the local cloud."""

    def __init__(self, directory, cloud, store, bucket="demo", front=""):
        super().__init__(directory)
        self.cloud = cloud
        self.store = store
        self.bucket = bucket
        self.base = cloud.ready["sts_url"].rstrip("/") + f"/objects/{store}/{bucket}"
        self.url = cloud.ready["sts_url"].rstrip("/") + f"/objects/{front}{store}/{bucket}"
        self.config = directory.parent / "credfresh.yaml"
        text = (cloud.dir / "credfresh.yaml").read_text()
        self.config.write_text(text.replace("https://management.azure.com/.default", "https://storage.azure.com/.default"))

    def init(self, *words):
        return self.good("init", "--issuer", self.url, "--token-life", "24h", "--jwks-path", JWKS, *words)

    def publish(self, *words, name=None, to=None):
        return self.run("publish", "--to", to or STORES[self.store] + self.base, "--name", name or CREDENTIALS[self.store],
                        "-c", str(self.config), "--ca-file", str(self.cloud.dir / "ca.pem"), *words)

    def published(self, *words, **how):
        done = self.publish(*words, **how)
        assert done.returncode == 0, done.stderr
        return done

    def get(self, name, url=None):
        answer = self.cloud.client.ask((url or self.url) + "/" + name)
        return answer.good(), answer.headers

    def put(self, name, content):
        """As another program does that may write there."""
        self.cloud.admin("/object", {"name": f"{self.store}/{self.bucket}/{name}", "text": content.decode()})

    def there(self, name):
        """What the store holds, whatever its access rules."""
        text = self.cloud.admin("/objects").get(f"{self.store}/{self.bucket}/{name}")
        return None if text is None else text.encode()

    def change(self, **settings):
        """Of the stores, or of this bucket."""
        now = self.cloud.admin("/service/objects")
        if "public" in settings:
            now["buckets"][0].update(settings)
        else:
            now.update(settings)
        self.cloud.admin("/service/objects", now)

    def puts(self):
        return [entry["action"] for entry in self.cloud.stats()["log"]
                if entry["action"].endswith(".put") and entry["status"] < 300]


WRITERS = {"s3": "arn:aws:iam::123456789012:role/demo", "blob": "66666666-7777-8888-9999-aaaaaaaaaaaa",
           "gcs": "demo@demo-project.iam.gserviceaccount.com"}


@pytest.fixture
def make(tmp_path, shared_cloud):
    """Makes an issuer with an empty bucket of its own; what more it is told is the bucket's."""
    def issuer(store, front="", cdn_s=None, directory="issuer", **bucket):
        name = f"{tmp_path.name}-{store}".replace("_", "-").lower()
        item = {"store": store, "name": name, "public": not front, "writers": [WRITERS[store]], **bucket}
        shared_cloud.admin("/service/objects", {"buckets": [item], **({} if cdn_s is None else {"cdn_s": cdn_s})})
        return Published(tmp_path / directory, shared_cloud, store, name, front)
    return issuer


@pytest.mark.parametrize("store", STORES)
def test_published_in_every_store(make, store):
    """Keys first; both as they are on disk, with type and cache time; again it writes nothing."""
    issuer = make(store)
    issuer.init("--key", "ecdsa-p256")
    assert "not uploaded" not in issuer.good("status")
    done = issuer.published()
    assert "read back" in done.stdout
    assert issuer.puts() == [f"objects.{store}.put"] * 2
    for name in (JWKS, DISCOVERY):
        content, headers = issuer.get(name)
        assert content == (issuer.web / name).read_bytes()
        assert (headers["Content-Type"], headers["Cache-Control"]) == ("application/json", "public, max-age=300")
    assert "shows them" in issuer.published().stdout
    assert len(issuer.puts()) == 2
    status = issuer.status()
    assert status["uploaded"] is True and status["store"].endswith(issuer.base)
    secrets = [line for line in (issuer.dir / "issuer.json").read_text().split('"') if line.startswith(("ya29", "ey", "AS"))]
    assert not secrets


def test_keys_precede_the_document_that_names_them(make):
    """While the issuer's URL does not show the keys, the document that leads to them is not written."""
    issuer = make("s3", public=False)
    issuer.init("--key", "ecdsa-p256")
    done = issuer.publish("--timeout", "3s")
    assert done.returncode == 4 and "HTTP 403" in done.stderr and "publish again" in done.stderr, done
    issuer.change(public=True)
    assert issuer.there(JWKS) == (issuer.web / JWKS).read_bytes() and issuer.there(DISCOVERY) is None
    assert issuer.status()["uploaded"] is False
    assert "not uploaded" in issuer.good("status")
    issuer.published()
    assert issuer.status()["uploaded"] is True


def test_a_rotation_through_a_cache(make):
    """What a cache still shows does not count as published, and the time is counted from when it shows the new keys."""
    issuer = make("gcs", front="cdn/", cdn_s=1000)
    issuer.init("--key", "ecdsa-p256", "--settle", "10m")
    issuer.published()
    assert "not uploaded" in issuer.good("rotate")
    issuer.pass_time(HOUR)
    assert "run `credfresh-oidc publish`" in issuer.refused("rotate")
    done = issuer.publish("--timeout", "4s")
    assert done.returncode == 4 and "shows another document" in done.stderr
    assert issuer.there(JWKS) == (issuer.web / JWKS).read_bytes()  # it is written, and not yet shown
    assert "run `credfresh-oidc publish`" in issuer.refused("rotate")


def test_a_cache_that_is_waited_for(make):
    issuer = make("blob", front="cdn/", cdn_s=5)
    issuer.init("--key", "ecdsa-p256", "--settle", "10m")
    issuer.published()
    issuer.good("rotate")
    issuer.pass_time(HOUR)
    issuer.get(JWKS)
    done = issuer.published()
    assert "waiting: " in done.stderr and "shows another document" in done.stderr
    assert issuer.get(JWKS)[0] == (issuer.web / JWKS).read_bytes()
    assert "too recently" in issuer.refused("rotate")  # since the upload, which was now
    issuer.pass_time(500)
    assert "too recently" in issuer.refused("rotate")
    issuer.pass_time(100)
    issuer.good("rotate")
    assert issuer.published().stdout.count("shows them") == 1  # the switch changes no document
    issuer.good("rotate", "--confirm")
    issuer.pass_time(25 * HOUR)
    assert "not uploaded" in issuer.good("rotate")
    issuer.published()
    assert len(json.loads(issuer.get(JWKS)[0])["keys"]) == 1


def test_what_was_overwritten_is_put_back_and_counted_anew(make):
    """As by ccoctl, which uploads one key alone: verifiers may have read that."""
    issuer = make("s3")
    issuer.init("--key", "ecdsa-p256", "--settle", "10m")
    issuer.published()
    old = issuer.get(JWKS)[0]
    issuer.good("rotate")
    issuer.published()
    issuer.pass_time(HOUR)
    issuer.put(JWKS, old)
    assert "uploaded to" in issuer.published().stdout
    assert "too recently" in issuer.refused("rotate")


def both_published(issuer, *words):
    """A rotation whose switch is due."""
    issuer.init("--key", "ecdsa-p256", "--settle", "10m", *words)
    issuer.published()
    old = issuer.get(JWKS)[0]
    issuer.good("rotate")
    issuer.published()
    issuer.pass_time(HOUR)
    assert issuer.status()["uploaded"] is True
    return old


def not_switched(issuer):
    assert issuer.status()["uploaded"] is False
    issuer.good("rotate", "--continue")
    assert issuer.status()["phase"] == "published"
    assert "run `credfresh-oidc publish`" in issuer.refused("rotate")


@pytest.mark.parametrize("why", ["conflict", "denied", "discovery", "too large"])
def test_no_switch_after_a_publish_that_saw_other_keys_and_failed(make, why):
    """Those are what verifiers read, whatever the journal says of an earlier upload. Another discovery document may lead
    them to a set without the new key, and a document that is too large to be read is none of ours."""
    issuer = make("s3")
    old = both_published(issuer)
    good = issuer.there(JWKS)
    if why == "discovery":
        issuer.put(DISCOVERY, issuer.there(DISCOVERY).replace(JWKS.encode(), b"openid/v1/jwks"))
    elif why == "too large":
        issuer.put(JWKS, json.dumps({"keys": [{"kid": "x", "n": "y" * 70000}]}).encode())
    else:
        issuer.put(JWKS, old.replace(b'"kid":"', b'"kid":"x') if why == "conflict" else old)
    if why in ("denied", "discovery"):
        issuer.cloud.fault(kind="status", status=403, match={"action": "objects.s3.put"}, count=1)
    done = issuer.publish()
    assert done.returncode == (6 if why == "conflict" else 1), done
    not_switched(issuer)
    if why == "too large":
        assert "larger than" in done.stderr
        issuer.put(JWKS, good)  # as its owner does: what was found is not replaced unread
    issuer.published("--replace")
    assert "too recently" in issuer.refused("rotate")
    issuer.pass_time(600)
    issuer.good("rotate")


def test_no_switch_while_the_url_no_longer_shows_the_keys(make):
    """The store has them, and nobody can read them any more; the message is still that of the URL."""
    issuer = make("s3")
    both_published(issuer)
    issuer.change(public=False)
    done = issuer.publish("--timeout", "3s")
    assert done.returncode == 4 and "HTTP 403" in done.stderr and "publish again" in done.stderr, done
    not_switched(issuer)
    issuer.change(public=True)
    assert "shows them" in issuer.published().stdout
    assert "too recently" in issuer.refused("rotate")  # since it shows them again
    issuer.pass_time(600)
    issuer.good("rotate")


def test_documents_of_others_are_left_alone(make, tmp_path):
    """Keys that are not known here may be in tokens; and a place may be another issuer's."""
    issuer = make("s3")
    theirs = Published(tmp_path / "theirs", issuer.cloud, "s3", issuer.base.rpartition("/")[2])
    theirs.init("--key", "ecdsa-p256")
    theirs.published()
    before = issuer.there(JWKS), issuer.there(DISCOVERY)
    issuer.init("--key", "ecdsa-p256")
    done = issuer.publish()
    assert done.returncode == 6 and theirs.status()["signing"] in done.stderr and "--replace" in done.stderr, done
    assert (issuer.there(JWKS), issuer.there(DISCOVERY)) == before
    other = Published(tmp_path / "other", issuer.cloud, "s3", issuer.base.rpartition("/")[2])
    other.url = issuer.url.replace("127.0.0.1", "localhost")
    other.init("--key", "ecdsa-p256")
    done = other.publish()
    assert done.returncode == 6 and "another issuer, " + issuer.url in done.stderr
    assert (issuer.there(JWKS), issuer.there(DISCOVERY)) == before
    issuer.published("--replace")
    assert issuer.there(JWKS) == (issuer.web / JWKS).read_bytes()


def test_the_documents_of_a_running_cluster_are_taken_over(make, tmp_path):
    """Those that ccoctl has uploaded have the same key: replaced without a word, and no token is ever unknown."""
    issuer = make("s3")
    keys = (DATA / "openshift/ccoctl/keys.json").read_bytes()
    issuer.put(JWKS, keys)
    issuer.put(DISCOVERY, json.dumps({"issuer": issuer.url, "jwks_uri": issuer.url + "/keys.json"}).encode())
    issuer.init("--signing-key", str(DATA / "jwt/rsa-traditional.pem"), "--claims-supported")
    issuer.published()
    assert json.loads(issuer.there(JWKS)) == json.loads(keys)


REFUSALS = [
    ("s3", {"writers": []}, {}, "allow s3:PutObject"),
    ("s3", {"name": "another"}, {}, "NoSuchBucket"),
    ("s3", {"region": "us-west-2"}, {}, "the bucket is in another region"),
    ("s3", {}, {"name": "gcp"}, "no keys for Amazon S3"),
    ("blob", {"writers": []}, {}, "Storage Blob Data Contributor"),
    ("blob", {"name": "another"}, {}, "ContainerNotFound"),
    ("blob", {}, {"name": "aws"}, "https://storage.azure.com/.default"),
    ("gcs", {"writers": []}, {}, "roles/storage.objectAdmin"),
    ("gcs", {"name": "another"}, {}, "NoSuchBucket"),
    ("gcs", {}, {"name": "aws"}, "its exchange is gcp"),
]


@pytest.mark.parametrize("store, bucket, how, says", REFUSALS, ids=lambda value: value if isinstance(value, str) else "")
def test_refusals(make, store, bucket, how, says):
    issuer = make(store, **bucket)
    issuer.init("--key", "ecdsa-p256")
    done = issuer.publish(**how)
    assert done.returncode == 1 and says in done.stderr and not issuer.puts(), done


def test_a_token_for_something_else(make):
    issuer = make("blob")
    issuer.config.write_text(issuer.config.read_text().replace("https://storage.azure.com/", "https://management.azure.com/"))
    issuer.init("--key", "ecdsa-p256")
    done = issuer.publish()
    assert done.returncode == 1 and "its scope is https://storage.azure.com/.default" in done.stderr


class Repeating(http.server.BaseHTTPRequestHandler):
    """Refuses, with a part of the token that it was shown: all of a long one would be removed for its length."""

    tokens = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.tokens.append(self.headers["Authorization"].split()[-1][10:40])
        body = f"<Error><Code>AccessDenied</Code><Message>no: {self.tokens[-1]}</Message></Error>".encode()
        self.send_response(403)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_GET


def test_a_refusal_that_repeats_the_token(make):
    issuer = make("gcs")
    issuer.init("--key", "ecdsa-p256")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Repeating) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = issuer.publish(to=f"gcs:http://127.0.0.1:{server.server_port}/b")
        server.shutdown()
    assert done.returncode == 1 and "AccessDenied: no: [removed] (HTTP 403)" in done.stderr and Repeating.tokens, done
    assert not [token for token in Repeating.tokens if token in done.stdout + done.stderr]


def test_outages_are_waited_for(make):
    issuer = make("gcs")
    issuer.init("--key", "ecdsa-p256")
    issuer.cloud.fault(kind="status", status=503, match={"action": "objects.gcs.put"}, count=2)
    issuer.cloud.fault(kind="status", status=503, match={"action": "objects.gcs.get"}, count=1)
    issuer.published()
    assert len(issuer.puts()) == 2


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("before", ["nothing", "ours"])
def test_what_another_program_writes_meanwhile_is_not_overwritten(make, store, before):
    """Between the look at the store and the write, which a server's error puts off."""
    issuer = make(store)
    issuer.init("--key", "ecdsa-p256", "--settle", "10m")
    if before == "ours":
        issuer.published()
        issuer.good("rotate")
    issuer.cloud.fault(kind="status", status=503, match={"action": f"objects.{store}.put"}, count=2)
    theirs = b'{"keys": []}'

    def write_theirs():
        eventually(lambda: [e for e in issuer.cloud.stats()["log"] if e["action"] == f"objects.{store}.put"
                            and e["status"] == 503], "the first try")
        issuer.put(JWKS, theirs)

    issuer.cloud.admin("/stats/reset", {})
    other = threading.Thread(target=write_theirs)
    other.start()
    done = issuer.publish()
    other.join()
    assert done.returncode == 6 and "another program has written the object" in done.stderr, done.stderr
    assert issuer.there(JWKS) == theirs and issuer.status()["uploaded"] is False
    issuer.published("--replace")


@pytest.mark.parametrize("store", STORES)
def test_an_own_write_whose_answer_was_lost(make, store):
    """Its repetition finds another version, which is what was to be written."""
    issuer = make(store)
    issuer.init("--key", "ecdsa-p256")
    issuer.cloud.fault(kind="truncate", bytes=10, match={"action": f"objects.{store}.put"}, count=1)
    issuer.published()
    assert issuer.there(JWKS) == (issuer.web / JWKS).read_bytes()


def test_what_publish_needs(make):
    issuer = make("s3")
    done = issuer.publish()
    assert done.returncode == 1 and "holds no issuer" in done.stderr
    issuer.init("--key", "ecdsa-p256")
    cases = [({"to": "https://objects.example.net/x"}, 2, "write s3@REGION:, blob: or gcs:"),
             ({"to": "s3:" + issuer.base}, 2, "s3@us-east-1:"), ({"to": "gcs:http://storage.test/x"}, 2, "--to"),
             ({"to": "gcs:" + issuer.base + "?x=1"}, 2, "--to"), ({"name": "nobody"}, 1, "has no credential nobody")]
    for how, status, says in cases:
        done = issuer.publish(**how)
        assert done.returncode == status and says in done.stderr, (how, done)
    assert "needs --name" in issuer.run("publish", "--to", "gcs:" + issuer.base).stderr
    assert "needs --to" in issuer.run("publish", "--name", "aws").stderr
    issuer.pass_time(-HOUR)
    done = issuer.publish()
    assert done.returncode == 6 and "set the clock right" in done.stderr, done
    assert json.loads((issuer.dir / "issuer.json").read_text()).get("store") is None
