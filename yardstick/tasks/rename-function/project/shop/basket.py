import shop.prices as prices


class Basket:
    def __init__(self, discount=0):
        self.discount = discount
        self.items = []

    def total(self):
        return sum(prices.calc(item, self.discount) for item in self.items)
