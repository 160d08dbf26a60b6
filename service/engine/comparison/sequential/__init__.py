"""Comparisons and scores from answers that arrive a batch at a time.

plan_looks        when the question is looked at, and with which critical values
prepare           what is worked out before the first answer: order of the examples, predictions
look              the answers so far → estimate, interval, decision
"""

from service.engine.comparison.sequential.look import Decision, Look, look
from service.engine.comparison.sequential.looks import LookPlan, plan_looks
from service.engine.comparison.sequential.prepared import Known, Mode, Prepared, prepare
from service.engine.comparison.sequential.question import Looks, Question

__all__ = [
    "Decision",
    "Known",
    "Look",
    "LookPlan",
    "Looks",
    "Mode",
    "Prepared",
    "Question",
    "look",
    "plan_looks",
    "prepare",
]
