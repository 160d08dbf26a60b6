from __future__ import annotations

import http.server
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text
from standardwebhooks import Webhook, WebhookVerificationError

from service.core.errors import NotFound
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.submit import submit
from service.jobs.webhook_client import Outbound, RefusedAddress
from service.jobs.webhook_delivery import WAITS, deliver_due, new_secret
from service.store import jobs, matrices, webhooks
from service.store.records import WebhookRecord
from tests.listening import listening

HERE = Outbound(allow_private=True)


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
    with db.begin() as conn:
        conn.execute(text("UPDATE deliveries SET available_at = now() WHERE delivered_at IS NULL"))


def test_the_end_of_a_job_is_told_signed(db: Engine, receiver: Receiver) -> None:
    webhook, secret = subscribe(db, receiver.url)
    with db.begin() as conn:
        job_id = end_a_job(conn)
        assert webhooks.any_due(conn)
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
        told = webhooks.told(conn, webhook.id, 9)
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
            assert webhooks.told(conn, webhook.id, 9)[0].last_failure == expected
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
        told = webhooks.told(conn, webhook.id, 9)[0]
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
            webhooks.told(conn, gone.id, 9)
    due_again(db)
    assert deliver_due(db, HERE) == 0


PRIVATE = [
    "http://127.0.0.1/", "http://localhost/", "http://10.1.2.3/", "http://192.168.0.1/", "http://172.16.0.9/",
    "http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://[::ffff:10.0.0.1]/", "http://0.0.0.0/",
    "http://[fd00::1]/", "http://[fe80::1]/", "http://2130706433/", "http://224.0.0.1/",
]  # fmt: skip


@pytest.mark.parametrize("url", PRIVATE)
def test_private_addresses_are_refused(db: Engine, url: str) -> None:
    careful = Outbound(allow_private=False)
    with pytest.raises(RefusedAddress, match="private network"):
        careful.check(url)
    # And again when it is used: names can move.
    assert "private network" in str(careful.post(url, {}, b""))


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


def test_a_receiver_that_never_answers_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.jobs.webhook_client.SECONDS", 0.2)
    with silent() as url:
        assert "Timeout" in str(HERE.post(url, {}, b"{}"))
