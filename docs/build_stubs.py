"""Make stubs when the package is built: hatchling runs ``StubsHook`` for wheels and for editable installs."""

from __future__ import annotations

import pathlib
import sys
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StubsHook(BuildHookInterface):
    """Put the stubs of docs/generate_stubs.py into a wheel, or beside the modules of an editable install."""

    def initialize(self, version, build_data):
        """Write the stubs before files are collected."""
        sys.path.insert(0, str(pathlib.Path(self.root, "docs")))
        import generate_stubs

        if version == "editable":
            generate_stubs.write_stubs(pathlib.Path(self.root, "lodkit"))
            return
        # Not into the source tree, which may be read-only.
        self.folder = tempfile.TemporaryDirectory()
        for file in generate_stubs.write_stubs(pathlib.Path(self.folder.name)):
            build_data["force_include"][str(file)] = f"lodkit/{file.relative_to(self.folder.name).as_posix()}"

    def finalize(self, version, build_data, artifact_path):
        """Remove the folder of stubs that a wheel was made of."""
        if version != "editable":
            self.folder.cleanup()
