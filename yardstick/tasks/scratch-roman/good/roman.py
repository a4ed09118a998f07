_SIGNS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]


def to_roman(number):
    if not 1 <= number <= 3999:
        raise ValueError("only 1 to 3999 can be written")
    text = ""
    for worth, sign in _SIGNS:
        count, number = divmod(number, worth)
        text += sign * count
    return text


def from_roman(text):
    number, rest = 0, text
    for worth, sign in _SIGNS:
        while rest.startswith(sign):
            number, rest = number + worth, rest[len(sign) :]
    if rest or not 1 <= number <= 3999 or to_roman(number) != text:
        raise ValueError(f"{text!r} is no Roman number")
    return number
