# SPDX-License-Identifier: MIT
"""A volume as the kubelet writes it."""
import os
import shutil


class Volume:
    def __init__(self, path):
        self.path, self.number = path, 0
        path.mkdir()

    def update(self, **files):
        """A new version with these files; the old one goes at once."""
        self.number += 1
        name = "..2026_01_02_03_04_05.%09d" % self.number
        (self.path / name).mkdir()
        for file, text in files.items():
            (self.path / name / file).write_text(text)
        old = os.readlink(self.path / "..data") if self.number > 1 else None
        os.symlink(name, self.path / "..data_tmp")
        os.rename(self.path / "..data_tmp", self.path / "..data")
        for file in files:
            if not (self.path / file).is_symlink():
                os.symlink("..data/" + file, self.path / file)
        if old:
            shutil.rmtree(self.path / old)
