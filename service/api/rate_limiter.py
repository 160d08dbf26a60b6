"""Limits requests per minute, counted in Redis for all servers together; without Redis there is no limit."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import redis
import structlog
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry

from service.api.authenticator import Caller
from service.core.errors import FieldError, TooManyRequests
from service.core.settings import Settings

log = structlog.get_logger(__name__)

# How long one request waits for a Redis that does not answer, and how long the next ones do not try.
REDIS_TIMEOUT_SECONDS = 0.05
REDIS_RETRY_SECONDS = 5.0
THREADS = 8


Headers = tuple[tuple[str, str], ...]


class _Window(NamedTuple):
    """A key's minute: whether this request fits, how many more do, and seconds until the next minute."""

    allowed: bool
    left: int
    seconds: int


class RateLimiter:
    """Counts the requests of each key."""

    def __init__(self, settings: Settings) -> None:
        self._most = settings.max_requests_per_minute
        self._item = RateLimitItemPerMinute(self._most)
        self._limiter = FixedWindowRateLimiter(_storage(settings.redis_url))
        self._resting_until = float("-inf")
        # Separate threads: a frozen Redis must not block the threads that answer requests.
        self._threads = ThreadPoolExecutor(THREADS, "pace")

    async def check(self, caller: Caller) -> Headers:
        """Count a request.

        Returns
        -------
        tuple of (str, str)
            Headers that say what is left; empty where nothing is counted.

        Raises
        ------
        TooManyRequests
            The key has reached its limit.
        """
        if caller.key is None or time.monotonic() < self._resting_until:
            return ()
        window = await asyncio.get_running_loop().run_in_executor(self._threads, self._hit, caller.key)
        if window is None:
            return ()
        headers = self._headers(window)
        if not window.allowed:
            raise self._refusal(window.seconds, headers)
        return headers

    def _hit(self, key: str) -> _Window | None:
        """What the key has left after this request; None if Redis does not answer."""
        if time.monotonic() < self._resting_until:
            return None
        try:
            allowed = self._limiter.hit(self._item, key)
            reset, left = self._limiter.get_window_stats(self._item, key)
        except redis.RedisError as error:
            self._resting_until = time.monotonic() + REDIS_RETRY_SECONDS
            log.warning("requests are not counted", error=repr(error))
            return None
        return _Window(allowed, left if allowed else 0, math.ceil(max(1.0, reset - time.time())))

    def _headers(self, window: _Window) -> Headers:
        """By draft-ietf-httpapi-ratelimit-headers."""
        return (
            ("RateLimit-Policy", f'"requests";q={self._most};w=60'),
            ("RateLimit", f'"requests";r={window.left};t={window.seconds}'),
        )

    def _refusal(self, wait: int, headers: Headers) -> TooManyRequests:
        message = f"A key may send {self._most:,} requests per minute; send the request again in {wait} s."
        return TooManyRequests(
            message, [FieldError("", "too_many_requests", message)], (("Retry-After", str(wait)), *headers)
        )


def _storage(redis_url: str) -> RedisStorage:
    # Celery's name for a socket differs from redis-py's.
    url = redis_url.replace("redis+socket://", "unix://", 1)
    pool = redis.ConnectionPool.from_url(
        url,
        socket_timeout=REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
        max_connections=2 * THREADS,
    )
    return RedisStorage("redis://", connection_pool=pool, key_prefix="tastetest.pace")
