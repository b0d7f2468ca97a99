//! Arrays in NumPy's `.npy` files.
//!
//! NumPy has no bf16 and no 8-bit floats: they travel as `uint16` and `uint8`, and the caller says what they are.

use crate::array::{Array, describe};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use tc_support::elem::NumpyType;
use tc_support::suggest::shorten;
use tc_support::{DType, Diagnostic, Location};

/// The greatest header that is read; NumPy's own for a plain array is 118 bytes long.
const MAX_HEADER: usize = 4096;

/// Reads the array in the file at `path`, which must hold elements of `dtype` and, where it is given, have `shape`.
pub fn read(path: &Path, dtype: DType, shape: Option<&[u64]>) -> Result<Array, Diagnostic> {
    let refuse = |message: String| in_file(path, message);
    let file = File::open(path).map_err(|error| refuse(format!("the file cannot be opened: {error}")))?;
    let mut reader = BufReader::new(file);
    let header = read_header(&mut reader).map_err(|why| refuse(why.to_string()))?;
    check_type(&header, dtype).map_err(|why| refuse(why.message).help(why.help))?;
    if let Some(expected) = shape
        && header.shape() != expected
    {
        let (found, expected) = (describe(dtype, header.shape()), describe(dtype, expected));
        return Err(refuse(format!("expected `{expected}`, found `{found}`")));
    }
    let bytes = read_data(&mut reader, dtype, header.shape()).map_err(refuse)?;
    if dtype == DType::Bool
        && let Some(at) = bytes.iter().position(|&byte| byte > 1)
    {
        return Err(refuse(format!("element {at} is {}, and a `bool` is 0 or 1", bytes[at])));
    }
    Array::from_bytes(dtype, header.shape(), bytes)
}

/// Writes `array` to a new file at `path`, or over the one that is there.
pub fn write(path: &Path, array: &Array) -> Result<(), Diagnostic> {
    let result = File::create(path).map(BufWriter::new).and_then(|mut writer| {
        write_to(&mut writer, array)?;
        writer.flush()
    });
    result.map_err(|error| in_file(path, format!("the array cannot be written: {error}")))
}

/// Writes `array` as the bytes of a `.npy` file.
pub fn write_to(writer: &mut dyn Write, array: &Array) -> io::Result<()> {
    // As NumPy pads it: the elements begin at a multiple of 64 bytes.
    let shape: String = array.shape().iter().map(|extent| format!("{extent}, ")).collect();
    let code = array.dtype().numpy().code;
    let mut header = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({shape}), }}");
    let n_before = b"\x93NUMPY\x01\x00".len() + size_of::<u16>();
    let n_bytes = (n_before + header.len() + 1).next_multiple_of(64) - n_before;
    let length = u16::try_from(n_bytes).map_err(|_| io::Error::other("the array has too many dimensions"))?;
    header.extend(std::iter::repeat_n(' ', n_bytes - header.len() - 1));
    writer.write_all(b"\x93NUMPY\x01\x00")?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(header.as_bytes())?;
    writer.write_all(b"\n")?;
    writer.write_all(array.bytes())
}

fn in_file(path: &Path, message: String) -> Diagnostic {
    Diagnostic::error("bad-npy", Location::None, format!("`{}`: {message}", path.display()))
}

/// Reads the header, after a look at it: the parser behind it recurses on brackets and multiplies extents unchecked.
fn read_header(reader: &mut impl Read) -> Result<npyz::NpyHeader, String> {
    let mut start = [0; 8];
    let too_short = |_| "the file ends within its header".to_string();
    reader.read_exact(&mut start).map_err(too_short)?;
    if start[..6] != *b"\x93NUMPY" {
        return Err("this is no `.npy` file: it does not begin with `\\x93NUMPY`".into());
    }
    let mut length = [0; 4];
    match start[6] {
        1 => reader.read_exact(&mut length[..2]).map_err(too_short)?,
        2 | 3 => reader.read_exact(&mut length).map_err(too_short)?,
        other => return Err(format!("version {other} of the `.npy` format is not known")),
    }
    let length_bytes = if start[6] == 1 { 2 } else { 4 };
    let n_bytes = u32::from_le_bytes(length) as usize;
    if n_bytes > MAX_HEADER {
        return Err(format!("a header of {n_bytes} bytes is more than the {MAX_HEADER} that a plain array could need"));
    }
    let mut text = vec![0; n_bytes];
    reader.read_exact(&mut text).map_err(too_short)?;
    check_header_text(&text)?;
    let whole = start.iter().chain(&length[..length_bytes]).chain(&text).copied().collect::<Vec<u8>>();
    npyz::NpyHeader::from_reader(&whole[..]).map_err(|error| format!("the header is corrupt: {error}"))
}

fn check_header_text(text: &[u8]) -> Result<(), String> {
    let corrupt = || "the header is corrupt: its shape is no tuple of extents".to_string();
    if text.iter().filter(|&&byte| b"([{".contains(&byte)).count() > 16 {
        return Err("the header is corrupt: it is nested as no plain array's is".into());
    }
    let text = String::from_utf8_lossy(text);
    let after = text.split_once("'shape'").or_else(|| text.split_once("\"shape\"")).ok_or_else(corrupt)?.1;
    let tuple = after.split_once('(').and_then(|(_, rest)| rest.split_once(')')).ok_or_else(corrupt)?.0;
    // An extent of 0 counts as 1, for strides are products of the others.
    let mut product = 1u64;
    for extent in tuple.split(',').map(str::trim).filter(|extent| !extent.is_empty()) {
        let extent: u64 = extent.trim_end_matches('L').parse().map_err(|_| corrupt())?;
        product = product
            .checked_mul(extent.max(1))
            .filter(|&product| product <= i64::MAX as u64)
            .ok_or_else(|| format!("the shape ({}) is larger than any memory", shorten(tuple)))?;
    }
    Ok(())
}

/// Why the elements are not those that were asked for, and what to do about it.
struct Mismatch {
    message: String,
    help: String,
}

fn check_type(header: &npyz::NpyHeader, dtype: DType) -> Result<(), Mismatch> {
    let wanted = dtype.numpy();
    let found = match header.dtype() {
        npyz::DType::Plain(found) => found.to_string(),
        structured => structured.descr(),
    };
    let says = if dtype.name() == wanted.name { String::new() } else { format!(" (stored as `{}`)", wanted.name) };
    if found == format!(">{}", &wanted.code[1..]) {
        let message = format!("elements are big-endian (`{found}`)");
        return Err(Mismatch { message, help: "write it with `a.astype(a.dtype.newbyteorder('<'))`".into() });
    }
    if found != wanted.code {
        let message = format!("expected elements of `{dtype}`{says}, found {}", told(&found));
        return Err(Mismatch { message, help: format!("NumPy's type for it is `{}`", wanted.name) });
    }
    if header.order() == npyz::Order::Fortran && header.shape().len() > 1 {
        let message = "elements are in Fortran order".into();
        return Err(Mismatch { message, help: "write it with `np.ascontiguousarray(a)`".into() });
    }
    Ok(())
}

/// A type string of NumPy for an author: `<f8` alone reads as a float of 8 bits.
fn told(found: &str) -> String {
    let named = DType::ALL.into_iter().map(DType::numpy).find(|of| of.code == found);
    match named {
        Some(NumpyType { code, name }) => format!("`{name}` (`{code}`)"),
        None => format!("`{}`", shorten(found)),
    }
}

/// The bytes after the header. Memory grows with what is read, not with what the header claims.
fn read_data(reader: &mut impl Read, dtype: DType, shape: &[u64]) -> Result<Vec<u8>, String> {
    let expected = dtype.bytes_of(shape).ok_or("the array is larger than any memory")?;
    let mut bytes = Vec::new();
    // One more than expected, to see that the file ends there.
    reader.take(expected + 1).read_to_end(&mut bytes).map_err(|error| format!("the file cannot be read: {error}"))?;
    match bytes.len() as u64 {
        n if n < expected => Err(format!("the file is cut short: {n} of {expected} bytes of elements are there")),
        n if n > expected => Err(format!("there is more in the file than the {expected} bytes of its elements")),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Fill, fill};
    use std::path::PathBuf;

    /// A path of its own for each test, removed when the test is done.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            Scratch(std::env::temp_dir().join(format!("tc-npy-{}-{name}.npy", std::process::id())))
        }

        fn with(name: &str, bytes: &[u8]) -> Scratch {
            let scratch = Scratch::new(name);
            std::fs::write(&scratch.0, bytes).unwrap();
            scratch
        }

        fn refused(&self, dtype: DType, shape: Option<&[u64]>) -> (String, Option<String>) {
            let wrong = read(&self.0, dtype, shape).expect_err("a bad file");
            assert_eq!(wrong.code, "bad-npy");
            let name = format!("`{}`: ", self.0.display());
            (wrong.message.strip_prefix(&name).expect("the file's name").to_string(), wrong.help)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            std::fs::remove_file(&self.0).ok();
        }
    }

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    #[test]
    fn every_type_comes_back_from_its_file() {
        for dtype in DType::ALL {
            for shape in [&[][..], &[5], &[2, 0, 3], &[2, 3, 4]] {
                let scratch = Scratch::new(&format!("round-{dtype}-{}", shape.len()));
                let mut array = Array::zeros(dtype, shape).unwrap();
                fill(&mut array, 3, 0, Fill::Uniform);
                write(&scratch.0, &array).unwrap();
                assert_eq!(read(&scratch.0, dtype, Some(shape)), Ok(array.clone()), "{dtype} {shape:?}");
                assert_eq!(read(&scratch.0, dtype, None), Ok(array));
            }
        }
    }

    #[test]
    fn what_numpy_writes_is_read() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }                 \n";
        let file = npy(header, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        let scratch = Scratch::with("numpy", &file);
        assert_eq!(read(&scratch.0, DType::F32, Some(&[2, 1])).unwrap().to_f64s(), [1.0, -2.0]);
    }

    #[test]
    fn the_wrong_array_is_refused_by_name() {
        let file = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}", &[0; 8]);
        let scratch = Scratch::with("wrong", &file);
        let (message, help) = scratch.refused(DType::BF16, None);
        assert_eq!(message, "expected elements of `bf16` (stored as `uint16`), found `float32` (`<f4`)");
        assert_eq!(help.as_deref(), Some("NumPy's type for it is `uint16`"));
        let (message, _) = scratch.refused(DType::F32, Some(&[1, 2]));
        assert_eq!(message, "expected `f32[1, 2]`, found `f32[2, 1]`");
        let file = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1)}", &[0; 8]);
        let (message, help) = Scratch::with("fortran", &file).refused(DType::F32, None);
        assert_eq!(message, "elements are in Fortran order");
        assert_eq!(help.as_deref(), Some("write it with `np.ascontiguousarray(a)`"));
        let file = npy("{'descr': '>i2', 'fortran_order': False, 'shape': (1,)}", &[0; 2]);
        assert_eq!(Scratch::with("big", &file).refused(DType::I16, None).0, "elements are big-endian (`>i2`)");
        let file = npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", &[1, 2]);
        let (message, _) = Scratch::with("bool", &file).refused(DType::Bool, None);
        assert_eq!(message, "element 1 is 2, and a `bool` is 0 or 1");
        let (message, _) = Scratch::new("missing").refused(DType::F32, None);
        assert!(message.starts_with("the file cannot be opened: "), "{message}");
    }

    #[test]
    fn a_file_cut_anywhere_is_refused() {
        let file = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}", &[0; 8]);
        for length in 0..file.len() {
            let (message, _) = Scratch::with("cut", &file[..length]).refused(DType::F32, None);
            let expected = if length < file.len() - 8 {
                "the file ends within its header".to_string()
            } else {
                format!("the file is cut short: {} of 8 bytes of elements are there", 8 + length - file.len())
            };
            assert_eq!(message, expected, "at {length}");
        }
        let longer: Vec<u8> = file.iter().copied().chain([0]).collect();
        let (message, _) = Scratch::with("long", &longer).refused(DType::F32, None);
        assert_eq!(message, "there is more in the file than the 8 bytes of its elements");
    }

    #[test]
    fn a_hostile_header_is_refused() {
        let refused = |header: &str| Scratch::with("hostile", &npy(header, &[])).refused(DType::F32, None).0;
        let with_shape = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}");
        assert!(refused(&with_shape("(9223372036854775808, 4)")).contains("larger than any memory"));
        assert!(refused(&with_shape("(0, 4294967296, 4294967296)")).contains("larger than any memory"));
        assert!(refused(&with_shape("(99999999999999999999,)")).contains("no tuple of extents"));
        assert!(refused(&with_shape("(-1,)")).contains("no tuple of extents"));
        assert!(refused(&with_shape("7")).contains("no tuple of extents"));
        assert!(refused(&with_shape("(1000000000000,)")).contains("the file is cut short: 0 of"));
        assert!(refused(&format!("{}'shape': (1)", "(".repeat(4000))).contains("nested"));
        assert!(refused(&" ".repeat(60000)).contains("a header of 60000 bytes"));
        assert!(refused("{'descr': 3, 'fortran_order': False, 'shape': (1,)}").contains("the header is corrupt"));
        assert!(refused("{'descr': '<f4', 'shape': (1,)}").contains("the header is corrupt"));
        let scratch = Scratch::with("magic", b"PK\x03\x04 not an array at all");
        assert!(scratch.refused(DType::F32, None).0.starts_with("this is no `.npy` file"));
    }
}
