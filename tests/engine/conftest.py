from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    """As in the workers: on small arrays several threads only wait for one another."""
    with threadpool_limits(1):
        yield
