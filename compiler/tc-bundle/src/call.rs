//! The C functions that a program calls.

use crate::TargetCode;
use crate::agree::Function;
use crate::header::{declared, parameters, prototype};
use crate::spell;
use std::fmt::Write;

/// `(a, b)` of names.
fn arguments(before: &[&str], function: &Function, has_params: bool) -> String {
    let params = function.params.iter().filter(|_| has_params).map(|param| param.c_name.as_str());
    let list: Vec<&str> = before.iter().copied().chain(params).chain(function.size_names()).collect();
    format!("({})", list.join(", "))
}

/// The function that all calls of `function` end in, and those of the header.
pub(crate) fn text(function: &Function, codes: &[&TargetCode]) -> String {
    let mut out = String::new();
    out.push_str(&plan_of_device(function, codes));
    out.push_str(&call(function, codes));
    for declared in declared(function) {
        let body = body_of(function, &declared);
        let _ = write!(out, "\n{declared} {{\n{body}}}\n");
    }
    out
}

/// The plan for the current device, after the sizes are checked.
fn plan_of_device(function: &Function, codes: &[&TargetCode]) -> String {
    let name = &function.c_name;
    let mut list = vec!["$_tc_plan *tc_plan".to_string(), "const $_tc_loaded **tc_loaded".to_string()];
    list.extend(crate::header::size_parameters(function));
    let mut out = format!("\nstatic {} {{\n", prototype(&format!("$_tc_of_{name}_plan"), &list));
    let _ = writeln!(out, "  $_status tc_status = $_tc_get(tc_loaded);");
    let _ = writeln!(out, "  if (tc_status != $$_OK) return tc_status;\n  switch ((*tc_loaded)->code) {{");
    for (nth, code) in codes.iter().enumerate() {
        let list = arguments(&["tc_plan"], function, false);
        let _ = writeln!(out, "    case {nth}: return $_tc_of_{name}_plan_{}{list};", code.target);
    }
    out.push_str("  }\n  return $_tc_fail($$_NO_CODE, \"there is no code for the device\");\n}\n");
    out
}

/// Checks the arguments, then launches.
fn call(function: &Function, codes: &[&TargetCode]) -> String {
    let name = &function.c_name;
    let mut list: Vec<String> = Vec::new();
    if function.has_temporaries {
        list.extend(["int tc_is_own", "void *workspace", "uint64_t workspace_bytes"].map(String::from));
    }
    list.push("void *stream".into());
    list.extend(parameters(function));
    let mut out = format!("\nstatic {} {{\n", prototype(&format!("$_tc_of_{name}_call"), &list));
    let n_buffers = function.buffers().count();
    if n_buffers > 0 {
        let _ = writeln!(out, "  uint64_t tc_bytes[{n_buffers}];");
    }
    out.push_str("  uint64_t tc_workspace = 0;\n  const $_tc_loaded *tc_loaded = NULL;\n  $_tc_plan tc_plan;\n");
    out.push_str("  $_status tc_status;\n");
    out.push_str(&checks(function));
    let plan = arguments(&["&tc_plan", "&tc_loaded"], function, false);
    let _ = writeln!(out, "  $$_TC_TRY($_tc_of_{name}_plan{plan});");
    if function.has_temporaries {
        out.push_str(
            "  $$_TC_TRY($_tc_reserve(&tc_plan, tc_is_own, workspace, workspace_bytes, stream, &tc_workspace));\n",
        );
    }
    out.push_str("  switch (tc_loaded->code) {\n");
    for (nth, code) in codes.iter().enumerate() {
        let list = arguments(&["tc_loaded", "&tc_plan", "tc_workspace", "stream"], function, true);
        let _ = writeln!(out, "    case {nth}: tc_status = $_tc_of_{name}_run_{}{list}; break;", code.target);
    }
    out.push_str("  }\n");
    out.push_str(match function.has_temporaries {
        true => "  return $_tc_release(&tc_plan, tc_is_own, tc_workspace, stream, tc_status);\n}\n",
        false => "  return tc_status;\n}\n",
    });
    out
}

/// The checks of sizes, pointers and values, which ask for no device.
fn checks(function: &Function) -> String {
    let mut out = String::new();
    let name = &function.c_name;
    let mut list = function.size_names();
    if function.buffers().next().is_some() {
        list.push("tc_bytes");
    }
    let _ = writeln!(out, "  $$_TC_TRY($_tc_of_{name}_check({}));", list.join(", "));
    for (nth, (param, buffer)) in function.buffers().enumerate() {
        let (c_name, alignment, text) = (&param.c_name, buffer.alignment, spell::string(&param.name));
        let _ = writeln!(out, "  $$_TC_TRY($_tc_check_pointer({c_name}, tc_bytes[{nth}], {alignment}, {text}));");
    }
    out
}

/// What a function of the header does.
fn body_of(function: &Function, declared: &str) -> String {
    let name = &function.c_name;
    let is = |suffix: &str| declared.starts_with(&format!("$_status $_{name}{suffix}("));
    if is("_bytes") {
        let mut list = function.size_names();
        list.push("bytes");
        return format!(
            "  if (bytes == NULL) return $_tc_fail($$_NULL_POINTER, \"`bytes` is null\");\n  return \
             $_tc_of_{name}_check({});\n",
            list.join(", ")
        );
    }
    if is("_workspace") {
        let bytes = function.buffers().count();
        let (declaration, passed) = if bytes > 0 {
            (format!("  uint64_t tc_bytes[{bytes}];\n"), vec!["tc_bytes"])
        } else {
            (String::new(), vec![])
        };
        let check: Vec<&str> = function.size_names().into_iter().chain(passed).collect();
        let plan = arguments(&["&tc_plan", "&tc_loaded"], function, false);
        return format!(
            "{declaration}  const $_tc_loaded *tc_loaded = NULL;\n  $_tc_plan tc_plan;\n  $_status tc_status;\n  if \
             (workspace_bytes == NULL) return $_tc_fail($$_NULL_POINTER, \"`workspace_bytes` is null\");\n  \
             $$_TC_TRY($_tc_of_{name}_check({}));\n  $$_TC_TRY($_tc_of_{name}_plan{plan});\n  \
             *workspace_bytes = tc_plan.workspace;\n  return $$_OK;\n",
            check.join(", ")
        );
    }
    let before: &[&str] = match (is("_in"), function.has_temporaries) {
        (true, _) => &["0", "workspace", "workspace_bytes", "stream"],
        (false, true) => &["1", "NULL", "0", "stream"],
        (false, false) => &["stream"],
    };
    format!("  return $_tc_of_{name}_call{};\n", arguments(before, function, true))
}
