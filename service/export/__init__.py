"""A selection → what a tool takes to run only the chosen examples.

>>> form = FORMATS["lm_eval"]
>>> form.write(choice), form.command(choice)
"""

from service.export.choice import Cannot, Choice, Example
from service.export.registry import FORMATS, TOOLS, Format

__all__ = ["FORMATS", "TOOLS", "Cannot", "Choice", "Example", "Format"]
