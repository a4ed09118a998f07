from web.store import ITEMS


def list_items():
    return 200, list(ITEMS.values())


def get_item(text):
    return 200, ITEMS[int(text)]
