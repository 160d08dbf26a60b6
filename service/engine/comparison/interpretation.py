"""The sentences beside a verdict."""

from __future__ import annotations

from service.engine.comparison.answer import Comparison

SHOWN = 3


def reason(answer: Comparison) -> str:
    """Why the verdict is what it is, in one to three sentences."""
    if answer.coverage < answer.least_coverage:
        return _too_few_answers(answer)
    failed = [part.subtask for part in answer.subtasks or () if part.verdict == "fail"]
    if failed:
        margin = f"{100 * (answer.subtask_margin or 0):.2f} points"
        more = f" and {len(failed) - SHOWN} more" * (len(failed) > SHOWN)
        names = ", ".join(map(repr, failed[:SHOWN]))
        return f"A drop beyond the subtask margin of {margin} is shown for {names}{more}. {_whole(answer)}"
    return _whole(answer)


def _whole(answer: Comparison) -> str:
    """What the average says."""
    seen = f"{_points(answer.difference)} ({_range(answer)})"
    limit = _limit(answer)
    low, high = answer.interval
    threshold = answer.margin if answer.preset == "improvement" else -answer.margin
    if answer.interval_method == "exact":
        found = f"{_points(answer.difference)}, {_side(answer, threshold)} {limit}"
        return f"Every example was answered: the difference is {found}."
    if low > threshold:
        return f"The difference, {seen}, lies above {limit}."
    if high < threshold:
        return f"The difference, {seen}, lies below {limit}."
    if answer.preset == "regression":
        beyond = " beyond the margin" if answer.margin else ""
        return f"No drop{beyond} is shown: the difference is {seen}. {_reach(answer)}"
    return f"The difference, {seen}, does not settle on either side of {limit}. {_more(answer)}"


def _side(answer: Comparison, threshold: float) -> str:
    """Where a difference without error lies, as its preset asks: a gain must lie above, a drop not below."""
    if answer.preset == "improvement":
        return "above" if answer.interval[0] > threshold else "not above"
    return "below" if answer.interval[1] < threshold else "not below"


def _limit(answer: Comparison) -> str:
    if answer.margin == 0:
        return "zero"
    sign = "+" if answer.preset == "improvement" else "−"
    return f"the margin of {sign}{100 * answer.margin:.2f} points"


def _reach(answer: Comparison) -> str:
    drop = answer.gate.smallest_detectable_drop
    if drop is None:
        return "No drop would have been found reliably at this size."
    return f"A drop of {100 * drop:.1f} points would have been found in {100 * answer.power:g} % of cases."


def _too_few_answers(answer: Comparison) -> str:
    low, high = answer.bounds or answer.interval
    bounds = f"{_points(low)} to {_points(high)}"
    return (
        f"Only {100 * answer.coverage:.1f} % of the examples were answered by both, less than the "
        f"{100 * answer.least_coverage:.4g} % a verdict takes: with the missing answers all against, or all "
        f"for, the candidate the difference is {bounds}. Send the missing answers (refusals and errors as 0)."
    )


def warnings(answer: Comparison) -> tuple[str, ...]:
    """What a reader must know before trusting the numbers."""
    texts = (*_about_examples(answer), *_about_subtasks(answer), *_about_gate(answer))
    return tuple(text for text in texts if text)


def _more(answer: Comparison) -> str:
    gate = answer.gate
    if not gate.can_fail:
        return f"No outcome of {_examples(answer.n_common)} could."
    if gate.smallest_detectable_drop is None:
        reach = "No drop is found reliably at this size"
    else:
        reach = f"At this size drops of {100 * gate.smallest_detectable_drop:.1f} points or more are found"
    if gate.examples_needed is None:
        return f"{reach}."
    more = f", more than the {answer.n_benchmark} of the benchmark"
    more *= gate.examples_needed > answer.n_benchmark
    return f"{reach}; a difference like this one takes about {_examples(gate.examples_needed)}{more}."


def _about_subtasks(answer: Comparison) -> list[str]:
    dropped = [part.subtask for part in answer.subtasks or () if part.dropped and part.verdict != "fail"]
    if not dropped:
        return []
    more = f" and {len(dropped) - SHOWN} more" * (len(dropped) > SHOWN)
    names = ", ".join(map(repr, dropped[:SHOWN])) + more
    return [f"A drop is shown for {names}; subtask_margin lets it decide."]


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
    if answer.preset == "regression":
        text = f"With {_examples(n)} this gate cannot fail, whatever the answers: it finds no drop."
        return [] if gate.can_fail else [text]
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
