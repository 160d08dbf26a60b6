"""`/docs`: Swagger UI for the OpenAPI document, without files from other servers."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import fastapi_offline
from fastapi import APIRouter
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, HTMLResponse

from service.api.route_classes import PublicRoute

router = APIRouter(include_in_schema=False, route_class=PublicRoute)

ASSETS = Path(fastapi_offline.__file__).parent / "static"
A_DAY = {"Cache-Control": "public, max-age=86400"}


@router.get("/docs")
async def docs() -> HTMLResponse:
    """Swagger UI on the OpenAPI document."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Tastetest API",
        swagger_js_url="/docs/swagger-ui.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon.png",
    )
    page.headers["Content-Security-Policy"] = _policy(bytes(page.body).decode())
    return page


def _policy(page: str) -> str:
    """Only files of this server and the script within the page; Swagger UI styles elements in place."""
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return (
        f"default-src 'none'; script-src 'self' {allowed}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


@router.get("/docs/swagger-ui.js")
async def docs_script() -> FileResponse:
    """The script of Swagger UI."""
    return FileResponse(ASSETS / "swagger-ui-bundle.js", headers=A_DAY)


@router.get("/docs/swagger-ui.css")
async def docs_style() -> FileResponse:
    """The style sheet of Swagger UI."""
    return FileResponse(ASSETS / "swagger-ui.css", headers=A_DAY)


@router.get("/docs/favicon.png")
async def docs_icon() -> FileResponse:
    """The icon of Swagger UI."""
    return FileResponse(ASSETS / "favicon.png", headers=A_DAY)
