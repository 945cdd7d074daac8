# SPDX-License-Identifier: MIT
"""One process of a consumer with OpenStack's own library: calls Keystone again and again until standard input ends, then
prints what came of it as JSON. Each time it uses the published clouds.yaml as it is then, and the token that it got when it
was last told to reload (SIGHUP). Told so, it first uses what is being replaced once more, then says what it has in use.

usage: openstack_user.py DIRECTORY ACKNOWLEDGE_FILE
"""
import collections
import json
import os
import pathlib
import select
import signal
import sys

import openstack.config

PAUSE_S = 0.1


class Consumer:
    def __init__(self, published, acknowledge):
        self.published, self.acknowledge = published, acknowledge
        self.told = False
        self.session = None
        self.used = set()
        self.done = collections.Counter()
        self.failures = []

    def login(self, name="clouds.yaml"):
        """A session that knows nothing but the file; it has a token after the first call."""
        config = openstack.config.OpenStackConfig(config_files=[str(self.published / name)], load_envvars=False)
        cloud = config.get_one(cloud="openstack")
        self.used.add(cloud.auth["application_credential_id"])
        return cloud.get_session()

    def call(self, kind, session_of):
        try:
            session = session_of()
            # Without another login behind our back, should the token be refused.
            session.get(session.auth.auth_url + "/auth/projects", allow_reauth=False)
            self.done[kind] += 1
            return session
        except Exception as e:  # whatever the library throws is what the test wants to see
            self.failures.append(f"{kind}: {type(e).__name__}: {e}"[:500])
            return None

    def reload(self):
        generation = int(os.readlink(self.published / "..data").rsplit(".", 1)[1])
        if self.session is not None:
            self.call("old token", lambda: self.session)
            self.call("old credential", lambda: self.login("clouds.yaml.old"))
        self.session = self.call("reload", self.login)
        new = self.acknowledge.with_suffix(".new")
        new.write_text(str(generation))
        new.rename(self.acknowledge)

    def turn(self):
        if self.told:
            self.told = False
            self.reload()
        if self.session is not None:
            self.call("token", lambda: self.session)
            self.call("login", self.login)

    def on_signal(self, *_):
        self.told = True


def main():
    consumer = Consumer(*map(pathlib.Path, sys.argv[1:3]))
    signal.signal(signal.SIGHUP, consumer.on_signal)
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        consumer.turn()
    print(json.dumps({"done": consumer.done, "used": sorted(consumer.used), "failures": consumer.failures}))


main()
