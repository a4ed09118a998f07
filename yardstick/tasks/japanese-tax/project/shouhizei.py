"""消費税。"""

RITSU = 10


def tax(kingaku):
    """税額（円）。四捨五入。"""
    return int(kingaku * RITSU / 100 + 0.5)


def zeikomi(kingaku):
    """税込金額（円）。"""
    return kingaku + tax(kingaku)
