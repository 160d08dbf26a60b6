"""Selections: chosen examples, and what models score on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Unpack

from tastetest_client import models
from tastetest_client._async.resource import AsyncResource
from tastetest_client._frames import uploaded
from tastetest_client._ids import MatrixLike, SelectionLike, matrix_id, selection_id
from tastetest_client._protocol import Call, path
from tastetest_client.options import ScoreOptions
from tastetest_client.results import ScoresResult, SelectionDetail


class AsyncSelections(AsyncResource):
    """Read, export, score and delete selections."""

    async def get(self, selection: SelectionLike) -> SelectionDetail:
        """A selection with its examples."""
        return await self._read(SelectionDetail, Call("GET", path("selections", selection_id(selection))))

    def list(
        self, *, matrix: MatrixLike | None = None, limit: int = 100
    ) -> AsyncIterator[models.SelectionView]:
        """All selections, newest first."""
        of = None if matrix is None else matrix_id(matrix)
        return self._pages(models.SelectionView, "/selections", {"matrix_id": of, "limit": limit})

    async def export(self, selection: SelectionLike, format: str = "ids") -> str:
        """The selection as another tool takes it: `ids`, `csv`, `lm_eval`, …"""
        call = Call("GET", path("selections", selection_id(selection), "export"), {"format": format})
        return (await self._transport.send(call)).text

    async def score(
        self,
        selection: SelectionLike,
        answers: Any,  # noqa: ANN401 - a frame of whichever library
        **options: Unpack[ScoreOptions],
    ) -> ScoresResult:
        """Estimate what models would score on the full benchmark.

        Parameters
        ----------
        answers : DataFrame, dict, path, bytes, open file
            Answers to the chosen examples: a table, a log, or scores by example id; answers to other
            examples are left out. `model=` names the model where the answers do not.
        **options
            How to read them, as `POST /selections/{selection_id}/scores` takes it.
        """
        upload, release = uploaded(answers)
        call = Call("POST", path("selections", selection_id(selection), "scores"), options, upload=upload)
        try:
            return await self._read(ScoresResult, call)
        finally:
            release()

    async def scores(self, selection: SelectionLike) -> ScoresResult:
        """The scores of all models whose answers are kept."""
        return await self._read(
            ScoresResult, Call("GET", path("selections", selection_id(selection), "scores"))
        )

    async def drift(self, selection: SelectionLike) -> models.DriftView:
        """Whether models scored since have left the range that the selection was made for."""
        return await self._read(
            models.DriftView, Call("GET", path("selections", selection_id(selection), "drift"))
        )

    async def delete(self, selection: SelectionLike) -> None:
        """Delete a selection."""
        await self._transport.send(Call("DELETE", path("selections", selection_id(selection))))
