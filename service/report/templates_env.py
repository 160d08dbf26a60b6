"""The templates, the inline style sheet of every page, and the content security policy."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from service.report import formatting
from service.report.svg import clean
from service.report.theme import DARK, LIGHT, Theme, style

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"


def _variables(palette: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in palette.items())


def _stylesheet() -> str:
    light, dark = _variables(LIGHT), _variables(DARK)
    rules = (FOLDER / "templates" / "style.css").read_text()
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}"
        f":root[data-theme=light]{{color-scheme:light}}"
        f"{style(None)}{rules}"
    )


STYLESHEET = _stylesheet()


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src {_hash(STYLESHEET)}; script-src 'self'; img-src data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def figure_headers(theme: Theme) -> dict[str, str]:
    """Headers for a figure that is opened as a page."""
    palette = DARK if theme == "dark" else LIGHT
    policy = f"default-src 'none'; style-src {_hash(style(palette))}"
    return {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"}


def render(template: str, **values: object) -> str:
    """Render a template as a page."""
    return _ENVIRONMENT.get_template(template).render(stylesheet=STYLESHEET, **values)


def pretty(value: object) -> str:
    """JSON on as few lines as possible."""
    return clean(json.dumps(value, ensure_ascii=False))


def shell(value: object) -> str:
    """JSON, quoted as one word of a shell command."""
    return shlex.quote(json.dumps(value))


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    for name in ("points", "percent", "number", "span", "mdad", "moment", "words", "count"):
        made.filters[name] = getattr(formatting, name)
    made.filters |= {"clean": clean, "json": pretty, "shell": shell}
    return made


_ENVIRONMENT = _environment()
