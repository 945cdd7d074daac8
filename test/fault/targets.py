# SPDX-License-Identifier: MIT
"""A target of each kind on this machine, as a consumer sees it."""
import configparser
import json

OTHER = "# kept as it is\n[other]\nregion = eu-west-1\n"
FILE = {"format": "json", "mode": "0640"}


class Directory:
    def target(self, agent):
        return {"directory": str(agent.out), "files": [{"name": "credentials", "format": "aws-credentials", "mode": "0640"},
                                                       {"name": "token", "format": "token"},
                                                       {"name": "creds.json", "format": "json", "mode": "0444"}]}

    def prepare(self, agent):
        pass

    def view(self, agent):
        """The key id that a consumer finds, None where nothing is published; fails on all that is not whole."""
        paths = [agent.out / name for name in ("credentials", "token", "creds.json")]
        there = [path.exists() for path in paths]
        if not any(there):
            return None
        assert all(there), there
        assert [path.stat().st_mode & 0o777 for path in paths] == [0o640, 0o600, 0o444]
        ini = configparser.ConfigParser()
        ini.read(paths[0])
        fields = json.loads(paths[2].read_text())["fields"]
        for key in ("aws_access_key_id", "aws_secret_access_key", "aws_session_token"):
            assert ini["default"][key] == fields[key]
        assert paths[1].read_text() == fields["token"]
        return fields["aws_access_key_id"]

    def clean(self, agent):
        names = sorted(path.name for path in agent.out.iterdir())
        generations = [name for name in names if name.startswith("..2")]
        assert len(generations) <= 2, names
        assert set(names) - set(generations) == {"..data", "credentials", "token", "creds.json"}, names


class File:
    def target(self, agent):
        return {"file": {"path": str(agent.out / "creds.json"), **FILE}}

    def prepare(self, agent):
        agent.out.mkdir()

    def view(self, agent):
        path = agent.out / "creds.json"
        if not path.exists():
            return None
        assert path.stat().st_mode & 0o777 == 0o640
        fields = json.loads(path.read_text())["fields"]
        assert all(fields[key] for key in ("aws_secret_access_key", "aws_session_token"))
        return fields["aws_access_key_id"]

    def clean(self, agent):
        assert sorted(path.name for path in agent.out.iterdir()) == ["creds.json"]


class Profile:
    def target(self, agent):
        return {"profile": {"path": str(agent.out / "credentials"), "name": "demo", "format": "aws-credentials"}}

    def prepare(self, agent):
        agent.out.mkdir()
        path = agent.out / "credentials"
        path.write_text(OTHER)
        path.chmod(0o640)

    def view(self, agent):
        path = agent.out / "credentials"
        text = path.read_text()
        assert path.stat().st_mode & 0o777 == 0o640
        assert text.startswith(OTHER)
        ini = configparser.ConfigParser()
        ini.read_string(text)
        if "demo" not in ini:
            assert text == OTHER
            return None
        assert all(ini["demo"][key] for key in ("aws_secret_access_key", "aws_session_token"))
        return ini["demo"]["aws_access_key_id"]

    def clean(self, agent):
        assert sorted(path.name for path in agent.out.iterdir()) == ["credentials", "credentials.lock"]
