"""Reads SWE-bench: harness reports, results.json of the experiments repository, verdicts per instance.

A resolved instance counts as 1; an unresolved one or one with an empty patch as 0; one with an error as
errored. An instance that was not submitted or is incomplete counts as not run, although leaderboards
count it as wrong.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator, Mapping

from service.ingest import documents, names
from service.ingest.answers import ERRORED, NOT_RUN, Answers
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping, sequence
from service.ingest.records import Block
from service.ingest.refusals import refuse
from service.ingest.source import File

_STEM = re.compile(r"(?P<model>.+?)(__results|\.[^.]+)?\.json$")
_INSTANCE = re.compile(r"[\w.-]+__[\w.-]+-\d+")
_WRONG = ("unresolved_ids", "unresolved", "empty_patch_ids", "generated", "completed_ids", "submitted_ids")
_ERRORED = ("error_ids", "infra_failure_ids", "test_error", "install_fail")
_NOT_RUN = ("incomplete_ids", "no_generation")


def matches(head: Head) -> bool:
    """Whether it is a report, or verdicts by instance."""
    lists = head.has("resolved_ids") or head.has("resolved")
    report = lists and (head.has("submitted_instances") or head.has("generated") or head.has("no_generation"))
    by_instance = bool(head.keys) and all(_INSTANCE.fullmatch(key) for key in head.keys)
    return head.shape == "object" and (report or by_instance)


def read(file: File, context: Context) -> Iterator[Block]:
    """One run's verdicts.

    Raises
    ------
    InvalidUpload
        The file lists only resolved instances, so the others are unknown; or the model's name cannot be
        found.
    """
    document = mapping(documents.document(file, context.limits))
    if all(_INSTANCE.fullmatch(key) for key in document):
        verdicts = _by_instance(document, file)
    else:
        verdicts = _by_lists(document, file, context)
    answers = Answers()
    for row, (name, (value, state)) in enumerate(sorted(verdicts.items()), start=1):
        answers.add(name, value, row, state=state)
        answers.native.append(name)
    block = answers.block(names.model(file, context, None, _stem(file)), file.name, unit="instance")
    total, right = document.get("total_instances"), document.get("resolved_instances")
    if isinstance(total, int) and isinstance(right, int) and total > 0:
        block.reported, block.ran = right / total, total
    yield block


def _by_lists(document: Record, file: File, context: Context) -> dict[str, tuple[float, int | None]]:
    lists = {
        key: _ids(value, key, file, context) for key, value in document.items() if isinstance(value, list)
    }
    resolved = lists.get("resolved_ids", lists.get("resolved", []))
    verdicts: dict[str, tuple[float, int | None]] = {}
    for keys, verdict in (
        (_NOT_RUN, (math.nan, NOT_RUN)),
        (_WRONG, (0.0, None)),
        (_ERRORED, (math.nan, ERRORED)),
    ):
        for key in keys:
            verdicts.update(dict.fromkeys(lists.get(key, []), verdict))
    for name in lists.get("empty_patch_ids", []):
        verdicts[name] = (0.0, None)
    if not set(verdicts) - set(resolved):
        detail = (
            f"{file.name} lists only the resolved instances, so the others are unknown; send the harness "
            "report, or verdicts per instance"
        )
        raise refuse(detail, "no_denominator", [(file.name, "only resolved")])
    verdicts.update(dict.fromkeys(resolved, (1.0, None)))
    return verdicts


def _ids(value: object, key: str, file: File, context: Context) -> list[str]:
    found = [name for name in sequence(value) if isinstance(name, str)]
    if len(set(found)) < len(found):
        context.warn(
            f"{file.name}: the list {key} names {len(found) - len(set(found))} instances twice; send the "
            "file that the harness wrote; send the "
            "file that the harness wrote; send the "
            "file that the harness wrote"
        )
    return found


def _by_instance(document: Mapping[str, object], file: File) -> dict[str, tuple[float, int | None]]:
    verdicts: dict[str, tuple[float, int | None]] = {}
    for name, value in document.items():
        resolved = value.get("resolved") if isinstance(value, dict) else value
        if not isinstance(resolved, bool | None):
            raise refuse(
                f"{file.name}: instance {name!r} has no verdict; send the file that the harness wrote; send "
                "the file that the harness wrote; send "
                "the file that the harness wrote",
                "record",
                [(name, "no verdict")],
            )
        verdicts[name] = (math.nan, None) if resolved is None else (float(resolved), None)
    return verdicts


def _stem(file: File) -> str | None:
    """The part of a report's name before its run id; for results.json, the name of the run's folder."""
    name = posixpath.basename(file.name)
    if name in ("results.json", "report.json", "per_instance_details.json"):
        parts = [part for part in posixpath.dirname(file.name).split("/") if part not in ("", "results")]
        return parts[-1] if parts else None
    found = _STEM.match(name)
    return None if found is None else found["model"]
