"""What checks the links of the built site finds what is broken."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

CHECK = pathlib.Path(__file__).parents[1] / "docs" / "check_links.py"
WHOLE = '<a href="b/c.html#here">c</a> <a href="#top">top</a> <a href="https://example.org/">elsewhere</a><p id="top">'


def checked(folder, page=WHOLE):
    """Exit status and message for a site of two pages."""
    (folder / "b").mkdir()
    (folder / "a.html").write_text(page)
    (folder / "b" / "c.html").write_text('<h1 id="here"><a href="../a.html">a</a></h1>')
    done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.strip()


def test_a_whole_site_passes(tmp_path):
    assert checked(tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ('<a href="b/d.html">', "a.html: b/d.html: no such file"),
        ('<a href="b">', "a.html: b: no such file"),
        ('<a href="b/c.html#there">', "a.html: b/c.html#there: no such place"),
        ('<img src="figure.svg">', "a.html: figure.svg: no such file"),
        ('<script src="https://example.org/x.js">', "a.html: https://example.org/x.js: is fetched from elsewhere"),
        ('<link href="//fonts.example.org/x.css">', "a.html: //fonts.example.org/x.css: is fetched from elsewhere"),
    ],
)
def test_what_is_broken_is_named(tmp_path, added, message):
    assert checked(tmp_path, WHOLE + added) == (1, message)


def test_styles_fetch_nothing(tmp_path):
    (tmp_path / "x.css").write_text("p { background: url(https://example.org/x.png) }")
    assert checked(tmp_path) == (1, "x.css: : fetches from elsewhere")


def test_no_site_is_no_whole_site(tmp_path):
    done = subprocess.run([sys.executable, CHECK, tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (1, ".: : no page is there")
