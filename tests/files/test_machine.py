"""What a machine has to offer, on whatever system this is: scripts/systems runs it as on others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nebula.files.system.full_sync import full_sync
from nebula.files.system.machine import copy_bytes, free_memory, path_of, usable_cores

_GRANDPARENT = """
import os, sys, time
from nebula.files.system.machine import end_with_parent
if child := os.fork():
    print(child, flush=True)
    sys.stdin.read()
    os._exit(0)
end_with_parent()
time.sleep(60)
"""


def test_the_machine_has_cores_and_memory() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)
    assert 1 << 20 < free_memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_bytes_are_copied_from_where_the_source_is(tmp_path: Path) -> None:
    content = os.urandom(3 << 20)
    (tmp_path / "a").write_bytes(content)
    with open(tmp_path / "a", "rb", buffering=0) as source, open(tmp_path / "b", "wb", buffering=0) as target:
        source.read(10)
        copy_bytes(source.fileno(), target.fileno())
    assert (tmp_path / "b").read_bytes() == content[10:]


def test_a_folder_that_was_moved_is_found_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    handle = os.open(tmp_path / "a", os.O_RDONLY)
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "a").mkdir()
    try:
        assert os.path.realpath(path_of(handle, str(tmp_path / "a"))) == str(tmp_path / "b")
    finally:
        os.close(handle)


def test_a_folder_is_synced_as_well(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        full_sync(handle)
    finally:
        os.close(handle)


@pytest.mark.slow
def test_a_process_ends_with_its_parent() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _GRANDPARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None and parent.stdin is not None
        child = int(parent.stdout.readline())
        time.sleep(0.5)
        parent.stdin.close()
        parent.wait()
    gives_up = time.monotonic() + 30
    while _is_alive(child) and time.monotonic() < gives_up:
        time.sleep(0.05)
    assert not _is_alive(child)


def _is_alive(process_id: int) -> bool:
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(process_id)], capture_output=True, text=True).stdout.strip()
    return bool(found) and not found.startswith("Z")
