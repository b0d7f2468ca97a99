//! A lint of machine code: what an assembler made of each kernel, and what of it is slow and not what the program says.
//!
//! It reads text alone: what the assembler said ([`messages`]), and the machine code as a disassembler prints it
//! ([`listing`]). [`flow`] finds the loops. Looked for are products of warpgroups that wait for one another, accesses to local
//! memory and memory barriers in loops, and another number of products than the program has ([`products`]). What was not
//! looked at is unknown, and told as such.

mod findings;
mod flow;
mod listing;
mod messages;
mod products;

pub use findings::{Finding, FindingKind};
pub use products::{Agreement, ProductCount};

use flow::Flow;
use listing::{Instruction, Listing};
use std::collections::BTreeMap;
use tc_ir::{Func, Module};
use tc_kernel::{host, job};
use tc_support::{Diagnostics, Location, Pos, Sources, Span};
use tc_target::{Resources, Target};

/// What is known of the machine code of a module.
#[derive(Clone, Default, Debug)]
pub struct MachineCode {
    /// The kernels, each once, in the order of their launches.
    pub kernels: Vec<KernelCode>,
    /// What each kernel takes of a thread, or why that is not known.
    pub resources: Option<Result<Vec<Resources>, String>>,
    /// What was not looked at, and why.
    pub unknown: Vec<String>,
}

/// What is known of the machine code of a kernel.
#[derive(Clone, Debug)]
pub struct KernelCode {
    /// Its name.
    pub kernel: String,
    /// What it takes of a thread.
    pub resources: Option<Resources>,
    /// Bytes that a thread stores and loads because registers did not last, where the assembler told.
    pub spilled: Option<(u64, u64)>,
    /// Instructions, without padding.
    pub instructions: Option<u64>,
    /// Its loops, in the order of their first instructions.
    pub loops: Vec<LoopCode>,
    /// Memory barriers outside of loops.
    pub barriers_outside: u64,
    /// Its products, by shape.
    pub products: Vec<ProductCount>,
    /// What is slow, or not what the program says.
    pub findings: Vec<Finding>,
    /// What was not looked at, and why.
    pub unknown: Vec<String>,
}

/// A loop of machine code. Counts include those of loops in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopCode {
    /// The addresses of its first and last instruction. What else lies between them need not be in it.
    pub first: u64,
    /// See `first`.
    pub last: u64,
    /// How many loops are around it.
    pub depth: usize,
    /// Instructions.
    pub instructions: u64,
    /// Products by shape.
    pub products: BTreeMap<String, u64>,
    /// Loads and stores of local memory.
    pub local: u64,
    /// Memory barriers.
    pub barriers: u64,
    /// The line that its first instruction was made of.
    pub location: Location,
}

/// What an assembler and a disassembler say of a module, or why they say nothing.
#[derive(Clone, Debug)]
pub struct Told<'t> {
    /// The assembler's messages, with those of `-v`.
    pub log: Result<&'t str, String>,
    /// The machine code as text.
    pub listing: Result<String, String>,
    /// What each kernel takes.
    pub resources: Result<Vec<Resources>, String>,
}

/// The lint of the kernels that the functions of `module` launch; the module is the one that was compiled. A function that
/// launches nothing is an error.
pub fn machine_code(module: &Module, target: &Target, told: &Told<'_>) -> Result<MachineCode, Diagnostics> {
    let mut found = Diagnostics::new();
    let mut kernels: Vec<&Func> = Vec::new();
    for host in job::hosts(module)? {
        for launch in host::read(module, host, &mut found).launches {
            if !kernels.iter().any(|known| std::ptr::eq(*known, launch.kernel)) {
                kernels.push(launch.kernel);
            }
        }
    }
    if found.has_errors() {
        return Err(found);
    }
    let mut unknown: Vec<String> =
        [told.log.as_ref().err(), told.listing.as_ref().err()].into_iter().flatten().cloned().collect();
    unknown.dedup();
    let messages = told.log.as_ref().ok().map(|log| messages::read(log));
    let listings = told.listing.as_ref().ok().map(|text| listing::read(text));
    let lint = |&func: &&Func| {
        let mut code = KernelCode::new(func);
        code.resources =
            told.resources.as_ref().ok().and_then(|all| all.iter().find(|one| one.kernel == code.kernel)).cloned();
        code.spilled = messages.as_ref().and_then(|messages| messages.spilled.get(func.symbol())).copied();
        let listing = listings.as_ref().map(|all| all.iter().find(|one| one.kernel == code.kernel));
        if matches!(listing, Some(None)) {
            code.unknown.push("the machine code has no kernel of this name".into());
        }
        let read = listing.flatten().map(|listing| (listing, Flow::of(listing)));
        if let Some((listing, flow)) = &read {
            code.count(listing, flow, &module.sources);
        }
        let machine = read.as_ref().map(|(listing, _)| shapes(listing.instructions.iter()));
        code.products = products::compare(func, target, machine.as_ref());
        findings::find(func, &mut code, read.as_ref(), &module.sources);
        for message in messages.iter().flat_map(|messages| &messages.all) {
            if message.is_of(func, &kernels) {
                findings::of_message(message, &mut code, read.as_ref(), &module.sources);
            }
        }
        code
    };
    let linted = kernels.iter().map(lint).collect();
    Ok(MachineCode { kernels: linted, resources: Some(told.resources.clone()), unknown })
}

impl MachineCode {
    /// That of a module of which none was made, and why.
    pub fn not_made(why: String) -> MachineCode {
        MachineCode { resources: Some(Err(why.clone())), unknown: vec![why], ..MachineCode::default() }
    }

    /// All that was found, as diagnostics.
    pub fn diagnostics(&self) -> Diagnostics {
        let mut all = Diagnostics::new();
        self.kernels.iter().flat_map(|code| &code.findings).for_each(|finding| all.push(finding.diagnostic()));
        all
    }

    /// What was not looked at, and why: of all kernels, and of single ones.
    pub fn not_looked_at(&self) -> Vec<String> {
        let of_kernels =
            self.kernels.iter().flat_map(|code| code.unknown.iter().map(|why| format!("`@{}`: {why}", code.kernel)));
        self.unknown.iter().cloned().chain(of_kernels).collect()
    }
}

impl KernelCode {
    fn new(func: &Func) -> KernelCode {
        KernelCode {
            kernel: func.symbol().to_string(),
            resources: None,
            spilled: None,
            instructions: None,
            loops: Vec::new(),
            barriers_outside: 0,
            products: Vec::new(),
            findings: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// Counts what stands in loops.
    fn count(&mut self, listing: &Listing, flow: &Flow, sources: &Sources) {
        self.unknown.extend(flow.unclear.iter().map(|why| format!("loops are not all known: {why}")));
        let code = || listing.instructions.iter().zip(&flow.inner);
        self.instructions = Some(code().filter(|(one, _)| one.base() != "NOP").count() as u64);
        self.barriers_outside = code().filter(|(one, inner)| one.base() == MEMBAR && inner.is_none()).count() as u64;
        let mut members: Vec<Vec<&Instruction>> = flow.loops.iter().map(|_| Vec::new()).collect();
        for (one, inner) in code() {
            flow.around(*inner).for_each(|around| members[around].push(one));
        }
        let count = |all: &[&Instruction], what: &dyn Fn(&Instruction) -> bool| {
            all.iter().filter(|one| what(one)).count() as u64
        };
        let one = |(nth, (of, all)): (usize, (&flow::Loop, &Vec<&Instruction>))| LoopCode {
            first: listing.instructions[of.first].address,
            last: listing.instructions[of.last].address,
            depth: flow.around(of.parent).count(),
            instructions: count(all, &|one| one.base() != "NOP"),
            products: shapes(all.iter().copied()),
            local: count(all, &Instruction::is_local),
            barriers: count(all, &|one| one.base() == MEMBAR),
            location: listing.instructions[flow.loops[nth].first].location(sources),
        };
        self.loops = flow.loops.iter().zip(&members).enumerate().map(one).collect();
        self.loops.sort_by_key(|one| (one.first, one.depth));
    }
}

/// The instruction that orders memory.
const MEMBAR: &str = "MEMBAR";

/// Products by shape.
fn shapes<'i>(all: impl Iterator<Item = &'i Instruction>) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for shape in all.filter_map(Instruction::product) {
        *found.entry(shape.to_string()).or_default() += 1;
    }
    found
}

impl Instruction {
    /// The line that it was made of, in a file that was read.
    fn location(&self, sources: &Sources) -> Location {
        let Some((path, line)) = &self.line else { return Location::None };
        let is_it = |name: &str| path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
        let file = sources.files().filter(|file| is_it(&file.name)).max_by_key(|file| file.name.len());
        file.filter(|file| !file.line(*line).is_empty()).map_or(Location::None, |file| {
            let text = file.line(*line);
            let indent = text.len() - text.trim_start().len();
            let start = file.start().0 as usize + file.line_range(*line, *line).0 + indent;
            u32::try_from(start).map_or(Location::None, |start| Span::at(Pos(start)).into())
        })
    }
}
