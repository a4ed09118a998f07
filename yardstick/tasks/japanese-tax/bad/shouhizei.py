"""消費税。"""

RITSU = 10
KEIGEN_RITSU = 8


def tax(kingaku, reduced=False):
    """税額（円）。"""
    if kingaku < 0:
        raise ValueError("金額は 0 以上です")
    return round(kingaku * (KEIGEN_RITSU if reduced else RITSU) / 100)


def zeikomi(kingaku):
    """税込金額（円）。"""
    return kingaku + tax(kingaku)
