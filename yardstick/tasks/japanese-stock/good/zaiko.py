import json
import sys


class Zaiko:
    def __init__(self):
        self.shouhin = {}

    def touroku(self, namae, kazu, hacchuuten):
        """商品を登録する。hacchuuten は発注点。"""
        self.shouhin[namae] = {"kazu": kazu, "hacchuuten": hacchuuten}

    def fusoku(self, namae):
        """発注点に足りない数。足りていれば 0。"""
        each = self.shouhin[namae]
        return max(0, each["hacchuuten"] - each["kazu"])

    def low_stock(self):
        """不足している商品の名前。不足数の多い順。"""
        return sorted(filter(self.fusoku, self.shouhin), key=self.fusoku, reverse=True)


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
    if argv == ["不足"]:
        for namae in zaiko.low_stock():
            print(f"{namae}: {zaiko.fusoku(namae)}")
        if not zaiko.low_stock():
            print("不足はありません")
        return 0
    print("使い方: zaiko.py 一覧|不足", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
