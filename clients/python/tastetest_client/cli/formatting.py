"""Answers as people read them in the log of a pipeline."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

Answer = dict[str, Any]
COLUMNS_IN_A_LOG = 120
SHOWN = 8
STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}


def stored(answer: Answer, model: str, models: Sequence[Answer]) -> None:
    """Results that became a model of a matrix."""
    table = _table(f"{model} in {answer['name']}, revision {answer['revision']}")
    for heading in ("model", "score", "scored", "missing", "rank"):
        table.add_column(heading, justify="left" if heading == "model" else "right", overflow="fold")
    (own,) = [line for line in models if line["model"] == model]
    scores = [line["accuracy"] for line in models if line["accuracy"] is not None]
    rank = "-"
    if own["accuracy"] is not None:
        rank = f"{1 + sum(score > own['accuracy'] for score in scores)} of {len(models)}"
    table.add_row(escape(model), _percent(own["accuracy"]), str(own["scored"]), _missing(own), rank)
    _print(table, answer["warnings"])


def _missing(own: Answer) -> str:
    """How many examples have no score, and why where the log says."""
    kinds = (
        f"{own[kind]} {kind.replace('_', ' ')}"
        for kind in ("errored", "unscored", "not_run")
        if own.get(kind)
    )
    why = ", ".join(kinds)
    return f"{own['missing']} ({why})" if own["missing"] and why else str(own["missing"])


def scores(answer: Answer) -> None:
    """Full scores estimated from answers on a selection."""
    asked = f"{answer['matrix']['id']}, revision {answer['matrix']['revision']}"
    table = _table(f"Estimated scores on the full benchmark (matrix {asked})")
    interval = f"{100 * answer['confidence']:g} % interval"
    for heading in ("model", "score", interval, "rank", "answered"):
        table.add_column(heading, justify="left" if heading == "model" else "right", overflow="fold")
    for line in answer["scores"]:
        low, high = line["interval"]
        table.add_row(
            escape(line["model"]),
            _percent(line["score"]),
            f"{_percent(low)} to {_percent(high)}",
            _rank(line),
            f"{line['answered']} of {line['asked']}",
        )
    notes = [text for line in answer["scores"] for text in _about(line)]
    _print(table, answer["warnings"] + notes + _aged(answer))


def comparisons(answer: Answer, address: str) -> None:
    """Verdicts of the service at an address, and what they rest on."""
    for comparison in answer["comparisons"]:
        _print(_comparison(comparison), comparison["warnings"])
    if answer["ranking"] is not None:
        _print(
            None,
            [
                f"Not told apart: {_listed(group)}"
                for group in answer["ranking"]["tie_groups"]
                if len(group) > 1
            ],
        )
    _print(None, answer["warnings"] + _aged(answer))
    # Services before comparisons were kept have no pages.
    if answer.get("page") is not None:
        click.echo(f"The comparison's page: {address}{answer['page']}")
    verdict = answer["verdict"]
    _print(f"[{STYLES[verdict]}]{verdict.upper()}[/]", [])


def _comparison(answer: Answer) -> Table:
    verdict, gate = answer["verdict"], answer["gate"]
    table = _table(
        f"{answer['candidate']} compared with {answer['baseline']}: {verdict}",
        caption=_plain(answer["reason"]),
    )
    table.add_column("what", no_wrap=True)
    table.add_column("answer", overflow="fold")
    low, high = answer["interval"]
    found_in = f"found in {100 * answer['power']:g} % of cases"
    rows = [
        ("paired difference", f"{_points(answer['difference'])} points"),
        (f"{100 * answer['confidence']:.3g} % interval", f"{_points(low)} to {_points(high)} points"),
        ("gate", _gate(answer)),
        (answer["candidate"], _percent(answer["candidate_score"])),
        (answer["baseline"], _percent(answer["baseline_score"])),
        (
            "examples compared",
            f"{answer['n_common']} of {answer['n_asked']}; benchmark {answer['n_benchmark']}",
        ),
        ("examples lost, won", f"{answer['b']}, {answer['c']}{_mcnemar(answer)}"),
        ("smallest detectable drop", _drop(gate, found_in)),
        ("examples needed to decide", _needed(gate)),
        ("false alarms", f"{100 * gate['false_alarm_rate']:.1f} % of identical models fail"),
    ]
    rows += _subtasks(answer) + _clusters(answer) + _runs(answer)
    if answer["flips"]["lost"]:
        rows.append(("lost", _listed(answer["flips"]["lost"])))
    for name, value in rows:
        table.add_row(escape(str(name)), escape(value))
    return table


def _clusters(answer: Answer) -> list[tuple[str, str]]:
    found = answer["clusters"]
    if found is None:
        return []
    alone, together = found["standard_error_ignoring_them"], answer["standard_error"]
    errors = f"standard error {100 * together:.2f} points, {100 * alone:.2f} were they ignored"
    return [("clusters", f"{found['count']}; {errors}")]


def _runs(answer: Answer) -> list[tuple[str, str]]:
    if answer["repeats"] is None:
        return []
    rows = []
    for side in ("baseline", "candidate"):
        runs = answer["repeats"][side]
        if runs["runs"] > 1:
            scores = _listed([_percent(score) for score in runs["run_scores"]])
            mixed = f"{runs['mixed']} examples now right, now wrong"
            rows.append((f"{runs['runs']} runs of {answer[side]}", f"{scores}; {mixed}"))
    return rows


def _gate(answer: Answer) -> str:
    margin = f"{100 * answer['margin']:.2f} points"
    if answer["preset"] == "improvement":
        more = f" of more than {margin}" if answer["margin"] else ""
        return f"passes when a gain{more} is shown"
    beyond = f"a drop of more than {margin}" if answer["margin"] else "a drop"
    if answer["preset"] == "regression":
        return f"fails when {beyond} is shown"
    return f"passes when {beyond} is excluded"


def _subtasks(answer: Answer) -> list[tuple[str, str]]:
    """Those where a drop is shown, or that decided."""
    worst = [part for part in answer["subtasks"] or () if part["dropped"] or part["verdict"] == "fail"]
    return [
        (f"subtask {part['subtask']}", f"{_points(part['difference'])} points on {part['n']} examples")
        for part in worst[:SHOWN]
    ]


def _mcnemar(answer: Answer) -> str:
    if answer["mcnemar"] is None:
        return ""
    return f" (McNemar p = {answer['mcnemar']['mid_p']:.3g}, exact {answer['mcnemar']['exact']:.3g})"


def _drop(gate: Answer, found_in: str) -> str:
    drop = gate["smallest_detectable_drop"]
    return "none at this size" if drop is None else f"{100 * drop:.2f} points, {found_in}"


def _needed(gate: Answer) -> str:
    if gate["examples_needed"] is None:
        return str(gate["examples_needed_reason"])
    return f"{gate['examples_needed']}, were the difference as observed"


def _aged(answer: Answer) -> list[str]:
    # A pipeline may have installed other commands than its service is of.
    drift = answer.get("drift")
    return [] if drift is None else [drift["sentence"]]


def _about(line: Answer) -> list[str]:
    alike = line["indistinguishable"]
    notes = [f"{line['model']}: {text}" for text in line["warnings"]]
    if alike:
        notes.append(f"{line['model']} cannot be told from {len(alike)} models: {_listed(alike)}")
    return notes


def _rank(line: Answer) -> str:
    if line["rank"] is None:
        return "-"
    low, high = line["rank_interval"]
    return f"{line['rank']} ({low} to {high})"


def _table(title: str, caption: str | None = None) -> Table:
    return Table(
        title=escape(title), caption=caption, title_justify="left", caption_justify="left", title_style="bold"
    )


def width() -> int | None:
    """A terminal knows its width; a log is no terminal, and 80 columns would fold every table."""
    return None if sys.stdout.isatty() else COLUMNS_IN_A_LOG


def _print(shown: Table | str | None, notes: Sequence[str]) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Console(width=width(), highlight=False)
    if shown is not None:
        console.print(shown)
    for note in notes:
        console.print(f"note: {_plain(note)}", soft_wrap=True)


def _plain(text: str) -> str:
    """Without markup, and with the minus sign that every terminal has."""
    return escape(text.replace("\u2212", "-"))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _points(difference: float) -> str:
    return f"{100 * difference:+.2f}"
