"""A small project with real git, for the tests of the index."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from nebula.index.index import Index
from new_repository import make_repository

_ENV = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Project:
    def __init__(self, folder: Path, *, with_git: bool = True, url: str = "") -> None:
        self.url = url
        self.root = folder / "project"
        self.home = folder / "home"
        self.root.mkdir(parents=True)
        if with_git:
            make_repository(self.root)

    def git(self, *args: str, cwd: Path | None = None, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *args],
            cwd=cwd or self.root,
            input=stdin,
            env=os.environ | _ENV,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def write(self, path: str, text: str | bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, message: str = "work") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def index(self) -> Index:
        return Index.open(str(self.root), home=str(self.home), url=self.url)

    def fresh(self) -> Index:
        """An index of the same files, built from scratch elsewhere."""
        number = len(list(self.home.parent.glob("fresh*")))
        return Index.open(str(self.root), home=str(self.home.parent / f"fresh{number}"))


def contents(index: Index) -> dict[str, object]:
    """All that a search can see of an index, whatever way it came about."""
    store = index.store
    files = {path: state.blob for path, state in store.states().items()}
    chunks = {}
    terms: dict[str, dict[str, float]] = {}
    of_files: dict[str, dict[str, float]] = {}
    places = {segment: list(range(size)) for segment, (size, _) in store.shape().segments.items()}
    by_place = {(c.segment, c.place): c for c in store.candidates(places)}
    file_paths = {(c.segment, c.file_place): c.path for c in by_place.values()}
    for c in by_place.values():
        chunks[f"{c.path}#L{c.start}-L{c.end}"] = (c.symbol, c.digest, c.language, c.kind, c.committed)
    from nebula.index import postings

    for segment, by_term in store.postings(all_terms(index)).items():
        for term, (in_chunks, in_files) in by_term.items():
            for level, found in postings.by_level(in_chunks):
                for place in found:
                    if (segment, place) in by_place:
                        c = by_place[segment, place]
                        terms.setdefault(term, {})[f"{c.path}#L{c.start}"] = level
            for level, found in postings.by_level(in_files):
                for place in found:
                    if (segment, place) in file_paths:
                        of_files.setdefault(term, {})[file_paths[segment, place]] = level
    seen = {"files": files, "chunks": chunks, "terms": terms, "of files": of_files, "skipped": sorted(store.skipped())}
    return seen | {"past": past(index)}


def past(index: Index) -> dict[str, set[str]]:
    """Term → the files of which past commits said it."""
    from nebula.index import postings

    db = index.store.db
    names = dict(db.execute("SELECT place, path FROM changed").fetchall())
    return {
        term: {names[place] for place in postings.places(data)}
        for term, data in db.execute("SELECT term, files FROM change_term").fetchall()
    }


def all_terms(index: Index) -> list[str]:
    return [term for (term,) in index.store.db.execute("SELECT DISTINCT term FROM posting ORDER BY term")]


def function(name: str, *words: str) -> str:
    return f"def {name}():\n" + "".join(f"    {word}_call()\n" for word in words or ("plain",)) + "\n\n"
