from __future__ import annotations

from tests.workers.conftest import rig as rig
