//! Primitives that the language has and that are not applied yet.

use crate::directive::{Cx, Done};

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let names: Vec<&str> = super::primitives().iter().map(|info| info.name).collect();
    let text = format!("`{}` is not supported yet", cx.by);
    Err(cx.error("not-supported", text).note(format!("applied are {}", crate::directive::code_list(&names))).into())
}
