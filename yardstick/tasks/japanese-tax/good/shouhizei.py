"""消費税。"""

RITSU = 10
KEIGEN_RITSU = 8


def tax(kingaku, reduced=False):
    """税額（円）。端数は切り捨て。reduced は軽減税率。"""
    if kingaku < 0:
        raise ValueError("金額は 0 以上です")
    return kingaku * (KEIGEN_RITSU if reduced else RITSU) // 100


def zeikomi(kingaku, reduced=False):
    """税込金額（円）。"""
    return kingaku + tax(kingaku, reduced)
