"""One way to write JSON, so that equal results are equal bytes."""

from __future__ import annotations

import json


def canonical_json(value: object) -> bytes:
    """UTF-8 JSON with sorted keys and no blanks.

    Raises
    ------
    ValueError
        A number is not finite.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.encode()
