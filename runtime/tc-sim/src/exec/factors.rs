//! Factors of warpgroup products: read from shared memory, where no thread writes them meanwhile.

use super::access::{Addr, At};
use super::block::{BlockState, Launch};
use super::group::Group;
use super::tile_memory::Aimed;
use super::tiles::Matrices;
use super::warp::Crew;
use crate::clock::Moment;
use crate::code::Space;
use crate::warp::{Factor, Places, WarpInstr};

/// The factors on one side, of each warpgroup.
pub(super) struct Gathered {
    pub(super) matrices: Matrices,
    /// The shared buffer that they lie in.
    pub(super) shared: usize,
    /// By warpgroup: the cells of it, those of all blocks counted.
    pub(super) places: Vec<Vec<usize>>,
}

/// The elements of the buffer that a factor has, in its order. `Err` with a byte that no element starts at.
fn elements(factor: &Factor, at: At<'_>, start: usize) -> Result<Vec<usize>, i64> {
    let (descriptor, major, mn, k) = match &factor.places {
        Places::Elements(offsets) => return Ok(offsets.iter().map(|&offset| start + offset).collect()),
        Places::Described { descriptor, major, mn, k } => (*descriptor, *major, *mn, *k),
    };
    let bytes = i64::from(at.decl.elem.bytes());
    let base = at.decl.window.map_or(0, |window| window.start_byte) as i64;
    // Pieces are mixed by their addresses in the memory of the block.
    let first = base + start as i64 * bytes;
    let origin = first - first % descriptor.alignment();
    let element = |nth: usize| {
        let position = if factor.by_steps { [nth % mn, nth / mn] } else { [nth / k, nth % k] };
        let address = origin + descriptor.address(major, bytes, first - origin, position.map(|index| index as i64));
        let offset = address - base;
        let element = usize::try_from(offset).ok().filter(|_| offset % bytes == 0).map(|byte| byte / bytes as usize);
        element.filter(|&element| element < at.decl.elements()).ok_or(offset)
    };
    (0..factor.size).map(element).collect()
}

impl Group {
    pub(super) fn gather_factor(
        &mut self,
        factor: &Factor,
        (crews, instr): (&[Crew], &WarpInstr),
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) -> Gathered {
        let lanes = self.mask.clone();
        let starts = self.starts(&factor.region, &lanes, launch, block);
        self.check_same_start(&starts, (crews, &factor.region), instr, launch, block);
        let clocked = launch.kernel.warpgroups.clocked;
        let at = At { background: clocked, ..self.at_region(&factor.region, launch) };
        let has_mags = launch.domain.has_companions() && at.decl.elem.is_float();
        let shared = if let Space::Shared(idx) = at.decl.space { idx } else { 0 };
        let n_crews = crews.len();
        let matrices = Matrices::new(n_crews * factor.size, has_mags);
        let mut gathered = Gathered { matrices, shared, places: vec![Vec::new(); n_crews] };
        let mut rounds: Vec<Vec<Aimed>> = Vec::new();
        for (crew, came) in crews.iter().enumerate() {
            let Some(speaker) = came.speaker() else { continue };
            let Some(start) = starts.of(speaker) else { continue };
            let found = match elements(factor, at, start) {
                Ok(found) => found,
                Err(byte) => {
                    self.addrs[speaker] = start;
                    self.report_factor_out_of_bounds((at, speaker), byte, launch, block);
                    continue;
                }
            };
            let first = self.slot_of(speaker) * block.shared[shared].n;
            gathered.places[crew] =
                found.iter().flat_map(|&element| at.cells(element)).map(|cell| first + cell).collect();
            let lanes: Vec<usize> = came.lanes().map(|(_, lane)| lane).collect();
            for (nth, &cell) in found.iter().enumerate() {
                let (round, lane) = (nth / lanes.len(), lanes[nth % lanes.len()]);
                if round == rounds.len() {
                    rounds.push(Vec::with_capacity(self.n));
                }
                rounds[round].push(Aimed { lane, cell, place: crew * factor.size + nth });
            }
            self.check_factor((at, speaker), (*came, crew), &found, &gathered, launch, block);
        }
        let (mut value, mut mags) = (vec![0; self.n], vec![0; if has_mags { self.n } else { 0 }]);
        for round in rounds {
            self.aim(&round);
            self.load_cells(at, Addr::Each, (&mut value, &mut mags), launch, block);
            for Aimed { lane, place, .. } in round {
                gathered.matrices.cells[place] = value[lane];
                if has_mags {
                    gathered.matrices.mags[place] = mags[lane];
                }
            }
        }
        gathered
    }

    /// What a product reads is there and is seen by it: all of its threads have waited for the bulk copy that wrote it, or know that
    /// the threads that wrote it have made a fence.
    fn check_factor(
        &mut self,
        (at, speaker): (At<'_>, usize),
        (came, crew): (Crew, usize),
        elements: &[usize],
        gathered: &Gathered,
        launch: &Launch<'_>,
        block: &mut BlockState,
    ) {
        if !launch.kernel.threaded {
            return;
        }
        let places = &gathered.places[crew];
        let per_element = places.len() / elements.len().max(1);
        let element_of = |nth: usize| elements[nth / per_element.max(1)];
        let shared = &block.shared[gathered.shared];
        let is_generic = |place: usize| shared.written[place] > 0 && shared.by_bulk.get(place) != Some(&true);
        let Some(clocks) = &block.clocks else {
            // Nothing of the kernel orders what threads write with what products read.
            if let Some(nth) = places.iter().position(|&place| is_generic(place)) {
                self.addrs[speaker] = element_of(nth);
                self.report_generic_write((at, speaker), launch, block);
            }
            return;
        };
        let threads = || came.lanes().map(|(_, lane)| self.thread_of(lane));
        let (known, seen) = (clocks.common(threads()), clocks.common_of_engine(threads()));
        let generic: Vec<bool> = places.iter().map(|&place| is_generic(place)).collect();
        let actor = clocks.products(self.warpgroup_of(came));
        let clock = self.next_product(crew);
        let shared = &mut block.shared[gathered.shared];
        let mut first = None;
        for (nth, &place) in places.iter().enumerate() {
            // What threads wrote is seen after a fence alone.
            let known = if generic[nth] { &seen } else { &known };
            let now = Moment { actor, clock, site: at.access.site, known };
            let found = shared.history[place].read(now, shared.cells[place]);
            first = first.or(found.map(|conflict| (nth, conflict)));
        }
        if let Some((nth, conflict)) = first {
            self.addrs[speaker] = element_of(nth);
            if generic[nth] && conflict.other_wrote {
                self.report_generic_write((at, speaker), launch, block);
            } else {
                self.report_background((at, speaker), conflict, false, launch, block);
            }
        }
    }
}
