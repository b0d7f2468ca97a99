//! A kernel that takes arrays on a GPU.

use crate::core::{Core, Looked};
use crate::dlpack::{DlTensor, Exchange};
use crate::error::alone;
use crate::tensor::{Library, Looker, Tensor};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use serde_json::{Value, json};
use smallvec::SmallVec;
use std::sync::Arc;
use tc::run::Define;
use tc::runtime::shapes::CODE;
use tc::runtime::{DType, Element};
use tc::support::{Diagnostic, Location, counted};
use tc::target::{Formula, Param};

/// The kernels of one program, compiled once and launched on arrays of PyTorch, CuPy and others without a copy.
///
/// Called with all arguments it fills the outputs and returns them; called with the inputs alone it makes the outputs. It
/// returns when the kernels are in the stream: the current one of the arrays' library, or `stream`.
#[pyclass(frozen, module = "tirc._native")]
pub(crate) struct Kernel {
    pub(crate) core: Arc<Core>,
}

impl Kernel {
    /// Looks at `object`, given for the parameter `idx`.
    fn look(&self, py: Python<'_>, idx: usize, object: &Bound<'_, PyAny>, looker: &mut Looker) -> PyResult<Looked> {
        let param = &self.core.program.manifest.params[idx];
        if let Param::Scalar(scalar) = param {
            return word(scalar.dtype, object).ok().flatten().map(Looked::Word).ok_or_else(|| {
                let text = format!("is {}, and a value of type `{}` is expected", shown(object), scalar.dtype);
                alone(py, self.core.wrong(idx, text))
            });
        }
        let found = looker.look(object).map_err(|error| {
            let text = format!("is {}, which cannot be read: {error}", shown(object));
            alone(py, self.core.wrong(idx, text))
        });
        let Some(tensor) = found? else {
            let text = format!("is {}, and an array on a GPU is expected", shown(object));
            return Err(alone(py, self.core.wrong(idx, text)));
        };
        match self.core.refuse(idx, &tensor) {
            None => Ok(Looked::Array(tensor)),
            Some(wrong) => Err(alone(py, wrong)),
        }
    }

    /// Arguments for all parameters.
    fn look_at_all(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<SmallVec<[Looked; 12]>> {
        let (mut looker, mut looked) = (Looker::default(), SmallVec::new());
        for idx in 0..args.len() {
            let object = args.get_borrowed_item(idx)?;
            looked.push(self.look(py, idx, &object, &mut looker)?);
        }
        Ok(looked)
    }

    /// Launches on arguments that were looked at.
    fn launch(&self, py: Python<'_>, looked: &[Looked], sizes: &[Define], stream: Option<u64>) -> PyResult<()> {
        let launched = self.core.launch(looked, sizes, || match stream {
            Some(stream) => Ok(stream),
            None => current_stream(py, looked.iter().filter_map(Looked::array)).map_err(Raised::Python),
        });
        launched.map_err(|raised| raised.error(py))
    }

    /// Launches on `args`, one for each parameter: as before, where they are like those of a call before.
    fn launch_on_all(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        sizes: &[Define],
        stream: Option<u64>,
    ) -> PyResult<()> {
        let mut tensors = SmallVec::<[DlTensor; 8]>::new();
        let exchange = if sizes.is_empty() { exchanged(args, &mut tensors) } else { None };
        if let Some(exchange) = exchange
            && let Some((launch, addresses)) = self.core.like_before(&tensors)
        {
            let stream = match stream {
                Some(stream) => stream,
                None => exchange.stream(py, tensors[0].device)?.unwrap_or(0),
            };
            return self.core.launch_again(&launch, &addresses, stream).map_err(|wrong| alone(py, wrong));
        }
        let looked = self.look_at_all(py, args)?;
        self.launch(py, &looked, sizes, stream)?;
        if exchange.is_some() {
            self.core.remember(&tensors, &looked);
        }
        Ok(())
    }

    /// Arguments for what is read, and results that are made now, in the order of parameters.
    fn make_results<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: &[Define],
        results: &mut Results<'py>,
    ) -> PyResult<SmallVec<[Looked; 12]>> {
        self.check_number(py, args.len())?;
        let (mut looker, mut looked) = (Looker::default(), SmallVec::<[Looked; 12]>::new());
        let is_read = |idx: &usize| !self.core.signature.is_result(*idx);
        for (idx, object) in (0..self.core.program.manifest.params.len()).filter(is_read).zip(args.iter_borrowed()) {
            looked.push(self.look(py, idx, &object, &mut looker)?);
        }
        let shapes = self.core.output_shapes(&looked, named).map_err(|wrong| alone(py, wrong))?;
        let like = looked.iter().position(|looked| looked.array().is_some());
        let like = like.map_or(Ok(py.None().into_bound(py)), |nth| args.get_item(nth))?;
        for (&idx, shape) in self.core.results.iter().zip(shapes) {
            let dtype = self.core.program.manifest.params[idx].dtype().to_string();
            let made = empty(py)?.call1((&like, shape, dtype))?;
            looked.insert(idx, self.look(py, idx, &made, &mut looker)?);
            results.push(made);
        }
        Ok(looked)
    }

    /// Refuses another number of arguments than that of the inputs.
    fn check_number(&self, py: Python<'_>, n: usize) -> PyResult<()> {
        let params = &self.core.program.manifest.params;
        let n_inputs = params.len() - self.core.results.len();
        if n == n_inputs {
            return Ok(());
        }
        let takes = counted(params.len(), "argument");
        let text = format!("`{}` takes {takes}, and is given {n}", self.core.program.manifest.function);
        let names: Vec<String> = params.iter().map(|param| format!("`{}`", param.name())).collect();
        let wrong = Diagnostic::error(CODE, Location::None, text);
        let help = format!("or the {n_inputs} that it reads: results are then made");
        Err(alone(py, wrong.note(format!("its parameters are {}", names.join(", "))).help(help)))
    }
}

/// `args` by the C exchange API of their type, where all have the same and can be read by it; others are looked at one by one.
fn exchanged(args: &Bound<'_, PyTuple>, tensors: &mut SmallVec<[DlTensor; 8]>) -> Option<Exchange> {
    let (mut looker, mut last) = (Looker::default(), None);
    tensors.resize_with(args.len(), DlTensor::empty);
    for (object, tensor) in args.iter_borrowed().zip(tensors) {
        let exchange = looker.exchange(&object)?;
        exchange.read(&object, tensor).ok()?;
        if last.is_some_and(|last| last != exchange) {
            return None;
        }
        last = Some(exchange);
    }
    last
}

/// Results of one call.
type Results<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;

/// `tirc.frameworks.empty`.
fn empty<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    EMPTY.import(py, "tirc.frameworks", "empty")
}

#[pymethods]
impl Kernel {
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (stream, sizes) = match named {
            Some(named) => split(py, named)?,
            None => (None, Vec::new()),
        };
        let mut outputs = Results::new();
        if args.len() == self.core.program.manifest.params.len() {
            self.launch_on_all(py, args, &sizes, stream)?;
            for &idx in &self.core.results {
                outputs.push(args.get_item(idx)?);
            }
        } else {
            let looked = self.make_results(py, args, &sizes, &mut outputs)?;
            self.launch(py, &looked, &sizes, stream)?;
        }
        match outputs.len() {
            0 => Ok(py.None().into_bound(py)),
            1 => Ok(outputs.remove(0)),
            _ => Ok(PyTuple::new(py, outputs)?.into_any()),
        }
    }

    /// The operator and its schedule, or the program.
    #[getter]
    fn name(&self) -> &str {
        &self.core.name
    }

    /// The CUDA C++.
    #[getter]
    fn cuda(&self) -> &str {
        &self.core.source
    }

    /// What it was compiled for.
    #[getter]
    fn target(&self) -> &'static str {
        self.core.program.target.name
    }

    /// The values of the schedule's parameters.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let point = PyDict::new(py);
        for (name, value) in &self.core.point {
            point.set_item(name, value)?;
        }
        Ok(point)
    }

    /// Was machine code made? Else it is made when the kernel is first called: NVIDIA's compiler was not found.
    #[getter]
    fn is_compiled(&self) -> bool {
        self.core.is_compiled
    }

    /// The manifest as JSON.
    fn manifest_json(&self) -> String {
        self.core.program.manifest.to_json().to_string()
    }

    /// What it takes and gives, as JSON: name, type, access and shape of each argument. An extent is a number, a size, or an
    /// object of an operator with its operands.
    fn signature_json(&self) -> String {
        let describe = |(idx, param): (usize, &Param)| {
            let shape = self.core.signature.extents(idx);
            let shape = shape.map(|extents| extents.iter().map(Formula::to_json).collect::<Vec<_>>());
            let access = match param {
                _ if self.core.signature.is_result(idx) => "write",
                Param::Buffer(buffer) => buffer.access.name(),
                Param::Scalar(_) => "read",
            };
            json!({ "name": param.name(), "dtype": param.dtype().to_string(), "access": access, "shape": shape })
        };
        let params = self.core.program.manifest.params.iter().enumerate().map(describe);
        Value::from(params.collect::<Vec<_>>()).to_string()
    }

    /// Loads it on a GPU now, and not when it is first called.
    #[pyo3(signature = (device = 0))]
    fn load(&self, py: Python<'_>, device: i32) -> PyResult<()> {
        py.detach(|| self.core.resident(device).map(drop)).map_err(|wrong| alone(py, wrong))
    }

    fn __repr__(&self) -> String {
        format!("<tirc.Kernel {} for {}>", self.core.name, self.core.program.target.name)
    }
}

/// What ended a launch.
enum Raised {
    Found(Diagnostic),
    Python(PyErr),
}

impl From<Diagnostic> for Raised {
    fn from(found: Diagnostic) -> Raised {
        Raised::Found(found)
    }
}

impl Raised {
    fn error(self, py: Python<'_>) -> PyErr {
        match self {
            Raised::Found(found) => alone(py, found),
            Raised::Python(error) => error,
        }
    }
}

/// The stream and the sizes among named arguments.
fn split(py: Python<'_>, named: &Bound<'_, PyDict>) -> PyResult<(Option<u64>, Vec<Define>)> {
    let (mut stream, mut sizes) = (None, None);
    for (name, value) in named.iter() {
        match name.extract::<&str>()? {
            "stream" if value.is_none() => {}
            "stream" => stream = Some(stream_of(&value)?),
            _ => sizes.get_or_insert_with(|| PyDict::new(py)).set_item(name, value)?,
        }
    }
    let sizes = sizes.map_or(Ok(Vec::new()), |sizes| crate::options::values(py, &sizes))?;
    Ok((stream, sizes))
}

/// The handle of a stream: a number, or what PyTorch, CuPy and others have for one.
fn stream_of(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = object.py();
    if let Ok(handle) = object.extract() {
        return Ok(handle);
    }
    for name in [intern!(py, "cuda_stream"), intern!(py, "ptr")] {
        if let Ok(handle) = object.getattr(name) {
            return handle.extract();
        }
    }
    if let Ok(protocol) = object.call_method0(intern!(py, "__cuda_stream__")) {
        return protocol.extract::<(u64, u64)>().map(|(_, handle)| handle);
    }
    let text = format!("the stream is {}, and a stream of CUDA is expected", shown(object));
    Err(alone(py, Diagnostic::error(CODE, Location::None, text)))
}

/// The stream that the library of the first array that knows works on; the default one where none knows.
fn current_stream<'a>(py: Python<'_>, arrays: impl Iterator<Item = &'a Tensor>) -> PyResult<u64> {
    for array in arrays {
        match array.library {
            Library::Exchange(exchange) => {
                if let Some(stream) = exchange.stream(py, array.device)? {
                    return Ok(stream);
                }
            }
            Library::CuPy => {
                static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                let stream = CURRENT.import(py, "cupy.cuda", "get_current_stream")?.call0()?;
                return stream.getattr(intern!(py, "ptr"))?.extract();
            }
            Library::Stream(stream) => return Ok(stream),
            Library::Other => {}
        }
    }
    Ok(0)
}

/// A value as a kernel takes it.
fn word(dtype: DType, object: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let value = match dtype.elem().format() {
        Some(_) => Element::Float(object.extract()?),
        None => {
            Element::Int(object.extract::<i64>().map(i128::from).or_else(|_| object.extract::<u64>().map(i128::from))?)
        }
    };
    Ok(crate::core::word(dtype, value))
}

/// What an object is, for messages: its type, or its value where that is short.
fn shown(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().fully_qualified_name().map_or_else(|_| "an object".into(), |name| name.to_string());
    match object.repr() {
        Ok(text) if text.to_string_lossy().len() <= 20 => format!("{text} (`{name}`)"),
        _ => format!("a `{name}`"),
    }
}
