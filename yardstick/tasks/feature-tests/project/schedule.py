def overlaps(one, other):
    """Whether two (start, end) spans share a moment; spans that only touch do not."""
    return one[0] < other[1] and other[0] < one[1]


def free(spans, start, end):
    """The gaps between the spans, from start to end, in order; spans may overlap and come in any order."""
    gaps = []
    for first, last in sorted(spans):
        if first > start:
            gaps.append((start, min(first, end)))
        start = max(start, last)
        if start >= end:
            return gaps
    return [*gaps, (start, end)]
