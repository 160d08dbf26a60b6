from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine, text
from uuid6 import uuid7

from service.core.settings import Settings
from tests.api.conftest import answering

PUBLIC = "https://1.1.1.1/hook"


def test_a_webhook_is_made_listed_rotated_and_deleted(api: httpx.Client) -> None:
    made = api.post("/webhooks", json={"url": PUBLIC})
    assert made.status_code == 201
    webhook = made.json()
    assert webhook["secret"].startswith("whsec_")
    shown = {key: webhook[key] for key in ("id", "url", "created_at", "state", "failures", "paused_at")}
    assert (shown["state"], shown["failures"], shown["paused_at"]) == ("active", 0, None)
    assert api.get(made.headers["Location"]).json() == shown
    assert shown in api.get("/webhooks").json()["items"]
    rotated = api.post(f"/webhooks/{webhook['id']}/rotate").json()
    assert rotated == shown | {"secret": rotated["secret"]}
    assert rotated["secret"] != webhook["secret"]
    assert api.get(f"/webhooks/{webhook['id']}/deliveries").json() == {"items": []}
    assert api.delete(f"/webhooks/{webhook['id']}").status_code == 204
    assert api.get(f"/webhooks/{webhook['id']}").status_code == 404


def test_no_address_twice_and_no_more_than_so_many(settings: Settings) -> None:
    with answering(settings.model_copy(update={"max_webhooks": 2})) as few:
        made = few.post("/webhooks", json={"url": "https://1.1.1.1/one"})
        assert made.status_code == 201
        twice = few.post("/webhooks", json={"url": "https://1.1.1.1/one"})
        assert (twice.status_code, twice.json()["errors"][0]["code"]) == (409, "duplicate")
        other = few.post("/webhooks", json={"url": "https://1.1.1.1/two"})
        full = few.post("/webhooks", json={"url": "https://1.1.1.1/three"})
        assert (full.status_code, full.json()["errors"][0]["code"]) == (409, "too_many_webhooks")
        for webhook in (made, other):
            few.delete(webhook.headers["Location"])


def test_a_paused_webhook_says_so_and_is_resumed(api: httpx.Client, db: Engine) -> None:
    path = api.post("/webhooks", json={"url": PUBLIC}).headers["Location"]
    delivery = str(uuid7())
    add = (
        "INSERT INTO deliveries (id, webhook_id, job_id, body, attempt, available_at, given_up_at,"
        " created_at) VALUES (:id, :webhook, :id, '{}', 8, 'infinity', now(), now())"
    )
    with db.begin() as conn:
        conn.execute(text("UPDATE webhooks SET failures = 30, paused_at = now()"))
        conn.execute(text(add), {"id": delivery, "webhook": path.removeprefix("/webhooks/")})
    assert (api.get(path).json()["state"], api.get(path).json()["failures"]) == ("paused", 30)
    again = f"{path}/deliveries/{delivery}/redeliver"
    assert api.post(again).status_code == 409
    resumed = api.post(f"{path}/resume").json()
    assert (resumed["state"], resumed["failures"], resumed["paused_at"]) == ("active", 0, None)
    sent = api.post(again)
    assert (sent.status_code, sent.json()["attempt"], sent.json()["given_up_at"]) == (202, 0, None)
    assert api.post(f"{path}/deliveries/{uuid7()}/redeliver").status_code == 404
    api.delete(path)


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://10.0.0.1/", "http://[::1]/"])
def test_private_addresses_are_refused_unless_allowed(
    api: httpx.Client, settings: Settings, url: str
) -> None:
    refused = api.post("/webhooks", json={"url": url})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/url"
    assert "private network" in refused.json()["detail"]
    with answering(settings.model_copy(update={"webhook_private_addresses": True})) as open_minded:
        assert open_minded.post("/webhooks", json={"url": url}).status_code == 201


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://1.1.1.1/",
        "1.1.1.1",
        "https://u:p@1.1.1.1/",
        "http://[bad/",
        "http://ä.de/",
        "http://x:99999/",
    ],
)
def test_what_is_no_web_address_is_refused(api: httpx.Client, url: str) -> None:
    assert api.post("/webhooks", json={"url": url}).json()["errors"][0]["pointer"] == "/url"
