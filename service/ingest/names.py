"""What a model and an example are called where the log itself does not say."""

from __future__ import annotations

import hashlib
import posixpath

from service.ingest.context import Context
from service.ingest.refusals import quoted, refuse
from service.ingest.source import File

_SHORT = 120


def model(file: File, context: Context, stated: object = None, stem: str | None = None) -> str:
    """The model a file is about.

    Parameters
    ----------
    told : object
        What the file or one beside it says; used when it is a text.
    stem : str, optional
        The part of the file's name that names the model, for tools that put it there.

    Raises
    ------
    InvalidUpload
        Nothing names it.
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
        f"nothing names the model of {file.name}; send model=, or upload an archive in which the file lies "
        "beside the results file that names it, or in a folder with the model's name"
    )
    raise refuse(detail, "no_model", [(file.name, "no model")])


def short(text: str) -> str:
    """An id for an example known only by its text: the text, or its beginning and its hash."""
    flat = " ".join(text.split())
    if len(flat) <= _SHORT:
        return flat
    return f"{flat[:_SHORT]}… #{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:12]}"


def content_hash(text: str) -> str:
    """A content hash for logs that keep the text and no hash."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
