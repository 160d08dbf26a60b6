"""Names models and examples where a log does not name them."""

from __future__ import annotations

import hashlib
import posixpath

from service.ingest.context import Context
from service.ingest.refusals import quoted, refuse
from service.ingest.source import File

_SHORT = 120


def model(file: File, context: Context, stated: object = None, stem: str | None = None) -> str:
    """The name of the model that a file is about.

    Parameters
    ----------
    stated : object
        The name in this file or in another file of its folder; used if it is text.
    stem : str, optional
        The model's name as part of the file's name, for tools that put it there.

    Raises
    ------
    InvalidUpload
        The model's name cannot be found.
    """
    if isinstance(stated, str) and stated.strip():
        return stated
    if context.options.model is not None:
        return context.options.model
    folder = posixpath.basename(posixpath.dirname(file.name))
    if stem:
        context.warn(f"models are named after their files, the first {quoted(stem)}", once="named by file")
        return stem
    if folder:
        context.warn(
            f"models are named after their folders, the first {quoted(folder)}", once="named by folder"
        )
        return folder
    detail = (
        f"nothing names the model of {file.name}; send model=, or upload an archive that also holds the "
        "results file with the model's name in the same folder, or in which the folder has the model's name"
    )
    raise refuse(detail, "no_model", [(file.name, "no model")])


def short(text: str) -> str:
    """An id for an example that has only a text: the text, or its beginning and a hash."""
    flat = " ".join(text.split())
    if len(flat) <= _SHORT:
        return flat
    return f"{flat[:_SHORT]}… #{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:12]}"


def content_hash(text: str) -> str:
    """A content hash of an example, for logs that hold its text but no hash."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
