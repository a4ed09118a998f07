def pages(total, size):
    """How many pages `total` items fill, `size` on each."""
    if size < 1:
        raise ValueError("size must be 1 or more")
    return -(-total // size)


def bounds(page, total, size):
    """First and last place (counted from 0, the last not included) of the items on a page counted from 1."""
    if not 1 <= page <= max(1, pages(total, size)):
        raise ValueError(f"there is no page {page}")
    first = (page - 1) * size
    return first, min(first + size, total)
