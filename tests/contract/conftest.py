"""The application on a real server, its every answer checked against the document."""

from tests.api.conftest import api, settings

__all__ = ["api", "settings"]
