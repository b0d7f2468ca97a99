//! The repository is tidy.

#[test]
fn the_repository_is_tidy() {
    let wrong = xtask::tidy::check(&xtask::root());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
