"""A content has one name, whoever hashes it; and a small one is named without OpenSSL."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

import pytest

from nebula.files.digest import digest


@pytest.mark.parametrize("size", [0, 1, 1 << 13, (1 << 14) - 1, 1 << 14, 1 << 20])
def test_the_name_is_the_sha256(size: int) -> None:
    content = b"nebula \xff"[:1] * size
    assert digest(content) == sha256(content).hexdigest()


@pytest.mark.slow
def test_a_small_content_does_not_load_openssl() -> None:
    look = "import sys; from nebula.files.digest import digest; digest(b'x' * 1000); print('_hashlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
