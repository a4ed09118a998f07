def calc(gross, discount=0):
    """Gross price less a discount in percent."""
    return gross * (100 - discount) / 100


def recalculate(prices, discount):
    return [calc(price, discount) for price in prices]
