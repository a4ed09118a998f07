import json
import sys


class Zaiko:
    def __init__(self):
        self.shouhin = {}

    def touroku(self, namae, kazu, hacchuuten):
        """商品を登録する。hacchuuten は発注点。"""
        self.shouhin[namae] = {"kazu": kazu, "hacchuuten": hacchuuten}


def yomu(path):
    zaiko = Zaiko()
    with open(path, encoding="utf-8") as file:
        for each in json.load(file):
            zaiko.touroku(each["namae"], each["kazu"], each["hacchuuten"])
    return zaiko


def main(argv):
    zaiko = yomu("zaiko.json")
    if argv == ["一覧"]:
        for namae, each in zaiko.shouhin.items():
            print(f"{namae}: {each['kazu']}")
        return 0
    print("使い方: zaiko.py 一覧", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
