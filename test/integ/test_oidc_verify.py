# SPDX-License-Identifier: MIT
"""`credfresh-oidc verify`: a token checked by the issuer's published keys as a cloud does, with the local cloud's issuer, whose STS
verifies by another implementation."""
import base64
import json
import re
import subprocess
import time
import urllib.parse

import pytest

from conftest import OIDC, ROLE

AUDIENCE = "sts.amazonaws.com"


@pytest.fixture
def issuer(shared_cloud):
    return shared_cloud.ready["issuer"]


def verify(cloud, *argv, token=None, **how):
    """A token goes to standard input."""
    argv = [*argv, "--ca-file", cloud.ca]
    return subprocess.run([OIDC, "verify", "-" if token is not None else argv.pop(0), *argv], input=token, capture_output=True, text=True,
                          timeout=60, **how)


def lines(done, mark):
    return [line[9:] for line in done.stdout.splitlines() if line.startswith(mark)]


def with_part(token, number, change):
    """TOKEN with another header (0) or payload (1)."""
    parts = token.split(".")
    old = json.loads(base64.urlsafe_b64decode(parts[number] + "=="))
    parts[number] = base64.urlsafe_b64encode(json.dumps({**old, **change}).encode()).rstrip(b"=").decode()
    return ".".join(parts)


def sts_says(cloud, token):
    """200, or the error's code."""
    form = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleSessionName": "verify", "RoleArn": ROLE,
            "WebIdentityToken": token}
    answer = cloud.client.ask(cloud.sts, urllib.parse.urlencode(form).encode())
    return answer.status if answer.status == 200 else re.search(rb"<Code>(\w+)</Code>", answer.body).group(1).decode()


def test_a_good_token(shared_cloud, issuer, tmp_path):
    token = shared_cloud.token()
    done = verify(shared_cloud, "--issuer", issuer, "--audience", AUDIENCE, token=token)
    assert done.returncode == 0 and done.stderr == "" and not lines(done, "PROBLEM"), done
    assert len(lines(done, "ok")) == 4 and "the signature matches the key kid=" in done.stdout
    assert token not in done.stdout
    assert sts_says(shared_cloud, token) == 200
    path = tmp_path / "token"
    path.write_text(token + "\n")
    assert verify(shared_cloud, path, "--issuer", issuer).returncode == 0


def test_keys_from_a_file(shared_cloud, issuer, tmp_path):
    keys = tmp_path / "keys.json"
    keys.write_bytes(shared_cloud.client.ask(issuer + "/openid/v1/jwks").good())
    done = verify(shared_cloud, "--jwks", keys, token=shared_cloud.token())
    assert done.returncode == 0 and any("(not compared)" in line for line in lines(done, "note")), done
    done = verify(shared_cloud, "--jwks", keys, "--issuer", "https://other.example", token=shared_cloud.token())
    assert done.returncode == 1 and f"the issuer is https://other.example, the token says {issuer}" in lines(done, "PROBLEM"), done
    keys.write_text('{"keys": []}')
    done = verify(shared_cloud, "--jwks", keys, token=shared_cloud.token())
    assert done.returncode == 1 and "is among the 0 keys" in lines(done, "PROBLEM")[0], done
    keys.write_text("{}")
    done = verify(shared_cloud, "--jwks", keys, token=shared_cloud.token())
    assert done.returncode == 1 and "it has no array `keys`" in lines(done, "PROBLEM")[0], done


@pytest.mark.parametrize("what, says", [
    (lambda token: with_part(token, 1, {"sub": "system:serviceaccount:a:admin"}), "the signature does not match the key kid="),
    (lambda token: with_part(token, 0, {"kid": "gone"}), "no key has the kid gone: the only key of the set has another one"),
    (lambda token: with_part(token, 0, {"alg": "HS256"}), "the token is signed with HS256, by a shared secret"),
    (lambda token: with_part(token, 0, {"alg": "RS512"}), "the token is signed with RS512, but the key kid=")],
    ids=["another subject", "another kid", "another kind", "another hash"])
def test_a_token_that_the_sts_refuses_too(shared_cloud, issuer, what, says):
    token = what(shared_cloud.token())
    done = verify(shared_cloud, "--issuer", issuer, "--audience", AUDIENCE, token=token)
    assert done.returncode == 1 and lines(done, "PROBLEM")[0].startswith(says), done
    assert token not in done.stdout + done.stderr
    assert sts_says(shared_cloud, token) == "InvalidIdentityToken"


def test_claims_that_do_not_fit(shared_cloud, issuer):
    token = shared_cloud.token(expires_in_s=3600)
    done = verify(shared_cloud, "--issuer", issuer, "--audience", "other", token=token)
    assert done.returncode == 1 and lines(done, "PROBLEM") == [f"the audience is [{AUDIENCE}], expected other"], done
    now = int(time.time())
    done = verify(shared_cloud, "--issuer", issuer, "--at", str(now + 3600 + 180), token=token)
    assert done.returncode == 1 and lines(done, "PROBLEM")[0].startswith(("expired 3 min", "expired 2 min 5")), done
    done = verify(shared_cloud, "--issuer", issuer, "--at", "2026-01-01T00:00:00Z", token=token)
    assert done.returncode == 1 and lines(done, "PROBLEM")[0].startswith("not valid yet"), done


def test_what_is_no_token(shared_cloud, issuer):
    none = with_part(shared_cloud.token(), 0, {"alg": "none"})
    for token, says in ((none, "the token is not signed (`alg` is none)"), ("", "the token is empty"), ("a.b", "no three parts"),
                        ("x" * 70000, "standard input: it is longer than the 65536 bytes of a token")):
        done = verify(shared_cloud, "--issuer", issuer, token=token)
        assert done.returncode == 1 and done.stdout == "" and says in done.stderr, done
        assert not token or token not in done.stderr


def test_an_issuer_that_cannot_be_read(shared_cloud, issuer):
    token = shared_cloud.token()
    for url, says in ((issuer + "/nothing", "the server answers HTTP 404"), ("https://127.0.0.1:1", "127.0.0.1:1"),
                      ("http://192.0.2.1/x", "secrets would cross the network in the clear"), ("ftp://x", "http"),
                      (issuer + "/", f"the discovery document is of the issuer {issuer}; a cloud refuses it")):
        done = verify(shared_cloud, "--issuer", url, token=token)
        assert done.returncode == 1, done
        assert "the key set cannot be read: " in lines(done, "PROBLEM")[0] and says in lines(done, "PROBLEM")[0], done
    done = subprocess.run([OIDC, "verify", "-", "--issuer", issuer], input=token, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "the key set cannot be read: " in done.stdout, done


def test_a_token_as_an_argument_is_accepted_with_a_warning(shared_cloud, issuer):
    token = shared_cloud.token()
    done = verify(shared_cloud, token, "--issuer", issuer)
    assert done.returncode == 0 and "readable by every user of this machine" in done.stderr, done
    assert token not in done.stdout + done.stderr
    for damaged in (token[:-1] + "=", token.replace(".", ""), token[:40]):
        done = verify(shared_cloud, damaged, "--issuer", issuer)
        assert done.returncode == 1 and damaged not in done.stdout + done.stderr, done
    with subprocess.Popen([OIDC, "verify", token, "--jwks", "/dev/stdin"], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as process:
        process.stderr.read(1)  # the warning comes after the wipe
        with open(f"/proc/{process.pid}/cmdline", "rb") as file:
            assert token.encode() not in file.read()
        process.stdin.close()
        process.wait(60)


def test_usage():
    for argv, says in ((["verify", "-"], "verify needs --issuer URL"), (["verify", "-", "--issuer", "https://x", "--at", "noon"], "is not a time"),
                       (["verify", "-", "--issuer", "https://x", "--at", "9223372036854775807"], "is not a time"),
                       (["verify", "--issuer", "https://x"], "missing argument FILE")):
        done = subprocess.run([OIDC, *argv], input="", capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and says in done.stderr, done
