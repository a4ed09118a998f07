from slugs import slug


def page_url(title):
    return f"/wiki/{slug(title)}"
