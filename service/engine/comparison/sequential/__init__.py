"""Comparisons and scores from answers that arrive a batch at a time.

learn, put_in_order, prepare    what is worked out before the first answer
plan_looks, any_look            when the question is looked at, and with which critical values
look                            the answers so far → estimate, interval, decision
"""

from service.engine.comparison.sequential.look import Decision, Look, look
from service.engine.comparison.sequential.looks import FIRST, LookPlan, any_look, plan_looks
from service.engine.comparison.sequential.prepared import (
    Known,
    Mode,
    Order,
    Prepared,
    Sources,
    learn,
    prepare,
    put_in_order,
)
from service.engine.comparison.sequential.question import Looks, Question

__all__ = [
    "FIRST",
    "Decision",
    "Known",
    "Look",
    "LookPlan",
    "Looks",
    "Mode",
    "Order",
    "Prepared",
    "Question",
    "Sources",
    "any_look",
    "learn",
    "look",
    "plan_looks",
    "prepare",
    "put_in_order",
]
