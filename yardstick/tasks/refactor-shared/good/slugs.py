import re


def slug(title):
    """A title as it stands in an address."""
    text = re.sub(r"[^a-z0-9 ]", "", title.lower())
    return "-".join(text.split())
