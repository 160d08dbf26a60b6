"""What may be said about an upload, in the query or as fields of a multipart form."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class UploadFields(BaseModel):
    """Texts; `service.ingest` reads them once more, since forms bring them too."""

    name: str | None = Field(
        None, min_length=1, max_length=500, description="What people call it; the file's name if not given."
    )
    format: str | None = Field(None, description="The reader to use; recognised by the bytes if not given.")
    orientation: Literal["models_as_rows", "models_as_columns"] | None = Field(
        None, description="What the rows of a table are."
    )
    metric: str | None = Field(
        None, description="Which metric of a log is the score; of several, by comma, the first a task has."
    )
    filter: str | None = Field(None, description="Which answer filter of a log counts; several by comma.")
    subtask: str | None = Field(
        None, description="The column that names each example's subtask; of a log the task or group to keep."
    )
    missing: Literal["keep", "zero", "reject"] | None = Field(
        None, description="What an empty cell is: `keep` as missing, `zero` for wrong, `reject` the upload."
    )
    model: str | None = Field(
        None, description="The model's name where the file holds none, or the only one wanted."
    )
    ignore: str | None = Field(None, description="Columns that hold neither ids nor scores, by comma.")
    frequency: str | None = Field(None, description="The column saying how many models a row stands for.")
    ids: Literal["given", "row_number"] | None = Field(
        None, description="`row_number` names examples without ids by their row."
    )
    unmatched: Literal["refuse", "keep"] | None = Field(
        None, description="`keep` takes a model that ran other examples, or other content, than the others."
    )
    scale: str | None = Field(
        None, description="How raw values become fractions: `percent`, or `worst..best` like `1..10`."
    )
    models: str | None = Field(
        None,
        description="What is known of the models: CSV with the column `model` and any of `family`, "
        "`released` (a date), `tags` (separated by `;`), or a JSON object of objects, one a model.",
    )
    mapping: str | None = Field(None, description="Scores of words, like `yes:1,no:0,refused:missing`.")

    def given(self) -> dict[str, str]:
        """Those that were sent."""
        return {name: text for name, text in self if text is not None}
