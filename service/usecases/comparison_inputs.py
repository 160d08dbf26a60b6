"""The two sides of a comparison: names and answers → arrays over the same examples."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from service.core.errors import FieldError, InvalidRequest
from service.engine.comparison import Design, Evidence, Subtasks
from service.engine.comparison.attempt_errors import ModelErrors, model_errors
from service.engine.data.scored_matrix import Scoring, scored_runs
from service.store import answers, matrices, selections
from service.store.records import MatrixRecord
from service.usecases import scoring
from service.usecases.drift import DriftReport, drift_since
from service.usecases.evaluator_cache import EvaluatorCache

Scores = NDArray[np.float64]
Answer = float | Sequence[float | None] | None
SHOWN = 5
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class SentAnswers:
    """A model's answers by example id, as sent with a comparison; a sequence holds repeated runs."""

    name: str | None
    answers: Mapping[str, Answer]


Side = str | SentAnswers
"""A model that can be named, or answers."""


@dataclass(frozen=True, slots=True)
class Basis:
    """Where a comparison is made: the full benchmark in a revision, or the examples of a selection."""

    matrix_id: str | None
    revision: int | None
    selection_id: str | None


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonContext:
    """What a comparison is made on.

    Attributes
    ----------
    examples : tuple of str
        The n examples compared, in the order of every array.
    others : frozenset of str
        Further examples of the benchmark; answers to them are set aside.
    rows : mapping of str to ndarray, shape (n,)
        Models that can be named.
    evidence : Evidence, optional
        On a selection: what full scores are estimated from.
    full : mapping of str to ndarray, shape (N,)
        Models that can be named whose scores on every example of the benchmark are known.
    subtasks : Subtasks, optional
        Of the examples compared.
    drift : optional
        Of a selection whose matrix has gained models.
    scoring : Scoring
        How scores follow from attempts.
    errors : mapping of str to ModelErrors
        How the attempts of models that can be named ended, on the n examples.
    """

    matrix: MatrixRecord
    selection_id: str | None
    examples: tuple[str, ...]
    others: frozenset[str]
    rows: Mapping[str, Scores]
    design: Design
    prior: float
    evidence: Evidence | None = None
    full: Mapping[str, Scores] = field(default_factory=dict)
    subtasks: Subtasks | None = None
    drift: DriftReport | None = None
    set_aside: dict[str, int] = field(default_factory=dict)
    scoring: Scoring = field(default_factory=Scoring)
    errors: Mapping[str, ModelErrors] = field(default_factory=dict)


def build_comparison_context(
    conn: Connection, evaluators: EvaluatorCache, basis: Basis, sides: Sequence[Side], asked: Scoring
) -> ComparisonContext:
    """The full benchmark, or the examples of a selection; scored as asked, or as the selection was chosen."""
    named = [side for side in sides if isinstance(side, str)]
    if basis.selection_id is not None:
        return _of_selection(conn, evaluators, basis.selection_id, named, asked)
    record = matrices.get(conn, basis.matrix_id or "", basis.revision)
    n = record.n_examples
    rows = _rows(conn, record, named, asked)
    return ComparisonContext(
        matrix=record,
        selection_id=None,
        examples=matrices.examples(conn, record.id),
        others=frozenset(),
        rows=rows,
        scoring=asked,
        errors=_errors(conn, record, sorted(rows), None, asked),
        design=Design.random(n, n),
        prior=evaluators.prior(conn, record),
        subtasks=_subtasks(conn, record),
    )


def _subtasks(conn: Connection, record: MatrixRecord) -> Subtasks | None:
    if len(record.subtasks) < 2:
        return None
    codes = matrices.subtask_codes(conn, record.id)
    return Subtasks(codes, record.subtasks, np.bincount(codes, minlength=len(record.subtasks)))


def _rows(conn: Connection, record: MatrixRecord, named: Sequence[str], asked: Scoring) -> dict[str, Scores]:
    known = matrices.known_models(conn, record, named)
    if not known:
        return {}
    loaded = scoring.load(conn, record, asked, sorted(known)).matrix
    scores = loaded.scores.astype(np.float64)
    if loaded.missing is not None:
        scores[loaded.missing] = np.nan
    return dict(zip(loaded.models, scores, strict=True))


def _errors(
    conn: Connection,
    record: MatrixRecord,
    named: Sequence[str],
    columns: NDArray[np.int64] | None,
    asked: Scoring,
) -> dict[str, ModelErrors]:
    """How the attempts of these models ended on the examples compared."""
    found = matrices.attempts(conn, record, named) if named else ()
    policy = asked.policy if asked.errors else "missing"
    return {
        name: model_errors(name, mine if columns is None else mine.take(columns), policy)
        for name, mine in zip(sorted(named), found, strict=True)
    }


def _scoring_of(body: Mapping[str, Any], asked: Scoring) -> Scoring:
    """The selection's own; another one cannot be compared on what was chosen for it."""
    own = scoring.of_selection(body)
    if not asked.stored and asked != own:
        errors = f" with errors={own.errors}" if own.errors else ""
        message = (
            f"The selection was chosen for the score {own.score!r}{errors}; leave score and errors out, or "
            "choose another selection."
        )
        raise _refuse("/score", "other_score", message)
    return own


def _of_selection(
    conn: Connection, evaluators: EvaluatorCache, selection_id: str, named: Sequence[str], asked: Scoring
) -> ComparisonContext:
    selection = selections.get(conn, selection_id)
    own = _scoring_of(selection.body, asked)
    standing = evaluators.of(conn, selection)
    then = matrices.get(conn, selection.matrix_id, selection.revision)
    column = {example: at for at, example in enumerate(matrices.examples(conn, selection.matrix_id))}
    benchmark = [column[example] for example in standing.benchmark]
    place = {example: at for at, example in enumerate(standing.benchmark)}
    columns = [place[example] for example in standing.chosen]
    at = {model: row for row, model in enumerate(standing.models)}
    chosen = np.array([column[example] for example in standing.chosen], dtype=np.int64)
    runs, errors = _full_runs(conn, then, named, at, _Asked(own, chosen))
    wholes = {name: row[benchmark] for name, row in runs.items()}
    rows = {
        name: standing.known.answers[at[name]] if name in at else whole[columns]
        for name, whole in wholes.items()
    }
    kept = answers.find(conn, selection.id, named)
    return ComparisonContext(
        matrix=then,
        selection_id=selection.id,
        examples=standing.chosen,
        others=frozenset(column).difference(standing.chosen),
        rows=rows | kept,
        design=standing.design,
        prior=standing.prior,
        evidence=standing.evidence,
        full=_complete(_without(wholes, kept)),
        subtasks=standing.subtasks,
        drift=drift_since(conn, evaluators, selection),
        scoring=own,
        errors=_without(errors, kept),
    )


def _without(rows: Mapping[str, Found], names: Container[str]) -> dict[str, Found]:
    return {name: found for name, found in rows.items() if name not in names}


def _complete(rows: Mapping[str, Scores]) -> dict[str, Scores]:
    return {name: row for name, row in rows.items() if not np.isnan(row).any()}


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """How attempts are scored, and the columns of the examples compared."""

    scoring: Scoring
    columns: NDArray[np.int64]


def _full_runs(
    conn: Connection, then: MatrixRecord, named: Sequence[str], held: Container[str], asked: _Asked
) -> tuple[dict[str, Scores], dict[str, ModelErrors]]:
    """Full runs of the models named: from the selection's revision where it holds them, else the newest."""
    rows = _rows(conn, then, [name for name in named if name in held], asked.scoring)
    # Models that joined since have full runs too.
    newest = matrices.get(conn, then.id)
    joined = _rows(conn, newest, [name for name in named if name not in held], asked.scoring)
    errors = _errors(conn, then, sorted(rows), asked.columns, asked.scoring)
    return rows | joined, errors | _errors(conn, newest, sorted(joined), asked.columns, asked.scoring)


def scores_of_side(context: ComparisonContext, side: Side, where: str) -> Scores:
    """One side's scores, shape (n,) or (n, runs), NaN where it has none."""
    if isinstance(side, str):
        if side not in context.rows:
            raise _refuse(where, "unknown_model", _unknown(context, side))
        return context.rows[side]
    place = {example: at for at, example in enumerate(context.examples)}
    _refuse_beyond(context, side, place, where)
    here = {example: value for example, value in side.answers.items() if example in place}
    if len(here) < len(side.answers):
        context.set_aside[where] = len(side.answers) - len(here)
    runs = _table(here, place)
    if not context.scoring.stored:
        with scoring.refusing():
            return scored_runs(runs, context.scoring, side.name or where)
    return runs if runs.shape[1] > 1 else runs[:, 0]


def _refuse_beyond(context: ComparisonContext, side: SentAnswers, place: Container[str], where: str) -> None:
    """Refuse answers to examples that are not of the benchmark."""
    beyond = [example for example in side.answers if example not in place and example not in context.others]
    if beyond:
        shown = ", ".join(map(repr, beyond[:SHOWN])) + (" …" if len(beyond) > SHOWN else "")
        message = (
            f"{len(beyond)} of {len(side.answers)} examples are not of this benchmark ({shown}), which has "
            f"for example {context.examples[0]!r}; send answers by the ids of the matrix."
        )
        raise _refuse(f"{where}/answers", "unknown_examples", message)


def _table(answered: Mapping[str, Answer], place: Mapping[str, int]) -> Scores:
    """Answers in the order of the examples, shape (n, runs), NaN where there is none."""
    runs = max((len(value) for value in answered.values() if isinstance(value, Sequence)), default=1)
    scores = np.full((len(place), max(runs, 1)), np.nan)
    for example, value in answered.items():
        each = value if isinstance(value, Sequence) else [value]
        scores[place[example], : len(each)] = [np.nan if one is None else one for one in each]
    return scores


def _unknown(context: ComparisonContext, name: str) -> str:
    models = f"GET /matrices/{context.matrix.id}/models"
    if context.selection_id is None:
        models += f"?revision={context.matrix.revision}"
        return f"There is no model {name!r} in the matrix; {models} lists them. Or send its answers."
    kept = f"GET /selections/{context.selection_id}/scores"
    return (
        f"There is no model {name!r}, neither in the matrix ({models} lists them) nor among the scores kept "
        f"for the selection ({kept}). Or send its answers."
    )


def clusters(
    context: ComparisonContext, given: Mapping[str, str] | None, common: NDArray[np.bool_]
) -> list[str] | None:
    """The cluster of each example; every one that is compared must have one."""
    if given is None:
        return None
    for example, compared in zip(context.examples, common, strict=True):
        if compared and example not in given:
            message = (
                f"Example {example!r} has no cluster; give every example compared one of its own or shared."
            )
            raise _refuse("/clusters", "missing_cluster", message)
    return [given.get(example, "") for example in context.examples]


def _refuse(where: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{where}: {message}", [FieldError(where, code, message)])
