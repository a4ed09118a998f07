from shop.prices import calc

__all__ = ["calc"]
