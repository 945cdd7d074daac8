# SPDX-License-Identifier: MIT
"""One process of a consumer in Python: uses its credential again and again until standard input ends, and prints a line of
JSON for each use: {"id": what it used} or {"error": text}.

usage: consume.py KIND OPTIONS, with OPTIONS in JSON
"""
import hashlib
import json
import select
import sys

PAUSE_S = 0.2
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def short(token):
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def botocore(options):
    """Whatever its environment leads it to."""
    import botocore.session
    from botocore.config import Config
    session = botocore.session.Session()
    # It keeps an instance's keys that end soon up to 25 minutes, whatever they say; not here, where all end soon.
    instance = session.get_component("credential_provider").get_provider("iam-role")
    instance._role_fetcher._config["ec2_credential_refresh_window"] = 0
    client = session.create_client("sts", region_name="us-east-1", endpoint_url=options["sts"], verify=options["ca"],
                                   config=Config(retries={"total_max_attempts": 1}))

    def use():
        identity = client.get_caller_identity()["Arn"]
        return {"id": session.get_credentials().access_key, "identity": identity}

    return use


def authorized(credentials, options):
    from google.auth.transport.requests import AuthorizedSession, Request
    import requests
    plain = requests.Session()
    plain.verify = options["ca"]
    session = AuthorizedSession(credentials, max_refresh_attempts=0, auth_request=Request(plain))
    session.verify = options["ca"]

    def use():
        answer = session.get(options["whoami"], timeout=10)
        assert answer.status_code == 200, answer.text
        return {"id": getattr(credentials, "seen", None) or short(credentials.token)}

    return use


def google(options):
    import google.auth
    from google.auth import compute_engine
    if "account" in options:
        return authorized(compute_engine.Credentials(service_account_email=options["account"]), options)
    credentials, _ = google.auth.default(scopes=SCOPES)
    assert isinstance(credentials, compute_engine.Credentials)
    return authorized(credentials, options)


def google_executable(options):
    from google.auth import pluggable

    class Credentials(pluggable.Credentials):
        """Remembers which token of the executable it traded."""
        seen = None

        def retrieve_subject_token(self, request):
            token = super().retrieve_subject_token(request)
            self.seen = short(token)
            return token

    return authorized(Credentials.from_file(options["file"], scopes=SCOPES), options)


def main():
    options = json.loads(sys.argv[2])
    use = None
    while True:
        try:
            use = use or {"botocore": botocore, "google": google, "google-executable": google_executable}[sys.argv[1]](options)
            line = use()
        except Exception as e:  # whatever an SDK throws is what the test wants to see
            line = {"error": f"{type(e).__name__}: {e}"[:500]}
        print(json.dumps(line), flush=True)
        if options.get("once") or select.select([sys.stdin], [], [], PAUSE_S)[0]:
            return


main()
