"""A real browser on the real stack; what it fetched and what it complained of is checked after each test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Playwright, Response, expect, sync_playwright

from tests.acceptance.running import serving

BINARIES = ("chromium", "chromium-browser", "google-chrome")
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
PATIENCE = 30_000
SERIOUS = ("serious", "critical")

Open = Callable[..., Page]


@dataclass
class Watch:
    """What pages did that they must not."""

    host: str
    faults: list[str] = field(default_factory=list)

    def over(self, page: Page) -> None:
        page.on("console", lambda said: self._said(said.type, said.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))
        page.on("response", self._answered)

    def _said(self, kind: str, text: str) -> None:
        # Of answers we judge ourselves: a form's refusal is one the page shows.
        if kind in ("error", "warning") and not text.startswith("Failed to load resource"):
            self.faults.append(text)

    def _answered(self, answer: Response) -> None:
        if answer.status >= 500 or (answer.status >= 400 and answer.request.method == "GET"):
            self.faults.append(f"{answer.status} {answer.url}")

    def _asked(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self.faults.append(f"request off the host: {url}")


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The whole service, as its users start it."""
    folder = tmp_path_factory.mktemp("stack")
    with serving("--data-dir", str(folder)) as served:
        yield served.address


@pytest.fixture(scope="package")
def executable() -> str:
    path = next(filter(None, map(shutil.which, BINARIES)), None)
    if path is None:
        pytest.skip("needs a browser: apt-get install chromium")
    return path


# Its event loop runs in this thread until it is stopped: tests of other packages need theirs.
@pytest.fixture(scope="package")
def _playwright(executable: str) -> Iterator[Playwright]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def browser(_playwright: Playwright, executable: str) -> Iterator[Browser]:
    started = _playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
    yield started
    started.close()


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Open]:
    """Pages of the service in a size and a colour scheme."""
    watch = Watch(urlsplit(address).netloc)
    contexts = []

    def opened(path: str, *, phone: bool = False, dark: bool = False) -> Page:
        context = browser.new_context(
            base_url=address,
            viewport=PHONE if phone else DESKTOP,
            color_scheme="dark" if dark else "light",
            has_touch=phone,
            accept_downloads=True,
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        watch.over(page)
        page.goto(path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert watch.faults == []


@pytest.fixture(scope="session")
def sample() -> Path:
    return Path(__file__).parents[2] / "service" / "sample" / "digits.npz"


def accessibility_faults(page: Page) -> list[str]:
    """Serious faults that axe finds, with the first place of each."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{f['id']}: {f['nodes'][0]['html'][:200]}" for f in found if f["impact"] in SERIOUS]


def fits(page: Page) -> bool:
    """Whether nothing sticks out to the side."""
    wide: bool = page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    return wide
