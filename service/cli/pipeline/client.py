"""Calls to the service, each an answer or a sentence about what went wrong."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import httpx

from service.cli.pipeline.exit_codes import PipelineError, Refusal
from service.cli.pipeline.files import Sent

TIMEOUT = httpx.Timeout(600, connect=10)
AGAIN_AFTER = 1.0
LONGEST_PAUSE = 10.0
# A proxy says these of a service that starts or restarts behind it; 429 says to come back later.
AWAY = (429, 502, 503, 504)
SHOWN = 5
HINTS = {"unknown_model": "`tastetest push --model` stores results under a name."}
KEY = "--key or TASTETEST_API_KEY gives the key."
WHERE = "--url or TASTETEST_URL says where it is."

Answer = dict[str, Any]


class Service:
    """The service at one address.

    Every call this package makes may be repeated, so a service that is away, restarting
    behind its proxy say, is asked again until `wait` seconds have passed.
    """

    def __init__(self, url: str, wait: float, key: str | None = None) -> None:
        try:
            self._http = httpx.Client(base_url=url, timeout=TIMEOUT, headers=bearing(key))
        except UnicodeEncodeError as error:
            raise PipelineError(
                "The key is none: it holds other characters than a key of the service."
            ) from error
        except (httpx.InvalidURL, ValueError) as error:
            raise PipelineError(f"{url!r} is no address of a service: {error}") from error
        # Without a password: the log of a pipeline may be public.
        self.address = str(self._http.base_url.copy_with(userinfo=b"")).rstrip("/")
        self._wait = wait

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, **params: str | int) -> Answer:
        """The answer to a GET."""
        return self._ask(lambda: self._http.get(path, params=params))

    def post(self, path: str, body: Answer) -> Answer:
        """The answer to a JSON body."""
        return self._ask(lambda: self._http.post(path, json=body))

    def send(self, method: str, path: str, upload: Sent, params: dict[str, str]) -> Answer:
        """The answer to a file, which is sent with its name: some logs say in it which model they are of."""

        def ask() -> httpx.Response:
            upload.file.seek(0)
            return self._http.request(
                method, path, params=params, files={"file": (upload.name, upload.file, upload.media_type)}
            )

        return self._ask(ask)

    def _ask(self, ask: Callable[[], httpx.Response]) -> Answer:
        deadline = time.monotonic() + self._wait
        while True:
            with self._explained():
                answer = self._once(ask, last=time.monotonic() >= deadline)
            if answer is not None:
                return self._read(answer)

    def _once(self, ask: Callable[[], httpx.Response], *, last: bool) -> httpx.Response | None:
        """An answer, or None after a pause when asking again may help."""
        pause = AGAIN_AFTER
        try:
            answer = ask()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.RemoteProtocolError, httpx.ReadError):
            if last:
                raise
        else:
            if last or answer.status_code not in AWAY:
                return answer
            with contextlib.suppress(ValueError):
                pause = min(float(answer.headers.get("Retry-After", pause)), LONGEST_PAUSE)
        time.sleep(pause)
        return None

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise PipelineError(
                f"No answer from {self.address}: {why}. Is it the service's address? {WHERE}"
            ) from error

    def _read(self, answer: httpx.Response) -> Answer:
        told = _document(answer)
        if answer.is_success and told is not None:
            return told
        if told is not None and "detail" in told and "errors" in told:
            hint = [KEY] if answer.status_code == httpx.codes.UNAUTHORIZED else []
            raise Refusal("\n".join([problem(told), *hint]), told["errors"])
        asked = f"{answer.request.method} {answer.request.url.path}"
        raise PipelineError(
            f"{self.address} answered {answer.status_code} {answer.reason_phrase} to {asked}, and not as "
            f"Tastetest does. Is it the service's address? {WHERE}"
        )


def bearing(key: str | None) -> dict[str, str]:
    """The headers that show a key."""
    # Files that keys are read from end with a line's end.
    return {"Authorization": f"Bearer {key.strip()}"} if key else {}


def problem(document: Answer) -> str:
    """A problem document as a person would put it: the detail, and the places it does not name itself."""
    places = document["errors"]
    sentence = str(document["detail"])
    for place in places:
        # A pointer into a body that this package wrote says nothing to its user.
        sentence = sentence.removeprefix(f"{place['pointer']}: ") if place["pointer"][:1] == "/" else sentence
    new = [f"  {place['pointer']}: {place['message']}" for place in places if _adds(place, sentence)]
    more = [f"  and {len(new) - SHOWN} more"] if len(new) > SHOWN else []
    hints = [HINTS[code] for code in dict.fromkeys(place["code"] for place in places) if code in HINTS]
    return "\n".join([sentence, *new[:SHOWN], *more, *hints])


def _adds(place: Answer, sentence: str) -> bool:
    return str(place["message"]).rstrip(".") not in sentence and str(place["pointer"]) not in sentence


def _document(answer: httpx.Response) -> Answer | None:
    try:
        told = answer.json()
    except ValueError:
        return None
    return told if isinstance(told, dict) else None
