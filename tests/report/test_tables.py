"""Tables hold the result's numbers exactly, and nothing a spreadsheet would run."""

from __future__ import annotations

import csv
import io

import pytest

from service.core.spreadsheet_csv import to_csv
from service.engine.data.matrix import Matrix
from service.report.tables import TABLES
from tests.report.conftest import HOSTILE, Result, scores_of


def read(name: str, result: Result, scores: dict[str, float]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(TABLES[name](result, scores)))))


def test_every_method_size_and_truth_has_a_row_with_its_numbers(result: Result, matrix: Matrix) -> None:
    rows = read("mdad", result, scores_of(matrix))
    assert len(rows) == 3 * 4 * 2
    by_key = {(row["label"], int(row["size"]), row["truth"]): row for row in rows}
    for method in result["methods"]:
        for entry in method["sizes"]:
            for truth in ("same_items", "new_items"):
                row, judged = by_key[method["label"], entry["size"], truth], entry[truth]
                assert float(row["mdad"]) == judged["mdad"]
                assert float(row["agreement"]) == judged["agreement"]
                assert [float(row["agreement_low"]), float(row["agreement_high"])] == judged[
                    "agreement_interval"
                ]
                assert float(row["kendall_tau"]) == judged["kendall_tau"]["mean"]
                assert float(row["error_p90"]) == judged["estimation_error"]["p90"]
                assert int(row["pairs"]) == judged["pairs"]


def test_curves_have_every_point(result: Result, matrix: Matrix) -> None:
    rows = read("curves", result, scores_of(matrix))
    judged = [
        entry[t] for m in result["methods"] for entry in m["sizes"] for t in ("same_items", "new_items")
    ]
    assert len(rows) == sum(len(j["curve"]) for j in judged)
    assert sum(int(row["pairs"]) for row in rows) == sum(j["pairs"] for j in judged)


def test_models_are_ranked_and_those_without_a_score_left_out(result: Result) -> None:
    rows = read("models", result, {"a": 0.25, "b": 0.5, "c": None})  # type: ignore[dict-item]
    assert [(row["model"], float(row["score"])) for row in rows] == [("b", 0.5), ("a", 0.25)]


def test_pairs_and_differences_follow_the_result(result: Result, matrix: Matrix) -> None:
    pairs = read("pairs", result, scores_of(matrix))
    expected = result["recommendation"]["own_pairs"]["examples"]
    assert [[row["better"], row["worse"]] for row in pairs] == [pair["models"] for pair in expected]
    gaps = read("differences", result, scores_of(matrix))
    assert len(gaps) == sum(len(entry["others"]) for entry in result["differences"])
    assert float(gaps[0]["agreement_difference"]) <= 0


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx"])
def test_text_that_starts_a_formula_is_led_in_by_an_apostrophe(text: str) -> None:
    assert next(csv.reader(io.StringIO(to_csv([[text]]), newline=""))) == [f"'{text}"]


def test_numbers_stay_numbers_and_nothing_is_an_empty_cell() -> None:
    assert to_csv([["a", -0.1, None, 3]]) == "a,-0.1,,3\r\n"


def test_hostile_names_read_back(hostile: tuple[Matrix, Result]) -> None:
    matrix, result = hostile
    names = {row["model"] for row in read("models", result, scores_of(matrix))}
    assert names == {name if not name.startswith("=") else f"'{name}" for name in matrix.models}
    assert set(HOSTILE) - {HOSTILE[5]} <= names
