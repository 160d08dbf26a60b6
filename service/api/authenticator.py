"""Who asks, and what they may: keys, scopes, and the pages of other sites."""

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

MOST_KEPT = 10_000
CHALLENGES = tuple(("WWW-Authenticate", f'{kind} realm="Tastetest"') for kind in ("Basic", "Bearer"))
HOW_TO_SEND_A_KEY = (
    "Send `Authorization: Bearer tt_…`, or give the key as password to a browser that asks for one;"
    " whoever runs the service makes keys with `tastetest keys create`."
)
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request this is; `key` is the key's id, None where none is needed."""

    workspace: str
    scopes: frozenset[str]
    key: str | None = None


# Whoever reaches a service without keys is on its machine, and may do everything.
OWNER = Caller(workspace_scope.DEFAULT, frozenset(SCOPES))
NOBODY = Caller(workspace_scope.NOBODY, frozenset())


class Authenticator:
    """Admits callers; looks each key up at most once in `key_cache_seconds`."""

    def __init__(self, settings: Settings) -> None:
        self._keep = settings.key_cache_seconds
        self._hosts = frozenset(name.strip().lower() for name in settings.hosts.split(",") if name.strip())
        self._required = settings.auth == "required"
        self._looked = float("-inf")
        self._kept: OrderedDict[str, tuple[float, KeyRecord]] = OrderedDict()
        self._failed = FailedKeys(
            keep_seconds=settings.key_cache_seconds, most_per_minute=settings.max_failed_keys_per_minute
        )

    async def authenticate(self, checks: CheckPool, method: str, headers: Headers, address: str) -> Caller:
        """The caller, by the key sent; without one only on this machine, while there are no keys.

        Raises
        ------
        Unauthenticated
            No key, or none that is valid.
        TooManyRequests
            Too many invalid keys came from this address.
        Forbidden
            A page of another site asks in the name of a person.
        """
        if not await self._key_required(checks):
            self._refuse_unknown_hosts(headers)
            self._refuse_other_sites(method, headers)
            return OWNER
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            # Browsers add it by themselves, whoever's page makes them ask.
            self._refuse_other_sites(method, headers)
            given = _password(given)
        elif kind.lower() != "bearer":
            raise Unauthenticated(
                f"This service asks for an API key. {HOW_TO_SEND_A_KEY}", headers=CHALLENGES
            )
        record = await self._find_key(checks, api_keys.parse(given.strip()), address)
        return Caller(record.workspace, frozenset(record.scopes), record.id)

    async def _key_required(self, checks: CheckPool) -> bool:
        if not self._required and time.monotonic() - self._looked >= self._keep:
            # Who asks meanwhile looks too: nobody is let in by what is not known yet.
            self._required = await checks.run(any_key, checks.engine)
            self._looked = time.monotonic()
        return self._required

    async def _find_key(self, checks: CheckPool, key: api_keys.Key, address: str) -> KeyRecord:
        """The valid key; all that are not take the same time and get the same answer."""
        at, kept = self._kept.get(key.id, (float("-inf"), None))
        if kept is not None and time.monotonic() - at < self._keep and _fits(key, kept):
            return kept
        # A key that was valid lately is looked up, whoever else sends wrong ones from its address.
        if kept is None or not _fits(key, kept):
            self._failed.check(address)
        record = None if self._failed.is_known(key) else await checks.run(_look_up, checks.engine, key)
        if record is None:
            self._failed.add(key, address)
            raise Unauthenticated(f"This API key is not valid. {HOW_TO_SEND_A_KEY}", headers=CHALLENGES)
        self._kept[key.id] = time.monotonic(), record
        self._kept.move_to_end(key.id)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return record

    def _refuse_unknown_hosts(self, headers: Headers) -> None:
        """A page can point its own name at this machine and read what is open to it."""
        host = _host(headers.get("host", ""))
        if host and not _is_local(host) and host not in self._hosts:
            message = (
                f"Without API keys this service answers to local names only, not to {host[:100]!r};"
                " make a key, or name it in TASTETEST_HOSTS."
            )
            raise Forbidden(message, [FieldError("header/host", "unknown_host", message)])

    def _refuse_other_sites(self, method: str, headers: Headers) -> None:
        if method in SAFE:
            return
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        from_here = origin is None or self._own(origin, headers.get("host", ""))
        if site not in (None, "none", "same-origin") or not from_here:
            message = "A page of another site may not do this in your name; send the key as a Bearer token."
            raise Forbidden(message, [FieldError("header/origin", "cross_site", message)])

    def _own(self, origin: str, host: str) -> bool:
        asked = origin.partition("://")[2].lower()
        return bool(asked) and (asked == host.lower() or _host(asked) in self._hosts)


def check(caller: Caller, needed: Scope) -> None:
    """Refuse a caller whose key lacks the scope.

    Raises
    ------
    Forbidden
        It does.
    """
    if needed not in caller.scopes:
        held = ", ".join(sorted(caller.scopes))
        message = f"This needs a key with the scope {needed!r}; the one sent has: {held}."
        raise Forbidden(message, [FieldError("header/authorization", "missing_scope", message)])


def any_key(engine: Engine) -> bool:
    """Whether a key was ever made, so that all must have one."""
    with engine.connect() as conn:
        return stored.any_key(conn)


def _look_up(engine: Engine, key: api_keys.Key) -> KeyRecord | None:
    with engine.begin() as conn:
        record = stored.find(conn, key.id)
        if not _fits(key, record):
            return None
        stored.used(conn, key.id)
        return record


def _fits(key: api_keys.Key, record: KeyRecord | None) -> bool:
    """Compared in constant time, and first, so that no answer comes sooner than another."""
    same = hmac.compare_digest(key.sha256, api_keys.NONE.sha256 if record is None else record.secret_sha256)
    return same and record is not None and record.valid


def _password(given: str) -> str:
    try:
        return base64.b64decode(given.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _host(netloc: str) -> str:
    name = netloc.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


@lru_cache(maxsize=256)
def _is_local(host: str) -> bool:
    """Whether no site of the internet can have this name: this machine's, or a single word."""
    return is_loopback(host) or not {".", ":"} & set(host)


def is_loopback(host: str) -> bool:
    """Whether only this machine is reached by this name."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
