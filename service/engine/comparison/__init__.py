"""Two models, many models, and gates: the numbers behind a verdict in CI.

    compare, compare_many   a candidate against a baseline: verdict, interval, what the gate can do
    rank                    many models: simultaneous intervals, tie groups, rank intervals
    basis, estimate_scores  full scores of new models from their answers on a selection
    power, threshold_rates  before anything is run
    drift                   whether a selection still holds for newer models

Every answer is a dataclass whose module's docstring shows it as JSON.
"""

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.comparison.answer import Comparison
from service.engine.comparison.calibration import Calibration, calibrate, cross_validate
from service.engine.comparison.compare import Setting, compare
from service.engine.comparison.compare_many import Many, compare_many
from service.engine.comparison.drift import Drift, drift
from service.engine.comparison.full_scores import DesignedEvidence, Evidence, FullScores, SampledEvidence
from service.engine.comparison.gate import Gate, GateRule, Preset, Verdict
from service.engine.comparison.order_probability import prior_from_pairs
from service.engine.comparison.paired import Modelled
from service.engine.comparison.power import (
    GroupDisagreement,
    Power,
    group_disagreement,
    measured_size,
    near_margin,
    power,
)
from service.engine.comparison.ranking import Ranking, rank
from service.engine.comparison.sampling_design import Design, Truth, stratified_design
from service.engine.comparison.score_basis import Basis, Estimator, KnownScores
from service.engine.comparison.scores import Score, estimate_scores
from service.engine.comparison.selection_estimates import Selected, basis, evidence
from service.engine.comparison.subtask_differences import Subtasks
from service.engine.comparison.thresholds import history, suggest_threshold, threshold_rates

__all__ = [
    "AbilityEstimator",
    "Basis",
    "Calibration",
    "Comparison",
    "Design",
    "DesignedEvidence",
    "Drift",
    "Estimator",
    "Evidence",
    "FullScores",
    "Gate",
    "GateRule",
    "GroupDisagreement",
    "KnownScores",
    "Many",
    "Modelled",
    "Power",
    "Preset",
    "Ranking",
    "SampledEvidence",
    "Score",
    "Selected",
    "Setting",
    "Subtasks",
    "Truth",
    "Verdict",
    "basis",
    "calibrate",
    "compare",
    "compare_many",
    "cross_validate",
    "drift",
    "estimate_scores",
    "evidence",
    "group_disagreement",
    "history",
    "measured_size",
    "near_margin",
    "power",
    "prior_from_pairs",
    "rank",
    "stratified_design",
    "suggest_threshold",
    "threshold_rates",
]
