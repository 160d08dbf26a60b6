"""Requests to addresses that callers gave: never into our own network, never for long."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import httpcore

SECONDS = 5.0
PORTS = {"http": 80, "https": 443}


class RefusedAddress(Exception):
    """The address is none we send to; the text says why."""


class Outbound:
    """Posts to the world; to private addresses only when allowed."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_keepalive_connections=0,
            network_backend=_Guarded(allow_private),
        )

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> str | None:
        """Send; what went wrong, or None. Redirects are not followed: they could lead anywhere."""
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), SECONDS)
        try:
            # The body of the answer is not read, however long it is.
            with self._pool.stream(
                "POST", url, headers=list(headers.items()), content=body, extensions={"timeout": timeouts}
            ) as answer:
                status = answer.status
        except RefusedAddress as refusal:
            return str(refusal)
        except (
            httpcore.NetworkError,
            httpcore.TimeoutException,
            httpcore.ProtocolError,
            OSError,
            ValueError,
        ) as error:
            return f"{type(error).__name__}: {error}"[:500]
        return None if 200 <= status < 300 else f"answered {status}"

    def check(self, url: str) -> None:
        """Refuse an address before it is ever used.

        Raises
        ------
        RefusedAddress
            Not http or https, no host, unknown, or private.
        """
        if not url.isascii():
            raise RefusedAddress(
                "Write hosts in other alphabets in their xn-- form, and the rest with % escapes."
            )
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise RefusedAddress("This is no web address.") from error
        if parts.scheme not in PORTS or not parts.hostname:
            raise RefusedAddress("Only http:// and https:// addresses can be told.")
        if parts.username or parts.password:
            raise RefusedAddress("The address must not hold a user or password; check the signature instead.")
        _resolve(parts.hostname, port or PORTS[parts.scheme], self._allow_private)


class _Guarded(httpcore.SyncBackend):
    """Looks the host up itself and connects to the very address it has judged."""

    def __init__(self, allow_private: bool) -> None:
        super().__init__()
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        address = _resolve(host, port, self._allow_private)
        return super().connect_tcp(address, port, timeout, local_address, socket_options)


def _resolve(host: str, port: int, allow_private: bool) -> str:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise RefusedAddress(f"The host {host!r} cannot be found.") from error
    addresses = [str(entry[4][0]) for entry in found]
    if not allow_private and not all(_public(address) for address in addresses):
        raise RefusedAddress(f"The host {host!r} is in a private network; this service does not send there.")
    return addresses[0]


def _public(address: str) -> bool:
    judged = ipaddress.ip_address(address.split("%")[0])
    mapped = getattr(judged, "ipv4_mapped", None)
    return (mapped or judged).is_global and not judged.is_multicast
