"""Recognises the columns of a table by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from service.ingest.options import Options
from service.ingest.refusals import listed, quoted, refuse

MODEL = frozenset(
    {"model", "models", "model_name", "model_id", "modelname", "subject_id", "subject", "system"}
)
EXAMPLE = frozenset(
    {"example", "examples", "example_id", "item", "items", "item_id", "question_id", "instance_id",
     "sample_id", "doc_id", "task_id", "problem_id", "prompt_id"}
)  # fmt: skip
SCORE = (
    "score",
    "pass1",
    "is_correct",
    "correct",
    "correctness",
    "response",
    "value",
    "acc",
    "accuracy",
    "resolved",
    "passed",
)
_OPTIONAL = {
    "benchmark": ("benchmark", "benchmark_id", "dataset", "task"),
    "subtask": ("subtask",),
    "repeat": ("repeat", "epoch", "trial", "run", "seed", "attempt", "repetition"),
    "metric": ("metric", "metric_name"),
    "filter": ("filter",),
    "count": ("count",),
    "correct": ("correct",),
    "confidence": ("confidence",),
}
OTHER = frozenset({"id", "name", "row"})


@dataclass(frozen=True, slots=True)
class WideColumns:
    """The columns of a table whose cells are scores: which one holds ids, and which are ignored.

    `ids_certain` is False when the column is assumed to hold ids only because it is the first.
    """

    ids: int | None
    ids_certain: bool
    row_kind: Literal["model", "example"]
    ignored: tuple[int, ...]
    subtask: int | None
    frequency: int | None


@dataclass(frozen=True, slots=True)
class LongColumns:
    """The columns of a table in which each row is one score.

    `model` is None when the caller gives the name of the table's only model.
    """

    model: str | None
    example: str
    score: str
    benchmark: str | None = None
    subtask: str | None = None
    repeat: str | None = None
    metric: str | None = None
    filter: str | None = None
    count: str | None = None
    correct: str | None = None
    confidence: str | None = None

    @property
    def used(self) -> list[str]:
        """The names of all these columns."""
        return [name for field in fields(self) if (name := getattr(self, field.name)) is not None]


def long(names: Sequence[str], options: Options) -> LongColumns | None:
    """The columns of a long table; None when its rows are not single scores.

    Raises
    ------
    InvalidUpload
        Several columns could hold the score.
    """
    lower = {name.strip().lower(): name for name in reversed(names)}
    models = [name for name in names if name.strip().lower() in MODEL]
    examples = [name for name in names if name.strip().lower() in EXAMPLE]
    examples = examples or [name for name in names if name.strip().lower() == "id"]
    if len(examples) != 1 or len(models) > 1 or not (models or options.model):
        return None
    model = models[0] if models else None
    taken = {model, examples[0], *options.ignore}
    found = [name for name in (*options.metric, *(lower.get(n, "") for n in SCORE)) if name in names]
    candidates = [name for name in dict.fromkeys(found) if name not in taken]
    if not candidates:
        return None
    if len(candidates) > 1 and not options.metric and "pass1" not in lower:
        detail = (
            f"the columns {listed(candidates)} could all hold the score; send metric= with the name of one "
            "of them"
        )
        raise refuse(detail, "metric", [(quoted(name), "candidate") for name in candidates])
    optional = {role: next((lower[n] for n in also if n in lower), None) for role, also in _OPTIONAL.items()}
    if options.subtask is not None:
        optional["subtask"] = names[named(names, options.subtask)]
    roles = LongColumns(model, examples[0], candidates[0], **optional)
    for name in roles.used:
        if names.count(name) > 1:
            detail = f"the table has {names.count(name)} columns called {quoted(name)}; keep one"
            raise refuse(detail, "duplicate_column", [("header", quoted(name))])
    return roles


def wide(names: Sequence[str], options: Options) -> WideColumns:
    """The columns of a wide table.

    Raises
    ------
    InvalidUpload
        It is unknown whether rows are models or examples, or the header contradicts `options.orientation`.
    """
    if not names:
        raise refuse("the table has no columns; send one with ids and scores", "no_rows")
    ignored = {named(names, name) for name in options.ignore}
    subtask = None if options.subtask is None else named(names, options.subtask)
    frequency = _frequency(names, options)
    taken = ignored | {c for c in (subtask, frequency) if c is not None}
    lower = [name.strip().lower() for name in names]
    free = [i for i in range(len(names)) if i not in taken]
    ids, kind = _id_column(lower, free)
    index = [i for i in free if _is_index(lower, i) and i != ids] if ids is not None else []
    row_kind = _rows(names, ids, kind, options)
    ids_certain = ids is not None
    if ids is None and options.ids == "given" and free:
        ids = free[0]
    return WideColumns(ids, ids_certain, row_kind, tuple(sorted(ignored | set(index))), subtask, frequency)


def _frequency(names: Sequence[str], options: Options) -> int | None:
    """The column of counts that the caller names; refuse a column that looks like counts but is not named."""
    if options.frequency is not None:
        return named(names, options.frequency)
    last = names[-1]
    if last.strip().lower() in ("freq", "frequency") and last not in options.ignore:
        detail = (
            f"the last column, {quoted(last)}, looks like the counts of a frequency table; send "
            f"frequency={last} to expand each row into that many models, or ignore={last} to ignore the "
            "column"
        )
        raise refuse(detail, "frequency", [("header", quoted(last))])
    return None


def named(names: Sequence[str], name: str) -> int:
    """Position of the column with exactly this name."""
    if name in names:
        return list(names).index(name)
    detail = f"there is no column {quoted(name)}; the columns are {listed(names)}"
    raise refuse(detail, "no_such_column", [(quoted(name), "not in the header")])


def _id_column(lower: Sequence[str], free: Sequence[int]) -> tuple[int | None, str | None]:
    models = [i for i in free if lower[i] in MODEL]
    examples = [i for i in free if lower[i] in EXAMPLE]
    if len(models) == 1 and not examples:
        return models[0], "model"
    if len(examples) == 1 and not models:
        return examples[0], "example"
    plain = [i for i in free if lower[i] in OTHER] or [i for i in free if _is_index(lower, i)]
    return (plain[0], None) if len(plain) == 1 else (None, None)


def _is_index(lower: Sequence[str], i: int) -> bool:
    """Whether it is an index column written by pandas or R."""
    return lower[i] in ("unnamed: 0", "__index_level_0__") or (i == 0 and lower[i] in ("", "index"))


def _rows(
    names: Sequence[str], ids: int | None, kind: str | None, options: Options
) -> Literal["model", "example"]:
    wanted = {"models_as_rows": "model", "models_as_columns": "example", None: None}[options.orientation]
    if ids is not None and kind and wanted and kind != wanted:
        detail = (
            f"the name of the column {quoted(names[ids])} says that rows are {kind}s, but orientation="
            f"{options.orientation} says that they are {wanted}s; send the other orientation or rename the "
            "column"
        )
        raise refuse(detail, "orientation", [("header", quoted(names[ids]))])
    if (wanted or kind) == "model":
        return "model"
    if (wanted or kind) == "example":
        return "example"
    detail = (
        f"it is unclear whether the rows are models or examples (the columns are {listed(names)})"
        "; send orientation=models_as_rows or orientation=models_as_columns"
    )
    raise refuse(detail, "orientation", [("header", listed(names))])
