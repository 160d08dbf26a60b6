"""Reads an upload: unpack the files, recognise the format, read, assemble, finish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from service.ingest import choose_format
from service.ingest.context import Context
from service.ingest.grid import assemble
from service.ingest.options import Limits, Options
from service.ingest.records import Block, blocks_of
from service.ingest.refusals import listed, quoted, refuse
from service.ingest.registry import UploadFormat
from service.ingest.source import File, unpacked
from service.ingest.to_matrix import finish
from service.ingest.upload import Grid, Upload


def read(data: BinaryIO, *, filename: str | None, options: Options, limits: Limits) -> Upload:
    """Read one uploaded file: a table, a log, or an archive of logs.

    Parameters
    ----------
    data : binary stream, seekable
    filename : str, optional
        The caller's name for it; used in messages, and to name the model if nothing else does.

    Raises
    ------
    InvalidUpload, UnsupportedMedia, TooLarge, InvalidRequest
        Each names the place and how to fix it.
    """
    return read_files([(filename or "upload", data)], options=options, limits=limits)


def read_files(uploads: Sequence[tuple[str, BinaryIO]], *, options: Options, limits: Limits) -> Upload:
    """Read several files sent together as one matrix; see `read`."""
    with unpacked(uploads, limits) as files:
        context = Context(options, limits, {file.name: file for file in files})
        form, chosen = choose_format.choose(context)
        grid = _grid(form, chosen, context)
    if options.model is not None:
        _name(grid, options.model)
    return finish(grid, form.name, options, limits)


def _grid(form: UploadFormat, files: Sequence[File], context: Context) -> Grid:
    if len(files) == 1:
        found = form.read(files[0], context)
        if isinstance(found, Grid):
            found.warnings = context.warnings + found.warnings
            return found
        return assemble(found, form.name, context)
    return assemble(_blocks(form, files, context), form.name, context)


def _blocks(form: UploadFormat, files: Sequence[File], context: Context) -> Iterator[Block]:
    for file in files:
        found = form.read(file, context)
        if isinstance(found, Grid):
            if found.embeddings is not None:
                context.warn(
                    f"{file.name}: the embeddings are ignored; send them in an upload of the whole matrix"
                )
            yield from blocks_of(found, file.name)
        else:
            yield from found


def _name(grid: Grid, model: str) -> None:
    """Keep the model that the caller names, by its name or because it is the only one."""
    if len(grid.models) == 1:
        (found,) = grid.models
        if found != model:
            grid.warnings.append(
                f"the upload calls the model {quoted(found)}; it is stored as {quoted(model)}"
            )
            grid.reported = {model: grid.reported[found]} if found in grid.reported else {}
            grid.models = [model]
        return
    if model not in grid.models:
        detail = (
            f"none of the {len(grid.models)} models in the upload ({listed(grid.models)}) is {quoted(model)}"
        )
        raise refuse(f"{detail}; send its file alone", "no_such_model", [("model", quoted(model))])
    row = np.array([list(grid.models).index(model)])
    grid.models, grid.values = [model], grid.values[row]
    grid.states = None if grid.states is None else grid.states[row]
    grid.repeats = None if grid.repeats is None else grid.repeats[row]
    grid.confidences = None if grid.confidences is None else grid.confidences[row]
    grid.attempts = None if grid.attempts is None else [grid.attempts[row[0]]]
