"""Merging segments: what is dead is left behind, the rest moves closer together. Nothing is read or chunked again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from nebula.index import postings
from nebula.index.constants import MAX_DEAD_SHARE, MAX_SEGMENTS, MERGED_SEGMENTS, SEGMENT_CHUNKS
from nebula.index.stores.database import StoreDatabase
from nebula.index.stores.rows import Shape


def segments_to_merge(shape: Shape) -> list[list[int]]:
    """Return groups of segments, each to become one."""
    living = {segment: size - len(shape.dead_chunks.get(segment, ())) for segment, (size, _) in shape.segments.items()}
    groups = []
    if len(living) > MAX_SEGMENTS:
        smallest = sorted(living, key=lambda segment: (living[segment], segment))[:MERGED_SEGMENTS]
        while sum(living[segment] for segment in smallest) > SEGMENT_CHUNKS:
            smallest.pop()
        if len(smallest) > 1:
            groups.append(sorted(smallest))
    taken = {segment for group in groups for segment in group}
    for segment, (size, _) in shape.segments.items():
        if segment not in taken and living[segment] < size * (1 - MAX_DEAD_SHARE):
            groups.append([segment])
    return groups


def merge(db: StoreDatabase, segments: Sequence[int]) -> None:
    """Inside a transaction of the caller."""
    (target,) = db.execute("INSERT INTO segment (chunks, files) VALUES (0, 0) RETURNING id").fetchone()
    chunk_places: dict[int, dict[int, int]] = {segment: {} for segment in segments}
    file_places: dict[int, dict[int, int]] = {segment: {} for segment in segments}
    files = chunks = 0
    for segment in segments:
        rows = db.execute(
            "SELECT id, place, first_chunk, chunks FROM file WHERE segment = ? ORDER BY place", (segment,)
        ).fetchall()
        for number, place, first, count in rows:
            file_places[segment][place] = files
            chunk_places[segment].update(zip(range(first, first + count), range(chunks, chunks + count), strict=True))
            db.execute(
                "UPDATE file SET segment = ?, place = ?, first_chunk = ? WHERE id = ?", (target, files, chunks, number)
            )
            db.execute(
                "UPDATE chunk SET segment = ?, place = place + ? WHERE segment = ? AND place >= ? AND place < ?",
                (target, chunks - first, segment, first, first + count),
            )
            files, chunks = files + 1, chunks + count
    _merge_postings(db, target, segments, chunk_places, file_places)
    db.execute("UPDATE segment SET chunks = ?, files = ? WHERE id = ?", (chunks, files, target))
    for segment in segments:
        for table in ("DELETE FROM dead WHERE segment = ?", "DELETE FROM segment WHERE id = ?"):
            db.execute(table, (segment,))


def _merge_postings(
    db: StoreDatabase,
    target: int,
    segments: Sequence[int],
    chunk_places: dict[int, dict[int, int]],
    file_places: dict[int, dict[int, int]],
) -> None:
    rows = []
    for segment in segments:
        rows += db.execute(
            "SELECT term, segment, in_chunks, in_files FROM posting WHERE segment = ?", (segment,)
        ).fetchall()
        db.execute("DELETE FROM posting WHERE segment = ?", (segment,))
    rows.sort(key=lambda row: (row[0], row[1]))
    merged = []
    for term, same in groupby(rows, key=lambda row: row[0]):
        in_chunks: list[int] = []
        in_files: list[int] = []
        for _, segment, chunks, files in same:
            in_chunks += postings.moved(chunks, chunk_places[segment])
            in_files += postings.moved(files, file_places[segment])
        if in_chunks:
            merged.append((target, term, postings.encode(in_chunks), postings.encode(in_files)))
    db.executemany("INSERT INTO posting VALUES (?, ?, ?, ?)", merged)
