"""Ask the questions that people type (`questions.json`), and say at which place the right file stands.

    .venv/bin/python bench/ranking/ask.py --mirrors MIRRORS --out OUT [--aside]

Every second question is kept aside: `--aside` asks those instead of the others. Nothing is to be tuned on them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mine import give_past, lay_out

from nebula.index.index import Index

QUESTIONS = Path(__file__).with_name("questions.json")


def places(index: Index, questions: list[list[str]]) -> list[int]:
    """Return the place of the right file among all files found, from 1; 0 where it is not among them."""
    found = []
    for text, path in questions:
        files = list(dict.fromkeys(hit.path for hit in index.search(text, 100)))
        found.append(files.index(path) + 1 if path in files else 0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--aside", action="store_true")
    options = parser.parse_args()
    everything: list[int] = []
    for name, about in json.loads(QUESTIONS.read_text()).items():
        tree = options.out / name
        repo = str(options.mirrors / about["source"].replace("/", "+") / "repo")
        lay_out(repo, about["snapshot"], tree)
        give_past(repo, about["snapshot"], tree)
        with Index.open(str(tree), home=str(options.out / "home")) as index:
            index.sync()
            found = places(index, about["questions"][1 if options.aside else 0 :: 2])
        print(f"{name:10} {' '.join(map(str, found))}")
        everything += found
    mean = sum(1 / place for place in everything if place) / len(everything)
    first, five = (sum(0 < place <= most for place in everything) for most in (1, 5))
    print(f"n={len(everything)}  first {first}, among five {five}, MRR {mean:.3f}")


if __name__ == "__main__":
    main()
