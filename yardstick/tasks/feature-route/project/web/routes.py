from web.store import ITEMS


def list_items():
    return 200, list(ITEMS.values())
