"""What new models are expected to be, by when the known ones came."""

from __future__ import annotations

from dataclasses import replace

from service.engine.data.outline import Outline
from service.engine.planning.expectation import expectation
from service.engine.planning.plan import select_plan

MODELS = tuple(f"m{i:02}" for i in range(30))
PLAIN = Outline(MODELS, 100, (100,), (), True, 0, False, False)
RISING = tuple(0.3 + 0.01 * i for i in range(30))
ALIKE = tuple(0.3 + 0.01 * (i * 7 % 30) for i in range(30))


def test_newer_models_that_beat_all_before_them_say_better() -> None:
    found, reason = expectation(replace(PLAIN, accuracies=RISING, released=tuple(range(30))))

    assert found == "better"
    assert reason == "By release dates 10 of the 10 newest models are better than every model before them."


def test_newer_models_among_the_others_say_like() -> None:
    found, reason = expectation(replace(PLAIN, accuracies=ALIKE, arrived=tuple(range(30))))

    assert found == "like"
    assert reason.startswith("By the order of arrival 0 of the 10 newest")


def test_one_upload_without_dates_says_nothing_so_like() -> None:
    found, reason = expectation(replace(PLAIN, accuracies=RISING, arrived=(1,) * 30))

    assert (found, reason[:7]) == ("like", "Neither")


def test_dates_of_a_few_models_do_not_count() -> None:
    released = tuple(i if i > 20 else None for i in range(30))

    assert expectation(replace(PLAIN, accuracies=RISING, released=released))[0] == "like"


def test_few_source_models_say_better() -> None:
    assert expectation(replace(PLAIN, models=MODELS[:9]))[0] == "better"


def test_a_plan_resolves_it_and_tells_the_method() -> None:
    outline = replace(PLAIN, accuracies=RISING, arrived=tuple(range(30)))

    plan = select_plan({"method": "optimal_design", "size": 10}, outline)

    assert plan.settings["expect"] == plan.settings["options"]["expect"] == "better"
    assert select_plan(plan.settings, PLAIN) == plan
