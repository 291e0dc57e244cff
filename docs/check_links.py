"""Check the built site: ``python docs/check_links.py build/site``.

Every link inside it leads to a file and a place in it, and nothing that a page needs is fetched from elsewhere.
"""

from __future__ import annotations

import html.parser
import pathlib
import re
import sys
import urllib.parse

#: Tags that fetch what they name when a page is read.
FETCHING = ("script", "img", "link", "source", "iframe", "video", "audio", "object")


class Page(html.parser.HTMLParser):
    """Places and links of a page."""

    def __init__(self, text):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value)
            elif name in ("href", "src", "data") and value:
                self.links.append((tag, value))


def broken(root):
    """Yield ``(file, link, what is wrong with it)``; pages of asv, which are not ours, are only linked to."""
    files = [file for file in sorted(root.rglob("*.*")) if root / "asv" not in file.parents]
    pages = {file: Page(file.read_text()) for file in files if file.suffix == ".html"}
    if not pages:
        yield root, "", "no page is there"
    for file, page in pages.items():
        for tag, link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if tag in FETCHING and url.scheme != "data":
                    yield file, link, "is fetched from elsewhere"
                continue
            target = (file.parent / urllib.parse.unquote(url.path)).resolve() if url.path else file
            place = urllib.parse.unquote(url.fragment)
            if not target.is_file():
                yield file, link, "no such file"
            elif place and target in pages and place not in pages[target].places:
                yield file, link, "no such place"
    for file in files:
        if file.suffix == ".css" and re.search(r"""url\(["']?(https?:)?//|@import""", file.read_text()):
            yield file, "", "fetches from elsewhere"


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1]).resolve()
    found = [f"{file.relative_to(root)}: {link}: {wrong}" for file, link, wrong in broken(root)]
    sys.exit("\n".join(found) or 0)
