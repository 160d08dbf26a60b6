"""Figures say what the result says, to those who see them and those who do not."""

from __future__ import annotations

import itertools
import struct
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.data.matrix import Matrix
from service.report.curve_figure import shown
from service.report.curves import plotted_curves
from service.report.figures import NAMES, figures
from service.report.models_figure import brackets
from tests.report.conftest import HOSTILE, Result, matrix_of, result_of, scores_of

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    """What stands written, without the tooltips."""
    return [
        (node.text or "") + "".join(child.tail or "" for child in node)
        for node in ElementTree.fromstring(svg).iter(f"{SVG}text")
    ]


def test_a_result_has_all_figures(result: Result, matrix: Matrix) -> None:
    drawn = figures(result, scores_of(matrix))
    assert tuple(drawn) == NAMES
    assert figures({}, {}) == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_files_stand_alone_and_tell_what_they_show(result: Result, matrix: Matrix, theme: Any) -> None:
    for figure in figures(result, scores_of(matrix)).values():
        svg = str(figure.svg(theme))
        tree = ElementTree.fromstring(svg)
        panels = tree.findall(f"{SVG}svg")
        assert len(panels) == len(figure.panels)
        for panel in panels:
            ids = {node.get("id") for node in panel.iter()} - {None}
            assert set((panel.get("aria-labelledby") or "").split()) <= ids
            assert (panel.findtext(f"{SVG}desc") or "") != ""
        assert "href" not in svg
        assert "url(" not in svg
        assert "var(" not in svg
        assert svg.count("http") == 1  # the namespace


def test_ids_are_unique_on_a_page(result: Result, matrix: Matrix) -> None:
    page = "".join(figure.inline() for figure in figures(result, scores_of(matrix)).values())
    tree = ElementTree.fromstring(f"<page>{page}</page>")
    ids = [node.get("id") for node in tree.iter() if node.get("id")]
    assert len(ids) == len(set(ids)) > 10


def test_every_method_is_named_at_its_line(result: Result, matrix: Matrix) -> None:
    shown_names = texts(str(figures(result, scores_of(matrix))["mdad"].svg()))
    for method in result["methods"]:
        assert shown_names.count(method["label"]) == 2  # same and new items


def test_the_description_gives_the_numbers(result: Result, matrix: Matrix) -> None:
    panel = figures(result, scores_of(matrix))["mdad"].panels[0]
    entry = result["methods"][0]["sizes"][-1]
    assert f"{100 * entry['same_items']['mdad']:.1f} at {entry['size']}" in panel.description


def test_the_curve_is_of_the_recommended_method_and_size(result: Result, matrix: Matrix) -> None:
    advice = result["recommendation"]
    assert advice["status"] == "recommended"
    line, size = shown(result) or (None, None)
    assert line is not None
    assert (line.label, size) == (advice["method"], advice["size"])
    panel = figures(result, scores_of(matrix))["agreement"].panels[1]
    judged = dict(line.judged("new_items"))[size]
    assert f"80\u00a0% is reached at {100 * judged['mdad']:.1f}" in panel.description


def test_without_a_recommendation_the_best_tested_is_shown(result: Result) -> None:
    advice = result["recommendation"] | {"method": None, "size": None}
    line, size = shown(result | {"recommendation": advice}) or (None, None)
    best = advice["best_tested"]
    assert line is not None
    assert (line.label, size) == (best["method"], best["size"])
    line, size = shown(result | {"recommendation": advice | {"best_tested": None}}) or (None, None)
    assert line is not None
    assert (line.label, size) == ("random", 100)


def test_an_mdad_that_is_not_reached_is_drawn_open_and_said() -> None:
    matrix = matrix_of(24, 60)
    matrix = Matrix.build(matrix.models, matrix.examples, np.random.default_rng(1).random((24, 60)) < 0.5)
    asked = {"methods": ["random"], "sizes": [5], "trials": 3, "holdout": 0.5}
    drawn = figures(result_of(matrix, **asked), scores_of(matrix))
    assert "not reached" in drawn["mdad"].panels[1].description
    assert "mark open" not in drawn["mdad"].svg()
    assert " open" in drawn["mdad"].svg()


def test_the_figure_of_sizes_that_were_found_has_target_resolution_and_the_recommended_size(
    minimal: Result, matrix: Matrix
) -> None:
    drawn = figures(minimal, scores_of(matrix))
    (panel,) = drawn["mdad"].panels
    words, body, advice = texts(str(drawn["mdad"].svg())), str(panel.body), minimal["recommendation"]
    assert "wanted: 8.0" in words
    assert f"resolution: {100 * advice['resolution']:.1f}" in words
    assert {"10", "20", "50", "100"} <= set(words)
    assert 'class="halo"' in body
    assert 'class="band accent"' in body
    line, size = shown(minimal) or (None, None)
    assert line is not None
    assert abs(size - advice["size"]) <= 0.2 * advice["size"]


def test_a_learning_curve_names_its_numbers_of_sources(matrix: Matrix) -> None:
    result = result_of(
        matrix, methods=["confidence_strata"], sizes=[10, 20], trials=3, source_models=[10, 15]
    )
    assert [line.label for line in plotted_curves(result)] == [
        "confidence_strata, 10 sources",
        "confidence_strata, 15 sources",
    ]
    drawn = str(figures(result, scores_of(matrix))["mdad"].svg())
    assert ">confidence_strata, 10<" in drawn
    assert ">confidence_strata, 15<" in drawn


def test_without_held_out_examples_there_is_one_panel(matrix: Matrix) -> None:
    result = result_of(matrix, methods=["random"], sizes=[10, 20], holdout=0, target_models="all")
    drawn = figures(result, scores_of(matrix))
    assert len(drawn["mdad"].panels) == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_png_is_two_pixels_a_unit(result: Result, matrix: Matrix, theme: Any) -> None:
    figure = figures(result, scores_of(matrix))["agreement"]
    png = figure.png(theme)
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    svg = ElementTree.fromstring(str(figure.svg(theme)))
    assert (width, height) == (2 * float(svg.get("width", 0)), 2 * float(svg.get("height", 0)))


def test_png_has_text_in_the_font_that_ships(result: Result, matrix: Matrix) -> None:
    figure = figures(result, scores_of(matrix))["agreement"]
    bare = str(figure.svg()).replace("pairs in the right order", "")
    assert len(figure.png()) > 10_000
    assert bare != str(figure.svg())


def test_hostile_names_stay_text(hostile: tuple[Matrix, Result]) -> None:
    matrix, result = hostile
    for figure in figures(result, scores_of(matrix)).values():
        tree = ElementTree.fromstring(str(figure.svg()))
        assert {node.tag.removeprefix(SVG) for node in tree.iter()} <= {
            "svg", "title", "desc", "style", "rect", "path", "text", "circle", "g",
        }  # fmt: skip
        assert figure.png().startswith(b"\x89PNG")


def test_the_group_asked_for_is_shown_in_place_of_the_best(hostile: tuple[Matrix, Result]) -> None:
    matrix, result = hostile
    names = texts(str(figures(result, scores_of(matrix))["models"].svg()))
    assert "The group asked for, by score" in names
    assert HOSTILE[0] in names


@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=25).map(lambda v: sorted(v, reverse=True)),
    st.integers(1, 40),
)
@settings(max_examples=200)
def test_brackets_are_the_largest_runs_nearer_than_the_mdad(values: list[int], mdad: int) -> None:
    found = brackets(values, mdad)
    close = {(i, j) for i, j in itertools.combinations(range(len(values)), 2) if values[i] - values[j] < mdad}
    bracketed = {pair for b in found for pair in itertools.combinations(range(b.first, b.last + 1), 2)}
    assert bracketed == close
    for one, other in itertools.combinations(found, 2):
        assert not (one.first <= other.first and other.last <= one.last)
        if one.lane == other.lane:
            assert one.last < other.first
