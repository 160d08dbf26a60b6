from __future__ import annotations

import httpx
import pytest

from service.core.settings import Settings
from tests.api.conftest import answering

PUBLIC = "https://1.1.1.1/hook"


def test_a_webhook_is_made_listed_rotated_and_deleted(api: httpx.Client) -> None:
    made = api.post("/webhooks", json={"url": PUBLIC})
    assert made.status_code == 201
    webhook = made.json()
    assert webhook["secret"].startswith("whsec_")
    shown = {key: webhook[key] for key in ("id", "url", "created_at")}
    assert api.get(made.headers["Location"]).json() == shown
    assert shown in api.get("/webhooks").json()["items"]
    rotated = api.post(f"/webhooks/{webhook['id']}/rotate").json()
    assert rotated == shown | {"secret": rotated["secret"]}
    assert rotated["secret"] != webhook["secret"]
    assert api.get(f"/webhooks/{webhook['id']}/deliveries").json() == {"items": []}
    assert api.delete(f"/webhooks/{webhook['id']}").status_code == 204
    assert api.get(f"/webhooks/{webhook['id']}").status_code == 404


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/", "http://169.254.169.254/", "http://[::1]/"])
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
