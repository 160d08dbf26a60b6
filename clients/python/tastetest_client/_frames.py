"""DataFrames in and out, of pandas, polars or any other library that narwhals knows."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

import narwhals as nw
from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from tastetest_client._protocol import Upload
from tastetest_client.errors import InvalidData

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")
ENDS = {"interval": 2, "rank_interval": 2, "bounds": 2, "seed_interval": 2, "agreement_interval": 2}
Row = TypeVar("Row")


class Rows(list[Row]):
    """A list of records that can become a DataFrame."""

    def to_frame(self, backend: Backend | None = None) -> Any:  # noqa: ANN401 - of whichever library
        """The records as a DataFrame, one a row; intervals become two columns, `…_low` and `…_high`.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow", optional
            By default the first of them that is imported already, else the first that is installed.

        Raises
        ------
        InvalidData
            None of them is installed.
        """
        records = [flat(record) for record in self]
        names = list(dict.fromkeys(name for record in records for name in record))
        columns = {name: [record.get(name) for record in records] for name in names}
        return nw.from_dict(columns, backend=backend or _backend()).to_native()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """Validated as a list."""
        (item,) = source.__args__
        return core_schema.no_info_after_validator_function(
            cls, core_schema.list_schema(handler.generate_schema(item))
        )


def flat(record: Any) -> dict[str, Any]:  # noqa: ANN401
    """A record's fields, its intervals as two."""
    fields = record.model_dump() if isinstance(record, BaseModel) else asdict(record)
    made: dict[str, Any] = {}
    for name, value in fields.items():
        if name in ENDS:
            low, high = value if value is not None else (None, None)
            made |= {f"{name}_low": low, f"{name}_high": high}
        else:
            made[name] = value
    return made


def _backend() -> Backend:
    for name in BACKENDS:
        if name in sys.modules:
            return name
    for name in BACKENDS:
        if importlib.util.find_spec(name):
            return name
    raise InvalidData("A frame needs pandas or polars: pip install pandas, or pip install polars.")


def uploaded(data: Any, name: str | None = None) -> tuple[Upload, Callable[[], None]]:  # noqa: ANN401
    """What to send for a frame, a path, bytes, an open file or answers by example, and how to release it.

    Raises
    ------
    InvalidData
        It is none of these, or cannot be read.
    """
    if isinstance(data, Upload):
        return data, _nothing
    if isinstance(data, str | os.PathLike):
        return _file(Path(data))
    if isinstance(data, bytes):
        return Upload(name or "upload", io.BytesIO(data)), _nothing
    if getattr(data, "ndim", 0) == 1 and hasattr(data, "to_dict"):
        # A pandas Series of scores whose index holds the examples; NaN is no score.
        data = {example: None if score != score else score for example, score in data.to_dict().items()}
    if isinstance(data, Mapping):
        return Upload(name or "answers.csv", io.BytesIO(_answers(data)), "text/csv"), _nothing
    if hasattr(data, "read") and hasattr(data, "seek"):
        return Upload(name or Path(str(getattr(data, "name", "upload"))).name, data), _nothing
    return Upload(f"{name or 'frame'}.csv", io.BytesIO(_csv(data)), "text/csv"), _nothing


def _file(path: Path) -> tuple[Upload, Callable[[], None]]:
    try:
        file: BinaryIO = path.open("rb")
    except OSError as error:
        raise InvalidData(f"{path} cannot be read: {error.strerror or error}.") from error
    return Upload(path.name, file), file.close


def _nothing() -> None:
    """There is nothing to release."""


def _answers(answers: Mapping[Any, Any]) -> bytes:
    lines: Iterable[tuple[str, str]] = (
        (_cell(example), "" if score is None else _cell(score)) for example, score in answers.items()
    )
    return "".join(f"{a},{b}\n" for a, b in [("example", "score"), *lines]).encode()


def _cell(value: object) -> str:
    text = str(float(value)) if isinstance(value, bool) else str(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n\r') else text


def _csv(data: Any) -> bytes:  # noqa: ANN401 - a frame of whichever library
    try:
        frame = nw.from_native(data, allow_series=False)
        table = frame.collect() if isinstance(frame, nw.LazyFrame) else _with_index(frame)
    except (TypeError, ValueError) as error:
        kind = f"{type(data).__module__}.{type(data).__qualname__}"
        raise InvalidData(
            f"Cannot send a {kind} ({error}). Give a pandas or polars DataFrame, a path, bytes, an open "
            "file, or a dict of answers by example id."
        ) from error
    if not table.columns or not len(table):
        raise InvalidData("The frame is empty; give one with a row or a column for each model.")
    return str(table.write_csv()).encode()


def _with_index(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """A pandas frame whose index holds names, with these as first columns; any other frame as it is."""
    index = nw.maybe_get_index(frame)
    if index is None:
        return frame
    native = nw.to_native(frame)
    if all(name is None for name in index.names):
        # Numbers without a name are what is left after rows were dropped.
        if index.dtype.kind in "iu":
            return frame
        native = native.reset_index(names="id")
    else:
        native = native.reset_index()
    return nw.from_native(native, eager_only=True)
