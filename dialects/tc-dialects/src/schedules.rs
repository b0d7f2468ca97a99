//! The library of schedule functions, as text. A file says at its head what its functions are for; docs/schedule-functions.md lists
//! them.

/// The files: what messages call each, and its text.
pub const FILES: &[(&str, &str)] = &[
    ("schedules/product.tir", include_str!("../schedules/product.tir")),
    ("schedules/convolution.tir", include_str!("../schedules/convolution.tir")),
    ("schedules/attention.tir", include_str!("../schedules/attention.tir")),
    ("schedules/threads.tir", include_str!("../schedules/threads.tir")),
];

/// The names of the functions, read off their text: a module may call them without having them.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    let lines = FILES.iter().flat_map(|(_, text)| text.lines());
    lines.filter_map(|line| line.strip_prefix("schedule.func @")?.split(['(', ' ']).next())
}
