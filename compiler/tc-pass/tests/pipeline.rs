//! Pipeline strings: what they mean, and what is said of wrong ones.

mod common;

use common::{module, table};
use tc_pass::{Pipeline, parse_pipeline};
use tc_support::{Diagnostics, Sources, render};

fn parse(text: &str) -> (Result<Pipeline, Diagnostics>, Sources) {
    let mut sources = Sources::new();
    let registry = module(&[]).registry;
    (parse_pipeline(text, &table(), &registry, &mut sources), sources)
}

fn normal(text: &str) -> String {
    match parse(text) {
        (Ok(pipeline), _) => pipeline.to_string(),
        (Err(found), sources) => panic!("{}", render::text(&found, &sources, false)),
    }
}

fn refused(text: &str) -> String {
    match parse(text) {
        (Ok(pipeline), _) => panic!("accepted: {pipeline}"),
        (Err(found), sources) => render::text(&found, &sources, false).trim_end().to_string(),
    }
}

#[test]
fn every_way_to_write_it_has_one_normal_form() {
    let want = "module(over,t.func(touch{times=2 word=\"a b\"},refuse),over,t.func(touch))";
    let written = [
        "module(over,t.func(touch{times=2 word=\"a b\"},refuse),over,t.func(touch))",
        "builtin.module( over, t.func(touch{times=2,word='a b'}), t.func(refuse), over, t.func(touch{}) )",
        "over,touch{times=2 word={a b}},refuse,over,touch",
        "module(over),module(touch{times=2 word=\"a b\"},t.func(refuse,),over,touch)",
    ];
    for text in &written[..3] {
        assert_eq!(normal(text), want, "{text}");
    }
    assert_eq!(normal(want), want);
    assert!(refused(written[3]).contains("expected the name of a pass or an anchor, found `)`"));
    assert_eq!(normal("module()"), "module()");
}

#[test]
fn a_named_pipeline_is_expanded_with_its_options() {
    assert_eq!(normal("module(over,twice)"), "module(over,t.func(touch{word=w},touch{times=2}))");
    assert_eq!(normal("twice{word=\"p,q\"}"), "module(t.func(touch{word=\"p,q\"},touch{times=2}))");
}

#[test]
fn a_file_stands_for_what_it_holds() {
    let folder = tempfile();
    std::fs::write(folder.join("inner.pipeline"), "touch, // the one\n  refuse\n").expect("writable");
    std::fs::write(folder.join("outer.pipeline"), "over,@inner.pipeline").expect("writable");
    std::fs::write(folder.join("self.pipeline"), "@self.pipeline").expect("writable");
    let at = |name: &str| format!("@\"{}\"", folder.join(name).display());
    assert_eq!(normal(&at("outer.pipeline")), "module(over,t.func(touch,refuse))");
    assert_eq!(normal(&format!("t.func({})", at("inner.pipeline"))), "module(t.func(touch,refuse))");
    assert!(refused(&at("self.pipeline")).contains("more than 8 deep"));
    assert!(refused(&at("none.pipeline")).contains("cannot read the pipeline file"));
    std::fs::remove_dir_all(folder).expect("ours");
}

fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("tc-pass-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    folder
}

#[test]
fn errors_point_at_their_place_and_name_the_nearest() {
    let shown = refused("module(over,t.func(tuoch))");
    assert_eq!(
        shown,
        "error[unknown-pass]: unknown pass `tuoch`\n \
         --> <pass-pipeline>:1:20\n  |\n1 | module(over,t.func(tuoch))\n  |                    ^^^^^\n  |\n  \
         = help: did you mean `touch`?"
    );
    let cases = [
        ("t.fun(touch)", "unknown anchor `t.fun`", "t.fun", "did you mean `t.func`?"),
        ("touch(over)", "`touch` is a pass, so no passes can stand inside it", "touch", "options in braces"),
        ("t.func", "unknown pass `t.func`", "t.func", "`t.func` is an anchor"),
        ("touch{tmes=1}", "unknown option `tmes` of `touch`", "tmes", "did you mean `times`?"),
        ("refuse{x}", "unknown option `x` of `refuse`", "x", "it has no options"),
        ("touch{times=many}", "bad value `many` for option `times` of `touch`", "many", "expected an integer"),
        ("touch{times=1 times=2}", "option `times` is given twice of `touch`", "times=2", ""),
        ("t.func(over)", "`over` runs on the module, not on each `t.func`", "over", "put it outside"),
        ("t.op(touch)", "`touch` runs on `t.func`, not on `t.op`", "touch", "write `t.func(touch)`"),
        ("t.func(twice)", "the pipeline `twice` runs on the module", "twice", ""),
        ("t.func(t.func(touch))", "`t.func` cannot stand inside `t.func`", "t.func(touch)", ""),
        ("t.func{a=1}(touch)", "the anchor `t.func` takes no options", "{a=1}", ""),
        ("touch{times=2} over", "expected `,` or the end of the pipeline, found `o`", "over", ""),
        ("touch(times=2)", "expected `,`, found `=`", "=2", "options of a pass stand in braces"),
        ("endless", "more than 8 deep", "endless", "does one of them name itself?"),
        ("twice{wrod=1}", "unknown option `wrod` of `twice`", "wrod", "did you mean `word`?"),
    ];
    for (text, message, place, help) in cases {
        let (Err(found), sources) = parse(text) else { panic!("accepted: {text}") };
        let first = found.iter().next().expect("refused");
        let shown = render::one(first, &sources, false);
        assert!(shown.contains(message) && shown.contains(help), "{text}\n{shown}");
        let place = text.find(place).expect("a part of the text") + 1;
        let is_expansion = message.contains("deep");
        assert!(is_expansion || shown.contains(&format!("<pass-pipeline>:1:{place}\n")), "{text}\n{shown}");
    }
}

#[test]
fn all_errors_are_told_at_once() {
    let (Err(found), _) = parse("a,b{c=1},touch{x=1},d(touch)") else { panic!("accepted") };
    assert_eq!(found.len(), 4);
}

#[test]
fn hostile_strings_end_soon() {
    for text in ["module(".repeat(100_000), "a,".repeat(500_000), "x".repeat(1 << 20), "{".repeat(1 << 20)] {
        let (Err(found), sources) = parse(&text) else { panic!("accepted") };
        assert!(!found.is_empty() && found.len() <= 20);
        assert!(render::text(&found, &sources, false).len() < 100_000);
    }
    let (Err(found), _) = parse(&"over,".repeat(200_000)) else { panic!("accepted") };
    assert!(found.iter().all(|diagnostic| diagnostic.message.len() < 200));
}

/// `places` with these passes put at its places.
fn placed(at: &[(&str, &str)]) -> Result<String, String> {
    let (mut table, mut sources, registry) = (table(), Sources::new(), module(&[]).registry);
    for (place, text) in at {
        table.add_at("places", place, *text).map_err(|wrong| wrong.to_string())?;
    }
    parse_pipeline("places", &table, &registry, &mut sources)
        .map(|pipeline| pipeline.to_string())
        .map_err(|found| render::text(&found, &sources, false))
}

#[test]
fn passes_are_put_at_places_of_a_named_pipeline() {
    assert_eq!(placed(&[]).as_deref(), Ok("module(t.func(touch),over,t.func(touch))"));
    let all = placed(&[("middle", "touch{times=3}"), ("last", "over"), ("first", "over"), ("middle", "over,touch")]);
    let wanted = "module(over,t.func(touch),over,t.func(touch{times=3}),over,t.func(touch,touch),over)";
    assert_eq!(all.as_deref(), Ok(wanted));
}

#[test]
fn a_place_that_there_is_not_is_refused() {
    let near = "the pipeline `places` has no place `midle`: did you mean `middle`?";
    assert_eq!(placed(&[("midle", "touch")]), Err(near.to_string()));
    let all = "the pipeline `places` has no place `xyzzy`: there is `first`, `middle`, `last`";
    assert_eq!(placed(&[("xyzzy", "touch")]), Err(all.to_string()));
    let text = "`touch(` is no pipeline: expected the name of a pass or an anchor, found the end of the pipeline";
    assert_eq!(placed(&[("last", "touch(")]), Err(text.to_string()));
    assert_eq!(
        table().add_at("twise", "last", "touch").map_err(|wrong| wrong.to_string()),
        Err("there is no pipeline `twise`: did you mean `twice`?".to_string())
    );
}

#[test]
fn what_is_wrong_at_a_place_is_shown_there() {
    let wrong = placed(&[("last", "touch"), ("last", "tuch")]).expect_err("there is no such pass");
    assert!(wrong.contains("error[unknown-pass]: unknown pass `tuch`"), "{wrong}");
    assert!(wrong.contains("<last of places>:2:1") && wrong.contains("named here"), "{wrong}");
}
