//! Typed options of passes.
//!
//! A pass declares its options as a struct through [`options!`](crate::options!); the fields' documents,
//! types and defaults give the help text and the parser. Keys are the field names in kebab case.

/// An option as the pipeline string gives it: `key = value`, or a bare `key`, which stands for `true`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawOption {
    /// The key.
    pub key: String,
    /// The value, without surrounding quotes.
    pub value: String,
    /// Where the key stands in the pipeline string, in bytes.
    pub key_at: std::ops::Range<usize>,
    /// Where the value stands.
    pub value_at: std::ops::Range<usize>,
}

/// What the help says of an option.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// The key, in kebab case.
    pub key: &'static str,
    /// The type, as the help names it.
    pub ty: &'static str,
    /// The default, as it would be written.
    pub default: fn() -> String,
    /// What it is for.
    pub summary: &'static str,
}

/// Why options were refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError {
    /// What is wrong.
    pub message: String,
    /// The help.
    pub help: Option<String>,
    /// Where in the pipeline string.
    pub at: std::ops::Range<usize>,
}

/// A type that an option's value can have.
pub trait OptionValue: Sized {
    /// The name of the type in help.
    const NAME: &'static str;
    /// Reads a value; refuses with what was expected.
    fn read(text: &str) -> Result<Self, String>;
    /// Writes it as it would be read.
    fn write(&self) -> String;
}

impl OptionValue for bool {
    const NAME: &'static str = "true|false";
    fn read(text: &str) -> Result<bool, String> {
        match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err("expected `true` or `false`".to_string()),
        }
    }
    fn write(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for i64 {
    const NAME: &'static str = "integer";
    fn read(text: &str) -> Result<i64, String> {
        text.parse().map_err(|_| "expected an integer".to_string())
    }
    fn write(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for String {
    const NAME: &'static str = "text";
    fn read(text: &str) -> Result<String, String> {
        Ok(text.to_string())
    }
    fn write(&self) -> String {
        self.clone()
    }
}

/// The snake-case name of a field as a key.
pub fn kebab(field: &str) -> String {
    field.replace('_', "-")
}

/// Declares a pass's options: a struct with defaults, its help and its parser.
///
/// ```
/// tc_pass::options! {
///     /// What `unroll-loop` can be told.
///     pub struct Options {
///         /// The most stores that an unrolled loop may come to.
///         auto_max_step: i64 = 0,
///     }
/// }
/// assert_eq!(Options::default().auto_max_step, 0);
/// assert_eq!(Options::INFO[0].key, "auto-max-step");
/// ```
#[macro_export]
macro_rules! options {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[doc = $doc:literal])+ $field:ident : $ty:ty = $default:expr),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[doc = $doc])+ pub $field: $ty),*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),* }
            }
        }

        impl $name {
            /// The options for help.
            $vis const INFO: &'static [$crate::OptionInfo] = &[$($crate::OptionInfo {
                key: {
                    const BYTES: [u8; stringify!($field).len()] = $crate::options::kebab_bytes(stringify!($field));
                    match core::str::from_utf8(&BYTES) { Ok(text) => text, Err(_) => "" }
                },
                ty: <$ty as $crate::OptionValue>::NAME,
                default: || $crate::OptionValue::write(&$name::default().$field),
                summary: $crate::options!(@first $($doc)+),
            }),*];

            /// Reads options; an unknown key, a key given twice and a bad value are refused.
            $vis fn read(raw: &[$crate::RawOption]) -> Result<$name, $crate::OptionError> {
                $crate::options::check_keys(raw, $name::INFO)?;
                #[allow(unused_mut, reason = "a pass may have no options")]
                let mut options = $name::default();
                $(if let Some(value) = $crate::options::find(raw, stringify!($field))? { options.$field = value; })*
                Ok(options)
            }
        }
    };
    (@first $doc:literal $($rest:literal)*) => { $doc };
}

/// `_` to `-`, at compile time.
pub const fn kebab_bytes<const N: usize>(field: &str) -> [u8; N] {
    let bytes = field.as_bytes();
    let mut out = [0; N];
    let mut idx = 0;
    while idx < N {
        out[idx] = if bytes[idx] == b'_' { b'-' } else { bytes[idx] };
        idx += 1;
    }
    out
}

/// Refuses keys that are not in `known` or are given twice.
pub fn check_keys(raw: &[RawOption], known: &[OptionInfo]) -> Result<(), OptionError> {
    for (nth, option) in raw.iter().enumerate() {
        if !known.iter().any(|info| info.key == option.key) {
            let help = tc_support::suggest::did_you_mean(&option.key, known.iter().map(|info| info.key));
            let none = known.is_empty().then(|| "it has no options".to_string());
            let message = format!("unknown option `{}`", tc_support::suggest::shorten(&option.key));
            return Err(OptionError { message, help: help.or(none), at: option.key_at.clone() });
        }
        if raw[..nth].iter().any(|other| other.key == option.key) {
            let message = format!("option `{}` is given twice", option.key);
            return Err(OptionError { message, help: None, at: option.key_at.clone() });
        }
    }
    Ok(())
}

/// The value of the option for `field`, if it is given.
pub fn find<T: OptionValue>(raw: &[RawOption], field: &str) -> Result<Option<T>, OptionError> {
    let key = kebab(field);
    let Some(option) = raw.iter().find(|option| option.key == key) else { return Ok(None) };
    T::read(&option.value).map(Some).map_err(|expected| OptionError {
        message: format!("bad value `{}` for option `{key}`", tc_support::suggest::shorten(&option.value)),
        help: Some(expected),
        at: option.value_at.clone(),
    })
}
