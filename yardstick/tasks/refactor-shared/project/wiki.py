import re


def slug(title):
    text = title.strip().lower()
    text = re.sub(r"[^a-z0-9 ]", "", text)
    return text.replace(" ", "-")


def page_url(title):
    return f"/wiki/{slug(title)}"
