"""A worker without a device, for the tests: times are made of the values or recorded, and some points end badly.

    worker.py [OPTIONS]

OPTIONS is a comma list of NAME=VALUE. Each verdict has the points whose sum modulo 16 is the value: `exit`, `hang`,
`rubbish`, `wrong`, `lost`, `told` (to end, by SIGTERM). `slow=MS` is how long each point takes, `replay=RECORDS` whose times they have. `locks=FOLDER`
keeps what workers know of one another: a device that two of them take at once gives a wrong result, a device is lost with
a point once, not each time, and the file `hangs` tells that a point hangs, on which host, and what process started its
worker.
"""

import fcntl
import gzip
import json
import os
import signal
import socket
import sys
import time

options = dict(part.split("=") for part in sys.argv[1].split(",")) if len(sys.argv) > 1 else {}
slow = int(options.pop("slow", 0)) / 1000
locks = options.pop("locks", None)
replay = options.pop("replay", None)
verdicts = {int(number): name for name, number in options.items()}
# FAKE_HOST is the machine that a node of a cluster on one machine stands for.
host = os.environ.get("FAKE_HOST", socket.gethostname())
device_id = f"{host}/{os.environ.get('CUDA_VISIBLE_DEVICES', '0')}"


def say(message):
    sys.stdout.write(message if isinstance(message, str) else json.dumps(message) + "\n")
    sys.stdout.flush()


def name(point):
    return "-".join(f"{name}{value}" for name, value in sorted(point.items()))


def recorded():
    """By point: the time that was recorded."""
    with gzip.open(replay, "rt") as lines:
        records = [json.loads(line) for line in lines]
    return {name(record["point"]): record.get("time_us") for record in records}


def take():
    """The lock of the device, which ends with the process; nothing where another process has it."""
    lock = open(os.path.join(locks, device_id.replace("/", "_")), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return lock


def lose(point, kind):
    """Ends as a worker does whose device is gone: once, where that can be known."""
    if locks:
        try:
            open(os.path.join(locks, f"lost-{name(point)}"), "x").close()
        except FileExistsError:
            return
    if kind == "told":
        os.kill(os.getpid(), signal.SIGTERM)
    os._exit(75)


def measure(point, times):
    """A result; none where the point ends the worker."""
    lock = take() if locks else True
    started = int(time.time() * 1000)
    kind = verdicts.get(sum(point.values()) % 16)
    time.sleep(slow)
    if kind in ("lost", "told"):
        lose(point, kind)
    if not lock:
        result = {"verdict": "wrong", "reason": "shared", "message": f"{device_id} has two workers at once"}
    elif kind == "exit":
        os._exit(139)
    elif kind == "hang":
        if locks:
            with open(os.path.join(locks, "hangs"), "w") as file:
                file.write(f"{host} {os.getppid()}\n")
        time.sleep(1000)
    elif kind == "rubbish":
        say("Segmentation fault?\n")
        return None
    elif kind == "wrong":
        result = {"verdict": "wrong", "reason": "mismatch", "message": "C[3] differs"}
    else:
        us = 10.0 + sum((value - 40) ** 2 % 97 for value in point.values())
        result = {"verdict": "ok", "time_us": times.get(name(point)) or {"median": us, "low": us, "high": us, "n": 9}}
    return {**result, "device_ms": [started, int(time.time() * 1000)]}


def main():
    times = recorded() if replay else {}
    device = {"class": "fake", "id": device_id, "target": "sm_90", "cuda": None}
    say({"tc-tune-worker": 1, "compiler": "0", "device": device})
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "open":
            say({"did": "opened"})
            continue
        result = measure(request["point"], times)
        if result:
            done = {"did": "done", "ticket": request["ticket"]}
            say({**done, "result": result})
            # An answer that comes twice counts once.
            say({**done, "result": {"verdict": "ok", "time_us": {"median": 0.1, "low": 0.1, "high": 0.1, "n": 9}}})


main()
