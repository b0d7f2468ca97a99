"""What runs kernels: `build`, arrays on a GPU, and their times. It needs the native module of `tirc`, and PyTorch."""

from ..te import lowering
from ..te.errors import TeUnsupported, TeValueError
from ..te.expr import Scalar
from .target import Target

_TEXT = "`print(tvm.lower(s, args))` writes the text, and `tc-run FILE --check` runs it without a GPU"


def _torch(word):
    """PyTorch, which holds the arrays."""
    try:
        import torch
    except ImportError:
        raise TeUnsupported(f"`{word}` needs PyTorch and a GPU", _TEXT) from None
    if not torch.cuda.is_available():
        raise TeUnsupported(f"`{word}` needs a GPU, and PyTorch finds none", _TEXT)
    return torch


class Device:
    """A GPU."""

    def __init__(self, device_id):
        self.device_id, self.device_type = device_id, "cuda"

    @property
    def exist(self):
        """Is it there?"""
        try:
            torch = _torch("exist")
        except TeUnsupported:
            return False
        return self.device_id < torch.cuda.device_count()

    @property
    def compute_version(self):
        """Its compute capability: `9.0`."""
        return "{}.{}".format(*_torch("compute_version").cuda.get_device_capability(self.device_id))

    def sync(self):
        """Waits for all that was launched."""
        _torch("sync").cuda.synchronize(self.device_id)


def cuda(dev_id=0):
    """A GPU by its number."""
    return Device(dev_id)


gpu = cuda


def cpu(dev_id=0):
    raise TeUnsupported("`tvm.cpu`", "kernels are for NVIDIA GPUs; `tc-run FILE --check` runs them on a simulator")


class NDArray:
    """An array on a GPU; `array` is PyTorch's."""

    def __init__(self, array):
        self.array = array

    @property
    def shape(self):
        return tuple(self.array.shape)

    @property
    def dtype(self):
        return str(self.array.dtype).removeprefix("torch.")

    def numpy(self):
        """A copy on the host."""
        return self.array.cpu().numpy()

    asnumpy = numpy


class nd:
    """TVM's module `nd`."""

    NDArray = NDArray

    @staticmethod
    def array(arr, device=None):
        """A copy of an array on a GPU."""
        torch = _torch("nd.array")
        return NDArray(torch.as_tensor(arr).to(f"cuda:{device.device_id if device is not None else 0}"))

    @staticmethod
    def empty(shape, dtype="float32", device=None):
        """A new array on a GPU."""
        torch = _torch("nd.empty")
        return NDArray(
            torch.empty(shape, dtype=getattr(torch, dtype), device=f"cuda:{device.device_id if device else 0}")
        )


def _array(value, of):
    """An argument of a kernel: PyTorch's array, and a number as an array without dimensions."""
    if isinstance(value, NDArray):
        return value.array
    if isinstance(of, Scalar) and isinstance(value, (int, float)):
        torch = _torch("a call")
        return torch.tensor(value, dtype=getattr(torch, of.dtype), device="cuda")
    return value


class Results:
    """Times in seconds."""

    def __init__(self, results):
        self.results = tuple(results)
        self.mean = sum(results) / len(results)
        self.min, self.max = min(results), max(results)
        self.median = sorted(results)[len(results) // 2]


class Function:
    """A kernel, called with the arguments in the order that `lower` was given."""

    def __init__(self, kernel, lowered):
        self.kernel, self.lowered = kernel, lowered
        self.entry_name = lowered.name

    def __call__(self, *args):
        given = self.lowered.args
        if len(args) != len(given):
            raise TeValueError(
                f"`{self.entry_name}` takes {len(given)} arguments, and {len(args)} are given", "give all, results too"
            )
        arrays = [_array(arg, of) for arg, of in zip(args, given)]
        self.kernel(*(arrays[nth] for nth in self.lowered.order))

    def get_source(self):
        """The CUDA C++."""
        return self.kernel.cuda

    @property
    def imported_modules(self):
        """TVM keeps the kernels in a module of their own; here they are the function's."""
        return [self]

    def time_evaluator(self, func_name, dev, number=10, repeat=1, **_):
        """A function that gives the times of `number` launches, `repeat` times; `tc-run --bench` measures more exactly."""
        torch = _torch("time_evaluator")

        def evaluate(*args):
            self(*args)
            times = []
            for _ in range(repeat):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                for _ in range(number):
                    self(*args)
                end.record()
                end.synchronize()
                times.append(start.elapsed_time(end) / 1e3 / number)
            return Results(times)

        return evaluate


def build(inp, args=None, target=None, target_host=None, runtime=None, name="default_function", binds=None):
    """A kernel for a GPU, by the native module of `tirc`."""
    target = target if isinstance(target, Target) or target is None else Target(target)
    lowered = inp if isinstance(inp, lowering.Lowered) else lowering.lower(inp, args, name, binds)
    return Function(lowering.compile(lowered, target.arch if target is not None else None), lowered)
