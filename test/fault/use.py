# SPDX-License-Identifier: MIT
"""Uses the key that is published in a directory, once for each line of standard input, and prints what came of it: 200,
another status, or an error. A process of its own may have another clock.

usage: use.py KIND DIRECTORY STS_URL CA_FILE
"""
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integ"))
import kept_client  # noqa: E402
import mint_kinds  # noqa: E402


def main():
    kind = getattr(mint_kinds, sys.argv[1])(0, "robot")
    cloud = types.SimpleNamespace(sts=sys.argv[3], ca=sys.argv[4], client=kept_client.KeptClient(sys.argv[4]))
    agent = types.SimpleNamespace(dir=pathlib.Path(sys.argv[2]), cloud=cloud)
    for _ in sys.stdin:
        try:
            print(kind.use(agent), flush=True)
        except Exception as e:  # whatever an SDK throws is what the test wants to see
            print(f"{type(e).__name__}: {e}".replace("\n", " ")[:500], flush=True)


main()
