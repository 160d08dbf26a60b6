"""Small servers that tests are called back on."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def listening(server: http.server.HTTPServer) -> Iterator[None]:
    """Let it answer from a thread of its own until the block ends."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
