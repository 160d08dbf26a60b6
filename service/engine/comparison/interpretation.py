"""The sentences beside a verdict."""

from __future__ import annotations

from service.engine.comparison.answer import Comparison


def reason(answer: Comparison) -> str:
    """Why the verdict is what it is, in one or two sentences."""
    seen = f"{_points(answer.difference)} ({_range(answer)})"
    limit = "zero" if answer.margin == 0 else f"the margin of −{100 * answer.margin:.2f} points"
    if answer.interval_method == "exact":
        side = "below" if answer.verdict == "fail" else "not below"
        return f"Every example was answered: the difference is {_points(answer.difference)}, {side} {limit}."
    if answer.verdict == "pass":
        return f"The difference, {seen}, lies above {limit}."
    if answer.verdict == "fail":
        return f"The difference, {seen}, lies below {limit}."
    return f"The difference, {seen}, does not settle on either side of {limit}. {_mend(answer)}"


def warnings(answer: Comparison) -> tuple[str, ...]:
    """What a reader must know before trusting the numbers."""
    return tuple(text for text in (*_about_examples(answer), *_about_gate(answer)) if text)


def _mend(answer: Comparison) -> str:
    gate = answer.gate
    if not gate.can_fail:
        return f"No outcome of {_examples(answer.n_common)} could."
    if gate.smallest_detectable_drop is None:
        reach = "No drop is found reliably at this size"
    else:
        reach = f"At this size drops of {100 * gate.smallest_detectable_drop:.1f} points or more are found"
    if gate.examples_needed is None:
        return f"{reach}."
    more = f", of which the benchmark has {answer.n_benchmark}" * (gate.examples_needed > answer.n_benchmark)
    return f"{reach}; a difference like this one takes about {_examples(gate.examples_needed)}{more}."


def _about_examples(answer: Comparison) -> list[str]:
    found = []
    if answer.coverage < 1:
        missing = answer.n_asked - answer.n_common
        lack = (
            "lacks an answer of one of the models and is"
            if missing == 1
            else "lack an answer of one of the models and are"
        )
        found.append(f"{missing} of {_examples(answer.n_asked)} {lack} left out.")
    if answer.b + answer.c == 0:
        found.append("No example tells the two apart: equal so far, not shown to be equal.")
    if answer.clusters and answer.clusters.count < 10:
        few = "One cluster is" if answer.clusters.count == 1 else f"{answer.clusters.count} clusters are"
        found.append(f"{few} few: the interval is wide for that reason.")
    if answer.clusters and answer.mcnemar:
        found.append("McNemar's test ignores the clusters; the verdict does not.")
    return found + _about_repeats(answer)


def _about_repeats(answer: Comparison) -> list[str]:
    if answer.repeats is None:
        return []
    runs = (("baseline", answer.repeats.baseline), ("candidate", answer.repeats.candidate))
    return [
        f"The {summary.runs} runs of the {name} do not differ in one answer: greedy decoding or a cache; "
        "they add nothing."
        for name, summary in runs
        if summary.identical
    ]


def _about_gate(answer: Comparison) -> list[str]:
    gate, n = answer.gate, answer.n_common
    if not gate.can_pass and not gate.can_fail:
        return [f"With {_examples(n)} this gate can neither pass nor fail, whatever the answers."]
    if not gate.can_pass:
        return [f"With {_examples(n)} this gate cannot pass, whatever the answers."]
    if not gate.can_fail:
        return [f"With {_examples(n)} this gate cannot fail, whatever the answers."]
    return []


def _examples(count: int) -> str:
    return f"{count} example{'s' * (count != 1)}"


def _points(value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{100 * abs(value):.2f} points"


def _range(answer: Comparison) -> str:
    low, high = (_points(end).removesuffix(" points") for end in answer.interval)
    return f"{100 * answer.confidence:.4g} % interval {low} to {high}"
