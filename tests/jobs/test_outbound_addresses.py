"""Where webhooks may point: the addresses of docs/security.md, in every form they can be written in."""

from __future__ import annotations

import http.server
import socket
import threading
from typing import Any

import pytest

from service.jobs.outbound_addresses import RefusedAddress, is_metadata, is_public, resolve
from service.jobs.webhook_client import Outbound
from tests.listening import listening

PRIVATE = [
    "http://127.0.0.1/", "http://localhost/", "http://10.1.2.3/", "http://192.168.0.1/", "http://172.16.0.9/",
    "http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://[::ffff:10.0.0.1]/", "http://0.0.0.0/",
    "http://[fd00::1]/", "http://[fe80::1]/", "http://2130706433/", "http://224.0.0.1/",
    "http://192.88.99.1/", "http://[64:ff9b::127.0.0.1]/", "http://[fec0::1]/", "http://100.64.0.1/",
]  # fmt: skip


@pytest.mark.parametrize("url", PRIVATE)
def test_private_addresses_are_refused(url: str) -> None:
    careful = Outbound()
    with pytest.raises(RefusedAddress, match="private network"):
        careful.check(url)
    # And again when it is used: names can move.
    assert "private network" in str(careful.post(url, {}, b""))


@pytest.mark.parametrize("inner", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "0.0.0.0"])
@pytest.mark.parametrize(
    "form", ["::{}", "::ffff:{}", "::ffff:0:{}", "64:ff9b::{}", "64:ff9b:1::{}", "64:ff9b:1:abcd::{}"]
)
def test_a_private_address_inside_another_is_found(form: str, inner: str) -> None:
    assert not is_public(form.format(inner))


def test_a_private_address_inside_6to4_is_found() -> None:
    assert not is_public("2002:7f00:1::1")
    assert not is_public("2002:a9fe:a9fe::")


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "::ffff:169.254.169.254", "168.63.129.16", "100.100.100.200", "fd00:ec2::254"],
)
def test_metadata_services_are_refused_even_where_private_addresses_are_allowed(address: str) -> None:
    assert is_metadata(address)
    assert not is_public(address)
    with pytest.raises(RefusedAddress, match="metadata"):
        resolve(address, 80, allow_private=True, seconds=5)


def test_only_the_configured_ports_are_sent_to() -> None:
    for port in (22, 25, 6379, 8080):
        with pytest.raises(RefusedAddress, match="443"):
            Outbound().check(f"https://1.1.1.1:{port}/")
    Outbound().check("https://1.1.1.1:8443/")
    Outbound(ports=(8080,)).check("https://1.1.1.1:8080/")
    Outbound(ports=()).check("https://1.1.1.1:1/")


def test_a_name_that_is_not_found_in_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def slow(*_: Any, **__: Any) -> list[Any]:
        over.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with pytest.raises(RefusedAddress, match="not found within"):
        resolve("slow.example", 443, allow_private=False, seconds=0.05)
    over.set()


def test_messages_go_through_the_proxy() -> None:
    asked: list[str] = []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Proxy)
    with listening(server):
        outbound = Outbound(proxy=f"http://127.0.0.1:{server.server_port}")
        assert outbound.post("http://1.1.1.1/hook", {"content-length": "2"}, b"{}") is None
        # Known to the proxy alone.
        assert outbound.post("http://receiver.invalid/hook", {"content-length": "2"}, b"{}") is None
        assert "private network" in str(outbound.post("http://10.0.0.1/hook", {}, b"{}"))
    assert asked == ["http://1.1.1.1/hook", "http://receiver.invalid/hook"]
