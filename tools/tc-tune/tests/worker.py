"""A worker without a device, for the tests: times are made of the values, and some points end badly.

    worker.py [FAULTS]

FAULTS is a comma list of VERDICT=POINTS, each verdict for the points whose sum modulo 16 is that number: `exit`, `hang`,
`rubbish`, `wrong`.
"""

import json
import os
import sys
import time

faults = dict(part.split("=") for part in sys.argv[1].split(",")) if len(sys.argv) > 1 else {}


def say(message):
    sys.stdout.write(message if isinstance(message, str) else json.dumps(message) + "\n")
    sys.stdout.flush()


def main():
    device = {"class": "fake", "target": "sm_90", "cuda": None}
    say({"tc-tune-worker": 1, "compiler": "0", "device": device})
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "open":
            say({"did": "opened"})
            continue
        kind = {int(number): name for name, number in faults.items()}.get(sum(request["point"].values()) % 16)
        done = {"did": "done", "ticket": request["ticket"]}
        if kind == "exit":
            os._exit(139)
        elif kind == "hang":
            time.sleep(1000)
        elif kind == "rubbish":
            say("Segmentation fault?\n")
        elif kind == "wrong":
            say({**done, "result": {"verdict": "wrong", "reason": "mismatch", "message": "C[3] differs"}})
        else:
            us = 10.0 + sum((value - 40) ** 2 % 97 for value in request["point"].values())
            result = {"verdict": "ok", "time_us": {"median": us, "low": us, "high": us, "n": 9}}
            say({**done, "result": result})
            # An answer that comes twice counts once.
            say({**done, "result": {**result, "time_us": {"median": 0.1, "low": 0.1, "high": 0.1, "n": 9}}})


main()
