def unique(items):
    """The items without repetitions, in the order of their first occurrence."""
    return list(dict.fromkeys(items))
