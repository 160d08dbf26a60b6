"""All formats that this service reads, each with how to recognise and read it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from service.core.errors import FieldError, InvalidRequest, UnsupportedMedia
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.readers import (
    alpaca_eval,
    bfcl,
    csv_table,
    evalplus,
    every_eval_ever,
    helm,
    inspect_log,
    json_document,
    json_lines,
    lighteval,
    livecodebench,
    lm_eval,
    lm_eval_results,
    npy,
    npz,
    openai_evals,
    parquet,
    promptfoo,
    swe_bench,
    terminal_bench,
)
from service.ingest.records import Block
from service.ingest.refusals import listed, refuse
from service.ingest.source import File
from service.ingest.upload import Grid

Reader = Callable[[File, Context], Grid | Iterable[Block]]


@dataclass(frozen=True, slots=True)
class UploadFormat:
    """One format: its name in `format=`, how to recognise it, and its reader."""

    name: str
    matches: Callable[[Head], bool]
    read: Reader


@dataclass(frozen=True, slots=True)
class ExcludedFile:
    """A known kind of file without answers: useful together with others, refused if sent alone."""

    matches: Callable[[Head], bool]
    reason: str


def _is_schema(head: Head) -> bool:
    return head.shape == "object" and head.has("$schema")


FORMATS: tuple[UploadFormat, ...] = (
    UploadFormat("inspect", inspect_log.matches, inspect_log.read),
    UploadFormat("lm_eval", lm_eval.matches, lm_eval.read),
    UploadFormat("helm", helm.matches, helm.read),
    UploadFormat("lighteval", lighteval.matches, lighteval.read),
    UploadFormat("every_eval_ever", every_eval_ever.matches, every_eval_ever.read),
    UploadFormat("openai_evals", openai_evals.matches, openai_evals.read),
    UploadFormat("evalplus", evalplus.matches, evalplus.read),
    UploadFormat("swe_bench", swe_bench.matches, swe_bench.read),
    UploadFormat("livecodebench", livecodebench.matches, livecodebench.read),
    UploadFormat("promptfoo", promptfoo.matches, promptfoo.read),
    UploadFormat("alpaca_eval", alpaca_eval.matches, alpaca_eval.read),
    UploadFormat("terminal_bench", terminal_bench.matches, terminal_bench.read),
    UploadFormat("bfcl", bfcl.matches, bfcl.read),
    UploadFormat("py_irt", json_lines.matches_py_irt, json_lines.read_py_irt),
    UploadFormat("npz", npz.matches, npz.read),
    UploadFormat("npy", npy.matches, npy.read),
    UploadFormat("parquet", parquet.matches, parquet.read),
    UploadFormat("jsonl", json_lines.matches, json_lines.read),
    UploadFormat("json", json_document.matches, json_document.read),
    UploadFormat("csv", csv_table.matches, csv_table.read),
)
"""In order of recognition: formats of a tool come before general containers."""

CONTAINERS = frozenset({"py_irt", "npz", "npy", "parquet", "jsonl", "json", "csv"})
"""General formats: if there are logs of a tool too, such files are its other output."""

EXCLUDED_FILES: tuple[ExcludedFile, ...] = (
    ExcludedFile(
        lm_eval_results.matches,
        "holds lm-eval's aggregates only; send the samples_*.jsonl files that --log_samples writes",
    ),
    ExcludedFile(
        helm.is_excluded, "is a HELM file without scores; send per_instance_stats.json together with it"
    ),
    ExcludedFile(
        every_eval_ever.is_excluded,
        "holds aggregates only; send the instance-level JSON lines together with it",
    ),
    ExcludedFile(
        terminal_bench.is_excluded, "holds a run's metadata only; send results.json together with it"
    ),
    ExcludedFile(
        lighteval.is_excluded, "holds lighteval's aggregates only; send the details_*.parquet files"
    ),
    ExcludedFile(
        evalplus.is_excluded, "holds problems or solutions without verdicts; send the *_eval_results.json"
    ),
    ExcludedFile(
        promptfoo.is_excluded,
        "is promptfoo's CSV, which repeats its column names; send the JSON that -o out.json writes",
    ),
    ExcludedFile(_is_schema, "is a JSON schema; send the data it describes"),
)
NAMES = tuple(f.name for f in FORMATS)


def choose(context: Context) -> tuple[UploadFormat, list[File]]:
    """The format of an upload and the files in it that hold answers.

    Raises
    ------
    InvalidRequest
        `options.format` names no format.
    UnsupportedMedia
        No file has a signature this service knows.
    InvalidUpload
        The files have several formats, or no file holds answers.
    """
    heads = [(file, Head.of(file)) for file in context.files.values() if not _is_junk(file.name)]
    if context.options.format is not None:
        form = _by_name(context.options.format)
        fitting = [file for file, head in heads if form.matches(head)]
        return form, fitting or [file for file, _ in heads]
    found: dict[str, list[File]] = {}
    unknown: list[File] = []
    reasons: list[str] = []
    for file, head in heads:
        excluded = next((a for a in EXCLUDED_FILES if a.matches(head)), None)
        name = next((f.name for f in FORMATS if f.matches(head)), None)
        if excluded is not None:
            reasons.append(f"{file.name} {excluded.reason}")
        elif name is not None:
            found.setdefault(name, []).append(file)
        else:
            unknown.append(file)
    return _the_one_format(found, unknown, reasons, context)


def _the_one_format(
    found: dict[str, list[File]], unknown: Sequence[File], reasons: Sequence[str], context: Context
) -> tuple[UploadFormat, list[File]]:
    if not found and reasons:
        raise refuse(reasons[0], "no_answers", [("", reason) for reason in reasons[:20]])
    if not found:
        names = listed([file.name for file in unknown])
        detail = (
            f"{names}: the format is not one that this service reads ({', '.join(NAMES)}); convert the "
            "file, or send format= with one of them"
        )
        raise UnsupportedMedia(
            detail, [FieldError(file.name, "unknown_format", "not recognised") for file in unknown[:20]]
        )
    tools = {name: files for name, files in found.items() if name not in CONTAINERS}
    if tools and len(found) > 1:
        unknown = [*unknown, *(file for name in found for file in found[name] if name in CONTAINERS)]
        found = tools
    elif len(found) > 1 and "csv" in found:
        prose = [file for file in found["csv"] if csv_table.is_prose(file.name)]
        found["csv"] = [file for file in found["csv"] if file not in prose]
        unknown = [*unknown, *prose]
        found = {name: files for name, files in found.items() if files}
    if len(found) > 1:
        kinds = "; ".join(f"{name}: {listed([f.name for f in files], 2)}" for name, files in found.items())
        raise refuse(
            f"the files have several formats ({kinds}); send files of one format, or send format= with the "
            "one to use",
            "mixed",
        )
    if unknown:
        context.warn(
            f"ignored because the format is not recognised: {listed([file.name for file in unknown])}"
        )
    ((name, files),) = found.items()
    return _by_name(name), files


def _by_name(name: str) -> UploadFormat:
    for form in FORMATS:
        if form.name == name:
            return form
    detail = f"there is no format {name!r}; the formats are {', '.join(NAMES)}"
    raise InvalidRequest(detail, [FieldError("/format", "unknown_format", detail)])


def _is_junk(name: str) -> bool:
    """Whether it is a file that operating systems add to archives."""
    return posixpath.basename(name).startswith(".") or "__MACOSX/" in name
