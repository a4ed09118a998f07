_SIGNS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]


def to_roman(number):
    text = ""
    for worth, sign in _SIGNS:
        count, number = divmod(number, worth)
        text += sign * count
    return text


def from_roman(text):
    number = 0
    for worth, sign in _SIGNS:
        while text.startswith(sign):
            number, text = number + worth, text[len(sign) :]
    return number
