def unique(items):
    """The items without repetitions, in the order of their first occurrence."""
    seen, others, found = set(), [], []
    for item in items:
        try:
            known = item in seen
            seen.add(item)
        except TypeError:  # it cannot be hashed
            known = item in others
            others.append(item)
        if not known:
            found.append(item)
    return found
