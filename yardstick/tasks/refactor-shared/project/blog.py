import re


def slug(title):
    text = title.strip().lower()
    text = re.sub(r"[^a-z0-9 ]", "", text)
    return text.replace(" ", "-")


def post_url(title):
    return f"/blog/{slug(title)}"
