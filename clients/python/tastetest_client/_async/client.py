"""The client."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, Unpack

from tastetest_client import models
from tastetest_client._async.comparisons import AsyncComparisons
from tastetest_client._async.jobs import AsyncJobs
from tastetest_client._async.matrices import AsyncMatrices
from tastetest_client._async.resource import AsyncResource
from tastetest_client._async.selections import AsyncSelections
from tastetest_client._async.sessions import AsyncSessions
from tastetest_client._async.transport import AsyncTransport
from tastetest_client._ids import MatrixLike, SelectionLike, Side, matrix_id, of_either, side
from tastetest_client._protocol import Call, Connection
from tastetest_client.errors import InvalidData
from tastetest_client.options import CompareOptions, MdadOptions, PowerOptions, ScoreOptions, SelectOptions
from tastetest_client.results import CompareResult, MdadResult, ScoresResult, SelectionResult


class AsyncClient(AsyncResource):
    """A Tastetest service.

    Parameters
    ----------
    base_url : str, optional
        Where it is; else `TASTETEST_URL`, else `http://127.0.0.1:8000`.
    api_key : str, optional
        A key, where the service asks for one; else `TASTETEST_API_KEY`.
    timeout : float
        Seconds to wait for any one answer; a job may take longer.
    retry_seconds : float
        How long a call is repeated while the service is away or busy; 0 never repeats.
    progress : bool, optional
        Show a bar while jobs run; by default in terminals and notebooks.

    Attributes
    ----------
    matrices, jobs, selections, comparisons, sessions
        The resources.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 120,
        retry_seconds: float = 30,
        progress: bool | None = None,
    ) -> None:
        super().__init__(AsyncTransport(Connection(base_url, api_key, timeout, retry_seconds)))
        self._progress = progress
        self.matrices = AsyncMatrices(self._transport)
        self.jobs = AsyncJobs(self._transport)
        self.selections = AsyncSelections(self._transport)
        self.comparisons = AsyncComparisons(self._transport)
        self.sessions = AsyncSessions(self._transport)

    async def mdad(
        self, matrix: MatrixLike, *, wait_seconds: float | None = None, **options: Unpack[MdadOptions]
    ) -> MdadResult:
        """Measure how small the benchmark can be, and wait for the answer.

        Parameters
        ----------
        matrix : str or matrix
            The matrix or its id.
        wait_seconds : float, optional
            How long to wait; by default as long as it takes.
        **options
            As `POST /mdad` takes them: `target_mdad=0.03`, `methods=["random"]`, …

        Raises
        ------
        InvalidRequest
            An option does not fit the data; the problem names it and says how to fix it.
        JobFailed, WaitTimeout
            There is no result, or not yet.
        """
        job = await self.jobs.submit_mdad(matrix, **options)
        await self.jobs.wait(job, progress=self._progress, timeout=wait_seconds)
        return await self.jobs.mdad_result(job)

    async def select(
        self,
        source: MatrixLike | MdadResult,
        method: str | None = None,
        *,
        wait_seconds: float | None = None,
        **options: Unpack[SelectOptions],
    ) -> SelectionResult:
        """Choose examples and wait for them.

        Parameters
        ----------
        source : matrix, str or MdadResult
            A matrix, or a result of `mdad`, whose recommendation is then followed.
        method : str, optional
            Needed with a matrix: `optimal_design`, `random`, …
        **options
            As `POST /select` takes them: `size=100`, `seed=1`, …

        Raises
        ------
        InvalidData
            The result recommends no subset, or a matrix is given without a method.
        """
        chosen: dict[str, Any] = dict(options)
        if isinstance(source, MdadResult):
            recommended = source.recommendation.select
            if recommended is None and method is None:
                raise InvalidData(f"There is no recommendation to follow. {source.sentence}")
            given = {} if recommended is None or method else recommended.model_dump(exclude_none=True)
            chosen = {"revision": source.matrix.revision, **given, **options}
            method, source = chosen.pop("method", method), source.matrix.id
        if method is None:
            raise InvalidData("select needs a method with a matrix, like method='optimal_design'.")
        job = await self.jobs.submit_select(source, method, **chosen)
        await self.jobs.wait(job, progress=self._progress, timeout=wait_seconds)
        return await self.jobs.selection_result(job)

    async def scores(
        self,
        selection: SelectionLike,
        answers: Any,  # noqa: ANN401 - a frame of whichever library
        **options: Unpack[ScoreOptions],
    ) -> ScoresResult:
        """Estimate full scores from answers to the chosen examples; see `selections.score`."""
        return await self.selections.score(selection, answers, **options)

    async def compare(
        self,
        where: SelectionLike | MatrixLike,
        *,
        baseline: Side,
        candidate: Side | list[Side],
        **options: Unpack[CompareOptions],
    ) -> CompareResult:
        """Compare candidates with a baseline on the same examples.

        Parameters
        ----------
        where : selection or matrix
            A selection or a matrix; a plain id is one of a selection.
        baseline, candidate : str or dict; candidate also a list of them
            A name that the service knows, or scores by example id.
        **options
            As `POST /compare` takes them: `margin=0.02`, `preset="non_inferiority"`, …
        """
        body: dict[str, Any] = {**of_either(where), "baseline": side(baseline, "baseline"), **options}
        if isinstance(candidate, list):
            body["candidates"] = [side(one, f"candidate {i + 1}") for i, one in enumerate(candidate)]
        else:
            body["candidate"] = side(candidate, "candidate")
        return await self._read(CompareResult, Call("POST", "/compare", json=body))

    async def power(
        self, matrix: MatrixLike | None = None, **options: Unpack[PowerOptions]
    ) -> models.PowerView:
        """What a comparison can tell before it is run: `difference=0.03` and other fields of `POST /power`.

        With a matrix, how often models disagree is taken from it; else `disagreement` says it.
        """
        body = {**({} if matrix is None else {"matrix_id": matrix_id(matrix)}), **options}
        return await self._read(models.PowerView, Call("POST", "/power", json=body))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
