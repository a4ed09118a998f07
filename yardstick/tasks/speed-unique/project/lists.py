def unique(items):
    """The items without repetitions, in the order of their first occurrence."""
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return seen
