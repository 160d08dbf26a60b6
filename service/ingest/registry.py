"""All formats that this service reads, each with how to recognise and read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.readers import (
    alpaca_eval,
    bfcl,
    csv_table,
    evalplus,
    every_eval_ever,
    harbor,
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
from service.ingest.source import File
from service.ingest.upload import Grid

Reader = Callable[[File, Context], Grid | Iterable[Block]]


@dataclass(frozen=True, slots=True)
class UploadFormat:
    """One format: its name in `format=`, how to recognise it, and its reader.

    Attributes
    ----------
    container : bool
        A general format: if there are logs of a tool too, such files are its other output.
    is_prose : str → bool, optional
        Whether a file of this name is a text beside the data (README.txt) if there are others.
    """

    name: str
    matches: Callable[[Head], bool]
    read: Reader
    container: bool = False
    is_prose: Callable[[str], bool] | None = None


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
    UploadFormat("harbor", harbor.matches, harbor.read),
    UploadFormat("bfcl", bfcl.matches, bfcl.read),
    UploadFormat("py_irt", json_lines.matches_py_irt, json_lines.read_py_irt, container=True),
    UploadFormat("npz", npz.matches, npz.read, container=True),
    UploadFormat("npy", npy.matches, npy.read, container=True),
    UploadFormat("parquet", parquet.matches, parquet.read, container=True),
    UploadFormat("jsonl", json_lines.matches, json_lines.read, container=True),
    UploadFormat("json", json_document.matches, json_document.read, container=True),
    UploadFormat("csv", csv_table.matches, csv_table.read, container=True, is_prose=csv_table.is_prose),
)
"""In order of recognition: formats of a tool come before general containers."""

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
        harbor.is_excluded,
        "is a summary or the settings of a Harbor job; send the result.json of each trial",
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
