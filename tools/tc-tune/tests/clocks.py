"""A worker without a device, for the tests of clocks: what it measures, it measures under the clocks that it is told.

    clocks.py [NAME=VALUE,…]

`plus=US` is added to each time. `class=NAME` is the class of the clocks of all points, `odd=NAME` that of points whose sum
is odd; `_` is a space there. `invalid=FILE` gives every point an invalid clock while the file is there.
"""

import json
import os
import sys

options = dict(part.split("=") for part in sys.argv[1].split(",")) if len(sys.argv) > 1 else {}
plus = float(options.get("plus", 0))


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def measured(point):
    total = sum(point.values())
    us = plus + 10.0 + sum((value - 40) ** 2 % 97 for value in point.values())
    result = {"verdict": "ok", "time_us": {"median": us, "low": us, "high": us, "n": 9}}
    kind = options.get("odd") if total % 2 and "odd" in options else options.get("class")
    if os.path.exists(options.get("invalid", "")):
        kind = "thermal"
        result.update(verdict="invalid clock", reason="thermal", message="too hot")
    if kind:
        clocks = {"sm_mhz": 1755, "memory_mhz": 2619, "power_w": 698.5, "reasons": ["power cap"]}
        result["clocks"] = {"class": kind.replace("_", " "), **clocks}
    return result


def main():
    say({"tc-tune-worker": 1, "compiler": "0", "device": {"class": "fake", "target": "sm_90", "cuda": None}})
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "open":
            say({"did": "opened"})
        else:
            say({"did": "done", "ticket": request["ticket"], "result": measured(request["point"])})


main()
