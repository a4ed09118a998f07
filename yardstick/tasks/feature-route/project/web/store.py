ITEMS = {1: {"id": 1, "name": "pen"}, 2: {"id": 2, "name": "book"}}
