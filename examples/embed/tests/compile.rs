//! Sums, from the string to kernels: compiled by NVRTC, run on the simulator against a sum in plain loops, refused at
//! their places.

use einsum_embed::{compile, compiler, module};
use tc::run::{CheckOptions, Choice, Machine, cases, evaluate};
use tc::runtime::{Array, DType, nvrtc};

/// Sums and the shapes of their operands.
const SUMS: &[(&str, &[&[u64]])] = &[
    ("ij,jk->ik", &[&[33, 20], &[20, 47]]),
    ("bij,bjk->bik", &[&[3, 17, 5], &[3, 5, 19]]),
    ("ij->ji", &[&[40, 50]]),
    ("i,i->", &[&[300], &[300]]),
    ("ii->i", &[&[9, 9]]),
    ("ij,kj,l->lik", &[&[4, 3], &[5, 3], &[2]]),
    (",->", &[&[], &[]]),
];

fn shapes(shapes: &[&[u64]]) -> Vec<Vec<u64>> {
    shapes.iter().map(|shape| shape.to_vec()).collect()
}

#[test]
fn every_sum_is_compiled_by_nvrtc() {
    let compiler = compiler();
    for (text, of) in SUMS {
        let cuda = compile(&compiler, text, &shapes(of)).unwrap_or_else(|failure| panic!("{text}: {failure}"));
        assert_eq!((cuda.manifests.len(), cuda.manifests[0].kernels.len()), (1, 1), "{text}");
        let options = nvrtc::Options::default();
        let compiled = nvrtc::compile(&cuda.source, "einsum.cu", &compiler.target, &options);
        compiled.unwrap_or_else(|wrong| panic!("{text}: {}\n{}", wrong.message, cuda.source));
    }
}

/// The sum by its meaning: all indices run, each term is added where the result's letters say.
fn by_loops(text: &str, shapes: &[Vec<u64>], inputs: &[Vec<f64>]) -> Vec<f64> {
    let (operands, result) = text.split_once("->").expect("an arrow");
    let operands: Vec<&str> = operands.split(',').collect();
    let mut indices: Vec<(char, u64)> = Vec::new();
    for (letters, shape) in operands.iter().zip(shapes) {
        indices.extend(letters.chars().zip(shape.iter().copied()));
    }
    indices.sort();
    indices.dedup();
    let extent = |letter: char| indices.iter().find(|(other, _)| *other == letter).expect("known").1;
    let flat = |letters: &str, point: &[u64]| {
        letters.chars().fold(0, |at, letter| {
            let value = point[indices.iter().position(|(other, _)| *other == letter).expect("known")];
            at * extent(letter) + value
        }) as usize
    };
    let mut sums = vec![0.0; result.chars().map(extent).product::<u64>() as usize];
    let points: u64 = indices.iter().map(|(_, extent)| extent).product();
    for number in 0..points {
        let mut rest = number;
        let digit = |&(_, extent): &(char, u64)| {
            let value = rest % extent;
            rest /= extent;
            value
        };
        let point: Vec<u64> = indices.iter().map(digit).collect();
        let factors = operands.iter().zip(inputs).map(|(letters, input)| input[flat(letters, &point)]);
        sums[flat(result, &point)] += factors.product::<f64>();
    }
    sums
}

#[test]
fn every_sum_is_what_plain_loops_give() {
    let compiler = compiler();
    for (text, of) in SUMS {
        let shapes = shapes(of);
        let mut module = module(&compiler, text, &shapes).unwrap_or_else(|failure| panic!("{text}: {failure}"));
        compiler.run(&mut module, "te.func(lower-einsum)").unwrap_or_else(|failure| panic!("{text}: {failure}"));
        let values = |nth: usize, shape: &[u64]| -> Vec<f64> {
            let len: u64 = shape.iter().product();
            (0..len).map(|at| ((at * 7 + nth as u64 * 3) % 11) as f64 - 4.0).collect()
        };
        let inputs: Vec<Vec<f64>> = shapes.iter().enumerate().map(|(nth, shape)| values(nth, shape)).collect();
        let given = inputs.iter().zip(&shapes).enumerate().map(|(nth, (values, shape))| {
            (format!("T{nth}"), Array::from_f64s(DType::F32, shape, values).expect("it fits"))
        });
        let options = CheckOptions { inputs: given.collect(), ..CheckOptions::default() };
        let choice = Choice { schedule: Some("default"), ..Choice::default() };
        let case = cases::to_evaluate(&module, choice).expect("it has a schedule").remove(0);
        let evaluated = evaluate(&compiler, &module, &case, &mut Machine::Simulator, &options);
        let evaluated = evaluated.unwrap_or_else(|failure| panic!("{text}: {failure}"));
        assert!(evaluated.ok, "{text}: {:?}", evaluated.diagnostics);
        // Small whole numbers: every order of summing gives the same.
        let result = evaluated.arguments.iter().find(|argument| argument.name == "R").expect("a result");
        assert_eq!(result.array.to_f64s(), by_loops(text, &shapes, &inputs), "{text}");
    }
}

#[test]
fn what_is_wrong_is_shown_in_the_string() {
    let refused =
        |text: &str, of: &[&[u64]]| compile(&compiler(), text, &shapes(of)).expect_err("it is wrong").to_string();
    let wrong: &[(&str, &[&[u64]], &str, &str)] = &[
        ("ij,jk", &[&[2, 3], &[3, 4]], "this sum has no `->`", "einsum:1:1"),
        ("ij,jk->i\u{e4}", &[&[2, 3], &[3, 4]], "`\u{e4}` is no letter", "einsum:1:9"),
        ("ij,jk->iz", &[&[2, 3], &[3, 4]], "no operand has the index `z`", "einsum:1:9"),
        ("ij,jk->ii", &[&[2, 3], &[3, 4]], "the result already has the index `i`", "einsum:1:9"),
        ("ij,jk->ik", &[&[2, 3], &[5, 4]], "the extent of `j` is 5 here", "einsum:1:4"),
        ("ij,jk->ik", &[&[2, 3], &[0, 4]], "the extent is 0", "einsum:1:4"),
        ("ij,jk->ik", &[&[2, 3]], "2 operands have 1 shapes", "einsum:1:1"),
        ("ij,jk->ik", &[&[2, 3], &[3]], "a tensor of 1 dimension has 2 letters", "einsum:1:4"),
        // More blocks than a GPU has along y: found by tc, shown in the string all the same.
        ("ij,jk->ik", &[&[1 << 24, 3], &[3, 64]], "", "einsum:1:1"),
    ];
    for (text, of, message, place) in wrong {
        let shown = refused(text, of);
        assert!(shown.contains(message) && shown.contains(place), "{text}: {shown}");
    }
    assert!(refused("ij,jk->ik", &[&[2, 3], &[5, 4]]).contains("and 3 here"));
}

#[test]
fn the_program_fits_on_a_page() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).expect("a folder");
    let lines = |file: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(file.expect("a file").path()).expect("text").lines().count()
    };
    let total: usize = files.map(lines).sum();
    assert!(total < 300, "{total} lines");
}
