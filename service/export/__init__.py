"""Exports a selection in the form that an evaluation tool needs to run only the chosen examples.

>>> form = FORMATS["lm_eval"]
>>> form.write(choice), form.command(choice)
"""

from service.export.load import exported_selection
from service.export.registry import FORMATS, TOOLS, ExportFormat
from service.export.selection import Example, ExportedSelection, ExportError

__all__ = [
    "FORMATS",
    "TOOLS",
    "Example",
    "ExportError",
    "ExportFormat",
    "ExportedSelection",
    "exported_selection",
]
