def group(orders, groups={}):
    """Orders by customer."""
    for order in orders:
        groups.setdefault(order.customer, []).append(order)
    return groups
