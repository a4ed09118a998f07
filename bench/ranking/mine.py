"""Mine questions with known answers from the histories of public repositories, to fit the ranking by.

    .venv/bin/python bench/ranking/mine.py --benchmark DIR --mirrors MIRRORS --out OUT

`repositories.json` names the repositories: those to fit by, and those kept aside. None is one of the benchmark in DIR,
whose rules (`common.py`) clean the messages. Of each repository OUT gets the tree before its newest commits, with the
past it had then, a second tree without the comments above its definitions, and the questions: commit message → changed
source files, and first sentence of a comment → the definition below it.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from nebula.index.chunks.cutting import cut
from nebula.index.chunks.languages import LANGUAGES
from nebula.index.chunks.lines import Lines
from nebula.index.chunks.suffixes import language_of

REPOSITORIES = Path(__file__).with_name("repositories.json")
COMMITS, COMMENTS = 90, 45
"""Questions of one repository at most."""
MAX_CHANGED = 4
"""A commit that changed more source files than this is about none of them."""
MIN_WORDS, MAX_LOOKED_AT = 4, 6_000
_TEST = re.compile(
    r"(?i:(^|/)([^/]*[._-])?(tests?|testdata|specs?|benchmarks?|benches|fixtures?|__tests__)/|(^|/)tests?[_-][^/]*$"
    r"|[._-](tests?|spec|unittest|bench)\.[a-z]+$)|[a-z](Tests?|Spec)\.[a-z]+$|androidTest/|(common|jvm|js|native)Test/"
)
_BOT = re.compile(
    r"^(bump|merge|release|version|update (dependency|changelog|submodule)|revert|chore\(deps|\[pre-commit)", re.I
)


def commits(repo: str, extensions: list[str]) -> Iterator[dict[str, Any]]:
    """The commits that changed few source files, the newest first."""
    command = [
        "git",
        "-C",
        repo,
        "log",
        "--no-merges",
        "-M",
        "--name-status",
        f"-n{MAX_LOOKED_AT}",
        "--format=%x01%H%x02%s%x02%b%x03",
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout
    for entry in text.split("\x01")[1:]:
        head, _, names = entry.partition("\x03")
        commit, subject, body = head.split("\x02", 2)
        rows = [line.split("\t") for line in names.splitlines() if "\t" in line]
        changed = [row[-1] for row in rows if row[-1].endswith(tuple(extensions)) and not _TEST.search(row[-1])]
        if changed and len(changed) <= MAX_CHANGED and not _BOT.search(subject):
            edited = [row[-1] for row in rows if row[0] == "M" and row[-1] in changed]
            yield {"commit": commit, "subject": subject, "body": body, "truth": edited}


def commit_questions(common: Any, repo: str, extensions: list[str]) -> tuple[str, list[dict[str, Any]]]:
    """Return the snapshot before the chosen commits, and their questions."""
    chosen = []
    for each in commits(repo, extensions):
        text = common.clean_message(each["subject"], each["body"], extensions)
        if each["truth"] and len(text.split()) >= MIN_WORDS:
            chosen.append({"task": "commit", "commit": each["commit"], "text": text, "truth": each["truth"]})
        if len(chosen) == 2 * COMMITS:
            break
    snapshot = common.git(repo, "rev-parse", chosen[-1]["commit"] + "~1").strip()
    there = set(common.git(repo, "ls-tree", "-r", "--name-only", "-z", snapshot).split("\0"))
    for each in chosen:
        each["truth"] = [path for path in each["truth"] if path in there]
    chosen = [each for each in chosen if each["truth"]]
    Random(1).shuffle(chosen)
    return snapshot, chosen[:COMMITS]


def lay_out(repo: str, snapshot: str, tree: Path) -> None:
    """Write the files of a snapshot; a mirror may lack its largest ones, which no index reads."""
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "-C", repo, "ls-tree", "-r", "-z", snapshot], check=True, capture_output=True)
    rows = [row.split(b"\t", 1) for row in listed.stdout.split(b"\0") if row.startswith(b"100")]
    wanted = b"".join(about.split()[2] + b"\n" for about, _ in rows)
    command = ["git", "-C", repo, "cat-file", "--batch"]
    found = subprocess.run(command, check=True, capture_output=True, input=wanted).stdout
    at = 0
    for _, name in rows:
        end = found.index(b"\n", at)
        head, at = found[at:end].split(), end + 1
        if head[1] == b"blob":
            path = tree / name.decode("utf-8", "surrogateescape")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(found[at : at + int(head[2])])
            at += int(head[2]) + 1


def give_past(repo: str, snapshot: str, tree: Path) -> None:
    """Make a laid out tree a work tree of that snapshot, with the commits before it, whose objects stay in `repo`."""
    git = ["git", "-C", str(tree)]
    subprocess.run([*git, "init", "-q", "--template="], check=True)
    objects = tree / ".git" / "objects" / "info"
    objects.mkdir(exist_ok=True)
    (objects / "alternates").write_text(f"{Path(repo).resolve() / 'objects'}\n")
    (tree / ".git" / "HEAD").write_text(f"{snapshot}\n")
    subprocess.run([*git, "read-tree", snapshot], check=True)


def sentence(comment: list[str], common: Any) -> str:
    """Return the first sentence of a comment without its marks and tags."""
    words = [re.sub(r"^\s*(///?!?|/\*+!?|\*+/?|#+)\s?|\*/\s*$", "", line) for line in comment]
    text = "\n".join(words)
    text = re.sub(r"</?\w+[^>]*>|\{@\w+ ([^}]*)\}|\[(\w+)\]", r" \1\2 ", text)
    return common.first_sentence(text.split("\n@")[0])


def comment_questions(common: Any, tree: Path, bare: Path, extensions: list[str]) -> list[dict[str, Any]]:
    """Blank the comments above definitions in `bare`, and return some of them as questions."""
    shutil.rmtree(bare, ignore_errors=True)
    shutil.copytree(tree, bare, symlinks=True)
    found = []
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if path.suffix not in extensions or path.is_symlink() or not path.is_file() or path.stat().st_size > 500_000:
            continue
        data = path.read_bytes()
        language = language_of(name)
        if language not in LANGUAGES:
            continue
        if language == "python":
            found += python_comments(common, path, bare / name, name)
            continue
        lines = Lines(data)
        rows = data.decode("utf-8", "replace").split("\n")
        marks = tuple(mark for mark in LANGUAGES[language].comments if mark not in ("@", "[", "#["))
        for span in cut(lines, data, language):
            end = span.start - 1
            while end < span.end and rows[end].lstrip().startswith(marks):
                end += 1
            if end == span.start - 1:
                continue
            text = sentence(rows[span.start - 1 : end], common)
            rows[span.start - 1 : end] = [""] * (end - span.start + 1)
            if (
                span.symbol
                and span.end - end >= 3
                and len(text.split()) >= MIN_WORDS
                and not _TEST.search(name)
                and not re.search("copyright|licen[sc]e", text, re.I)
            ):
                found.append({"task": "doc", "text": text[:400], "truth": [name, end + 1, span.end]})
        (bare / name).write_text("\n".join(rows), encoding="utf-8")
    texts = [each["text"] for each in found]
    found = [each for each in found if texts.count(each["text"]) == 1]
    Random(2).shuffle(found)
    return found[:COMMENTS]


def python_comments(common: Any, path: Path, bare: Path, name: str) -> list[dict[str, Any]]:
    import ast

    from materialize import blank_docstrings

    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    bare.write_text(blank_docstrings(text), encoding="utf-8")
    found = []
    for _, function in common.functions(tree):
        said = common.first_sentence(ast.get_docstring(function) or "")
        if len(said.split()) >= MIN_WORDS and not _TEST.search(name) and function.end_lineno - function.lineno >= 3:
            found.append({"task": "doc", "text": said[:400], "truth": [name, function.lineno, function.end_lineno]})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", type=Path, required=True)
    parser.add_argument("--mirrors", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    sys.path.insert(0, str(options.benchmark))
    import common

    for half, repositories in json.loads(REPOSITORIES.read_text()).items():
        for source, extensions in repositories.items():
            name = source.split("/")[1]
            out = options.out / f"{name}.json"
            if out.exists():
                continue
            repo = common.mirror_dir(options.mirrors, source)
            snapshot, questions = commit_questions(common, repo, extensions)
            lay_out(repo, snapshot, options.out / "trees" / name)
            give_past(repo, snapshot, options.out / "trees" / name)
            questions += comment_questions(
                common, options.out / "trees" / name, options.out / "trees" / f"{name}.nodoc", extensions
            )
            out.write_text(
                json.dumps(
                    {
                        "half": half,
                        "source": source,
                        "snapshot": snapshot,
                        "extensions": extensions,
                        "questions": questions,
                    },
                    indent=0,
                )
            )
            kinds = [each["task"] for each in questions]
            print(name, half, snapshot[:10], kinds.count("commit"), kinds.count("doc"), flush=True)


if __name__ == "__main__":
    main()
