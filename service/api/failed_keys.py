"""Keys refused lately, and addresses that send many of them: refused without asking the database."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict

from service.core.api_keys import Key
from service.core.errors import FieldError, TooManyRequests

MOST_KEPT = 10_000
MINUTE = 60.0


class FailedKeys:
    """What one server remembers of failed keys.

    An address may fail so often in a minute; the sender of a valid key from there is known by the
    authenticator and not refused here.
    """

    def __init__(self, *, keep_seconds: float, most_per_minute: int) -> None:
        self._keep = keep_seconds
        self._most = most_per_minute
        self._keys: OrderedDict[bytes, float] = OrderedDict()
        self._addresses: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def is_known(self, key: Key) -> bool:
        """Whether this very key was refused a moment ago."""
        return time.monotonic() - self._keys.get(key.sha256, float("-inf")) < self._keep

    def check(self, address: str) -> None:
        """Refuse an address that has failed too often.

        Raises
        ------
        TooManyRequests
            It has.
        """
        since, count = self._addresses.get(_network(address), (0.0, 0))
        left = since + MINUTE - time.monotonic()
        if count >= self._most and left > 0:
            message = f"Too many invalid API keys came from this address; try again in {left:.0f} s."
            headers = [("Retry-After", str(max(1, round(left))))]
            raise TooManyRequests(message, [FieldError("", "too_many_failed_keys", message)], headers)

    def add(self, key: Key, address: str) -> None:
        """A key was refused."""
        now = time.monotonic()
        self._keys[key.sha256] = now
        since, count = self._addresses.get(network := _network(address), (now, 0))
        if now - since >= MINUTE:
            since, count = now, 0
        self._addresses[network] = since, count + 1
        for kept in (self._keys, self._addresses):
            while len(kept) > MOST_KEPT:
                kept.popitem(last=False)


def _network(address: str) -> str:
    """The address; of IPv6 the network that one customer has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))
