"""The selection methods by name, and their options checked against their signatures."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from service.engine.data.contracts import Method
from service.engine.selection.anchor_points import AnchorPoints
from service.engine.selection.confidence_strata import ConfidenceStrata
from service.engine.selection.diversity import Diversity
from service.engine.selection.optimal_design import OptimalDesign
from service.engine.selection.random_sampling import RandomSampling
from service.engine.selection.stratified import Stratified
from service.engine.selection.tinybenchmarks import TinyBenchmarks

METHODS: dict[str, type[Method]] = {
    cls.name: cls
    for cls in (
        RandomSampling,
        Stratified,
        ConfidenceStrata,
        AnchorPoints,
        TinyBenchmarks,
        Diversity,
        OptimalDesign,
    )
}

LEARNS_NOTHING = frozenset(name for name, cls in METHODS.items() if cls.traits.sample is not None)
"""Methods whose choice is a random draw that does not look at the source models."""


def create(name: str, options: Mapping[str, Any]) -> Method:
    """The method of this name with these options.

    Raises
    ------
    ValueError
        No such method, no such option or no such value; the text names the known ones.
    """
    known = defaults(name)
    if unknown := sorted(set(options) - set(known)):
        takes = f"takes {', '.join(sorted(known))}" if known else "takes none"
        raise ValueError(f"{name} has no option {unknown[0]!r}; it {takes}")
    return METHODS[name](**options)


def defaults(name: str) -> dict[str, Any]:
    """Every option of a method with its default.

    Raises
    ------
    ValueError
        No such method; the text names the known ones.
    """
    if name not in METHODS:
        raise ValueError(f"there is no method {name!r}; known are {', '.join(METHODS)}")
    return dict(_defaults(METHODS[name]))


@cache
def _defaults(method: type[Method]) -> dict[str, Any]:
    parameters = inspect.signature(method).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD}
