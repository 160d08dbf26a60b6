"""Stored comparisons."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tastetest_client import models
from tastetest_client._async.resource import AsyncResource
from tastetest_client._ids import MatrixLike, matrix_id
from tastetest_client._protocol import Call, path
from tastetest_client.results import CompareResult


class AsyncComparisons(AsyncResource):
    """Verdicts that were kept."""

    async def get(self, comparison_id: str) -> CompareResult:
        """A comparison, as it was answered."""
        return await self._read(CompareResult, Call("GET", path("comparisons", comparison_id)))

    def list(
        self, *, matrix: MatrixLike | None = None, limit: int = 100
    ) -> AsyncIterator[models.StoredComparison]:
        """All comparisons, newest first."""
        of = None if matrix is None else matrix_id(matrix)
        return self._pages(models.StoredComparison, "/comparisons", {"matrix_id": of, "limit": limit})

    async def page(self, comparison_id: str) -> str:
        """A comparison as an HTML page to share."""
        return (await self._transport.send(Call("GET", path("comparisons", comparison_id, "page")))).text

    async def delete(self, comparison_id: str) -> None:
        """Delete a comparison."""
        await self._transport.send(Call("DELETE", path("comparisons", comparison_id)))
