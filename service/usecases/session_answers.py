"""The answers of one request → scores by place in a session's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from service.core.errors import FieldError, InvalidRequest
from service.engine.comparison.sequential import Prepared
from service.store.records import SessionRecord
from service.usecases.session_cache import Benchmark

SHOWN = 5


@dataclass(frozen=True, slots=True)
class AnswerError:
    """The evaluated system ended in an error, or refused."""


Given = float | Sequence[float | None] | AnswerError | None
"""A score, scores of several attempts, an error of the evaluated system, or none."""


def by_place(
    record: SessionRecord, benchmark: Benchmark, prepared: Prepared, answers: Mapping[str, Given]
) -> dict[int, float]:
    """Scores by place in the order, NaN where an answer has none.

    Raises
    ------
    InvalidRequest
        An example is unknown, or was not handed out.
    """
    unknown = [example for example in answers if example not in benchmark.place]
    if unknown:
        message = f"{len(unknown):,} examples are not of this benchmark ({named(unknown)}); use its ids."
        raise refuse("/answers", "unknown_examples", message)
    places = {int(example): at for at, example in enumerate(prepared.order[: record.handed_out])}
    early = [example for example in answers if benchmark.place[example] not in places]
    if early:
        message = f"{len(early):,} examples were not handed out ({named(early)}); see `outstanding`."
        raise refuse("/answers", "not_handed_out", message)
    zero = record.settings["errors"] == "zero"
    return {places[benchmark.place[name]]: _score(value, zero) for name, value in answers.items()}


def _score(value: Given, errors_are_zero: bool) -> float:
    """NaN where there is none."""
    if isinstance(value, AnswerError):
        return 0.0 if errors_are_zero else float("nan")
    if value is None:
        return float("nan")
    if isinstance(value, Sequence):
        scored = [one for one in value if one is not None]
        return float(np.mean(scored)) if scored else float("nan")
    return float(value)


def new_answers(
    given: Mapping[int, float], before: Mapping[int, float], benchmark: Benchmark, prepared: Prepared
) -> dict[int, float]:
    """Answers to places without one; the others must be as they were."""
    for place, score in given.items():
        if place in before and not np.array_equal(score, before[place], equal_nan=True):
            name = benchmark.examples[int(prepared.order[place])]
            message = (
                f"{name!r} was answered with {_told(before[place])} before, and now with {_told(score)}; "
                "answers do not change."
            )
            raise refuse("/answers", "answered_differently", message)
    return {place: score for place, score in given.items() if place not in before}


def completed(record: SessionRecord, before: Mapping[int, float], new: Mapping[int, float]) -> int:
    """Batches that these answers complete."""
    batch, answered = record.settings["batch"], before.keys() | new.keys()
    touched = {place // batch for place in new}
    return sum(
        all(
            place in answered for place in range(number * batch, min((number + 1) * batch, record.handed_out))
        )
        for number in touched
    )


def leading(answers: Mapping[int, float]) -> int:
    """How many places from the first on have an answer."""
    count = 0
    while count in answers:
        count += 1
    return count


def _told(score: float) -> str:
    return "no score" if np.isnan(score) else f"{score:g}"


def named(examples: Sequence[str]) -> str:
    """The first few."""
    return ", ".join(map(repr, examples[:SHOWN])) + (" …" if len(examples) > SHOWN else "")


def refuse(where: str, code: str, message: str) -> InvalidRequest:
    """A refusal of one field."""
    return InvalidRequest(f"{where}: {message}", [FieldError(where, code, message)])
