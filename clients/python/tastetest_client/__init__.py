"""A client of Tastetest, which tells how small a benchmark can be and which comparisons it still carries.

    from tastetest_client import Client

    client = Client("http://127.0.0.1:8000")
    matrix = client.matrices.upload(frame)
    result = client.mdad(matrix, target_mdad=0.03)
    selection = client.select(result)
    scores = client.scores(selection, answers)

What goes wrong is a `TastetestError`: `tastetest_client.errors` draws the tree. It imports nothing of the
server. Names are loaded when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tastetest_client import errors, models
    from tastetest_client._async.client import AsyncClient
    from tastetest_client._sync.client import Client
    from tastetest_client.errors import ApiError, TastetestError

_FROM = {
    "AsyncClient": "tastetest_client._async.client",
    "Client": "tastetest_client._sync.client",
    "ApiError": "tastetest_client.errors",
    "TastetestError": "tastetest_client.errors",
}
_MODULES = ("errors", "models")

__all__ = ["ApiError", "AsyncClient", "Client", "TastetestError", "errors", "models"]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"tastetest_client.{name}")
    if name in _FROM:
        return getattr(importlib.import_module(_FROM[name]), name)
    raise AttributeError(f"module 'tastetest_client' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
