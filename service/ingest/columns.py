"""Recognises the columns of a table by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
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
    "outcome": ("outcome",),
    "metric": ("metric", "metric_name"),
    "filter": ("filter",),
    "count": ("count",),
    "correct": ("correct",),
    "confidence": ("confidence",),
}
OTHER = frozenset({"id", "name", "row"})
_INDEX = frozenset({"unnamed: 0", "__index_level_0__"})


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
    outcome: str | None = None
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
    models = _among(names, MODEL)
    examples = _among(names, EXAMPLE) or _among(names, frozenset({"id"}))
    if len(examples) != 1 or len(models) > 1 or not (models or options.model):
        return None
    model = models[0] if models else None
    score = _score_column(names, lower, {model, examples[0], *options.ignore}, options)
    if score is None:
        return None
    roles = LongColumns(model, examples[0], score, **_optional_columns(names, lower, options))
    _refuse_duplicates(names, roles)
    return roles


def _among(names: Sequence[str], known: frozenset[str]) -> list[str]:
    return [name for name in names if name.strip().lower() in known]


def _score_column(
    names: Sequence[str], lower: Mapping[str, str], taken: Set[str | None], options: Options
) -> str | None:
    """The column of the scores, None when no column could hold them."""
    found = [name for name in (*options.metric, *(lower.get(n, "") for n in SCORE)) if name in names]
    candidates = [name for name in dict.fromkeys(found) if name not in taken]
    if len(candidates) > 1 and not options.metric and "pass1" not in lower:
        detail = (
            f"the columns {listed(candidates)} could all hold the score; send metric= with the name of one "
            "of them"
        )
        raise refuse(detail, "metric", [(quoted(name), "candidate") for name in candidates])
    return candidates[0] if candidates else None


def _optional_columns(
    names: Sequence[str], lower: Mapping[str, str], options: Options
) -> dict[str, str | None]:
    found = {role: next((lower[n] for n in also if n in lower), None) for role, also in _OPTIONAL.items()}
    if options.subtask is not None:
        found["subtask"] = names[named(names, options.subtask)]
    return found


def _refuse_duplicates(names: Sequence[str], roles: LongColumns) -> None:
    for name in roles.used:
        if names.count(name) > 1:
            detail = f"the table has {names.count(name)} columns called {quoted(name)}; keep one"
            raise refuse(detail, "duplicate_column", [("header", quoted(name))])


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
    lower = [name.strip().lower() for name in names]
    free = [i for i in range(len(names)) if i not in {*ignored, subtask, frequency}]
    ids, kind = _id_column(lower, free)
    row_kind = _rows(names, ids, kind, options)
    ids_certain = ids is not None
    if ids is not None:
        ignored |= _index_columns(lower, free) - {ids}
    elif options.ids == "given" and free:
        ids = free[0]
    return WideColumns(ids, ids_certain, row_kind, tuple(sorted(ignored)), subtask, frequency)


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
    kinds = [(i, "model" if lower[i] in MODEL else "example") for i in free if lower[i] in MODEL | EXAMPLE]
    if len(kinds) == 1:
        return kinds[0]
    plain = [i for i in free if lower[i] in OTHER] or sorted(_index_columns(lower, free))
    return (plain[0], None) if len(plain) == 1 else (None, None)


def _index_columns(lower: Sequence[str], free: Sequence[int]) -> set[int]:
    """Index columns written by pandas or R."""
    return {i for i in free if lower[i] in _INDEX or (i == 0 and lower[i] in ("", "index"))}


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
