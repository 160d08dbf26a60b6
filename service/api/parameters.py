"""Parameters shared by all lists."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

Cursor = Annotated[str | None, Query(max_length=2000, description="`next_cursor` of the previous page.")]
OfMatrix = Annotated[str | None, Query(description="Only items of this matrix.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="Maximum number of items on the page.")]
