"""Spoiling bytes: blindly, and by putting odd values into JSON where others were."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile

TOKENS = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"null",
    b'"',
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r\n",
    b"{",
    b"[",
    b"}",
    b"]",
    b":",
    b"\\ud800",
    b"\\u0000",
    b"9" * 400,
    b"[" * 3000,
    b'{"a":' * 3000,
    b"-1",
    b"1.5",
    b"true",
    b"PK\x03\x04",
    b"\x93NUMPY",
    b"PAR1",
    b"\xef\xbb\xbf",
    "é😀".encode(),
    b"A" * 5000,
    b"'",
    b"__import__('os')",
)
VALUES: tuple[object, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    10**30,
    0.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "1",
    "1.0",
    "nan",
    "C",
    "N",
    "\0",
    "x" * 3000,
    [],
    {},
    [[]],
    [None],
    {"a": {}},
    [1, 2],
    {"value": []},
    "\ud800",
)


def spoil(data: bytes, rng: random.Random) -> bytes:
    """The data after a few mutations."""
    for _ in range(rng.randint(1, 4)):
        data = rng.choice((_bytes, _bytes, _structure, _structure, _packed))(data, rng)
    return data


def _bytes(data: bytes, rng: random.Random) -> bytes:
    i, j = sorted(rng.randint(0, len(data)) for _ in range(2))
    kind = rng.randrange(5)
    if kind == 0:
        return data[:i] + rng.choice(TOKENS) + data[i:]
    if kind == 1:
        return data[:i] + data[j:]
    if kind == 2:
        return data[:j] + data[i:]
    if kind == 3 and data:
        at = min(i, len(data) - 1)
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    return data[:i] + rng.choice(TOKENS) + data[j:]


def _structure(data: bytes, rng: random.Random) -> bytes:
    """Another value somewhere in the JSON, or in one of its lines."""
    lines = data.split(b"\n") if data.startswith(b"{") and b"\n" in data.strip() else [data]
    at = rng.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except (ValueError, RecursionError):
        return data
    lines[at] = json.dumps(_changed(value, rng)).encode(errors="surrogatepass")
    return b"\n".join(lines)


def _changed(value: object, rng: random.Random) -> object:
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        i = rng.randrange(len(value))
        if rng.random() < 0.2:
            return [*value, value[i]]
        return [*value[:i], _changed(value[i], rng), *value[i + 1 :]]
    return rng.choice(VALUES)


def _packed(data: bytes, rng: random.Random) -> bytes:
    """The content of a zip spoiled within it, or the data packed once more."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()[:20]}
    except Exception:
        return gzip.compress(data) if rng.random() < 0.1 else data
    if not files:
        return data
    name = rng.choice(list(files))
    files[name] = _structure(files[name], rng) if rng.random() < 0.6 else _bytes(files[name], rng)
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in files.items():
            archive.writestr(entry, content)
    return out.getvalue()
