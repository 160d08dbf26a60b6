"""Reads the probability of the right choice from HELM's scenario_state.json."""

from __future__ import annotations

from collections.abc import Mapping

from service.ingest import documents
from service.ingest.answers import right_choice
from service.ingest.context import Context
from service.ingest.documents import Record, mapping, sequence
from service.ingest.source import File

Key = tuple[str, str, int]
_METHOD = "multiple_choice_separate"
_CORRECT = "correct"


def confidences(file: File, context: Context) -> Mapping[Key, float]:
    """Probability of the right choice, by instance, perturbation and trial.

    Empty unless the run scored every choice separately (method multiple_choice_separate_*). In
    calibrated runs, each choice's log-probability without the question is subtracted.
    """
    state = context.sibling(file, "scenario_state.json")
    if state is None:
        return {}
    method = mapping(documents.field(state, context.limits, "adapter_spec")).get("method")
    if not str(method).startswith(_METHOD):
        return {}
    choices: dict[Key, dict[int, float]] = {}
    right: dict[Key, list[int]] = {}
    for item in documents.elements(state, context.limits, "request_states"):
        _add(mapping(item), choices, right)
    return {
        key: right_choice([found[k] for k in sorted(found)], right[key]) for key, found in choices.items()
    }


def _add(state: Record, choices: dict[Key, dict[int, float]], right: dict[Key, list[int]]) -> None:
    instance = mapping(state.get("instance"))
    index, trial, logprob = state.get("reference_index"), state.get("train_trial_index"), _logprob(state)
    if not isinstance(index, int) or not isinstance(trial, int) or logprob is None:
        return
    perturbation = str(mapping(instance.get("perturbation")).get("name", ""))
    key = str(instance.get("id")), perturbation, trial
    sign = -1.0 if state.get("request_mode") == "calibration" else 1.0
    found = choices.setdefault(key, {})
    found[index] = found.get(index, 0.0) + sign * logprob
    references = map(mapping, sequence(instance.get("references")))
    right[key] = [k for k, ref in enumerate(references) if _CORRECT in sequence(ref.get("tags"))]


def _logprob(state: Record) -> float | None:
    completions = sequence(mapping(state.get("result")).get("completions"))
    value = mapping(completions[0] if completions else None).get("logprob")
    return float(value) if isinstance(value, int | float) else None
