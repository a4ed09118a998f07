"""A content has one name, whoever hashes it; and a little of it is hashed without OpenSSL."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

import pytest

from nebula.files.digest import digest
from rows import each_row


@each_row("size", [0, 1, 1 << 13, (1 << 14) - 1, 1 << 14, 1 << 20])
def test_the_name_is_the_sha256(size: int) -> None:
    content = b"nebula \xff"[:1] * size
    assert digest(content) == sha256(content).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("size, loads", [(1000, "False"), ((1 << 20) - 1, "False"), (1 << 20, "True")])
def test_openssl_is_loaded_once_a_megabyte_was_hashed(size: int, loads: str) -> None:
    look = f"for size in (1, {size} - 1): digest(b'x' * size)\nprint('_hashlib' in sys.modules)"
    program = f"import sys\nfrom nebula.files.digest import digest\n{look}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == loads
