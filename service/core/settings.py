"""All settings with their defaults, read from the environment once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

MEBIBYTE = 1024 * 1024
Positive = Annotated[int, Field(gt=0)]

RENAMED = {"beat_seconds": "lease_renewal_seconds", "sweep_seconds": "delete_expired_seconds"}
"""Former names of settings; the environment may use them for two minor versions."""


class Settings(BaseSettings):
    """Settings of the service; names in the environment are `TASTETEST_` + the upper-case name.

    `DATABASE_URL` and `REDIS_URL` keep the names that hosting platforms use. A variable whose name
    ends in `_FILE` names a file that holds the value, as container secrets do.
    """

    model_config = SettingsConfigDict(env_prefix="TASTETEST_", extra="ignore")

    database_url: str = Field("", validation_alias=AliasChoices("DATABASE_URL", "database_url"))
    redis_url: str = Field("", validation_alias=AliasChoices("REDIS_URL", "redis_url"))

    # The API's own address, of a role that owns nothing; row-level security holds with it only.
    api_database_url: str = ""
    database_pool: Positive = 10
    # `tastetest serve` sets it for its own servers: where it watches the space that is left.
    data_dir: str = ""
    # With less, nothing more is stored until there is space again.
    min_free_mib: Positive = 256

    # `auto`: without keys, serve this machine only; with keys, require one. `required`: always require one.
    auth: Literal["auto", "required"] = "auto"
    # A server looks a key up again after this time, so a revoked key stops working within it.
    key_cache_seconds: Annotated[float, Field(ge=0)] = 5.0
    # Host names, comma-separated, under which browsers reach the service behind a proxy that changes `Host`.
    hosts: str = ""

    max_body_bytes: Positive = 512 * MEBIBYTE
    max_expanded_bytes: Positive = 4096 * MEBIBYTE
    # Of one server: connections, and how long it waits for a request's headers, and for its body beyond
    # what a slow line needs.
    max_connections: Positive = 1000
    header_seconds: Annotated[float, Field(gt=0)] = 10.0
    body_seconds: Annotated[float, Field(gt=0)] = 60.0
    max_models: Positive = 20_000
    max_examples: Positive = 200_000
    max_cells: Positive = 200_000_000
    max_trials: Positive = 1_000
    max_sizes: Positive = 50
    # Estimated computing time of one request on one core.
    max_job_cpu_seconds: Annotated[float, Field(gt=0)] = 7 * 24 * 3600.0
    # Uploads that one server reads at once, in all and of one workspace; others wait so long.
    upload_threads: Positive = 4
    uploads_per_workspace: Positive = 2
    upload_wait_seconds: Annotated[float, Field(gt=0)] = 20.0
    # Of one workspace.
    max_unfinished_jobs: Positive = 10_000
    max_running_parts: Positive = 64
    max_open_sessions: Positive = 1_000
    max_stored_bytes: Positive = 256 * 1024 * MEBIBYTE
    # Of one key.
    max_requests_per_minute: Positive = 12_000
    # From one address, of one server.
    max_failed_keys_per_minute: Positive = 60

    max_attempts: Positive = 3
    job_seconds: Annotated[float, Field(gt=0)] = 24 * 3600.0
    worker_memory_mib: Positive = 4096
    lease_seconds: Annotated[float, Field(gt=0)] = 30.0
    lease_renewal_seconds: Annotated[float, Field(gt=0)] = 0.5
    reconcile_seconds: Annotated[float, Field(gt=0)] = 2.0
    requeue_seconds: Annotated[float, Field(gt=0)] = 5.0
    retry_seconds: Annotated[float, Field(gt=0)] = 1.0
    retry_seconds_max: Annotated[float, Field(gt=0)] = 60.0
    check_seconds: Annotated[float, Field(gt=0)] = 300.0
    delete_expired_seconds: Annotated[float, Field(gt=0)] = 3600.0
    # Time limit of one deletion; the next one follows at once if rows are left.
    delete_expired_budget_seconds: Annotated[float, Field(gt=0)] = 10.0
    keep_jobs_days: Annotated[float, Field(gt=0)] | None = 90.0
    keep_revisions_days: Annotated[float, Field(gt=0)] | None = 90.0
    keep_selections_days: Annotated[float, Field(gt=0)] | None = None
    # Without an answer for so long, a session expires.
    session_idle_days: Annotated[float, Field(gt=0)] = 7.0
    webhook_private_addresses: bool = False
    # Comma-separated; empty allows every port.
    webhook_ports: Annotated[str, Field(pattern=r"^(\s*\d{1,5}\s*(,|$))*$")] = "80,443,8443"
    webhook_proxy: str = ""
    # In a row: then nothing is sent to the address until somebody resumes it.
    webhook_failures: Positive = 30
    # Of one workspace.
    max_webhooks: Positive = 20
    webhook_overlap_hours: Annotated[float, Field(ge=0)] = 24.0
    # Comma-separated origins of pages that may call the API from a browser; none by default.
    cors_origins: Annotated[str, Field(pattern=r"^(\s*https?://[^\s,/]+\s*(,|$))*$")] = ""
    stop_seconds: Annotated[float, Field(gt=0)] = 1.0
    shutdown_grace_seconds: Annotated[float, Field(ge=0)] = 5.0

    @property
    def allowed_origins(self) -> list[str]:
        """`cors_origins`, one by one."""
        return [origin.strip() for origin in self.cors_origins.split(",") if origin.strip()]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments first, then the environment, then files that it names, then former names."""
        return (
            init_settings,
            env_settings,
            InitSettingsSource(settings_cls, dict(_from_files(settings_cls.model_fields))),
            InitSettingsSource(settings_cls, _from_former_names()),
        )


def env_name(field: str) -> str:
    """Name of a setting in the environment."""
    return field.upper() if field in ("database_url", "redis_url") else f"TASTETEST_{field.upper()}"


def _from_former_names() -> dict[str, str]:
    values = {name: os.environ[env_name(name)] for name in RENAMED if env_name(name) in os.environ}
    values = dict(_from_files(RENAMED)) | values
    for name in values:
        new = env_name(RENAMED[name])
        warnings.warn(f"{env_name(name)} is deprecated; set {new} instead", FutureWarning, stacklevel=2)
    return {RENAMED[name]: value for name, value in values.items()}


def _from_files(fields: Iterable[str]) -> Iterator[tuple[str, str]]:
    for field in fields:
        variable = f"{env_name(field)}_FILE"
        if path := os.environ.get(variable):
            try:
                yield field, Path(path).read_text().strip()
            except OSError as error:
                raise ValueError(f"{variable} names a file that cannot be read: {error}") from error


@lru_cache
def get_settings() -> Settings:
    """Settings of this process, read once."""
    return Settings()
