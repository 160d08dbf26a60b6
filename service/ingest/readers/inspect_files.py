"""Opens the two containers of an Inspect log: one JSON object, or a zip of JSON files (.eval)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Protocol

from service.ingest import documents
from service.ingest.archives import Zip
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping, sequence
from service.ingest.options import Limits
from service.ingest.refusals import quoted, refuse
from service.ingest.source import File

VERSIONS = (1, 2)
_HEADER, _START, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)")


def is_eval(head: Head) -> bool:
    """Whether it is an Inspect log in a zip."""
    return _HEADER in head.entries or _START in head.entries


class _Parts(Protocol):
    """Access to the parts of a log."""

    def header(self, key: str) -> object:
        """A field of the header."""

    def samples(self) -> Iterator[Record]:
        """The samples, or summaries with their scores."""

    def reductions(self) -> list[Record]:
        """The means over epochs."""


class Log:
    """A log's header, and access to its samples.

    Attributes
    ----------
    eval : dict
        The task, the model and the configuration.
    planned : set of str
        Ids of all samples that the run planned to answer; empty in old logs.
    scorers : list of str
    """

    def __init__(self, parts: _Parts, name: str) -> None:
        self._parts = parts
        version = parts.header("version")
        if version is not None and version not in VERSIONS:
            detail = (
                f"{name} is an Inspect log of version {version}; this service reads versions 1 and 2; "
                "convert it with `inspect log convert`; "
                "convert it with `inspect log convert`; "
                "convert it with `inspect log convert`"
            )
            raise refuse(detail, "log_version", [(name, f"version {version}")])
        self.eval = mapping(parts.header("eval"))
        self.status = str(parts.header("status") or "started")
        self.invalidated = bool(parts.header("invalidated"))
        self._results = mapping(parts.header("results"))
        dataset = mapping(self.eval.get("dataset"))
        self.planned = {str(name) for name in sequence(dataset.get("sample_ids"))}
        self._size = dataset.get("samples")
        self.scorers = [str(s.get("name")) for s in sequence(self.eval.get("scorers")) if isinstance(s, dict)]

    def samples(self) -> Iterator[Record]:
        """Every sample of every epoch."""
        return self._parts.samples()

    @property
    def runnable(self) -> str:
        """The task in the form that `inspect eval` takes: its name for a package, file@task for a file."""
        task, file = str(self.eval.get("task", "task")), self.eval.get("task_file")
        return f"{file}@{task}" if isinstance(file, str) and file else task

    @property
    def reductions(self) -> list[Record]:
        """The means over epochs that the log holds."""
        return self._parts.reductions()

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Number of examples in the data set, and number that ran according to the results."""
        total = self._results.get("total_samples")
        epochs = mapping(self.eval.get("config")).get("epochs") or 1
        ran = total // epochs if isinstance(total, int) and isinstance(epochs, int) and epochs > 0 else None
        return (self._size if isinstance(self._size, int) else None, ran)

    def reported(self, scorer: str) -> float | None:
        """The log's own accuracy, or mean, by a scorer."""
        lists = [s for s in sequence(self._results.get("scores")) if isinstance(s, dict)] or [self._results]
        name = scorer.rpartition("/")[2]
        own = [s for s in lists if s.get("name") in (scorer, name)] or (lists if len(lists) == 1 else [])
        metrics = mapping(own[0].get("metrics")) if own else {}
        for key in ("accuracy", "mean"):
            value = mapping(metrics.get(key)).get("value")
            if isinstance(value, int | float):
                return float(value)
        return None


@contextlib.contextmanager
def opened(file: File, limits: Limits) -> Iterator[Log]:
    """The log in a file, readable within this context.

    Raises
    ------
    InvalidUpload
        It is broken, or has a version that this service does not read.
    """
    if not is_eval(Head.of(file)):
        yield Log(_Json(file, limits), file.name)
        return
    with file.seekable() as stream:
        yield Log(_Eval(Zip(stream, file.name, limits), file.name, limits), file.name)


class _Json:
    """One JSON object."""

    def __init__(self, file: File, limits: Limits) -> None:
        self._file, self._limits = file, limits

    def header(self, key: str) -> object:
        """A field of the root object."""
        return documents.field(self._file, self._limits, key)

    def samples(self) -> Iterator[Record]:
        """The samples, one at a time."""
        return (mapping(s) for s in documents.elements(self._file, self._limits, "samples"))

    def reductions(self) -> list[Record]:
        """The lists of means."""
        return [mapping(r) for r in documents.elements(self._file, self._limits, "reductions")]


class _Eval:
    """A zip of JSON files; a crashed run has only its journal."""

    def __init__(self, archive: Zip, name: str, limits: Limits) -> None:
        self._zip, self._name, self._limits = archive, name, limits
        first = next((entry for entry in (_HEADER, _START) if entry in archive.entries), None)
        if first is None:
            raise refuse(
                f"{name} has neither a header nor a journal; send the complete .eval log", "no_header"
            )
        self._header = mapping(self._load(first))

    def header(self, key: str) -> object:
        """A field of the header."""
        return self._header.get(key)

    def samples(self) -> Iterator[Record]:
        """The summaries if they hold scores, else the samples themselves."""
        summaries = [mapping(s) for s in self._summaries()]
        if any(s.get("scores") for s in summaries):
            yield from self._once(summaries)
            return
        for entry in self._zip.entries:
            if _SAMPLE.fullmatch(entry):
                yield mapping(self._load(entry))

    def reductions(self) -> list[Record]:
        """The lists of means."""
        if "reductions.json" not in self._zip.entries:
            return []
        return [mapping(r) for r in sequence(self._load("reductions.json"))]

    def _summaries(self) -> Iterator[object]:
        if _SUMMARIES in self._zip.entries:
            yield from sequence(self._load(_SUMMARIES))
            return
        for entry in self._zip.entries:
            if entry.startswith("_journal/summaries/"):
                yield from sequence(self._load(entry))

    def _once(self, summaries: list[Record]) -> Iterator[Record]:
        """Each summary once: a resumed run may have written an identical copy."""
        seen: dict[tuple[str, str], object] = {}
        for summary in summaries:
            key = str(summary.get("id")), str(summary.get("epoch"))
            if key not in seen or seen[key] != summary.get("scores"):
                yield summary
            seen[key] = summary.get("scores")

    def _load(self, entry: str) -> object:
        data = self._zip.read(entry, self._limits.document)
        return documents.parse(data, f"{self._name}: {quoted(entry)}")
