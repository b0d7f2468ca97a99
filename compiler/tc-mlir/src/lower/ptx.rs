//! What must be true of PTX before it leaves: it is for the target that was asked for, and defines all that it calls.
//!
//! LLVM gives out PTX that calls functions which nothing defines, and only the driver of a GPU would say so.

use tc_support::{Diagnostic, Diagnostics, Location};
use tc_target::Target;

/// Looks at the PTX that LLVM made for `target`, of a text with or without kernels.
pub(super) fn check(text: &str, target: &Target, has_kernel: bool) -> Result<(), Diagnostics> {
    let mut found = Diagnostics::new();
    let mut wrong = |message: String| found.push(Diagnostic::bug("mlir-ptx", Location::None, message));
    let directive = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match directive(".target ") {
        Some(name) if name == target.name => {}
        other => wrong(format!("the PTX is for `{}`, and `{target}` was asked for", other.unwrap_or("nothing"))),
    }
    if directive(".address_size ") != Some("64") {
        wrong("the PTX is not for addresses of 64 bits".to_string());
    }
    if has_kernel && !text.contains(".entry ") {
        wrong("the PTX holds no kernel".to_string());
    }
    undefined(text).for_each(|name| wrong(format!("the PTX calls `{name}`, which nothing defines")));
    if found.has_errors() { Err(found) } else { Ok(()) }
}

/// The functions that the PTX calls and nothing defines.
pub(super) fn undefined(text: &str) -> impl Iterator<Item = &str> {
    text.lines().zip(text.lines().skip(1)).filter_map(|(line, next)| {
        // `.extern .func  (.param .b32 func_retval0) __nv_expf` ends in the name, or the name begins the next line.
        let rest = line.strip_prefix(".extern .func")?;
        Some(rest.rsplit([' ', '\t', ')']).find(|word| !word.is_empty()).unwrap_or(next).trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: &str = ".version 7.1\n.target sm_80\n.address_size 64\n\n.visible .entry add(\n\t.param .u64 .ptr add_param_0\n)\n{\n\tret;\n}\n";

    fn messages(text: &str, target: &str) -> Vec<String> {
        let target = Target::parse(target).expect("a target");
        check(text, &target, true)
            .err()
            .map_or(Vec::new(), |found| found.iter().map(|one| one.message.clone()).collect())
    }

    #[test]
    fn what_is_fine_is_let_through() {
        assert_eq!(messages(FINE, "sm_80"), [""; 0]);
    }

    #[test]
    fn another_target_and_functions_that_nothing_defines_are_told() {
        assert_eq!(messages(FINE, "sm_90"), ["the PTX is for `sm_80`, and `sm_90` was asked for"]);
        let calls = format!("{FINE}.extern .func  (.param .b32 func_retval0) __nv_expf\n(\n\t.param .b32 x\n)\n;\n");
        assert_eq!(messages(&calls, "sm_80"), ["the PTX calls `__nv_expf`, which nothing defines"]);
        assert_eq!(messages(".target sm_80\n.address_size 64\n", "sm_80"), ["the PTX holds no kernel"]);
    }
}
