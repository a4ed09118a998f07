from web.store import ITEMS


def list_items():
    return 200, list(ITEMS.values())


def get_item(text):
    item = ITEMS.get(int(text)) if text.isascii() and text.isdigit() else None
    return (200, item) if item else (404, {"error": "not found"})
