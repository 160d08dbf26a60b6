"""What a look found, in a sentence."""

from __future__ import annotations

from service.engine.comparison.sequential.look import Look
from service.engine.comparison.sequential.question import Question


def reason(found: Look, question: Question) -> str:
    """Why a session goes on or ends after this look."""
    low, high = found.interval
    span = f"{_points(found.estimate)} points, [{_points(low)}, {_points(high)}]"
    after = f"After {found.size:,} examples"
    if question.precision is not None:
        half = 50 * (high - low)
        wanted = f"± {100 * question.precision:.1f} points were asked for"
        return f"{after} the score is {100 * found.estimate:.1f} points, ± {half:.1f}; {wanted}."
    rule = question.rule
    if found.decision == "inconclusive":
        return f"{after}, the budget, the interval still holds {_points(rule.threshold)}: {span}."
    if found.decision == "fail":
        what = "there is no gain above" if rule.preset == "improvement" else "there is a drop beyond"
        return f"{after} {what} the margin of {100 * rule.margin:.1f} points: {span}."
    if found.futile:
        return f"{after} a drop beyond the margin can hardly be shown within the budget any more: {span}."
    if found.decision == "pass":
        if high < rule.threshold or low <= rule.threshold:
            return f"{after}, the budget, no drop beyond the margin is shown: {span}."
        what = "gain is above" if rule.preset == "improvement" else "drop is within"
        return f"{after} the {what} the margin of {100 * rule.margin:.1f} points: {span}."
    return f"{after} it is not decided: {span}; within the budget it is with chance {found.chance:.2f}."


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"
