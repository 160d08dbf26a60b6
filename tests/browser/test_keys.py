"""With keys, a browser asks for one by itself, and does nothing for pages of other sites."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, Page, expect

from service.core.settings import Settings
from tests.api.conftest import answering
from tests.api.doors import TINY, bearing, make
from tests.api.working import Worker

FORM = """(action) => {
  const form = document.createElement("form");
  form.action = action; form.method = "post"; form.enctype = "multipart/form-data";
  document.body.append(form);
  form.submit();
}"""


@pytest.fixture(scope="module")
def settings(postgres_url: str, redis_url: str) -> Settings:
    return Settings(database_url=postgres_url, redis_url=redis_url, auth="required")


@pytest.fixture(scope="module")
def api(settings: Settings, db: sa.Engine) -> Iterator[httpx.Client]:
    with answering(settings) as client:
        client.headers.update(bearing(make(db)))
        yield client


@pytest.fixture
def page(browser: Browser, api: httpx.Client) -> Iterator[Page]:
    """A browser whose user has typed the key in."""
    key = api.headers["Authorization"].removeprefix("Bearer ")
    address = str(api.base_url)
    context = browser.new_context(
        base_url=address, http_credentials={"username": "", "password": key, "send": "unauthorized"}
    )
    yield context.new_page()
    context.close()


def test_a_person_reads_and_asks_with_the_key_as_password(
    page: Page, api: httpx.Client, db: sa.Engine, settings: Settings
) -> None:
    matrix = api.post("/matrices", json=TINY, params={"name": "mine"}).json()["id"]
    job = api.post("/mdad", json={"matrix_id": matrix, "methods": ["random"], "sizes": [2]}).json()["id"]
    page.goto("/")
    expect(page.get_by_role("link", name="mine").first).to_be_visible()
    page.goto(f"/jobs/{job}/report")
    # The page follows the job, and shows what it found when it is done.
    with page.expect_event("framenavigated"):
        Worker(db, settings).finish(job)
    expect(page.locator("figure").first).to_be_visible()
    cancel = f"fetch('/jobs/{job}/cancel', {{method: 'POST'}}).then((answer) => answer.status)"
    assert page.evaluate(cancel) == 409


def test_a_page_of_another_site_writes_nothing(page: Page, api: httpx.Client) -> None:
    """The browser would send what its user typed in along with it."""
    page.goto("/")
    before = api.get("/jobs").json()
    port = urlsplit(str(api.base_url)).port
    page.goto(f"http://localhost:{port}/livez")
    with page.expect_navigation() as gone:
        page.evaluate(FORM, f"{str(api.base_url).rstrip('/')}/jobs/{before['items'][0]['id']}/cancel")
    assert gone.value.status == 403
    assert api.get("/jobs").json() == before
