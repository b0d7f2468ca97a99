//! The manifest as JSON, by hand: the form is small, versioned, and its errors name the place in the document.

use crate::manifest::{
    Access, Buffer, Kernel, KernelManifest, Param, Scalar, VERSION, VERSION_WITHOUT_CHOICES, VERSION_WITHOUT_MAPS,
    VERSION_WITHOUT_OVERLAPS, wrong,
};
use crate::maps::TensorMap;
use crate::sizes::{FORMULA_OPS, Follows, Formula, MAX_FORMULA_DEPTH, OpenSize, Slot, formula_op_name};
use serde_json::{Map, Value, json};
use tc_support::DType;
use tc_support::Diagnostic;
use tc_support::suggest::{did_you_mean, shorten};

impl KernelManifest {
    /// The manifest as a JSON object whose `manifest` is the version of the form. A number that follows from sizes is
    /// written as its formula: a size's name, or an object of one operator and its two operands.
    pub fn to_json(&self) -> Value {
        let version = match self.kernels.iter().any(|kernel| kernel.when.is_some()) {
            _ if self.kernels.iter().any(|kernel| kernel.overlaps) => VERSION,
            _ if !self.maps.is_empty() => VERSION_WITHOUT_OVERLAPS,
            true => VERSION_WITHOUT_MAPS,
            false => VERSION_WITHOUT_CHOICES,
        };
        let mut value = json!({
            "manifest": version,
            "function": self.function,
            "target": self.target,
            "params": self.params.iter().map(param_to_json).collect::<Vec<_>>(),
            "temporaries": self.temporaries.iter().map(buffer_to_json).collect::<Vec<_>>(),
            "kernels": self.kernels.iter().map(kernel_to_json).collect::<Vec<_>>(),
        });
        if !self.maps.is_empty() {
            value["maps"] = self.maps.iter().map(map_to_json).collect();
        }
        if !self.sizes.is_empty() {
            value["sizes"] = self.sizes.iter().map(size_to_json).collect();
        }
        if !self.facts.is_empty() {
            value["where"] = self.facts.iter().map(|fact| formula_to_json(fact, MAX_FORMULA_DEPTH)).collect();
        }
        for Follows { slot, formula } in &self.formulas {
            let place = match slot {
                Slot::Grid { kernel, dim } => &mut value["kernels"][*kernel]["grid"][*dim],
                Slot::Shape { buffer, dim } => {
                    let param = self.params.iter().position(|param| param.name() == buffer);
                    let temporary = self.temporaries.iter().position(|temporary| temporary.name == *buffer);
                    let buffer = match (param, temporary) {
                        (Some(idx), _) => &mut value["params"][idx],
                        (None, Some(idx)) => &mut value["temporaries"][idx],
                        (None, None) => continue,
                    };
                    // The bytes follow from the shape.
                    buffer["bytes"] = Value::Null;
                    &mut buffer["shape"][*dim]
                }
                Slot::Map { map, dim } => {
                    let Some(nth) = self.maps.iter().position(|known| known.name == *map) else { continue };
                    &mut value["maps"][nth]["extents"][*dim]
                }
            };
            *place = formula_to_json(formula, MAX_FORMULA_DEPTH);
        }
        value
    }

    /// Reads what [`KernelManifest::to_json`] wrote, and checks it.
    pub fn from_json(value: &Value) -> Result<KernelManifest, Diagnostic> {
        let node = Node { value, path: "manifest".into() };
        let version = node.field("manifest")?.u64()?;
        if !(VERSION_WITHOUT_CHOICES..=VERSION).contains(&version) {
            let message = format!(
                "the manifest has version {version}, and this build reads versions {VERSION_WITHOUT_CHOICES} to {VERSION}"
            );
            return Err(wrong(message));
        }
        node.only(&MANIFEST_KEYS)?;
        let mut formulas = Vec::new();
        let mut manifest = KernelManifest {
            function: node.field("function")?.string()?,
            target: node.field("target")?.string()?,
            params: node.field("params")?.list(|node| param_from_json(node, &mut formulas))?,
            temporaries: node.field("temporaries")?.list(|node| buffer_from_json(node, &BUFFER_KEYS, &mut formulas))?,
            maps: match node.object()?.contains_key("maps") {
                true => node.field("maps")?.list(|node| map_from_json(node, &mut formulas))?,
                false => Vec::new(),
            },
            kernels: Vec::new(),
            sizes: match node.object()?.contains_key("sizes") {
                true => node.field("sizes")?.list(size_from_json)?,
                false => Vec::new(),
            },
            formulas: Vec::new(),
            facts: match node.object()?.contains_key("where") {
                true => node.field("where")?.list(|node| node.formula(MAX_FORMULA_DEPTH))?,
                false => Vec::new(),
            },
        };
        let mut nth = 0..;
        manifest.kernels =
            node.field("kernels")?.list(|node| kernel_from_json(node, nth.next().unwrap_or(0), &mut formulas))?;
        manifest.formulas = formulas;
        manifest.keep_grids();
        manifest.evaluate()?;
        manifest.validate()?;
        Ok(manifest)
    }

    /// Reads a manifest from JSON text.
    pub fn from_json_text(text: &str) -> Result<KernelManifest, Diagnostic> {
        let value = serde_json::from_str(text).map_err(|error| wrong(format!("the manifest is not JSON: {error}")))?;
        KernelManifest::from_json(&value)
    }
}

const MANIFEST_KEYS: [&str; 9] =
    ["manifest", "function", "target", "params", "temporaries", "maps", "kernels", "sizes", "where"];
const BUFFER_KEYS: [&str; 6] = ["name", "dtype", "shape", "bytes", "alignment", "access"];
const BUFFER_PARAM_KEYS: [&str; 7] = ["kind", "name", "dtype", "shape", "bytes", "alignment", "access"];
const SCALAR_KEYS: [&str; 3] = ["kind", "name", "dtype"];
const MAP_KEYS: [&str; 8] = ["name", "buffer", "dtype", "extents", "box", "steps", "swizzle", "promotion"];
const KERNEL_KEYS: [&str; 9] =
    ["name", "args", "grid", "block", "cluster", "overlaps", "dynamic_shared", "static_shared", "when"];
const SIZE_KEYS: [&str; 5] = ["name", "dtype", "low", "high", "value"];

/// The objects of the JSON form, each with all fields that it may have. docs/manifest.md says what they mean.
pub const OBJECTS: [(&str, &[&str]); 7] = [
    ("manifest", &MANIFEST_KEYS),
    ("buffer parameter", &BUFFER_PARAM_KEYS),
    ("value parameter", &SCALAR_KEYS),
    ("temporary", &BUFFER_KEYS),
    ("map", &MAP_KEYS),
    ("kernel", &KERNEL_KEYS),
    ("size", &SIZE_KEYS),
];

fn param_to_json(param: &Param) -> Value {
    match param {
        Param::Scalar(scalar) => json!({"kind": "scalar", "name": scalar.name, "dtype": scalar.dtype.name()}),
        Param::Buffer(buffer) => {
            let mut value = buffer_to_json(buffer);
            value["kind"] = json!("buffer");
            value
        }
    }
}

fn buffer_to_json(buffer: &Buffer) -> Value {
    json!({
        "name": buffer.name,
        "dtype": buffer.dtype.name(),
        "shape": buffer.shape,
        "bytes": buffer.bytes,
        "alignment": buffer.alignment,
        "access": buffer.access.name(),
    })
}

fn map_to_json(map: &TensorMap) -> Value {
    json!({
        "name": map.name,
        "buffer": map.buffer,
        "dtype": map.dtype.name(),
        "extents": map.extents,
        "box": map.sides,
        "steps": map.steps,
        "swizzle": map.swizzle,
        "promotion": map.promotion,
    })
}

fn map_from_json(node: &Node<'_>, formulas: &mut Vec<Follows>) -> Result<TensorMap, Diagnostic> {
    node.only(&MAP_KEYS)?;
    let name = node.field("name")?.string()?;
    let slot = |dim: usize| Slot::Map { map: name.clone(), dim };
    Ok(TensorMap {
        extents: node.field("extents")?.extents(formulas, slot)?,
        name,
        buffer: node.field("buffer")?.string()?,
        dtype: node.field("dtype")?.dtype()?,
        sides: node.field("box")?.list(Node::u64)?,
        steps: node.field("steps")?.list(Node::u64)?,
        swizzle: node.field("swizzle")?.u64()?,
        promotion: node.field("promotion")?.u64()?,
    })
}

fn kernel_to_json(kernel: &Kernel) -> Value {
    let mut value = json!({
        "name": kernel.name,
        "args": kernel.args,
        "grid": kernel.grid,
        "block": kernel.block,
        "cluster": kernel.cluster,
        "dynamic_shared": kernel.dynamic_shared,
        "static_shared": kernel.static_shared,
    });
    if kernel.overlaps {
        value["overlaps"] = true.into();
    }
    if let Some(when) = &kernel.when {
        value["when"] = formula_to_json(when, MAX_FORMULA_DEPTH);
    }
    value
}

fn size_to_json(size: &OpenSize) -> Value {
    json!({
        "name": size.name,
        "dtype": size.dtype.name(),
        "low": size.low,
        "high": size.high,
        "value": size.value,
    })
}

fn size_from_json(node: &Node<'_>) -> Result<OpenSize, Diagnostic> {
    node.only(&SIZE_KEYS)?;
    let high = node.field("high")?;
    Ok(OpenSize {
        name: node.field("name")?.string()?,
        dtype: node.field("dtype")?.dtype()?,
        low: node.field("low")?.i64()?,
        high: if high.value.is_null() { None } else { Some(high.i64()?) },
        value: node.field("value")?.i64()?,
    })
}

impl Formula {
    /// The JSON form: a number, the name of a size, or an object of the operator with its operands.
    pub fn to_json(&self) -> Value {
        formula_to_json(self, MAX_FORMULA_DEPTH)
    }
}

fn formula_to_json(formula: &Formula, depth: usize) -> Value {
    match (formula, depth.checked_sub(1)) {
        (Formula::Int(int), _) => json!(int),
        (Formula::Size(name), _) => json!(name),
        (Formula::Op(op, args), Some(depth)) => {
            json!({formula_op_name(*op): [formula_to_json(&args.0, depth), formula_to_json(&args.1, depth)]})
        }
        // Deeper ones are not evaluated either.
        (Formula::Op(..), None) => Value::Null,
    }
}

fn param_from_json(node: &Node<'_>, formulas: &mut Vec<Follows>) -> Result<Param, Diagnostic> {
    match node.field("kind")?.string()?.as_str() {
        "buffer" => Ok(Param::Buffer(buffer_from_json(node, &BUFFER_PARAM_KEYS, formulas)?)),
        "scalar" => {
            node.only(&SCALAR_KEYS)?;
            Ok(Param::Scalar(Scalar { name: node.field("name")?.string()?, dtype: node.field("dtype")?.dtype()? }))
        }
        other => Err(node.field("kind")?.one_of(other, &["buffer", "scalar"])),
    }
}

fn buffer_from_json(node: &Node<'_>, keys: &[&str], formulas: &mut Vec<Follows>) -> Result<Buffer, Diagnostic> {
    node.only(keys)?;
    let name = node.field("name")?.string()?;
    let slot = |dim: usize| Slot::Shape { buffer: name.clone(), dim };
    let n_fixed = formulas.len();
    let shape = node.field("shape")?.extents(formulas, slot)?;
    let is_open = formulas.len() > n_fixed;
    let access = node.field("access")?;
    let access_name = access.string()?;
    Ok(Buffer {
        name,
        dtype: node.field("dtype")?.dtype()?,
        shape,
        bytes: if is_open { 0 } else { node.field("bytes")?.u64()? },
        alignment: node.field("alignment")?.u64()?,
        access: Access::ALL
            .into_iter()
            .find(|candidate| candidate.name() == access_name)
            .ok_or_else(|| access.one_of(&access_name, &Access::ALL.map(Access::name)))?,
    })
}

fn kernel_from_json(node: &Node<'_>, kernel: usize, formulas: &mut Vec<Follows>) -> Result<Kernel, Diagnostic> {
    node.only(&KERNEL_KEYS)?;
    let grid = node.field("grid")?;
    Ok(Kernel {
        name: node.field("name")?.string()?,
        args: node.field("args")?.list(Node::string)?,
        grid: grid.three(node.field("grid")?.extents(formulas, |dim| Slot::Grid { kernel, dim })?)?,
        block: node.field("block")?.numbers()?,
        cluster: node.field("cluster")?.numbers()?,
        overlaps: match node.object()?.contains_key("overlaps") {
            true => node.field("overlaps")?.bool()?,
            false => false,
        },
        dynamic_shared: node.field("dynamic_shared")?.u64()?,
        static_shared: node.field("static_shared")?.u64()?,
        when: match node.object()?.contains_key("when") {
            true => Some(node.field("when")?.formula(MAX_FORMULA_DEPTH)?),
            false => None,
        },
    })
}

/// A value and the way to it from the root, for messages.
struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    fn expected(&self, what: &str) -> Diagnostic {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Number(_) => "another number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        wrong(format!("`{}`: expected {what}, found {found}", self.path))
    }

    fn one_of(&self, found: &str, allowed: &[&str]) -> Diagnostic {
        let wrong = wrong(format!("`{}`: `{}` is not known here", self.path, shorten(found)));
        match did_you_mean(found, allowed.iter().copied()) {
            Some(help) => wrong.help(help),
            None => wrong,
        }
    }

    fn object(&self) -> Result<&'a Map<String, Value>, Diagnostic> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    fn field(&self, key: &str) -> Result<Node<'a>, Diagnostic> {
        let value =
            self.object()?.get(key).ok_or_else(|| wrong(format!("`{}`: there is no field `{key}`", self.path)))?;
        Ok(Node { value, path: format!("{}.{key}", self.path) })
    }

    /// An unknown field is an error: it would be a wish without effect.
    fn only(&self, keys: &[&str]) -> Result<(), Diagnostic> {
        match self.object()?.keys().find(|key| !keys.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(self.one_of(key, keys)),
        }
    }

    fn u64(&self) -> Result<u64, Diagnostic> {
        self.value.as_u64().ok_or_else(|| self.expected("an integer from 0 to 2^64 - 1"))
    }

    fn bool(&self) -> Result<bool, Diagnostic> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    fn string(&self) -> Result<String, Diagnostic> {
        self.value.as_str().map(str::to_string).ok_or_else(|| self.expected("a string"))
    }

    fn dtype(&self) -> Result<DType, Diagnostic> {
        let name = self.string()?;
        DType::parse(&name).ok_or_else(|| self.one_of(&name, &DType::ALL.map(DType::name)))
    }

    fn list<T>(&self, item: impl FnMut(&Node<'a>) -> Result<T, Diagnostic>) -> Result<Vec<T>, Diagnostic> {
        let values = self.value.as_array().ok_or_else(|| self.expected("a list"))?;
        let nodes = values.iter().enumerate().map(|(idx, value)| Node { value, path: format!("{}[{idx}]", self.path) });
        let mut item = item;
        nodes.map(|node| item(&node)).collect()
    }

    fn i64(&self) -> Result<i64, Diagnostic> {
        self.value.as_i64().ok_or_else(|| self.expected("an integer of 64 bits"))
    }

    fn numbers(&self) -> Result<[u64; 3], Diagnostic> {
        self.three(self.list(Node::u64)?)
    }

    fn three(&self, extents: Vec<u64>) -> Result<[u64; 3], Diagnostic> {
        extents.try_into().map_err(|_| self.expected("a list of three integers"))
    }

    /// Numbers, or formulas, which are noted for the slot of their position and stand for 0 until they are evaluated.
    fn extents(&self, formulas: &mut Vec<Follows>, slot: impl Fn(usize) -> Slot) -> Result<Vec<u64>, Diagnostic> {
        let mut dims = 0..;
        self.list(|node| {
            let dim = dims.next().unwrap_or(0);
            if !node.value.is_object() && !node.value.is_string() {
                return node.u64();
            }
            formulas.push(Follows { slot: slot(dim), formula: node.formula(MAX_FORMULA_DEPTH)? });
            Ok(0)
        })
    }

    fn formula(&self, depth: usize) -> Result<Formula, Diagnostic> {
        let Some(depth) = depth.checked_sub(1) else { return Err(self.expected("a formula that is less deep")) };
        match self.value {
            Value::String(name) => Ok(Formula::Size(name.clone())),
            Value::Object(object) => {
                let Some(name) = object.keys().next().filter(|_| object.len() == 1) else {
                    return Err(self.expected("an operator with its operands"));
                };
                let op = FORMULA_OPS.iter().find(|(_, known)| *known == name).map(|&(op, _)| op);
                let op = op.ok_or_else(|| self.one_of(name, &FORMULA_OPS.map(|(_, name)| name)))?;
                let operands = self.field(name)?;
                let args: [Formula; 2] = operands
                    .list(|node| node.formula(depth))?
                    .try_into()
                    .map_err(|_| operands.expected("a list of two operands"))?;
                let [lhs, rhs] = args;
                Ok(Formula::op(op, lhs, rhs))
            }
            _ => self.i64().map(Formula::Int),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::tests::example;

    #[test]
    fn a_manifest_comes_back_as_it_went() {
        let manifest = example();
        let text = manifest.to_json().to_string();
        assert_eq!(KernelManifest::from_json_text(&text), Ok(manifest));
        assert!(text.starts_with(r#"{"function":"conv1d","#), "{text}");
    }

    #[test]
    fn formulas_stand_where_numbers_would() {
        let manifest = crate::sizes::tests::open();
        let value = manifest.to_json();
        assert_eq!(value["kernels"][0]["grid"].to_string(), r#"[{"div":[{"add":["n",31]},32]},1,1]"#);
        assert_eq!(value["params"][0]["shape"], json!(["n"]));
        assert_eq!(KernelManifest::from_json(&value), Ok(manifest));
        let refused = |formula: Value| {
            let mut value = crate::sizes::tests::open().to_json();
            value["kernels"][0]["grid"][0] = formula;
            KernelManifest::from_json(&value).expect_err("changed for the worse").message
        };
        assert_eq!(refused(json!({"ad": [1, 2]})), "`manifest.kernels[0].grid[0]`: `ad` is not known here");
        assert_eq!(refused(json!("m")), "extent 0 of the grid of `conv1d_0` is `m`, which is no number with n = 16384");
        assert_eq!(
            refused(json!({"add": [1]})),
            "`manifest.kernels[0].grid[0].add`: expected a list of two operands, found a list"
        );
        let deep = (0..100).fold(json!("n"), |inner, _| json!({"add": [inner, 0]}));
        assert!(refused(deep).contains("less deep"));
    }

    #[test]
    fn a_kernel_that_overlaps_comes_back() {
        let mut manifest = example();
        assert_ne!(manifest.to_json()["manifest"], json!(4));
        manifest.kernels[1].overlaps = true;
        let value = manifest.to_json();
        assert_eq!((&value["manifest"], &value["kernels"][1]["overlaps"]), (&json!(4), &json!(true)));
        assert!(value["kernels"][0].get("overlaps").is_none());
        assert_eq!(KernelManifest::from_json(&value).expect("it reads"), manifest);
    }

    #[test]
    fn a_kernel_for_some_sizes_comes_back_and_is_launched_for_these() {
        let mut manifest = crate::sizes::tests::open();
        let small = Formula::op(tc_arith::BinaryOp::Le, Formula::Size("n".into()), Formula::Int(64));
        manifest.kernels[1].when = Some(small);
        manifest.keep_grids();
        manifest.set_sizes(&[]).expect("the sizes fit");
        let value = manifest.to_json();
        assert_eq!((&value["manifest"], &value["kernels"][1]["when"]), (&json!(2), &json!({"le": ["n", 64]})));
        let mut back = KernelManifest::from_json(&value).expect("it reads");
        assert_eq!(back.to_json(), value);
        assert!(back.kernels[1].is_empty() && !back.kernels[0].is_empty());
        back.set_sizes(&[("n".into(), 64)]).expect("it fits");
        assert_eq!((back.kernels[1].grid, back.kernels[0].grid), ([513, 1, 1], [2, 1, 1]));
        back.set_sizes(&[("n".into(), 65)]).expect("it fits");
        assert!(back.kernels[1].is_empty());
        let mut value = value;
        value["kernels"][1]["when"] = json!({"div": [1, {"sub": ["n", "n"]}]});
        let wrong = KernelManifest::from_json(&value).expect_err("it has no value");
        assert_eq!(wrong.message, "whether `conv1d_1` is launched is `1 / (n - n)`, which is no number with n = 16384");
    }

    #[test]
    fn a_map_comes_back_and_follows_the_sizes() {
        let mut manifest = crate::maps::tests::mapped();
        let value = manifest.to_json();
        assert_eq!(value["manifest"], json!(3));
        assert_eq!(
            value["maps"][0].to_string(),
            r#"{"box":[2,32],"buffer":"T","dtype":"f32","extents":[2,16416],"name":"MT","promotion":128,"steps":[1,1],"swizzle":128}"#
        );
        assert_eq!(KernelManifest::from_json(&value), Ok(manifest.clone()));
        manifest.params.remove(1);
        manifest.kernels[0].args.remove(1);
        manifest.sizes = crate::sizes::tests::open().sizes;
        let of_n = |slot: Slot| Follows { slot, formula: Formula::Size("n".into()) };
        manifest.formulas =
            vec![of_n(Slot::Shape { buffer: "T".into(), dim: 1 }), of_n(Slot::Map { map: "MT".into(), dim: 1 })];
        manifest.set_sizes(&[]).expect("the rows are multiples of 16 bytes");
        let value = manifest.to_json();
        assert_eq!(value["maps"][0]["extents"], json!([2, "n"]));
        let mut back = KernelManifest::from_json(&value).expect("it reads");
        assert_eq!((back.to_json(), &back.maps[0].extents[..]), (value, &[2, 16384][..]));
        let wrong = back.set_sizes(&[("n".into(), 33)]).expect_err("rows of 132 bytes");
        assert_eq!(wrong.message, "a stride of map `MT` is 132 bytes, and must be a multiple of 16 below 2^40");
        // Where no kernel that takes it is launched, its rows do not count.
        back.kernels[1].when = Some(Formula::Int(0));
        back.keep_grids();
        back.set_sizes(&[("n".into(), 33)]).expect("it is not needed");
        assert!(back.maps[0].is_empty() && !back.is_needed("MT"));
    }

    #[test]
    fn the_list_of_objects_is_what_is_written() {
        let mut manifest = crate::maps::tests::mapped();
        manifest.sizes = crate::sizes::tests::open().sizes;
        manifest.sizes[0].name = "rows".into();
        manifest.facts = vec![Formula::op(tc_arith::BinaryOp::Le, Formula::Int(1), Formula::Size("rows".into()))];
        manifest.kernels[1].overlaps = true;
        manifest.kernels[1].when = Some(Formula::Int(1));
        let value = manifest.to_json();
        assert!(KernelManifest::from_json(&value).is_ok());
        let of_kind = |kind: &str| {
            let params = value["params"].as_array().expect("a list").iter();
            params.clone().find(|param| param["kind"] == kind).cloned().unwrap_or_default()
        };
        let written = |name: &str| match name {
            "manifest" => value.clone(),
            "buffer parameter" => of_kind("buffer"),
            "value parameter" => of_kind("scalar"),
            "temporary" => value["temporaries"][0].clone(),
            "map" => value["maps"][0].clone(),
            "kernel" => value["kernels"][1].clone(),
            _ => value["sizes"][0].clone(),
        };
        for (name, keys) in OBJECTS {
            let mut keys = keys.to_vec();
            keys.sort_unstable();
            let written: Vec<String> = written(name).as_object().expect("an object").keys().cloned().collect();
            assert_eq!(written, keys, "{name}");
        }
    }

    #[test]
    fn a_bad_document_is_refused_at_its_place() {
        let refused = |change: fn(&mut Value)| {
            let mut value = example().to_json();
            change(&mut value);
            KernelManifest::from_json(&value).expect_err("changed for the worse")
        };
        assert_eq!(
            refused(|value| value["manifest"] = json!(5)).message,
            "the manifest has version 5, and this build reads versions 1 to 4"
        );
        assert_eq!(
            refused(|value| value["kernels"][1]["grid"] = json!([1, -1, 1])).message,
            "`manifest.kernels[1].grid[1]`: expected an integer from 0 to 2^64 - 1, found another number"
        );
        assert_eq!(
            refused(|value| value["kernels"][0]["block"] = json!([1])).message,
            "`manifest.kernels[0].block`: expected a list of three integers, found a list"
        );
        let wrong = refused(|value| value["params"][0]["dtype"] = json!("f23"));
        assert_eq!(wrong.message, "`manifest.params[0].dtype`: `f23` is not known here");
        assert_eq!(wrong.help.as_deref(), Some("did you mean `f32`?"));
        let wrong = refused(|value| value["temporaries"][0]["acess"] = json!("read"));
        assert_eq!(wrong.message, "`manifest.temporaries[0]`: `acess` is not known here");
        assert_eq!(wrong.help.as_deref(), Some("did you mean `access`?"));
        assert_eq!(
            refused(|value| drop(value["kernels"][0].as_object_mut().expect("an object").remove("args"))).message,
            "`manifest.kernels[0]`: there is no field `args`"
        );
        assert_eq!(refused(|value| *value = json!(3)).message, "`manifest`: expected an object, found another number");
        assert!(KernelManifest::from_json_text(&"[".repeat(1 << 20)).is_err());
        assert!(KernelManifest::from_json_text("").is_err());
    }
}
