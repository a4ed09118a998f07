from slugs import slug


def post_url(title):
    return f"/blog/{slug(title)}"
