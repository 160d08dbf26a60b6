"""Archives and compression: what is in them is found, and nothing in them can hurt."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import time
from collections.abc import Callable
from typing import Literal

import pytest
import zstandard

from service.core.errors import Problem, TooLarge, UnsupportedMedia
from service.ingest import Limits
from tests.ingest.helpers import load, load_all, refused, refused_all, warned, zipped

A, B = "model,q1,q2\na,1,0\n", "model,q1,q2\nb,0,0\n"
zstd = zstandard.ZstdCompressor().compress


def tarred(files: dict[str, bytes], mode: Literal["w", "w:gz"] = "w") -> bytes:
    with tarfile.open(fileobj=(out := io.BytesIO()), mode=mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


FILES = {"x/a.csv": A.encode(), "x/b.csv": B.encode()}


@pytest.mark.parametrize(
    "data",
    [
        zipped(FILES),
        tarred(FILES),
        tarred(FILES, "w:gz"),
        zstd(tarred(FILES)),
        gzip.compress(zipped(FILES)),
        zipped({"x/a.csv.gz": gzip.compress(A.encode()), "x/b.csv.zst": zstd(B.encode())}),
        tarred({"x/a.csv.gz": gzip.compress(A.encode()), "x/b.csv": B.encode()}),
    ],
    ids=["zip", "tar", "tar.gz", "tar.zst", "zip.gz", "zip of gz and zst", "tar of gz"],
)
def test_all_ways_to_pack(data: bytes) -> None:
    assert load(data).matrix.models == ("a", "b")


def test_several_files_sent_together() -> None:
    assert load_all({"a.csv": A, "b.csv.gz": gzip.compress(B.encode())}).matrix.models == ("a", "b")
    refused_all({"x/a.csv": A, "./x//a.csv": A}, "two files have the name 'x/a.csv'")


def test_what_systems_leave_in_archives_is_ignored() -> None:
    files = {"a.csv": A, "__MACOSX/a.csv": b"\0\1", ".DS_Store": b"\0\1", "x/._a.csv": b"\0"}
    upload = load(zipped(files))
    assert upload.matrix.models == ("a",)
    assert upload.warnings == ()


def test_unknown_files_are_named() -> None:
    upload = load(zipped({"a.csv": A, "picture.png": b"\x89PNG\r\n\x1a\n\0\1\2,"}))
    assert warned(upload, "ignored because the format is not recognised: 'picture.png'")


def test_formats_do_not_mix_unless_forced() -> None:
    files = {"a.csv": A, "b.json": '{"models": ["b"], "examples": ["q1", "q2"], "scores": [[0, 1]]}'}
    refused(zipped(files), "several formats", "csv: 'a.csv'", "json: 'b.json'")
    assert load(zipped(files), format="csv").matrix.models == ("a",)


def test_what_else_a_tool_writes_is_left_out() -> None:
    log = b'{"doc_id": 0, "resps": [], "acc": 1}\n'
    files = {
        "m/samples_t_2025-01-01T00-00-00.0.jsonl": log,
        "m/config.json": b'{"seed": {"a": 1}}',
        "m/notes.csv": b"a,b\n1,2\n",
    }
    upload = load(zipped(files))
    assert upload.matrix.models == ("m",)
    assert warned(upload, "ignored because the format is not recognised: 'm/config.json', 'm/notes.csv'")


def test_several_archives_keep_their_files_apart() -> None:
    log = b'{"doc_id": 0, "resps": [], "acc": 1}\n'
    one = zipped({"samples_t_2025-01-01T00-00-00.0.jsonl": log})
    assert load_all({"a.zip": one, "b.zip": one}).matrix.models == ("a.zip", "b.zip")


def test_names_cannot_lead_anywhere() -> None:
    upload = load(
        tarred({"../../etc/pass\nwd/../m/log.jsonl": b'{"task_id": "q", "passed": true}\n'}), model="m"
    )
    assert upload.matrix.models == ("m",)
    problem = refused(tarred({"/../..\\..\\x/a.csv": b"model,q1\na,yes\n"}))
    assert "/.." not in problem.detail


def test_an_entry_without_a_name_is_a_file_all_the_same() -> None:
    nameless = zipped({"q.csv": A.encode()}).replace(b"q.csv", b"\0.csv")
    assert load(nameless).matrix.models == ("a",)


def test_names_that_are_no_unicode() -> None:
    data = tarred({"x/caf\udce9.csv": A.encode(), "x/b.bin": b"\1"})
    upload = load(data)
    "".join(upload.warnings).encode()
    problem = refused(tarred({"caf\udce9": b"\1\2"}))
    problem.detail.encode()


def test_links_and_devices_in_tars_are_no_files() -> None:
    with tarfile.open(fileobj=(out := io.BytesIO()), mode="w") as archive:
        for kind, name in ((tarfile.SYMTYPE, "link"), (tarfile.LNKTYPE, "hard"), (tarfile.CHRTYPE, "dev")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    refused(out.getvalue(), "holds no files")


def test_a_name_twice() -> None:
    data = zipped({"a.csv": A, "b.csv": B}).replace(b"b.csv", b"a.csv")
    refused(data, "holds 'a.csv' twice")


def test_empty_archives() -> None:
    refused(zipped({}), "holds no files")
    refused(tarred({}), "not one that this service reads")


SMALL = Limits(bytes=1_000_000, files=20)
BIG = b"model,q1\n" + b"a,1\n" * 500_000


@pytest.mark.parametrize(
    "data",
    [
        zipped({"a.csv": BIG}),
        zipped({f"{i}.csv": BIG[:700_000] for i in range(2)}),
        zipped({"a.csv.gz": gzip.compress(BIG)}),
        tarred({"a.csv.gz": gzip.compress(BIG)}),
        gzip.compress(tarred({"a.csv": BIG})),
        zstd(bytes(1 << 24)),
        zipped({str(i): b"" for i in range(30)}),
        tarred({str(i): b"" for i in range(60)}),
    ],
    ids=["zip", "two halves", "gz in zip", "gz in tar", "tar.gz", "zstd", "many in zip", "many in tar"],
)
def test_bombs_are_stopped_at_the_limit(data: bytes) -> None:
    with pytest.raises(TooLarge):
        load(data, limits=SMALL)


def test_reading_a_file_twice_is_charged_once() -> None:
    files = {f"{i}.csv": (f"model,q1\nm{i},1\n" + "\n" * 100_000).encode() for i in range(9)}
    assert len(load(zipped(files), limits=SMALL).matrix.models) == 9


def test_a_zip_that_lies_about_sizes_is_broken_not_large() -> None:
    data = bytearray(zipped({"a.csv": A.encode() * 1000}))
    central = data.rfind(b"PK\x01\x02")
    data[central + 24 : central + 28] = struct.pack("<I", 10)
    with pytest.raises(Problem):
        load(bytes(data))


def test_a_directory_too_long_to_hold_is_not_read() -> None:
    data = bytearray(zipped({"a.csv": A}))
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = struct.pack("<I", 1 << 30)
    with pytest.raises(TooLarge, match="more than 20 files"):
        load(bytes(data), limits=SMALL)


@pytest.mark.parametrize("cut", [10, 60, -10, -40])
def test_truncated_archives(cut: int) -> None:
    for data in (zipped(FILES), gzip.compress(tarred(FILES)), zstd(tarred(FILES))):
        with pytest.raises(Problem):
            load(data[:cut])


def test_encrypted_and_corrupt_members() -> None:
    data = bytearray(zipped({"a.csv": A}))
    for at in (data.find(b"PK\x03\x04") + 6, data.find(b"PK\x01\x02") + 8):
        data[at] |= 1
    refused(bytes(data), "a.csv", "cannot be decompressed")
    data = bytearray(zipped({"a.csv": A * 50}))
    data[50:60] = b"\xff" * 10
    refused(bytes(data), "cannot be decompressed")


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_what_expands_as_results_never_do_is_refused_before_it_is_all_expanded(
    pack: Callable[[bytes], bytes],
) -> None:
    """Text of one kind, so that its beginning tells nothing."""
    bomb = pack(b"model,q1,q2\n" + b"a,1,0\n" * (10 << 20))
    limits = Limits(bytes=1 << 30)
    with pytest.raises(TooLarge, match="200 times its size"):
        load(bomb, limits=limits)
    repeated = pack(b"model,q1,q2\n" + b"".join(b"m%d,1,0\n" % i for i in range(1000)))
    assert len(load(repeated).matrix.models) == 1000


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_what_is_nothing_read_here_is_not_expanded(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    monkeypatch.setattr("service.ingest.source.spool", lambda stream: read.append(1))
    with pytest.raises(UnsupportedMedia, match="neither text nor an archive"):
        load(pack(bytes(8 << 20)))
    assert not read


def test_a_header_of_empty_columns_is_refused_before_the_table_is_parsed() -> None:
    began = time.perf_counter()
    refused(b"," * 200_000 + b"\n" + b"1," * 200_000 + b"1\n", "200,001 of the 200,001 columns have no name")
    assert time.perf_counter() - began < 1
