"""The process that delivers webhooks: it needs Postgres only, and shares nothing with the workers."""

from __future__ import annotations

import signal
from types import FrameType

from service.core import logging
from service.core.settings import get_settings
from service.jobs.webhook_client import Outbound
from service.jobs.webhook_delivery import Deliverer
from service.store.database import make_engine


def run() -> None:
    """Deliver until SIGINT or SIGTERM."""
    logging.configure()
    settings = get_settings()
    engine = make_engine(settings.database_url, pool_size=4, application="tastetest-webhooks")
    deliverer = Deliverer(engine, Outbound.of(settings), pause_after=settings.webhook_failures)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        deliverer.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        deliverer.run()
    finally:
        engine.dispose()
