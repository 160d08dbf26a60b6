"""Runs the API, and starts the servers and workers that it needs if none are configured."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Protocol

import click
import uvicorn
from sqlalchemy import create_engine, make_url
from sqlalchemy.exc import OperationalError, ProgrammingError

import migrations
from service.api.authenticator import any_key, is_loopback
from service.cli import default_stack
from service.cli.connections import protocol
from service.cli.supervisor import Supervisor
from service.core import logging
from service.core.settings import Settings, get_settings
from service.main import create_app
from service.store import api_role

GRACE_SECONDS = 5
API_ROLE = "tastetest_api"


class Ready(Protocol):
    """Callback for the moment when the server accepts requests."""

    def __call__(self, address: str, *, keyless: bool) -> None:
        """Called with the server's address, and whether requests without a key are allowed."""


def serve(host: str, port: int, data_dir: Path, workers: int | None, on_ready: Ready) -> None:
    """Serve until SIGINT or SIGTERM, then stop everything that this function started."""
    logging.capture_library_logs()
    signal.signal(signal.SIGTERM, _leave)
    with contextlib.closing(_listen(host, port)) as listener, _backends(data_dir, workers) as settings:
        keyless = check_exposure(host, settings)
        app = create_app(settings)
        config = uvicorn.Config(
            app,
            http=protocol(settings),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        callback = partial(on_ready, keyless=keyless)
        server = _Server(config, callback, lambda: app.state.context.listener.send_home())
        server.run(sockets=[listener])


def check_exposure(host: str, settings: Settings) -> bool:
    """Whether the service accepts requests without a key.

    Raises
    ------
    ClickException
        Other machines could then use the service without a key.
    """
    local = is_loopback(host)
    try:
        if settings.auth == "required" or _has_keys(settings):
            return False
    except OperationalError as error:
        if not local:
            raise click.ClickException(f"The database does not answer: {error.orig}") from error
    if not local:
        raise click.ClickException(
            f"On {host} other machines could use the service without a key, because no API key exists yet.\n"
            "Create one with `tastetest keys create NAME`, or set TASTETEST_AUTH=required to start without "
            "one."
        )
    return True


def _has_keys(settings: Settings) -> bool:
    engine = create_engine(settings.database_url, connect_args={"connect_timeout": 5})
    try:
        return any_key(engine)
    except ProgrammingError:
        # The database is not migrated yet.
        return False
    finally:
        engine.dispose()


class _Server(uvicorn.Server):
    """Reports when it accepts requests and at which address; stops without finishing long polls."""

    def __init__(
        self, config: uvicorn.Config, on_ready: Callable[[str], None], on_exit: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_exit = on_exit

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.started:
            self._on_exit()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if sockets and self.started:
            host, port = sockets[0].getsockname()[:2]
            self._on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")


@contextlib.contextmanager
def _backends(data_dir: Path, workers: int | None) -> Iterator[Settings]:
    """Settings with the addresses of the configured servers, or else of the default stack."""
    configured = get_settings()
    if configured.database_url and configured.redis_url:
        with _workers(configured, data_dir, workers or 0):
            yield configured
        return
    if configured.database_url or configured.redis_url:
        raise click.ClickException(
            "Set both DATABASE_URL and REDIS_URL, or neither to use the default stack."
        )
    lost: list[bool] = []

    def give_up() -> None:
        lost.append(True)
        _end()

    try:
        with default_stack.running(data_dir, give_up) as stack:
            os.environ |= {"DATABASE_URL": stack.database_url, "REDIS_URL": stack.redis_url}
            os.environ.setdefault("TASTETEST_DATA_DIR", str(data_dir.resolve()))
            api_url = (
                make_url(stack.database_url).set(username=API_ROLE).render_as_string(hide_password=False)
            )
            os.environ["TASTETEST_API_DATABASE_URL"] = api_url
            get_settings.cache_clear()
            migrations.upgrade(stack.database_url)
            api_role.prepare(stack.database_url, api_url)
            with _workers(get_settings(), data_dir, 1 if workers is None else workers):
                yield get_settings()
    finally:
        if lost:
            raise click.ClickException(
                f"Postgres or Valkey ended and cannot be started again; see the logs in {data_dir}."
            )


@contextlib.contextmanager
def _workers(settings: Settings, data_dir: Path, processes: int) -> Iterator[None]:
    if not processes:
        yield
        return
    data_dir.mkdir(parents=True, exist_ok=True)
    folder = data_dir.resolve()
    stack = default_stack.Stack(settings.database_url, settings.redis_url)
    supervisors = {
        "worker": Supervisor("worker", lambda: default_stack.start_worker(stack, folder, processes), _end),
        "webhooks": Supervisor("webhooks", lambda: default_stack.start_webhooks(stack, folder), _end),
    }
    try:
        yield
    finally:
        for supervisor in supervisors.values():
            supervisor.stop()
        for name, supervisor in supervisors.items():
            if supervisor.gave_up:
                raise click.ClickException(_why(name, data_dir))


def _why(name: str, data_dir: Path) -> str:
    log = (data_dir / f"{name}.log").read_text(errors="replace").splitlines()
    return "\n".join([f"The process `{name}` does not start. The end of its log:", *log[-8:]])


def _end() -> None:
    # Without a worker, jobs would be accepted and never run.
    os.kill(os.getpid(), signal.SIGTERM)


def _listen(host: str, port: int) -> socket.socket:
    """Bind the port first, so that a port in use is reported before any server starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off, which costs 40 ms a response, only where the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise click.ClickException(
            f"Cannot listen on {host}:{port}: {error.strerror}. Choose another port with --port."
        ) from error
    return listener


def _leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
