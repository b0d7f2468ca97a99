#!/usr/bin/env python3
"""A worker of tc-tune somewhere in a Ray cluster: `tc-tune ... --worker 'python tools/tc-tune/ray/worker.py [OPTIONS]'`.

The tuner starts one of these for each GPU that it wants. It leases a GPU (an actor with `num_gpus=1`), starts
`tc-tune worker` there, and passes lines both ways as they are. It ends as the worker ends: a kernel that ends its worker is
told so by the status. What ends the machine is no fault of the kernel: then, and where no GPU becomes free in time, it ends
with the status that makes the tuner start it again and put the request again.

When the tuner ends, or kills this process, the actor ends with its driver and the worker with its actor.
"""

import argparse
import asyncio
import ctypes
import os
import signal
import sys
import tempfile
import threading

# The status that says that no device is there any more, or yet (EX_TEMPFAIL).
LOST = 75
# The tuner takes no longer line for an answer.
MAX_LINE = 1 << 20


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    address = os.environ.get("RAY_ADDRESS", "auto")
    parser.add_argument("--address", default=address, help="the cluster; without it RAY_ADDRESS, or the one of this machine")
    parser.add_argument("--resource", metavar="NAME", help="what nodes of one class of device have: accelerator_type:H100")
    # Less than the tuner gives a worker to start.
    parser.add_argument("--wait", type=float, default=40.0, metavar="SECONDS", help="how long a lease may take (40)")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the worker on its node; without it `tc-tune worker`")
    options = parser.parse_args()
    options.command = [word for word in options.command if word != "--"] or ["tc-tune", "worker"]
    return options


class Lease:
    """The worker on its node; an actor. Its methods run on one thread, which lives as long as the actor."""

    async def start(self, command):
        libc, actor = ctypes.CDLL(None), os.getpid()

        def end_with_actor():
            # PR_SET_PDEATHSIG: a kernel that hangs keeps no GPU after its lease, whether or not Ray ends what actors start.
            libc.prctl(1, signal.SIGKILL)
            if os.getppid() != actor:
                os._exit(LOST)

        self.errors = tempfile.TemporaryFile()
        self.process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self.errors,
            limit=2 * MAX_LINE,
            preexec_fn=end_with_actor,
        )

    async def write(self, line):
        self.process.stdin.write(line)

    async def read(self):
        """The next line; after the last, how the worker ended and the end of what it wrote to its standard error."""
        line = await self.process.stdout.readline()
        if line:
            return line
        status = await self.process.wait()
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - 2000))
        return status, self.errors.read().decode(errors="replace")


def end(status, message=""):
    """Ends at once: nothing of Ray may write, or change the status."""
    if message:
        sys.stderr.write(message.rstrip("\n") + "\n")
        sys.stderr.flush()
    os._exit(status)


def pass_requests(worker):
    for line in sys.stdin.buffer:
        worker.write.remote(line)
    # The tuner is gone, even if the kernel is not.
    end(0)


def main():
    options = parse()
    # What Ray prints is nothing that the tuner reads.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    import ray

    ray.init(address=options.address, log_to_driver=False, logging_level="ERROR")
    # As Slurm ends a job: it tells the tuner, this process and those of Ray, in any order.
    signal.signal(signal.SIGTERM, lambda *_: end(LOST))
    resources = {options.resource: 0.001} if options.resource else {}
    # One call waits for a line while others write.
    actor = ray.remote(num_gpus=1, num_cpus=0, resources=resources, max_concurrency=8)(Lease)
    worker = actor.remote()
    try:
        ray.get(worker.start.remote(options.command), timeout=options.wait)
    except ray.exceptions.GetTimeoutError:
        end(LOST, f"tc-tune: the cluster had no GPU free within {options.wait:.0f} s; it is asked again")
    except ray.exceptions.RayActorError as error:
        end(LOST, f"tc-tune: a lease is lost: {str(error).splitlines()[0]}")
    threading.Thread(target=pass_requests, args=[worker], daemon=True).start()
    try:
        while isinstance(said := ray.get(worker.read.remote()), bytes):
            answers.write(said)
    except ray.exceptions.RayActorError as error:
        end(LOST, f"tc-tune: a lease is lost, and its point is measured again: {str(error).splitlines()[0]}")
    status, errors = said
    if status == -signal.SIGTERM:
        end(LOST, "tc-tune: a worker was told to end, and its point is measured again")
    # As a shell tells a signal.
    end(status if status >= 0 else 128 - status, errors)


main()
