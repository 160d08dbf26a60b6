from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text
from standardwebhooks import Webhook, WebhookVerificationError
from uuid6 import uuid7

from service.core.errors import Conflict, NotFound
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.outbound_addresses import RefusedAddress
from service.jobs.submit import submit
from service.jobs.webhook_client import Outbound
from service.jobs.webhook_delivery import PER_WORKSPACE, WAITS, Deliverer, new_secret, register
from service.store import jobs, matrices, webhooks
from service.store.records import WebhookRecord
from tests.listening import listening

HERE = Outbound(allow_private=True, ports=())
PAUSE_AFTER = 30


class Receiver:
    """A real HTTP server that keeps what it was sent and answers as told."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers = [200]
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
                answer = receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
                self.send_response(answer)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Quiet."""

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    with listening(made.server):
        yield made


@pytest.fixture(autouse=True)
def empty(db: Engine) -> None:
    with db.begin() as conn:
        conn.execute(text("TRUNCATE webhooks, jobs CASCADE"))


def subscribe(db: Engine, url: str, secret: str | None = None) -> tuple[WebhookRecord, str]:
    made = secret or new_secret()
    with db.begin() as conn:
        return webhooks.add(conn, url=url, secret=made), made


def end_a_job(conn: Connection) -> str:
    matrix = matrices.create(conn, Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]])), name="m")
    job, _ = submit(conn, kind="errand", settings={}, matrix=matrix, parts=[{}])
    lifecycle.cancel(conn, job.id)
    return job.id


def due_again(db: Engine) -> None:
    """Let every rest of a message and of an address be over."""
    with db.begin() as conn:
        conn.execute(text("UPDATE deliveries SET available_at = now() WHERE delivered_at IS NULL"))
        conn.execute(text("UPDATE webhooks SET resting_until = NULL"))


def deliver_due(db: Engine, outbound: Outbound, *, pause_after: int = PAUSE_AFTER) -> int:
    under_way = Deliverer(db, outbound, pause_after=pause_after).start_due()
    for sent in under_way:
        sent.result()
    return len(under_way)


def test_the_end_of_a_job_is_told_signed(db: Engine, receiver: Receiver) -> None:
    webhook, secret = subscribe(db, receiver.url)
    with db.begin() as conn:
        job_id = end_a_job(conn)
    assert deliver_due(db, HERE) == 1
    headers, body = receiver.got[0]
    said: dict[str, Any] = Webhook(secret).verify(body, headers)
    assert said["type"] == "job.cancelled"
    with db.connect() as conn:
        job = jobs.get(conn, job_id)
        assert job.finished_at is not None
        assert said["timestamp"] == job.finished_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        assert said["data"] == {
            "id": job.id, "kind": "errand", "status": "cancelled", "matrix_id": job.matrix_id,
            "revision": 1, "error": None, "result": None,
        }  # fmt: skip
        told = webhooks.recent_deliveries(conn, webhook.id, 9)
    assert [(d.job_id, d.attempt, d.last_failure) for d in told] == [(job_id, 1, None)]
    assert told[0].delivered_at is not None
    assert deliver_due(db, HERE) == 0
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, headers)


def test_what_is_rolled_back_is_not_told(db: Engine, receiver: Receiver) -> None:
    subscribe(db, receiver.url)
    with db.connect() as conn:
        end_a_job(conn)
        conn.rollback()
    assert deliver_due(db, HERE) == 0


def test_failures_are_sent_again_with_the_same_id(db: Engine, receiver: Receiver) -> None:
    webhook, _ = subscribe(db, receiver.url)
    receiver.answers = [500, 302, 204]
    with db.begin() as conn:
        end_a_job(conn)
    for expected in ("answered 500", "answered 302", None):
        assert deliver_due(db, HERE) == 1
        assert deliver_due(db, HERE) == 0, "it rests"
        with db.connect() as conn:
            assert webhooks.recent_deliveries(conn, webhook.id, 9)[0].last_failure == expected
        due_again(db)
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert len(receiver.got) == 3


def test_rests_grow_and_in_the_end_it_is_given_up(db: Engine) -> None:
    webhook, _ = subscribe(db, "http://127.0.0.1:9/nobody")
    with db.begin() as conn:
        end_a_job(conn)
    rests = []
    for _ in range(len(WAITS) + 1):
        due_again(db)
        assert deliver_due(db, HERE) == 1
        with db.connect() as conn:
            rests.append(conn.scalar(text("SELECT available_at - now() FROM deliveries")))
    assert [round(rest / wait) for rest, wait in zip(rests, WAITS, strict=False)] == [1] * len(WAITS)
    with db.connect() as conn:
        told = webhooks.recent_deliveries(conn, webhook.id, 9)[0]
    assert (told.attempt, told.delivered_at) == (len(WAITS) + 1, None)
    assert told.given_up_at is not None
    assert "Connect" in str(told.last_failure)
    due_again(db)
    assert deliver_due(db, HERE) == 0


def test_while_a_secret_is_replaced_both_verify(db: Engine, receiver: Receiver) -> None:
    webhook, old = subscribe(db, receiver.url)
    new = new_secret()
    with db.begin() as conn:
        webhooks.rotate(conn, webhook.id, secret=new, overlap=timedelta(hours=1))
        end_a_job(conn)
    deliver_due(db, HERE)
    headers, body = receiver.got[0]
    assert Webhook(old).verify(body, headers) == Webhook(new).verify(body, headers)
    with db.begin() as conn:
        conn.execute(text("UPDATE webhooks SET previous_until = now() - interval '1 second'"))
        end_a_job(conn)
    deliver_due(db, HERE)
    headers, body = receiver.got[1]
    assert json.loads(body) == Webhook(new).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(body, headers)


def test_each_address_is_told_for_itself(db: Engine, receiver: Receiver) -> None:
    subscribe(db, receiver.url)
    gone, _ = subscribe(db, "http://127.0.0.1:9/nobody")
    with db.begin() as conn:
        end_a_job(conn)
    assert deliver_due(db, HERE) == 2
    assert len(receiver.got) == 1
    with db.begin() as conn:
        webhooks.delete(conn, gone.id)
        assert len(webhooks.page(conn, None, 9).items) == 1
        with pytest.raises(NotFound):
            webhooks.recent_deliveries(conn, gone.id, 9)
    due_again(db)
    assert deliver_due(db, HERE) == 0


@pytest.mark.parametrize(
    "url", ["ftp://example.org/", "file:///etc/passwd", "http://", "//x", "http://u:p@example.org/"]
)
def test_only_plain_web_addresses_are_taken(url: str) -> None:
    with pytest.raises(RefusedAddress):
        HERE.check(url)


@contextmanager
def silent() -> Iterator[str]:
    """A server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


def test_a_receiver_that_never_answers_is_left_after_a_while() -> None:
    impatient = Outbound(allow_private=True, ports=(), seconds=0.2)
    with silent() as url:
        assert "Timeout" in str(impatient.post(url, {}, b"{}"))


@contextmanager
def dripping(pause: float = 0.05) -> Iterator[tuple[str, threading.Event]]:
    """A server that sends one byte of its headers after another; the event tells when it was hung up on."""
    hung_up = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            with contextlib.suppress(OSError):
                conn, _ = listener.accept()
                with conn:
                    conn.recv(65536)
                    conn.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                    try:
                        for _ in range(200):
                            conn.sendall(b"x")
                            threading.Event().wait(pause)
                    except OSError:
                        hung_up.set()

        thread = threading.Thread(target=drip)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/", hung_up
        thread.join()


def test_a_receiver_that_drips_bytes_is_left_at_the_deadline() -> None:
    impatient = Outbound(allow_private=True, ports=(), seconds=0.5)
    with dripping() as (url, hung_up):
        began = time.monotonic()
        assert "Timeout" in str(impatient.post(url, {}, b"{}"))
        assert time.monotonic() - began < 1.5
        assert hung_up.wait(5), "the socket is closed"


def test_a_slow_receiver_delays_nobody_else(db: Engine, receiver: Receiver) -> None:
    """The process as `tastetest webhooks` runs it, with a receiver that never answers beside a good one."""
    with silent() as slow:
        subscribe(db, slow)
        subscribe(db, receiver.url)
        with db.begin() as conn:
            for _ in range(3):
                end_a_job(conn)
        deliverer = Deliverer(db, HERE, pause_after=PAUSE_AFTER)
        thread = threading.Thread(target=deliverer.run)
        thread.start()
        began = time.monotonic()
        while len(receiver.got) < 3 and time.monotonic() - began < 8:
            threading.Event().wait(0.02)
        seconds = time.monotonic() - began
        deliverer.stop()
        with db.begin() as conn:
            busy = "SELECT count(*) FROM webhooks WHERE sending_until > now()"
            assert conn.scalar(text(busy)) == 1
    # The slow one's socket was closed with its listener.
    thread.join()
    assert len(receiver.got) == 3
    assert seconds < 5


def test_one_message_is_under_way_to_an_address_and_few_to_a_workspace(db: Engine) -> None:
    with db.begin() as conn:
        for n in range(PER_WORKSPACE + 2):
            webhooks.add(conn, url=f"http://127.0.0.1:9/{n}", secret=new_secret())
        end_a_job(conn)
        end_a_job(conn)
    terms: dict[str, Any] = {"limit": 100, "per_workspace": PER_WORKSPACE, "lease": timedelta(seconds=60)}
    with db.begin() as conn:
        taken = webhooks.take_due(conn, WAITS, **terms)
        assert len({one.webhook_id for one in taken}) == len(taken) == PER_WORKSPACE
        assert webhooks.take_due(conn, WAITS, **terms) == []
    with db.begin() as conn:
        rest = webhooks.Rest(timedelta(0), timedelta(0))
        webhooks.settle(conn, taken[0], None, last=False, pause_after=9, rest=rest)
        assert len(webhooks.take_due(conn, WAITS, **terms)) == 1


def test_an_address_that_keeps_failing_is_paused_until_it_is_resumed(db: Engine, receiver: Receiver) -> None:
    webhook, _ = subscribe(db, receiver.url)
    receiver.answers = [500]
    with db.begin() as conn:
        end_a_job(conn)
    for failures in (1, 2, 3):
        assert deliver_due(db, HERE, pause_after=3) == 1
        with db.connect() as conn:
            assert webhooks.get(conn, webhook.id).failures == failures
        with db.begin() as conn:
            conn.execute(text("UPDATE webhooks SET resting_until = NULL"))
            conn.execute(text("UPDATE deliveries SET available_at = now() WHERE isfinite(available_at)"))
    with db.begin() as conn:
        assert webhooks.get(conn, webhook.id).paused_at is not None
        end_a_job(conn)
    assert deliver_due(db, HERE) == 0
    receiver.answers = [200]
    with db.begin() as conn:
        resumed = webhooks.resume(conn, webhook.id)
    assert (resumed.failures, resumed.paused_at) == (0, None)
    assert [deliver_due(db, HERE) for _ in range(3)] == [1, 1, 0]
    assert len(receiver.got) == 5


def test_an_address_rests_after_a_failure(db: Engine, receiver: Receiver) -> None:
    subscribe(db, receiver.url)
    receiver.answers = [500, 200]
    with db.begin() as conn:
        end_a_job(conn)
        end_a_job(conn)
    assert [deliver_due(db, HERE) for _ in range(2)] == [1, 0], "the second message waits for the rest too"
    due_again(db)
    assert [deliver_due(db, HERE) for _ in range(3)] == [1, 1, 0]


def test_a_message_can_be_sent_once_more(db: Engine, receiver: Receiver) -> None:
    webhook, _ = subscribe(db, receiver.url)
    with db.begin() as conn:
        end_a_job(conn)
    deliver_due(db, HERE)
    with db.begin() as conn:
        sent = webhooks.recent_deliveries(conn, webhook.id, 9)[0]
        webhooks.redeliver(conn, webhook.id, sent.id)
        with pytest.raises(NotFound):
            webhooks.redeliver(conn, webhook.id, str(uuid7()))
    assert deliver_due(db, HERE) == 1
    assert {headers["webhook-id"] for headers, _ in receiver.got} == {sent.id}
    assert len(receiver.got) == 2


def test_a_workspace_has_so_many_webhooks_each_with_its_own_address(db: Engine) -> None:
    def add(url: str) -> None:
        register(db, url=url, secret=new_secret(), most=3)

    add("https://1.1.1.1/a")
    with pytest.raises(Conflict, match="with this address"):
        add("https://1.1.1.1/a")
    with ThreadPoolExecutor(8) as pool:
        made = [pool.submit(add, f"https://1.1.1.1/{n}") for n in range(8)]
    refused = [str(one.exception()) for one in made if one.exception() is not None]
    assert len(refused) == 6
    assert all("at most 3" in reason for reason in refused)
