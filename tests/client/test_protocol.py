"""What a caller sees when the service is away, busy, too old, somebody else's, or refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import tastetest_client.errors as e
from tastetest_client import AsyncClient, Client

from tests.client.conftest import Misbehaving, reply

MATRIX = {
    "id": "m1", "name": "n", "revision": 1, "models": 2, "examples": 3, "subtasks": [], "binary": True,
    "missing_cells": 0, "constant_examples": 0, "has_confidences": False, "has_embeddings": False,
    "content_hash": "h", "created_at": "2026-01-01T00:00:00Z", "format": "csv", "reports": [], "warnings": [],
}  # fmt: skip
Start = Callable[..., Misbehaving]


def problem(detail: str, *errors: tuple[str, str, str]) -> dict[str, object]:
    places = [dict(zip(("pointer", "code", "message"), error, strict=True)) for error in errors]
    return {"type": "urn:x", "title": "t", "status": 0, "detail": detail, "errors": places}


@pytest.mark.parametrize(
    "first", [reply({}, 503, Retry_After="0"), reply({}, 429, Retry_After="0"), (0, {}, b"")]
)
def test_an_upload_is_repeated_under_one_key(
    answering: Start, first: tuple[int, dict[str, str], bytes]
) -> None:
    server = answering(first, reply(MATRIX, 201))
    with Client(server.address) as client:
        assert client.matrices.upload(b"model,q1\na,1\nb,0\n").id == "m1"
    (_, _, before, body), (_, _, after, again) = server.asked
    assert before["Idempotency-Key"] == after["Idempotency-Key"] != ""
    # The same file in full, whatever marks the parts.
    assert all(b"model,q1\na,1\nb,0\n" in sent for sent in (body, again))


def test_two_uploads_have_two_keys_and_a_caller_can_give_one(answering: Start) -> None:
    server = answering(reply(MATRIX, 201))
    with Client(server.address) as client:
        for key in (None, None, "mine"):
            client.matrices.upload(b"model,q1\na,1\n", idempotency_key=key)
    keys = [headers["Idempotency-Key"] for _, _, headers, _ in server.asked]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


def test_a_service_that_stays_busy_is_given_up_in_time(answering: Start) -> None:
    refusal = problem("Too many requests.")
    server = answering(reply(refusal, 429, Retry_After="3600"))
    with Client(server.address, retry_seconds=5) as client, pytest.raises(e.RateLimited) as raised:
        client.matrices.get("m1")
    assert len(server.asked) == 1
    assert raised.value.problem.detail == "Too many requests."


def test_a_service_that_is_away_is_one_sentence_without_the_password() -> None:
    client = Client("http://me:secret@127.0.0.1:9", retry_seconds=0)
    with pytest.raises(
        e.ServiceAway, match=r"No answer from http://127.0.0.1:9 to GET /matrices/m"
    ) as raised:
        client.matrices.get("m")
    assert "secret" not in str(raised.value)
    assert "TASTETEST_URL" in str(raised.value)


def test_a_refused_key_says_what_to_do(answering: Start) -> None:
    server = answering(reply(problem("This API key is not valid."), 401, X_Request_ID="r1"))
    with Client(server.address, api_key="tt_x\n") as client, pytest.raises(e.AuthenticationError) as raised:
        client.jobs.get("j")
    assert server.asked[0][2]["Authorization"] == "Bearer tt_x"
    assert "GET /jobs/j: This API key is not valid." in str(raised.value)
    assert "TASTETEST_API_KEY" in str(raised.value)
    assert raised.value.request_id == "r1"


def test_a_service_that_is_too_old_is_named_with_both_versions(answering: Start) -> None:
    server = answering(reply(MATRIX, Tastetest_Version="0.0.9"))
    with (
        Client(server.address) as client,
        pytest.raises(e.VersionMismatch, match=r"0\.0\.9.*needs 0\.1 or newer"),
    ):
        client.matrices.get("m1")


@pytest.mark.parametrize("answer", [reply([], 404), (200, {}, b"<html>Welcome</html>"), reply({"id": 1})])
def test_somebody_elses_server_is_named(answering: Start, answer: tuple[int, dict[str, str], bytes]) -> None:
    server = answering(answer)
    with Client(server.address) as client, pytest.raises(e.UnexpectedAnswer, match="not as Tastetest does"):
        client.matrices.get("m1")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, e.InvalidRequest), (403, e.PermissionDenied), (404, e.NotFound), (409, e.Conflict),
     (413, e.InvalidRequest), (422, e.InvalidRequest), (500, e.ServerError), (507, e.ServerError)],
)  # fmt: skip
def test_a_refusal_carries_its_problem(answering: Start, status: int, kind: type[e.ApiError]) -> None:
    document = problem(
        "/sizes/0: It is none.", ("/sizes/0", "c", "It is none."), ("row 7", "r", "1.5 is no score.")
    )
    server = answering(reply(document, status))
    with Client(server.address) as client, pytest.raises(kind) as raised:
        client.jobs.submit_mdad("m")
    assert raised.value.status == status
    assert [place.pointer for place in raised.value.problem.errors] == ["/sizes/0", "row 7"]
    assert str(raised.value) == "POST /mdad: /sizes/0: It is none.\n  row 7: 1.5 is no score."


@pytest.mark.parametrize("url", ["nonsense", "http://[::1"])
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(e.TastetestError, match=r"nonsense|::1"):
        Client(url, retry_seconds=0).matrices.get("m")


def test_a_key_that_cannot_be_one_is_not_shown() -> None:
    with pytest.raises(e.InvalidData) as raised:
        Client(api_key="tt_é")
    assert "é" not in str(raised.value)


def test_the_asynchronous_client_repeats_too(answering: Start) -> None:
    server = answering(reply({}, 502), reply(MATRIX, 201))

    async def upload() -> str:
        async with AsyncClient(server.address) as client:
            return (await client.matrices.upload(b"model,q1\na,1\n")).id

    assert asyncio.run(upload()) == "m1"
    assert len({headers["Idempotency-Key"] for _, _, headers, _ in server.asked}) == 1


def test_a_read_that_takes_too_long_ends(answering: Start) -> None:
    # A listening socket that accepts and says nothing.
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            Client(url, timeout=0.2, retry_seconds=0) as client,
            pytest.raises(e.ServiceAway, match="timed out"),
        ):
            client.matrices.get("m")
