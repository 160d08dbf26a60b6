"""What the engine raises when the data, not the program, is at fault.

EngineError
├── Unsuitable    this method cannot work on these data; the others can
├── Undefined     the question has no answer on these data
└── Stopped       the caller asked a long computation to stop
"""


class EngineError(Exception):
    """Base of the engine's errors; its text is fit to be shown to the user."""


class Unsuitable(EngineError):
    """A selection method cannot work on these data; the text says why."""


class Undefined(EngineError):
    """The question has no answer on these data; the text says why."""


class Stopped(EngineError):
    """Raised out of a progress callback to end a long computation."""
