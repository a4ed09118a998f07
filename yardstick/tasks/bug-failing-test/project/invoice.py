def total(lines, tax_percent):
    """What to pay, in whole units, for lines of (name, quantity, price); half a unit is rounded up."""
    net = sum(quantity * price for _, quantity, price in lines)
    return round(net * (1 + tax_percent / 100))
