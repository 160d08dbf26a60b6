"""`tastetest gate --sequential`: run the caller's command on each batch of a session until it is decided."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from tastetest_client._protocol import Call, idempotent, path
from tastetest_client._sync.transport import Transport
from tastetest_client.cli import inputs
from tastetest_client.cli.exit_codes import Exit, PipelineError
from tastetest_client.cli.service import Answer

VERDICTS = {"pass": Exit.PASS, "fail": Exit.FAIL}
EXAMPLES, RESULTS = "TASTETEST_EXAMPLES", "TASTETEST_RESULTS"
"""Environment variables of the command: the file of ids, one a line, and the file for its results."""


def run_session(connection: Transport, asked: Answer, command: Sequence[str], *, as_json: bool) -> Exit:
    """Start a session and answer its batches by the command; what the gate ends with.

    Parameters
    ----------
    asked : mapping
        The body of `POST /sessions`.
    command : sequence of str
        `{examples}` and `{results}` in its words stand for the two files.

    Raises
    ------
    PipelineError
        The command fails, or leaves an example without a result.
    """
    session = connection.json(Call("POST", "/sessions", json=asked, headers=idempotent(None)))
    while session["status"] == "open":
        answers = _answers(session, command)
        looks = len(session["looks"])
        to = path("sessions", session["id"], "answers")
        # Answers that are sent again with the same values change nothing.
        session = connection.json(Call("POST", to, json={"answers": answers}))
        if len(session["looks"]) > looks and not as_json:
            click.echo(session["reason"])
    if as_json:
        click.echo(json.dumps(session, indent=2, ensure_ascii=True))
    else:
        page = f"{connection.connection.address}/sessions/{session['id']}/page"
        click.echo(f"{(session['verdict'] or 'inconclusive').upper()}: {session['answered']} answers. {page}")
    return VERDICTS.get(session["verdict"], Exit.INCONCLUSIVE)


def _answers(session: Answer, command: Sequence[str]) -> dict[str, Any]:
    """Results of the command on the examples that the session waits for."""
    wanted: list[str] = session["outstanding"]
    with TemporaryDirectory(prefix="tastetest-") as folder:
        examples, results = Path(folder) / "examples.txt", Path(folder) / "results"
        examples.write_text("".join(f"{example}\n" for example in wanted))
        files = {"{examples}": str(examples), "{results}": str(results)}
        words = [_filled(word, files) for word in command]
        given = os.environ | {EXAMPLES: str(examples), RESULTS: str(results)}
        try:
            ended = subprocess.run(words, env=given, check=False).returncode
        except OSError as error:
            raise PipelineError(f"{words[0]!r} cannot be run: {error.strerror}.") from error
        if ended:
            raise PipelineError(f"{words[0]!r} ended with {ended}; session {session['id']} is undecided.")
        if not results.is_file():
            raise PipelineError(f"{words[0]!r} wrote no results to {RESULTS}, {results}.")
        found = inputs.answers(results)
    without = [example for example in wanted if example not in found]
    if without:
        raise PipelineError(
            f"The results lack {len(without)} of {len(wanted)} examples, {without[0]!r} for one; write null, "
            "or an empty score, where there is none."
        )
    return {example: found[example] for example in wanted}


def _filled(word: str, files: dict[str, str]) -> str:
    for place, file in files.items():
        word = word.replace(place, file)
    return word
