class Order:
    def __init__(self, customer, items=()):
        self.customer = customer
        self.items = list(items)

    def add(self, item):
        self.items.append(item)
