import sys

from settings import load

print(load(sys.argv[1]))
