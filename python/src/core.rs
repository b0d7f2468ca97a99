//! A kernel and what a launch asks of its arguments, without Python: tvm-ffi calls it without the interpreter.

use crate::again::{Addresses, Launch, Launches};
use crate::dlpack::{CPU, CUDA, DataType, DlTensor};
use crate::tensor::{Tensor, data_type, type_name};
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::sync::{Arc, PoisonError, RwLock};
use tc::run::Define;
use tc::runtime::code_cache::{self, CodeCache, CompileOptions};
use tc::runtime::shapes::{CODE, Shape, Signature, fit};
use tc::runtime::{Array, Code, CudaDevice, DType, Element, Given, Program, Resident, keep_current, nvrtc};
use tc::support::{Diagnostic, Location};
use tc::target::Param;

/// Sets of shapes of inputs for which the shapes of outputs are remembered.
const MAX_SHAPES: usize = 64;

/// Shapes of inputs, and of outputs.
type ShapesOf = (Vec<i64>, Vec<Vec<u64>>);

/// The kernels of one program.
pub(crate) struct Core {
    pub(crate) name: String,
    pub(crate) source: String,
    /// Its code is CUDA C++: a GPU may be another than it was compiled for.
    pub(crate) program: Program,
    /// There is machine code of it in the cache, or there could be.
    pub(crate) is_compiled: bool,
    pub(crate) signature: Signature,
    /// The parameters that are results.
    pub(crate) results: Vec<usize>,
    pub(crate) point: Vec<Define>,
    /// The type of each parameter.
    types: Vec<DataType>,
    keep_lines: bool,
    /// By number of GPU.
    loaded: RwLock<Vec<(i32, Arc<Resident>)>>,
    /// Shapes of inputs, each after its rank, and the shapes of outputs that follow.
    shapes: RwLock<Vec<ShapesOf>>,
    launches: Launches,
}

/// An argument that was looked at.
pub(crate) enum Looked {
    Array(Tensor),
    Word(u64),
}

impl Core {
    /// A kernel of `program`; `name` is what messages call it. It is compiled now where NVIDIA's compiler is found, and else
    /// when it is first called.
    pub(crate) fn new(
        (program, signature): (Program, Signature),
        (name, point): (String, Vec<Define>),
        keep_lines: bool,
    ) -> Result<Core, Diagnostic> {
        let source = match &program.code {
            Code::Cuda(source) => source.clone(),
            _ => String::new(),
        };
        let types = program.manifest.params.iter().map(|param| data_type(param.dtype())).collect();
        let max_version = CudaDevice::newest_cuda().ok();
        let is_compiled = nvrtc::available(&program.target, max_version).is_ok();
        if is_compiled {
            machine_code(&program, max_version, keep_lines)?;
        }
        let results = (0..program.manifest.params.len()).filter(|&idx| signature.is_result(idx)).collect();
        let (loaded, shapes, launches) = (RwLock::default(), RwLock::default(), Launches::default());
        Ok(Core {
            name,
            source,
            program,
            is_compiled,
            signature,
            results,
            point,
            types,
            keep_lines,
            loaded,
            shapes,
            launches,
        })
    }

    /// What is wrong with argument `idx`.
    pub(crate) fn wrong(&self, idx: usize, why: impl AsRef<str>) -> Diagnostic {
        let name = self.program.manifest.params[idx].name();
        let text = format!("argument `{name}` of `{}` {}", self.program.manifest.function, why.as_ref());
        Diagnostic::error(CODE, Location::None, text)
    }

    /// Why `tensor` cannot be the argument `idx`, as far as it can be told without the others.
    pub(crate) fn refuse(&self, idx: usize, tensor: &Tensor) -> Option<Diagnostic> {
        let Param::Buffer(buffer) = &self.program.manifest.params[idx] else { return None };
        if !CUDA.contains(&tensor.device.kind) {
            let place = if tensor.device.kind == CPU { "on the host" } else { "on a device that is no NVIDIA GPU" };
            let help = "move it to a GPU, or run `Module.evaluate`, which takes NumPy's arrays, on the simulator";
            return Some(self.wrong(idx, format!("is {place}")).help(help));
        }
        if tensor.dtype != self.types[idx] {
            let text =
                format!("has elements of type `{}`, and `{}` is expected", type_name(tensor.dtype), buffer.dtype);
            return Some(self.wrong(idx, text));
        }
        if !tensor.is_dense {
            let wrong = self.wrong(idx, "does not lie dense in memory, row by row");
            return Some(wrong.help("pass a contiguous copy"));
        }
        (tensor.is_read_only && buffer.access.writes()).then(|| self.wrong(idx, "is written, and must not be"))
    }

    /// The program on GPU `id`.
    pub(crate) fn resident(&self, id: i32) -> Result<Arc<Resident>, Diagnostic> {
        let known = |loaded: &[(i32, Arc<Resident>)]| {
            loaded.iter().find(|(gpu, _)| *gpu == id).map(|(_, resident)| resident.clone())
        };
        if let Some(resident) = known(&self.loaded.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(resident);
        }
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(resident) = known(&loaded) {
            return Ok(resident);
        }
        let resident = Arc::new(keep_current(|| self.load(id))?);
        loaded.push((id, resident.clone()));
        Ok(resident)
    }

    fn load(&self, id: i32) -> Result<Resident, Diagnostic> {
        let mut device = CudaDevice::open(usize::try_from(id).unwrap_or(usize::MAX))?;
        device.keep_lines = self.keep_lines;
        // Machine code is for one kind of GPU; a newer one has PTX compiled by its driver.
        let made = match device.is(&self.program.target) {
            true => Some(machine_code(&self.program, Some(device.driver_version()), self.keep_lines)?),
            false => None,
        };
        Resident::load(&device, made.as_ref().unwrap_or(&self.program), self.signature.clone())
    }

    /// The shapes of the outputs for these inputs.
    pub(crate) fn output_shapes(&self, inputs: &[Looked], named: &[Define]) -> Result<Vec<Vec<u64>>, Diagnostic> {
        let mut key: Vec<i64> = Vec::new();
        for looked in inputs {
            match looked {
                Looked::Array(tensor) => {
                    key.push(tensor.shape.len() as i64);
                    key.extend(&*tensor.shape);
                }
                Looked::Word(_) => key.push(-1),
            }
        }
        key.extend(named.iter().map(|(_, value)| value));
        if named.is_empty() {
            let known = self.shapes.read().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, shapes)) = known.iter().find(|(of, _)| *of == key) {
                return Ok(shapes.clone());
            }
        }
        let mut given = inputs.iter();
        let shapes: Vec<Shape<'_>> = (0..self.program.manifest.params.len())
            .map(|idx| match given.as_slice().first().filter(|_| !self.signature.is_result(idx)) {
                None => Shape::Absent,
                Some(looked) => {
                    given.next();
                    looked.shape()
                }
            })
            .collect();
        let fitted = fit(&self.program.manifest, &self.signature, &shapes, named)?;
        let made: Vec<Vec<u64>> = self.results.iter().map(|&idx| fitted.shapes[idx].clone()).collect();
        if named.is_empty() {
            let mut known = self.shapes.write().unwrap_or_else(PoisonError::into_inner);
            known.truncate(MAX_SHAPES - 1);
            known.insert(0, (key, made.clone()));
        }
        Ok(made)
    }

    /// Launches on arguments that were looked at, in the stream that `stream` says for the GPU of the arrays.
    pub(crate) fn launch<E: From<Diagnostic>>(
        &self,
        looked: &[Looked],
        named: &[Define],
        stream: impl FnOnce() -> Result<u64, E>,
    ) -> Result<(), E> {
        let id = self.gpu(looked)?;
        self.check_overlap(looked)?;
        let resident = self.resident(id)?;
        let given = given(looked);
        let stream = stream()?;
        // SAFETY: each array is one of this GPU with elements of the parameter's type, as its library says, which keeps it
        // until its stream is done with it; a stream that is named is the caller's.
        #[expect(unsafe_code, reason = "memory of other libraries is handed to a kernel")]
        let launched = unsafe { resident.launch(&given, named, stream) };
        Ok(launched?)
    }

    /// A launch before with arrays like `tensors`, one for each parameter, and their addresses.
    pub(crate) fn like_before(&self, tensors: &[impl Borrow<DlTensor>]) -> Option<(Arc<Launch>, Addresses)> {
        self.launches.like(tensors)
    }

    /// Launches once more on arrays that are like those of `launch`.
    pub(crate) fn launch_again(&self, launch: &Launch, addresses: &Addresses, stream: u64) -> Result<(), Diagnostic> {
        // SAFETY: the arrays are as those that were accepted, but for their addresses; else as in `launch`.
        #[expect(unsafe_code, reason = "memory of other libraries is handed to a kernel")]
        unsafe {
            launch.resident.launch_planned(&launch.plan, addresses, stream)
        }
    }

    /// Remembers that a launch on `tensors`, which `looked` tells of too, went through.
    pub(crate) fn remember(&self, tensors: &[impl Borrow<DlTensor>], looked: &[Looked]) {
        let found = self.gpu(looked).and_then(|id| {
            let resident = self.resident(id)?;
            let plan = resident.plan(&given(looked), &[])?;
            Ok((resident, plan))
        });
        // A launch is not undone by what fails after it.
        let Ok(found) = found else { return };
        let params = &self.program.manifest.params;
        let is_written = |idx: usize| matches!(&params[idx], Param::Buffer(buffer) if buffer.access.writes());
        self.launches.add(tensors, is_written, found);
    }

    /// The GPU that all arrays are on.
    fn gpu(&self, looked: &[Looked]) -> Result<i32, Diagnostic> {
        let arrays = || looked.iter().enumerate().filter_map(|(idx, looked)| Some((idx, looked.array()?)));
        let Some((first, one)) = arrays().next() else {
            let text = format!("`{}` has no array that says on which GPU it runs", self.program.manifest.function);
            return Err(Diagnostic::error(CODE, Location::None, text));
        };
        match arrays().find(|(_, other)| other.device.id != one.device.id) {
            None => Ok(one.device.id),
            Some((idx, other)) => {
                let name = self.program.manifest.params[first].name();
                let text = format!("is on GPU {}, and `{name}` on GPU {}", other.device.id, one.device.id);
                Err(self.wrong(idx, text))
            }
        }
    }

    /// Kernels take parameters for memory of their own: what one writes no other may be.
    fn check_overlap(&self, looked: &[Looked]) -> Result<(), Diagnostic> {
        let range = |looked: &Looked| {
            let tensor = looked.array()?;
            let n = tensor.shape.iter().fold(1u64, |n, &extent| n.saturating_mul(extent.unsigned_abs()));
            let n_bytes = n.saturating_mul(u64::from(tensor.dtype.bits / 8));
            (n_bytes > 0).then_some((tensor.address, tensor.address.saturating_add(n_bytes)))
        };
        let params = &self.program.manifest.params;
        for (idx, param) in params.iter().enumerate() {
            let is_written = matches!(param, Param::Buffer(buffer) if buffer.access.writes());
            let Some((low, high)) = range(&looked[idx]).filter(|_| is_written) else { continue };
            for (other, looked) in looked.iter().enumerate().filter(|&(other, _)| other != idx) {
                if range(looked).is_some_and(|(from, to)| from < high && low < to) {
                    let text = format!("is written, and shares memory with `{}`", params[other].name());
                    return Err(self.wrong(idx, text).help("pass a copy: a kernel takes its arrays to be apart"));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let launches = std::mem::take(&mut self.launches);
        let loaded = std::mem::take(self.loaded.get_mut().unwrap_or_else(PoisonError::into_inner));
        // What is unloaded with them makes its own context current.
        if !loaded.is_empty() {
            keep_current(|| drop((launches, loaded)));
        }
    }
}

impl Looked {
    fn shape(&self) -> Shape<'_> {
        match self {
            Looked::Array(tensor) => Shape::Array(&tensor.shape),
            Looked::Word(_) => Shape::Scalar,
        }
    }

    pub(crate) fn array(&self) -> Option<&Tensor> {
        match self {
            Looked::Array(tensor) => Some(tensor),
            Looked::Word(_) => None,
        }
    }
}

/// What a launch takes, of what was looked at.
fn given(looked: &[Looked]) -> SmallVec<[Given<'_>; 12]> {
    let given = looked.iter().map(|looked| match looked {
        Looked::Array(tensor) => Given::Array { address: tensor.address, shape: &tensor.shape },
        Looked::Word(word) => Given::Word(*word),
    });
    given.collect()
}

/// `program` as machine code, from the user's cache where it is there.
fn machine_code(program: &Program, max_version: Option<(u32, u32)>, line_info: bool) -> Result<Program, Diagnostic> {
    let options = CompileOptions { max_version, line_info };
    match CodeCache::of_user() {
        Some(cache) => cache.compiled(program, &options),
        None => code_cache::compile(program, &options),
    }
}

/// A value in the first bytes of a word, as kernels take it; `None` where the type does not hold it.
pub(crate) fn word(dtype: DType, value: Element) -> Option<u64> {
    let value = match (dtype.elem().format(), value) {
        (None, Element::Int(value)) => {
            let (low, high) = dtype.elem().int_range().unwrap_or((0, 1));
            (low..=high).contains(&value).then_some(Element::Int(value))?
        }
        // A whole number is a float too.
        (Some(_), Element::Int(value)) => Element::Float(value as f64),
        (Some(_), Element::Float(value)) => Element::Float(value),
        (None, Element::Float(_)) => return None,
    };
    let one = Array::scalar(dtype, value);
    // A finite number stays finite, though rounded.
    if value.to_f64().is_finite() && !one.get(0).to_f64().is_finite() {
        return None;
    }
    let mut word = [0; 8];
    word[..one.bytes().len()].copy_from_slice(one.bytes());
    Some(u64::from_ne_bytes(word))
}
