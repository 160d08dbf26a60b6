"""What the client generates is what the document and the hand-written half say."""

from __future__ import annotations

from tools.client import ROOT, generated, synchronous


def test_generated_files_are_up_to_date() -> None:
    stale = [str(path.relative_to(ROOT)) for path, text in generated() if path.read_text() != text]
    assert stale == [], "run `make client` and commit what changes"


def test_a_change_of_either_source_would_be_seen() -> None:
    made = synchronous(
        '"""Doc."""\n\nimport asyncio\n\n\nasync def f() -> None:\n    await asyncio.sleep(1)\n'
    )
    assert made.endswith("import time\n\n\ndef f() -> None:\n    time.sleep(1)\n")
