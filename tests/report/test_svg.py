"""Elements escape what they hold, whatever it is."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from service.report.svg import clean, element, path, shortened, width
from tests.report.conftest import HOSTILE


@given(st.text(), st.text())
def test_any_text_makes_a_well_formed_element_that_holds_it(content: str, attribute: str) -> None:
    tree = ElementTree.fromstring(element("text", clean(content), d=clean(attribute)))
    assert (tree.text or "") == clean(content).replace("\r\n", "\n").replace("\r", "\n")
    assert tree.tag == "text"
    assert len(tree) == 0


def test_markup_nests_and_names_lose_their_underscores() -> None:
    inner = element("circle", r=4.0, class_="mark", stroke_width=1.25, fill=None)
    assert inner == '<circle r="4" class="mark" stroke-width="1.25"/>'
    assert element("g", inner, "<&>") == f"<g>{inner}&lt;&amp;&gt;</g>"
    assert isinstance(inner, Markup)


def test_directional_overrides_and_control_characters_do_not_get_out() -> None:
    assert clean("a\u202eb\u2066c") == "abc"
    assert clean("a\x01b") == "a\ufffdb"


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("most", [8, 21, 40])
def test_shortened_names_fit_and_keep_both_ends(name: str, most: int) -> None:
    short = shortened(name, most)
    assert width(short) <= most
    assert short[:2] == clean(name)[:2]
    assert short[-1] == clean(name)[-1]


def test_wide_characters_count_two() -> None:
    assert width("模型") == 4
    assert width("e\u0301") == 1


def test_path_data() -> None:
    assert path([(0, 1.5), (2, 3)]) == "M0 1.5L2 3"
    assert path([(0, 0), (1, 0), (1, 1)], closed=True) == "M0 0L1 0L1 1Z"
