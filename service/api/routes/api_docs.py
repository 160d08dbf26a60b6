"""`/docs`: Swagger UI for the OpenAPI document, without files from other servers."""

from __future__ import annotations

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
    return get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Tastetest API",
        swagger_js_url="/docs/swagger-ui.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon.png",
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
