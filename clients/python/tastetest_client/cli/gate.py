"""`tastetest gate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tastetest_client.cli import service
from tastetest_client.cli.exit_codes import Exit, PipelineCommand, PipelineError
from tastetest_client.cli.service import Answer

if TYPE_CHECKING:
    from tastetest_client._sync.transport import Transport

VERDICTS = {"pass": Exit.PASS, "fail": Exit.FAIL, "inconclusive": Exit.INCONCLUSIVE}
_QUESTION = ("preset", "margin", "confidence", "run_variance")
"""Of the gate's rule, what a session takes."""
WORST = (Exit.PASS, Exit.INCONCLUSIVE, Exit.NO_BASELINE, Exit.FAIL)
"""Of several baselines the last of these that one ends with."""
SHARE = click.FloatRange(0, 1)


@click.command(cls=PipelineCommand, context_settings=service.HELP)
@click.option(
    "--baseline",
    "baselines",
    metavar="NAME|@FILE",
    required=True,
    multiple=True,
    help="What to compare with. Repeat it: main for this change, release for a slow decline.",
)
@click.option(
    "--candidate",
    "candidates",
    metavar="NAME|@FILE",
    multiple=True,
    help="Repeat it for several; left out with --sequential.",
)
@click.option(
    "--preset",
    type=click.Choice(["regression", "non_inferiority", "improvement"]),
    default="regression",
    show_default=True,
    help="Fail only a shown drop; pass only where a drop is excluded; pass only a shown gain.",
)
@click.option(
    "--margin",
    type=SHARE,
    help="Largest drop accepted: 0.02 is 2 points. By default 0; with non_inferiority 0.05.",
)
@click.option("--subtask-margin", type=SHARE, help="Largest drop of any subtask accepted.")
@service.options(service.MATRIX, service.SELECTION, service.URL, service.KEY, service.WAIT, service.JSON)
@click.option("--confidence", type=click.FloatRange(0.5, 0.9999), default=0.9, show_default=True)
@click.option(
    "--power",
    type=click.FloatRange(0.5, 0.999),
    default=0.8,
    show_default=True,
    help="With which a drop should be found; for what is detectable and needed.",
)
@click.option(
    "--truth",
    type=click.Choice(["full_benchmark", "runs", "population"]),
    default="full_benchmark",
    show_default=True,
    help="Judge these very runs on the full benchmark, new runs on it, or the models on such questions.",
)
@click.option(
    "--run-variance",
    type=click.FloatRange(0, 0.25),
    help="Variance of one answer from run to run, where runs are not repeated; 0 for deterministic decoding.",
)
@click.option(
    "--least-coverage", type=SHARE, default=0.95, show_default=True, help="Share both must have answered."
)
@click.option(
    "--clusters",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What each example belongs to, a shared passage, say: JSON {example: cluster}, or CSV of the two.",
)
@click.option("--by-subtask", is_flag=True, help="Each subtask of the selection is a cluster.")
@click.option(
    "--no-baseline",
    type=click.Choice(["error", "pass"]),
    default="error",
    show_default=True,
    help="What to do where nothing is stored under a baseline's name yet.",
)
@click.option(
    "--sequential",
    is_flag=True,
    help="Run COMMAND on a batch of examples at a time, until a session is decided.",
)
@click.option("--budget", type=click.IntRange(10), help="Most examples of --sequential; else all.")
@click.option("--batch", type=click.IntRange(1, 10_000), default=25, show_default=True)
@click.option("--designed", is_flag=True, help="The most telling examples first; with --sequential.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def gate(
    baselines: tuple[str, ...],
    candidates: tuple[str, ...],
    matrix: str | None,
    selection: str | None,
    url: str,
    key: str | None,
    wait: float,
    as_json: bool,
    clusters: Path | None,
    by_subtask: bool,
    no_baseline: str,
    sequential: bool,
    budget: int | None,
    batch: int,
    designed: bool,
    command: tuple[str, ...],
    **rule: str | float | None,
) -> None:
    """Compare candidates with a baseline on the same examples.

    Each is a NAME the service knows, or a @FILE of its answers: JSON {example: score}, with
    a list of scores where it ran several times, or CSV with a line an answer.

    Ends with 0 (pass), with 1 (fail), with 2 (inconclusive) when these examples cannot tell
    or too few were answered, with 3 when there is no answer, and with 4 when nothing is
    stored under a baseline's name yet. By default a gate fails only when a drop is shown,
    and says which drop it would have found. Of several, 1 when any fails and 0 when all pass.

    With --sequential COMMAND evaluates the candidate: it finds ids, one a line, in the file
    {examples} ($TASTETEST_EXAMPLES) and writes scores, as in a @FILE, to {results}
    ($TASTETEST_RESULTS); it runs again on the next batch until the question is decided.
    """
    from tastetest_client.cli import inputs

    if sequential or command:
        from tastetest_client.cli.sequential import run_session

        asked = _session(baselines, candidates, matrix, selection, command, sequential=sequential)
        question = {name: rule[name] for name in _QUESTION if rule[name] is not None}
        asked["question"] |= question
        asked |= {"batch": min(batch, budget or batch), "mode": "designed" if designed else "random"}
        asked |= {} if budget is None else {"budget": budget}
        if clusters is not None:
            asked["clusters"] = inputs.clusters(clusters)
        with service.connected(url, key, wait) as connection:
            code = run_session(connection, asked, command, as_json=as_json)
        click.get_current_context().exit(code)
    service.one_of(matrix, selection)
    if not candidates:
        raise click.UsageError("Missing option '--candidate'.")
    if by_subtask and (selection is None or clusters is not None):
        raise click.UsageError("--by-subtask goes with --selection and without --clusters.")
    body: Answer = {name: value for name, value in rule.items() if value is not None}
    body |= {"matrix_id": matrix} if selection is None else {"selection_id": selection}
    sides, against = [inputs.side(one) for one in candidates], [inputs.side(one) for one in baselines]
    body |= {"candidate": sides[0]} if len(sides) == 1 else {"candidates": sides}
    if clusters is not None:
        body["clusters"] = inputs.clusters(clusters)
    with service.connected(url, key, wait) as connection:
        if by_subtask and selection is not None:
            body["clusters"] = _subtasks(connection, selection)
        codes = [
            _gated(connection, {**body, "baseline": side}, name, no_baseline, as_json=as_json)
            for name, side in zip(baselines, against, strict=True)
        ]
    click.get_current_context().exit(max(codes, key=WORST.index))


def _session(
    baselines: tuple[str, ...],
    candidates: tuple[str, ...],
    matrix: str | None,
    selection: str | None,
    command: tuple[str, ...],
    *,
    sequential: bool,
) -> Answer:
    """What `POST /sessions` is sent, but for the rule."""
    if not sequential:
        raise click.UsageError(
            f"Got unexpected arguments ({' '.join(command)}); a command goes with --sequential."
        )
    if not command:
        raise click.UsageError("--sequential needs the command that evaluates the candidate: -- COMMAND.")
    if candidates or selection is not None or matrix is None or len(baselines) > 1:
        raise click.UsageError("--sequential goes with --matrix and one --baseline, without --candidate.")
    return {"matrix_id": matrix, "question": {"kind": "compare", "baseline": baselines[0]}}


def _gated(connection: Transport, body: Answer, baseline: str, no_baseline: str, *, as_json: bool) -> Exit:
    """What comparing with one baseline ends with."""
    from tastetest_client._protocol import Call
    from tastetest_client.cli import formatting
    from tastetest_client.errors import ApiError

    try:
        answer = connection.json(Call("POST", "/compare", json=body))
    except ApiError as refusal:
        if ("/baseline", "unknown_model") not in [(e.pointer, e.code) for e in refusal.problem.errors]:
            raise
        click.echo(_how_to_make(baseline, body), err=True)
        return Exit.PASS if no_baseline == "pass" else Exit.NO_BASELINE
    service.show(answer, as_json, lambda shown: formatting.comparisons(shown, connection.connection.address))
    return VERDICTS[answer["verdict"]]


def _how_to_make(baseline: str, body: Answer) -> str:
    kind = "selection" if "selection_id" in body else "matrix"
    where = f"--{kind} {body[f'{kind}_id']}"
    return (
        f"There is no baseline {baseline!r} yet. Make one of a version known to be good, on the main branch "
        f"say: tastetest push RESULTS {where} --model {baseline}\n"
        "To let the gate pass until then: --no-baseline pass"
    )


def _subtasks(connection: Transport, selection: str) -> dict[str, str]:
    """The subtask of each chosen example."""
    from tastetest_client._protocol import Call, path

    examples = connection.json(Call("GET", path("selections", selection)))["examples"]
    if any(example["subtask"] is None for example in examples):
        raise PipelineError("The benchmark has no subtasks; say what belongs together with --clusters.")
    return {example["id"]: example["subtask"] for example in examples}
