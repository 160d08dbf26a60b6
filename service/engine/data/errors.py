"""Errors that the engine raises if the data, not the program, are the cause.

EngineError
├── Unsuitable    this method cannot work on these data; others may
├── Undefined     the question has no answer on these data
└── Stopped       the caller asked a long computation to stop
"""


class EngineError(Exception):
    """Base of the engine's errors; its text can be shown to the user."""


class Unsuitable(EngineError):
    """A selection method cannot work on these data; the text says why."""


class Undefined(EngineError):
    """The question has no answer on these data; the text says why."""


class Stopped(EngineError):
    """Raised out of a progress callback to end a long computation."""
