"""Files that belong together in one segment, and the segment made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nebula.index.building.segments import SegmentBuilder
from nebula.index.constants import BATCH_BYTES, BATCH_FILES, FIRST_SEGMENTS, MAX_BATCH_BYTES
from nebula.index.reading import Root
from nebula.index.records import Segment, Source, Stamp
from nebula.index.values import Skipped
from nebula.value import value

Wanted = tuple[str, Stamp]
"""A file to read, and its stamp."""


@value
class Built:
    segment: Segment
    skipped: tuple[tuple[Skipped, Stamp], ...]


def batches(wanted: Sequence[Wanted]) -> Iterator[list[Wanted]]:
    batch: list[Wanted] = []
    size = 0
    share = sum(stamp.size for _, stamp in wanted) // FIRST_SEGMENTS
    enough = min(max(BATCH_BYTES, share), MAX_BATCH_BYTES)
    for each in wanted:
        batch.append(each)
        size += each[1].size
        if size >= enough or len(batch) >= BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def build(root: Root, batch: Iterable[Wanted], read: Iterable[Source] = ()) -> Built:
    """`read` are files that were read already."""
    builder = SegmentBuilder()
    skipped = []
    for source in read:
        builder.add(source)
    for path, stamp in batch:
        found = root.read(path, stamp)
        if isinstance(found, Skipped):
            skipped.append((found, stamp))
        else:
            builder.add(found)
    return Built(builder.finished(), tuple(skipped))
