"""Waiting hears what the database says, and survives the loss of its connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import sqlalchemy as sa

from service.jobs.listener import CHANNEL, FALLBACK_SECONDS, Listener

KILL = sa.text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name = 'tastetest-listener' AND datname = current_database()"
)
LISTENING = sa.text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE application_name = 'tastetest-listener' AND query LIKE 'LISTEN%' AND datname = current_database()"
)


def notify(db: sa.Engine, payload: str) -> None:
    with db.begin() as conn:
        conn.execute(sa.select(sa.func.pg_notify(CHANNEL, payload)))


async def listening(db: sa.Engine) -> None:
    def count() -> int:
        with db.connect() as conn:
            return int(conn.execute(LISTENING).scalar_one())

    async with asyncio.timeout(10):
        while not await asyncio.to_thread(count):
            await asyncio.sleep(0.01)


async def seconds_until_woken(listener: Listener, job: str, act: Callable[[], None]) -> float:
    with listener.subscribed(job) as subscription:
        task = asyncio.create_task(asyncio.to_thread(act))
        started = time.monotonic()
        await subscription.wait(60)
        woken = time.monotonic() - started
        await task
        return woken


def test_a_notification_wakes_those_who_wait_for_that_job_alone(db: sa.Engine, postgres_url: str) -> None:
    async def scenario() -> tuple[float, bool]:
        listener = Listener(postgres_url)
        async with listener.running():
            await listening(db)
            with listener.subscribed("other") as other:
                woken = await seconds_until_woken(listener, "job", lambda: notify(db, "job"))
                return woken, other._changed.is_set()

    woken, other = asyncio.run(scenario())
    assert woken < FALLBACK_SECONDS / 2
    assert not other


def test_a_lost_connection_wakes_everyone_and_is_made_again(db: sa.Engine, postgres_url: str) -> None:
    def kill() -> None:
        with db.begin() as conn:
            conn.execute(KILL)

    async def scenario() -> tuple[float, float]:
        listener = Listener(postgres_url)
        async with listener.running():
            await listening(db)
            lost = await seconds_until_woken(listener, "job", kill)
            await listening(db)
            return lost, await seconds_until_woken(listener, "job", lambda: notify(db, "job"))

    lost, heard = asyncio.run(scenario())
    assert lost < FALLBACK_SECONDS / 2
    assert heard < FALLBACK_SECONDS / 2


def test_without_a_database_waiting_ends_in_time(postgres_url: str) -> None:
    async def scenario() -> float:
        listener = Listener("postgresql://nobody@127.0.0.1:1/none")
        async with listener.running():
            with listener.subscribed("job") as subscription:
                started = time.monotonic()
                await subscription.wait(0.05)
                return time.monotonic() - started

    assert asyncio.run(scenario()) < FALLBACK_SECONDS / 2


def test_those_who_wait_can_be_sent_home(postgres_url: str) -> None:
    async def scenario() -> float:
        listener = Listener(postgres_url)
        async with listener.running():
            with listener.subscribed("job") as subscription:
                started = time.monotonic()
                asyncio.get_running_loop().call_later(0.05, listener.send_home)
                while not listener.closing:
                    await subscription.wait(60)
                return time.monotonic() - started

    assert asyncio.run(scenario()) < FALLBACK_SECONDS / 2
