"""Requests to addresses that callers gave: never into our own network, never for long."""

from __future__ import annotations

import ssl
import time
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import urlsplit

import httpcore

from service.core.settings import Settings
from service.jobs.outbound_addresses import RefusedAddress, resolve

SECONDS = 10.0
"""For one message in all: looking the host up, connecting, sending, and the status of the answer."""

PORTS = {"http": 80, "https": 443}
_ERRORS = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError, ValueError)


class Outbound:
    """Posts to public addresses; to private ones and other ports only when configured."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        ports: Collection[int] = (80, 443, 8443),
        proxy: str = "",
        seconds: float | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._ports = frozenset(ports)
        self._proxy = proxy
        self._seconds = SECONDS if seconds is None else seconds
        self._tls = ssl.create_default_context()

    @classmethod
    def of(cls, settings: Settings) -> Outbound:
        """As this service is configured."""
        ports = [int(port) for port in settings.webhook_ports.split(",") if port.strip()]
        return cls(
            allow_private=settings.webhook_private_addresses, ports=ports, proxy=settings.webhook_proxy
        )

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> str | None:
        """Send; what went wrong, or None. Redirects are not followed: they could lead anywhere."""
        deadline = time.monotonic() + self._seconds
        try:
            host, port = self._parse(url)
            if self._proxy:
                self._check_host(host, port)
            with (
                self._pool(deadline) as pool,
                # The body of the answer is not read, however long it is.
                pool.stream("POST", url, headers=list(headers.items()), content=body) as answer,
            ):
                status = answer.status
        except RefusedAddress as refusal:
            return str(refusal)
        except _ERRORS as error:
            return f"{type(error).__name__}: {error}"[:500]
        return None if 200 <= status < 300 else f"answered {status}"

    def check(self, url: str) -> None:
        """Refuse an address before it is ever used.

        Raises
        ------
        RefusedAddress
            Not http or https, no host, a port that is not allowed, unknown, or private.
        """
        self._check_host(*self._parse(url))

    def _parse(self, url: str) -> tuple[str, int]:
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
            raise RefusedAddress("Only http:// and https:// addresses can be used.")
        if parts.username or parts.password:
            raise RefusedAddress("The address must not hold a user or password; check the signature instead.")
        port = port or PORTS[parts.scheme]
        if self._ports and port not in self._ports:
            allowed = ", ".join(map(str, sorted(self._ports)))
            raise RefusedAddress(f"Port {port} is not one this service sends to; use one of {allowed}.")
        return parts.hostname, port

    def _check_host(self, host: str, port: int) -> None:
        try:
            resolve(host, port, allow_private=self._allow_private, seconds=self._seconds)
        except RefusedAddress:
            # Behind a proxy names may be known to the proxy alone; it decides then.
            if not self._proxy or _is_known(host, port, self._seconds):
                raise

    def _pool(self, deadline: float) -> httpcore.ConnectionPool:
        # Our own proxy may well be in a private network.
        backend = _Backend(deadline, allow_private=self._allow_private or bool(self._proxy))
        if self._proxy:
            return httpcore.HTTPProxy(self._proxy, ssl_context=self._tls, network_backend=backend)
        return httpcore.ConnectionPool(ssl_context=self._tls, network_backend=backend)


def _is_known(host: str, port: int, seconds: float) -> bool:
    try:
        resolve(host, port, allow_private=True, seconds=seconds)
    except RefusedAddress:
        return False
    return True


class _Backend(httpcore.SyncBackend):
    """Connects to the very address it has checked, and gives every step what is left of the deadline."""

    def __init__(self, deadline: float, *, allow_private: bool) -> None:
        super().__init__()
        self._deadline = deadline
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, httpcore.ConnectTimeout)
        address = resolve(host, port, allow_private=self._allow_private, seconds=left)
        left = _left(self._deadline, httpcore.ConnectTimeout)
        stream = super().connect_tcp(address, port, left, local_address, socket_options)
        return _Stream(stream, self._deadline)


class _Stream(httpcore.NetworkStream):
    """A timeout holds for one read only; a receiver that sends a byte at a time meets the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _left(deadline: float, timeout: type[httpcore.TimeoutException]) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise timeout("the receiver took longer than allowed")
    return left
