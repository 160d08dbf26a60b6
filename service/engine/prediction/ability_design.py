"""Whose say the choice of examples follows: models like the sources, or models of any ability."""

from __future__ import annotations

from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import AbilityModel
from service.engine.prediction.ability_prior import Expect
from service.engine.prediction.covariance import CAUTION, covariance, plain
from service.engine.prediction.greedy import Part

_ABILITIES = (-3.0, 0.0, 2.0, 5.0)
_TRUSTED = 100
"""Source models whose word on single examples weighs as much as what is plain without it."""
_GIVEN_ABILITY: dict[Expect, float] = {"like": 0.4, "better": 1.0}
"""Weight of the moments given ability; the rest is the sources' covariance."""


def design_parts(source: Source, model: AbilityModel, expect: Expect) -> list[Part]:
    """Covariances and their weights for `Greedy`.

    Parameters
    ----------
    source : Source
    model : AbilityModel
        Of the same source.
    expect : {"like", "better"}
        What new models are expected to be.
    """
    given = _GIVEN_ABILITY[expect]
    each = given / len(_ABILITIES)
    parts = [Part(model.at(ability), each, each) for ability in _ABILITIES]
    if given < 1:
        trust = (1 - given) * _TRUSTED / (_TRUSTED + source.n_models)
        parts.append(Part(covariance(source, caution=CAUTION), 1 - given, 1 - given - trust))
        parts.append(Part(plain(source), 0.0, trust))
    return parts
