def net_price(gross, discount=0):
    """Gross price less a discount in percent."""
    return gross * (100 - discount) / 100


def recalculate(prices, discount):
    return [net_price(price, discount) for price in prices]
