"""Asks the ``argparse`` of the Python that runs this: one line of JSON in, one out. It imports nothing of preflight."""

import argparse
import json
import sys


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise SystemExit("refused: " + message)


def answer(arguments, words):
    parser = Parser(prog="x", add_help=False)
    for options, nargs in arguments:
        more = {"action": "store_true"} if nargs == 0 else {} if nargs is None else {"nargs": nargs}
        parser.add_argument(*options, **more)
    try:
        _, rest = parser.parse_known_args(words)
    except SystemExit as refused:
        return {"accepted": False, "message": str(refused)}
    return {"accepted": not rest, "message": " ".join(rest)}


for line in sys.stdin:
    print(json.dumps(answer(*json.loads(line))), flush=True)
