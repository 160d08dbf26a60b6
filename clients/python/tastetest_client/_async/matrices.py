"""Matrices: results of many models on one benchmark."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date
from typing import Any, Unpack

from tastetest_client import models
from tastetest_client._async.resource import AsyncResource
from tastetest_client._frames import uploaded
from tastetest_client._ids import MatrixLike, matrix_id
from tastetest_client._protocol import Call, idempotent, path
from tastetest_client.options import PutOptions, UploadOptions


class AsyncMatrices(AsyncResource):
    """Upload, list, extend and delete matrices."""

    async def upload(
        self,
        data: Any,  # noqa: ANN401 - a frame of whichever library
        *,
        name: str | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[UploadOptions],
    ) -> models.MatrixUploaded:
        """Send results and store them as a matrix.

        Parameters
        ----------
        data : DataFrame, path, bytes, open file
            A wide table (a row or a column a model), a long one (model, example, score), or what
            `POST /matrices` reads: CSV, JSON, NPZ, Parquet, logs of evaluation tools. An index of a
            pandas frame counts as its first column.
        name : str, optional
            What people call it.
        **options
            How to read it, as `POST /matrices` takes it.

        Raises
        ------
        InvalidData
            It is none of these.
        InvalidRequest
            The service cannot read it; the problem names the row or column and how to fix it.
        """
        upload, release = uploaded(data)
        call = Call(
            "POST", "/matrices", {"name": name, **options}, upload=upload, headers=idempotent(idempotency_key)
        )
        try:
            return await self._read(models.MatrixUploaded, call)
        finally:
            release()

    async def put_model(
        self,
        matrix: MatrixLike,
        model: str,
        data: Any,  # noqa: ANN401 - a frame of whichever library
        **options: Unpack[PutOptions],
    ) -> models.MatrixUploaded:
        """Store one model's results, new or again; `data` may also be a dict of scores by example id."""
        upload, release = uploaded(data)
        to = path("matrices", matrix_id(matrix), "models", model)
        try:
            return await self._read(models.MatrixUploaded, Call("PUT", to, dict(options), upload=upload))
        finally:
            release()

    async def get(self, matrix: MatrixLike, *, revision: int | None = None) -> models.MatrixView:
        """A matrix, by default at its newest revision."""
        call = Call("GET", path("matrices", matrix_id(matrix)), {"revision": revision})
        return await self._read(models.MatrixView, call)

    def list(self, *, limit: int = 100) -> AsyncIterator[models.MatrixView]:
        """All matrices, newest first; `limit` is how many are fetched at a time."""
        return self._pages(models.MatrixView, "/matrices", {"limit": limit})

    def list_models(
        self, matrix: MatrixLike, *, revision: int | None = None
    ) -> AsyncIterator[models.ModelView]:
        """All models of a matrix with their scores."""
        to = path("matrices", matrix_id(matrix), "models")
        return self._pages(models.ModelView, to, {"revision": revision, "limit": 1000})

    def cells(self, matrix: MatrixLike, model: str) -> AsyncIterator[models.CellView]:
        """One model's results by example."""
        to = path("matrices", matrix_id(matrix), "models", model)
        return self._pages(models.CellView, to, {"limit": 1000})

    async def describe_model(
        self,
        matrix: MatrixLike,
        model: str,
        *,
        family: str | None = None,
        released: date | None = None,
        tags: tuple[str, ...] | None = None,
    ) -> models.ModelView:
        """State what is known of a model; what is not given stays as it is."""
        known = {"family": family, "released": released and released.isoformat(), "tags": tags}
        body = {name: value for name, value in known.items() if value is not None}
        to = path("matrices", matrix_id(matrix), "models", model)
        return await self._read(models.ModelView, Call("PATCH", to, json=body))

    async def delete(self, matrix: MatrixLike, *, cascade: bool = False) -> None:
        """Delete a matrix; `cascade` deletes the jobs and selections made from it too."""
        await self._transport.send(
            Call("DELETE", path("matrices", matrix_id(matrix)), {"cascade": cascade or None})
        )
