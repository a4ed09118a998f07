def group(orders, groups=None):
    """Orders by customer."""
    groups = {} if groups is None else groups
    for order in orders:
        groups.setdefault(order.customer, []).append(order)
    return groups
