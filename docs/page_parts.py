"""Pages of which a script writes a part, between two marks."""

from __future__ import annotations

import re

END = "<!-- end -->"


def with_rows(page, begin, rows):
    """The text of a page with these rows from the line ``begin`` up to the mark of the end."""
    part = "".join(f"{row}\n" for row in rows)
    return re.sub(f"(?<={re.escape(begin)}).*?(?={END})", lambda _: part, page.read_text(), count=1, flags=re.S)
