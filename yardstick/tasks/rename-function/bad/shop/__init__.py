from shop.prices import net_price

__all__ = ["net_price"]
