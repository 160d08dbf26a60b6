from __future__ import annotations

import io

import numpy as np
import pytest
from sqlalchemy import Engine

from service.core.errors import InvalidUpload
from service.engine.data.matrix import Matrix
from service.ingest import Limits, Options
from service.store import selections
from service.usecases.evaluator_cache import EvaluatorCache
from service.usecases.score_models import EstimateSettings, score_kept, score_models
from service.usecases.upload_matrix import SentFile

PLAIN = EstimateSettings(estimator="plain")
LIMITS = Limits(bytes=2**20, models=10, examples=100, cells=1000)


def sent(answers: dict[str, float], model: str = "new") -> SentFile:
    lines = ["model,example,score", *(f"{model},{name},{value:g}" for name, value in answers.items())]
    return SentFile(io.BytesIO("\n".join(lines).encode()), "new.csv", Options(), LIMITS)


def chosen(db: Engine, selection: str) -> list[str]:
    with db.begin() as conn:
        return [example["id"] for example in selections.get(conn, selection).body["examples"]]


def test_the_plain_score_of_a_sample_is_the_mean_of_its_answers(db: Engine, selection: str) -> None:
    names = chosen(db, selection)
    answers = {name: float(at % 3 == 0) for at, name in enumerate(names)}
    found = score_models(db, EvaluatorCache(), selection, sent(answers), PLAIN)
    (only,) = found.scores
    assert only.model == "new"
    assert only.score.score == pytest.approx(np.mean(list(answers.values())))
    assert (only.score.answered, only.score.asked) == (30, 30)
    assert (found.warnings, found.drift, found.estimator) == ([], None, "mean")


def test_answers_beside_the_selection_are_counted_and_set_aside(
    db: Engine, selection: str, benchmark: Matrix
) -> None:
    names = chosen(db, selection)
    outside = sorted(set(benchmark.examples).difference(names))
    answers = dict.fromkeys(names, 1.0) | dict.fromkeys(outside, 0.0)
    found = score_models(db, EvaluatorCache(), selection, sent(answers), PLAIN)
    assert found.scores[0].score.score == 1
    assert found.warnings == ["Answers to 10 examples outside the selection are set aside."]


def test_kept_answers_are_scored_again_under_their_name(db: Engine, selection: str) -> None:
    evaluators = EvaluatorCache()
    answers = {name: float(at % 2) for at, name in enumerate(chosen(db, selection))}
    before = score_kept(db, evaluators, selection, PLAIN)
    made = score_models(db, evaluators, selection, sent(answers, "m03"), PLAIN, keep=True)
    after = score_kept(db, evaluators, selection, PLAIN)
    assert before.scores == []
    assert after.scores == made.scores
    assert any("models of these names too ('m03')" in warning for warning in made.warnings)


def test_a_model_without_an_answer_to_the_selection_is_refused(
    db: Engine, selection: str, benchmark: Matrix
) -> None:
    outside = sorted(set(benchmark.examples).difference(chosen(db, selection)))
    with pytest.raises(InvalidUpload, match="'new' answered none of the 30 examples"):
        score_models(db, EvaluatorCache(), selection, sent({outside[0]: 1.0}), PLAIN)
