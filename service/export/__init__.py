"""A selection → what a tool takes to run only the chosen examples.

>>> form = FORMATS["lm_eval"]
>>> form.write(choice), form.command(choice)
"""

from service.export.registry import FORMATS, TOOLS, Format
from service.export.selection import Cannot, Choice, Example

__all__ = ["FORMATS", "TOOLS", "Cannot", "Choice", "Example", "Format"]
