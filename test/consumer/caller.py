#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A consumer as most are: it reads its AWS credentials file once, signs calls with them several times a second, and
reads the file again only when a reload hook sends SIGHUP. Writes one JSON line per call to standard output.

usage: caller.py CREDENTIALS ENDPOINT CA PID_FILE [CALLS_PER_SECOND]
"""
import json
import os
import signal
import sys
import time

import botocore.config
import botocore.session


def client(credentials, endpoint, ca):
    os.environ["AWS_SHARED_CREDENTIALS_FILE"] = credentials
    os.environ["AWS_CONFIG_FILE"] = os.devnull
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    config = botocore.config.Config(retries={"max_attempts": 0}, connect_timeout=5, read_timeout=5)
    return botocore.session.Session().create_client("sts", region_name="us-east-1", endpoint_url=endpoint, verify=ca,
                                                    config=config)


def main():
    credentials, endpoint, ca, pid_file = sys.argv[1:5]
    pause = 1.0 / float(sys.argv[5] if len(sys.argv) > 5 else 5)
    flags = {"reload": True, "stop": False}
    signal.signal(signal.SIGHUP, lambda *_: flags.update(reload=True))
    signal.signal(signal.SIGTERM, lambda *_: flags.update(stop=True))
    with open(pid_file + ".new", "w", encoding="ascii") as f:
        f.write(f"{os.getpid()}\n")
    os.rename(pid_file + ".new", pid_file)
    sts = None
    while not flags["stop"]:
        if flags["reload"]:
            flags["reload"] = False
            sts = client(credentials, endpoint, ca)
            print(json.dumps({"t": time.time(), "event": "reload"}), flush=True)
        start = time.monotonic()
        call = {"t": time.time(), "event": "call", "ok": True}
        try:
            call["arn"] = sts.get_caller_identity()["Arn"]
        except Exception as error:  # whatever it is, it is a call that failed
            call.update(ok=False, error=str(error))
        print(json.dumps(call), flush=True)
        time.sleep(max(0.0, pause - (time.monotonic() - start)))


if __name__ == "__main__":
    main()
