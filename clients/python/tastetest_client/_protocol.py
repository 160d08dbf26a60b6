"""How a call is made, repeated and read; no input or output, so that both clients share it."""

from __future__ import annotations

import contextlib
import os
import random
import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, BinaryIO
from urllib.parse import quote

import httpx

from tastetest_client.errors import (
    InvalidData,
    Problem,
    ServiceAway,
    TastetestError,
    UnexpectedAnswer,
    VersionMismatch,
    api_error,
)

VERSION = version("tastetest-client")
OLDEST_SERVICE = (0, 1)
DEFAULT_URL = "http://127.0.0.1:8000"
WHERE = "Say where the service is with base_url= (--url) or TASTETEST_URL."
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
# A proxy says these of a service that starts or restarts behind it; 429 says to come back later.
AWAY = (429, 502, 503, 504)
CONNECT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to send, with the name that some formats tell the model by."""

    name: str
    file: BinaryIO
    media_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    `repeatable` calls have the same effect when they are sent twice: they only read, replace or
    delete, the service finds the first answer by their key, or the answer depends on the request alone.
    """

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    upload: Upload | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True

    def __str__(self) -> str:
        """Like `POST /mdad`."""
        return f"{self.method} {self.path}"

    def arguments(self) -> dict[str, Any]:
        """The arguments of `httpx.Client.request`; a file is sent from its beginning."""
        given: dict[str, Any] = {"method": self.method, "url": self.path, "headers": dict(self.headers)}
        given["params"] = {name: value for name, value in self.params.items() if value is not None}
        if self.json is not None:
            given["json"] = self.json
        if self.upload is not None:
            self.upload.file.seek(0)
            given["files"] = {"file": (self.upload.name, self.upload.file, self.upload.media_type)}
        return given


def path(*segments: str) -> str:
    """A path of these segments, whatever the names hold."""
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


def idempotent(key: str | None) -> dict[str, str]:
    """The header by which the service recognises a request that is sent again."""
    return {"Idempotency-Key": key or uuid.uuid4().hex}


class Connection:
    """Where the service is, who asks, and how long to keep trying.

    Parameters
    ----------
    base_url : str, optional
        `TASTETEST_URL`, or the default stack's address, if not given.
    api_key : str, optional
        `TASTETEST_API_KEY` if not given.
    timeout : float
        Seconds to wait for any one answer.
    retry_seconds : float
        How long to repeat a call while the service is away or busy.
    """

    def __init__(
        self, base_url: str | None, api_key: str | None, timeout: float, retry_seconds: float
    ) -> None:
        url = base_url or os.environ.get("TASTETEST_URL") or DEFAULT_URL
        # Files that keys are read from end with a line's end.
        key = (api_key or os.environ.get("TASTETEST_API_KEY") or "").strip()
        if not key.isascii() or not key.isprintable():
            raise InvalidData("The API key holds characters that no key of the service has.")
        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, ValueError, TypeError) as error:
            raise InvalidData(f"{url!r} is no address of a service: {error}. {WHERE}") from error
        self.retry_seconds = retry_seconds
        # Without a password: logs and notebooks may be public.
        self.address = str(parsed.copy_with(userinfo=b"")).rstrip("/")
        self.http_options: dict[str, Any] = {
            "base_url": parsed,
            "timeout": httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
            "headers": {"User-Agent": f"tastetest-client/{VERSION}"}
            | ({"Authorization": f"Bearer {key}"} if key else {}),
        }

    def read(self, call: Call, answer: httpx.Response) -> httpx.Response:
        """The answer, if it is one of the service and no refusal.

        Raises
        ------
        VersionMismatch, ApiError, UnexpectedAnswer
            Whichever it is instead.
        """
        self._check_version(answer)
        if answer.is_success:
            return answer
        with contextlib.suppress(ValueError, KeyError, TypeError):
            problem = Problem.parse(answer.json(), answer.status_code)
            raise api_error(str(call), problem, answer.headers.get("X-Request-ID"))
        raise self.unexpected(call, answer)

    def unexpected(self, call: Call, answer: httpx.Response, why: str = "") -> UnexpectedAnswer:
        """The error for an answer that is none of Tastetest's."""
        said = f"{answer.status_code} {answer.reason_phrase}".strip()
        about = f" ({why})" if why else ""
        return UnexpectedAnswer(
            f"{self.address} answered {said} to {call}, and not as Tastetest does{about}. {WHERE}"
            f"{self._versions(answer)}"
        )

    def away(self, call: Call, error: Exception) -> TastetestError:
        """The error for no answer."""
        why = str(error) or type(error).__name__
        return ServiceAway(f"No answer from {self.address} to {call}: {why}. Is it running? {WHERE}")

    def _check_version(self, answer: httpx.Response) -> None:
        found = re.match(r"(\d+)\.(\d+)", answer.headers.get("Tastetest-Version", ""))
        if found and (int(found[1]), int(found[2])) < OLDEST_SERVICE:
            oldest = ".".join(map(str, OLDEST_SERVICE))
            raise VersionMismatch(
                f"The service at {self.address} is version {answer.headers['Tastetest-Version']}; this "
                f"client ({VERSION}) needs {oldest} or newer. Upgrade the service, or install the "
                f"tastetest-client of its version."
            )

    def _versions(self, answer: httpx.Response) -> str:
        service = answer.headers.get("Tastetest-Version")
        return "" if service is None else f" (Service {service}, client {VERSION}.)"


class Retries:
    """When to send a call again: with growing, random pauses, or when the service says."""

    def __init__(
        self, connection: Connection, call: Call, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection, self._call, self._clock = connection, call, clock
        self._deadline = clock() + connection.retry_seconds
        self._attempts = 0

    def after_error(self, error: Exception) -> float:
        """Seconds to pause; raises `ServiceAway` when it is not to be repeated."""
        unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        lost = isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)
        pause = self._pause(None)
        if pause is None or not (unsent or (lost and self._call.repeatable)):
            raise self._connection.away(self._call, error) from error
        return pause

    def after_answer(self, answer: httpx.Response) -> float | None:
        """Seconds to pause; None when the answer stands."""
        status = answer.status_code
        # A gateway's 502 or 504 does not say whether the request was done.
        again = status in AWAY if self._call.repeatable else status in (429, 503)
        return self._pause(answer.headers.get("Retry-After")) if again else None

    def _pause(self, said: str | None) -> float | None:
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**self._attempts)
        pause = longest * random.uniform(0.5, 1)  # noqa: S311 - not a secret
        with contextlib.suppress(TypeError, ValueError):
            pause = max(0.0, float(said))  # type: ignore[arg-type]
        self._attempts += 1
        return pause if self._clock() + pause <= self._deadline else None
