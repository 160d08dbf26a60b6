"""Exit codes that a pipeline can rely on: 1 is a verdict, and nothing else ever ends with it."""

from __future__ import annotations

from enum import IntEnum

import click

from tastetest_client.errors import ApiError, AuthenticationError, TastetestError

INTERRUPTED = 130
KEY = "--key or TASTETEST_API_KEY gives the key."


class Exit(IntEnum):
    """What a command ends with."""

    PASS = 0
    FAIL = 1
    INCONCLUSIVE = 2
    ERROR = 3
    NO_BASELINE = 4
    """Nothing is stored under the baseline's name yet."""


class PipelineError(click.ClickException):
    """What went wrong, as a sentence for the person who reads the pipeline's log."""

    exit_code = Exit.ERROR


class PipelineCommand(click.Command):
    """A command whose every failure is a sentence on stderr and exit code 3.

    Click ends a wrong usage with 2 and an interrupt with 1, Python a crash with 1: all of
    them would read as a verdict.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """As click's, but a wrong usage is an error."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            raise _ended(error) from error

    def invoke(self, ctx: click.Context) -> object:
        """As click's, but everything that goes wrong is an error."""
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except click.ClickException as error:
            raise _ended(error) from error
        except TastetestError as error:
            raise PipelineError(_sentence(error)) from error
        except (KeyboardInterrupt, click.Abort):
            raise SystemExit(INTERRUPTED) from None
        except Exception as error:
            text = f"tastetest {self.name} is defective: {type(error).__name__}: {error}"
            raise PipelineError(text) from error


class PipelineGroup(click.Group):
    """A group in which a misspelt command is an error too, not an inconclusive verdict."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the exit code of an error."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = f"{error.message} Commands of the server need the package tastetest."
            raise _ended(click.UsageError(hint, ctx)) from error


def _sentence(error: TastetestError) -> str:
    """The error without the call, which the command made."""
    if not isinstance(error, ApiError):
        return str(error)
    hint = f"\n{KEY}" if isinstance(error, AuthenticationError) else ""
    return error.problem.text(pointers=False) + hint


def _ended(error: click.ClickException) -> SystemExit:
    error.show()
    return SystemExit(int(Exit.ERROR))
