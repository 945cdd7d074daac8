# SPDX-License-Identifier: MIT
"""The fixtures of the integration tests, for the tests of our own clients in languages with an SDK."""
import importlib.util
import pathlib
import sys

# The harness is a conftest, too, so its own name is taken.
_HARNESS = pathlib.Path(__file__).resolve().parents[1] / "integ" / "conftest.py"
sys.path.append(str(_HARNESS.parent))  # for what it imports itself
_spec = importlib.util.spec_from_file_location("harness", _HARNESS)
sys.modules["harness"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["harness"])
from harness import *  # noqa: F401,F403,E402  the fixtures
