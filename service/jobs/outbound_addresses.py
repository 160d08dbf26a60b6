"""Which addresses this service sends webhooks to: public ones only, whatever form they are written in."""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class RefusedAddress(Exception):
    """The address is not one this service sends to; the text says why."""


# IPv6 networks that carry an IPv4 address, and by how many bits it lies left of the end.
_EMBEDDED = tuple(
    (IPv6Network(network), shift)
    for network, shift in (
        ("::/96", 0),  # IPv4-compatible
        ("::ffff:0:0/96", 0),  # IPv4-mapped
        ("::ffff:0:0:0/96", 0),  # IPv4-translated
        ("64:ff9b::/96", 0),  # NAT64
        ("64:ff9b:1::/48", 0),  # NAT64 for local use
        ("2002::/16", 80),  # 6to4
    )
)
# What `is_global` takes for public although nothing public is there.
_CLOSED: tuple[Network, ...] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "fec0::/10",  # site-local
        "192.88.99.0/24",  # 6to4 relays
        "64:ff9b:1::/48",  # NAT64 for local use
        "2001::/32",  # Teredo
    )
)
# Where clouds hand out credentials to any request from inside: never a receiver of webhooks.
_METADATA: tuple[Network, ...] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.169.254/32",
        "169.254.170.0/24",  # AWS's container credentials
        "168.63.129.16/32",  # Azure's host
        "100.100.100.200/32",  # Alibaba
        "192.0.0.192/32",  # Oracle
        "fd00:ec2::/32",  # AWS over IPv6
        "fd20:ce::254/128",  # Google over IPv6
    )
)


def resolve(host: str, port: int, *, allow_private: bool, seconds: float) -> str:
    """The address to connect to, once every address of the host has been checked.

    Raises
    ------
    RefusedAddress
        The host is unknown, is not found in time, or has an address that is not public.
    """
    addresses = _look_up(host, port, seconds)
    if not allow_private and not all(is_public(address) for address in addresses):
        raise RefusedAddress(f"The host {host!r} is in a private network; this service does not send there.")
    if any(is_metadata(address) for address in addresses):
        raise RefusedAddress(
            f"The host {host!r} is a cloud's metadata service; this service does not send there."
        )
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address, and the IPv4 address inside it if there is one, belongs to the public network."""
    return all(_open(part) for part in _parts(address)) and not is_metadata(address)


def is_metadata(address: str) -> bool:
    """Whether a cloud's metadata service answers at an address, or at the IPv4 address inside it."""
    return any(_within(part, _METADATA) for part in _parts(address))


def _parts(address: str) -> list[Address]:
    given = ipaddress.ip_address(address.split("%")[0])
    return [given, *_inside(given)]


def _within(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _inside(address: Address) -> Iterator[IPv4Address]:
    if isinstance(address, IPv6Address):
        for network, shift in _EMBEDDED:
            if address in network:
                yield IPv4Address((int(address) >> shift) & 0xFFFFFFFF)


def _open(address: Address) -> bool:
    # `is_global` knows the mapped form as private whatever it holds; what it holds is checked for itself.
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return True
    return address.is_global and not address.is_multicast and not _within(address, _CLOSED)


def _look_up(host: str, port: int, seconds: float) -> list[str]:
    """All addresses of a host. The system's resolver knows no deadline, so it runs in a thread of its own."""
    answer: queue.SimpleQueue[list[str] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.put([str(entry[4][0]) for entry in found])
        except (OSError, UnicodeError) as error:
            answer.put(error)

    threading.Thread(target=ask, name="resolve", daemon=True).start()
    try:
        found = answer.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        raise RefusedAddress(f"The host {host!r} was not found within {seconds:.0f} s.") from None
    if isinstance(found, Exception):
        raise RefusedAddress(f"The host {host!r} cannot be found.") from found
    return found
