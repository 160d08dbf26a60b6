"""Authenticates requests: API keys, scopes, and protection against pages of other sites."""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import Engine
from starlette.datastructures import Headers

from service.api.failed_keys import FailedKeys
from service.api.thread_pools import CheckPool
from service.core import api_keys
from service.core.api_keys import SCOPES, Scope
from service.core.errors import FieldError, Forbidden, Unauthenticated
from service.core.settings import Settings
from service.store import keys as stored
from service.store import workspace_scope
from service.store.keys import KeyRecord

MAX_CACHED_KEYS = 10_000
CHALLENGES = tuple(("WWW-Authenticate", f'{kind} realm="Tastetest"') for kind in ("Basic", "Bearer"))
HOW_TO_SEND_A_KEY = (
    "Send `Authorization: Bearer tt_…`, or enter the key as the password when a browser asks for one. The "
    "operator of the service creates keys with `tastetest keys create`."
)
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request; `key` is the key's id, None if no key is needed."""

    workspace: str
    scopes: frozenset[str]
    key: str | None = None


# Without keys only this machine reaches the service, and its users may do everything.
OWNER = Caller(workspace_scope.DEFAULT, frozenset(SCOPES))
ANONYMOUS = Caller(workspace_scope.ANONYMOUS, frozenset())


class Authenticator:
    """Authenticates callers; looks each key up at most once in `key_cache_seconds`."""

    def __init__(self, settings: Settings) -> None:
        self._cache_seconds = settings.key_cache_seconds
        self._hosts = frozenset(name.strip().lower() for name in settings.hosts.split(",") if name.strip())
        self._required = settings.auth == "required"
        self._checked_at = float("-inf")
        self._cache: OrderedDict[str, tuple[float, KeyRecord]] = OrderedDict()
        self._failed = FailedKeys(
            keep_seconds=settings.key_cache_seconds, most_per_minute=settings.max_failed_keys_per_minute
        )

    async def authenticate(self, checks: CheckPool, method: str, headers: Headers, address: str) -> Caller:
        """The caller, by its key; without a key only on this machine, and only while no key exists.

        Raises
        ------
        Unauthenticated
            The request has no key, or an invalid one.
        TooManyRequests
            Too many invalid keys came from this address.
        Forbidden
            The page of another site sent the request.
        """
        if not await self._key_required(checks):
            self._refuse_unknown_hosts(headers)
            self._refuse_other_sites(method, headers)
            return OWNER
        kind, _, credentials = headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            # Browsers add these credentials to every request, also to requests from pages of other sites.
            self._refuse_other_sites(method, headers)
            credentials = _password(credentials)
        elif kind.lower() != "bearer":
            raise Unauthenticated(
                f"This service requires an API key. {HOW_TO_SEND_A_KEY}", headers=CHALLENGES
            )
        record = await self._find_key(checks, api_keys.parse(credentials.strip()), address)
        return Caller(record.workspace, frozenset(record.scopes), record.id)

    async def _key_required(self, checks: CheckPool) -> bool:
        if not self._required and time.monotonic() - self._checked_at >= self._cache_seconds:
            # Concurrent requests look too: none is accepted on an outdated answer.
            self._required = await checks.run(any_key, checks.engine)
            self._checked_at = time.monotonic()
        return self._required

    async def _find_key(self, checks: CheckPool, key: api_keys.Key, address: str) -> KeyRecord:
        """The record of a valid key; all invalid keys take the same time and get the same answer."""
        at, cached = self._cache.get(key.id, (float("-inf"), None))
        if cached is not None and time.monotonic() - at < self._cache_seconds and _matches(key, cached):
            return cached
        # A key that was valid lately is looked up, even if others send wrong ones from its address.
        if cached is None or not _matches(key, cached):
            self._failed.check(address)
        record = None if self._failed.is_known(key) else await checks.run(_look_up, checks.engine, key)
        if record is None:
            self._failed.add(key, address)
            raise Unauthenticated(f"This API key is not valid. {HOW_TO_SEND_A_KEY}", headers=CHALLENGES)
        self._cache[key.id] = time.monotonic(), record
        self._cache.move_to_end(key.id)
        while len(self._cache) > MAX_CACHED_KEYS:
            self._cache.popitem(last=False)
        return record

    def _refuse_unknown_hosts(self, headers: Headers) -> None:
        """Prevent DNS rebinding: a site can point its own name at this machine."""
        host = _host(headers.get("host", ""))
        if host and not _is_local(host) and host not in self._hosts:
            message = (
                f"Without API keys this service accepts local host names only, not {host[:100]!r}; create a "
                "key, or add the name to TASTETEST_HOSTS."
            )
            raise Forbidden(message, [FieldError("header/host", "unknown_host", message)])

    def _refuse_other_sites(self, method: str, headers: Headers) -> None:
        if method in SAFE:
            return
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        same_origin = origin is None or self._is_own_origin(origin, headers.get("host", ""))
        if site not in (None, "none", "same-origin") or not same_origin:
            message = (
                "A page of another site may not send this request; send it from a program, with the key as "
                "a Bearer token."
            )
            raise Forbidden(message, [FieldError("header/origin", "cross_site", message)])

    def _is_own_origin(self, origin: str, host: str) -> bool:
        host_of_origin = origin.partition("://")[2].lower()
        return bool(host_of_origin) and (
            host_of_origin == host.lower() or _host(host_of_origin) in self._hosts
        )


def check(caller: Caller, needed: Scope) -> None:
    """Refuse a caller whose key lacks the scope.

    Raises
    ------
    Forbidden
        The key lacks the scope.
    """
    if needed not in caller.scopes:
        held = ", ".join(sorted(caller.scopes))
        message = f"This request needs a key with the scope {needed!r}; this key has: {held}."
        raise Forbidden(message, [FieldError("header/authorization", "missing_scope", message)])


def any_key(engine: Engine) -> bool:
    """Whether a key was ever created; then every request needs one."""
    with engine.connect() as conn:
        return stored.any_key(conn)


def _look_up(engine: Engine, key: api_keys.Key) -> KeyRecord | None:
    with engine.begin() as conn:
        record = stored.find(conn, key.id)
        if not _matches(key, record):
            return None
        stored.mark_used(conn, key.id)
        return record


def _matches(key: api_keys.Key, record: KeyRecord | None) -> bool:
    """Compare in constant time, before any other check, so that timing reveals nothing."""
    same = hmac.compare_digest(
        key.sha256, api_keys.INVALID_KEY.sha256 if record is None else record.secret_sha256
    )
    return same and record is not None and record.valid


def _password(credentials: str) -> str:
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _host(netloc: str) -> str:
    name = netloc.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


@lru_cache(maxsize=256)
def _is_local(host: str) -> bool:
    """Whether no public site can have this name: it is a loopback name or a single word."""
    return is_loopback(host) or not {".", ":"} & set(host)


def is_loopback(host: str) -> bool:
    """Whether the name stands for this machine only."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
