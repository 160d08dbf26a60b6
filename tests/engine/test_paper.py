"""A short run of `make paper`: tinyBenchmarks as published, on fewer trials."""

from pathlib import Path

import pytest

from benchmarks.paper.comparison import pairs, report
from benchmarks.paper.measured import measure
from benchmarks.paper.published import matrix, published


@pytest.mark.shared
def test_tinybenchmarks_on_gpqa_estimates_and_orders_models_as_published(shared: Path):
    ours = measure(matrix(shared), ["tinybenchmarks"], sources=[300], sizes=[10, 100], trials=12)
    compared = pairs(ours, published(shared))
    assert len(compared) == 4
    for pair in compared:
        assert max(abs(z) for z in pair.distances.values()) < 4
    assert "### `tinybenchmarks` beside tinyBenchmarks, 300 source models" in report(compared, trials=12)
