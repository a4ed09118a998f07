"""How much an installation takes, in bytes and seconds, beside others in the same run.

    python bench/installed_size.py [--peers aider-chat,llm]

Each goes into a new environment by the ordinary `pip install`, without a cache. What pip itself and the interpreter
take is not counted; the largest parts of ours are listed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_COUNTED = ("pip", "setuptools", "_distutils_hack", "distutils-precedence.pth")
LISTED = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--peers", default="aider-chat,llm", help="names of packages to install beside it")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure("nebula", str(ROOT)), *(measure(name, name) for name in filter(None, options.peers.split(",")))]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['name']:12} {row['megabytes']:7.1f} MB  {row['seconds']:6.1f} s  {row['packages']:3} packages")
    print("largest parts of nebula (MB): " + ", ".join(f"{name} {size:.1f}" for name, size in rows[0]["largest"]))


def measure(name: str, wanted: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        python = str(place / "bin/python")
        begun = time.perf_counter()
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", wanted], check=True)
        seconds = time.perf_counter() - begun
        packages = next(place.glob("lib/python*/site-packages"))
        sizes = {each.name: size_of(each) for each in packages.iterdir() if not each.name.startswith(NOT_COUNTED)}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:LISTED]
    return {
        "name": name,
        "megabytes": sum(sizes.values()) / 1e6,
        "seconds": seconds,
        "packages": sum(each.endswith(".dist-info") for each in sizes),
        "largest": [(each, size / 1e6) for each, size in largest],
    }


def size_of(path: Path) -> int:
    """Return the bytes of the files below a path, without what Python compiled."""
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file() and each.suffix != ".pyc")


if __name__ == "__main__":
    main()
