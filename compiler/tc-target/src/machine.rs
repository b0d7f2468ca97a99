//! Whole GPUs: how many multiprocessors one has, its clock, its memory, and what a multiprocessor does in a clock cycle.
//!
//! A target says what code may use; a machine says how fast it runs, which bounds of time are made of. Numbers of a GPU
//! are from its vendor's data sheet, those of a multiprocessor from the CUDA C++ Programming Guide 12.9, section 8.4.1
//! (table "Throughput of Native Arithmetic Instructions"). Products on tensor cores are dense ones, from the same data
//! sheets: operations a second by multiprocessors and clock. Latencies are of Luo et al. 2024, "Benchmarking and
//! Dissecting the Nvidia Hopper GPU Architecture", and for older GPUs of the papers by Jia et al. that it compares with.

use crate::target::Target;

/// A kind of GPU that one can buy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// Its name, as its driver has it, without the vendor's.
    pub name: &'static str,
    /// The first and second number of its compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub sms: u64,
    /// The clock under load that a short kernel runs at, in MHz.
    pub clock_mhz: f64,
    /// Bytes a second of its memory, in units of 10^9.
    pub dram_gb_s: f64,
    /// Bytes of its L2 cache.
    pub l2_bytes: u64,
    /// Bytes that a multiprocessor takes from L2 in a cycle.
    pub l2_per_clock: f64,
    /// Cycles from a load until its value is there: of L1 and shared memory, of L2, of memory.
    pub latency: Latency,
}

/// Cycles from a load until its value is there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Latency {
    /// From shared memory.
    pub shared: f64,
    /// From the L1 cache.
    pub l1: f64,
    /// From the L2 cache.
    pub l2: f64,
    /// From the memory of the device.
    pub dram: f64,
}

const OLD: Latency = Latency { shared: 25.0, l1: 32.0, l2: 200.0, dram: 450.0 };
const NEW: Latency = Latency { shared: 29.0, l1: 35.0, l2: 262.0, dram: 560.0 };

/// The machines; of one capability, the one that stands for it first.
static MACHINES: [Machine; 9] = [
    Machine {
        name: "V100-SXM2-32GB",
        capability: (7, 0),
        sms: 80,
        clock_mhz: 1530.0,
        dram_gb_s: 900.0,
        l2_bytes: 6 << 20,
        l2_per_clock: 32.0,
        latency: OLD,
    },
    Machine {
        name: "T4",
        capability: (7, 5),
        sms: 40,
        clock_mhz: 1590.0,
        dram_gb_s: 320.0,
        l2_bytes: 4 << 20,
        l2_per_clock: 32.0,
        latency: OLD,
    },
    Machine {
        name: "A100-SXM4-80GB",
        capability: (8, 0),
        sms: 108,
        clock_mhz: 1410.0,
        dram_gb_s: 2039.0,
        l2_bytes: 40 << 20,
        l2_per_clock: 48.0,
        latency: Latency { shared: 29.0, l1: 38.0, l2: 262.0, dram: 466.0 },
    },
    Machine {
        name: "A100-SXM4-40GB",
        capability: (8, 0),
        sms: 108,
        clock_mhz: 1410.0,
        dram_gb_s: 1555.0,
        l2_bytes: 40 << 20,
        l2_per_clock: 48.0,
        latency: Latency { shared: 29.0, l1: 38.0, l2: 262.0, dram: 466.0 },
    },
    Machine {
        name: "GeForce RTX 3090",
        capability: (8, 6),
        sms: 82,
        clock_mhz: 1695.0,
        dram_gb_s: 936.0,
        l2_bytes: 6 << 20,
        l2_per_clock: 48.0,
        latency: NEW,
    },
    Machine {
        name: "GeForce RTX 4090",
        capability: (8, 9),
        sms: 128,
        clock_mhz: 2520.0,
        dram_gb_s: 1008.0,
        l2_bytes: 72 << 20,
        l2_per_clock: 48.0,
        latency: NEW,
    },
    Machine {
        name: "L40S",
        capability: (8, 9),
        sms: 142,
        clock_mhz: 2520.0,
        dram_gb_s: 864.0,
        l2_bytes: 96 << 20,
        l2_per_clock: 48.0,
        latency: NEW,
    },
    Machine {
        name: "H200",
        capability: (9, 0),
        sms: 132,
        clock_mhz: 1980.0,
        dram_gb_s: 4800.0,
        l2_bytes: 50 << 20,
        l2_per_clock: 48.0,
        latency: NEW,
    },
    Machine {
        name: "H100 80GB HBM3",
        capability: (9, 0),
        sms: 132,
        clock_mhz: 1980.0,
        dram_gb_s: 3350.0,
        l2_bytes: 50 << 20,
        l2_per_clock: 48.0,
        latency: NEW,
    },
];

/// What a multiprocessor does its work with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unit {
    /// Where warps issue their instructions.
    Issue,
    /// Arithmetic on f32.
    F32,
    /// Arithmetic on f64.
    F64,
    /// Arithmetic on f16 and bf16.
    Half,
    /// Arithmetic on integers, comparisons and logic.
    Int,
    /// Reciprocals, roots, powers, logarithms, sines, and conversions of types.
    Special,
    /// Tensor cores.
    Tensor,
    /// L1 cache and shared memory, which are one.
    L1,
}

impl Unit {
    /// All units.
    pub const ALL: [Unit; 8] =
        [Unit::Issue, Unit::F32, Unit::F64, Unit::Half, Unit::Int, Unit::Special, Unit::Tensor, Unit::L1];

    /// What it is called in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Issue => "issue",
            Unit::F32 => "f32",
            Unit::F64 => "f64",
            Unit::Half => "f16",
            Unit::Int => "int",
            Unit::Special => "special",
            Unit::Tensor => "tensor cores",
            Unit::L1 => "L1 and shared memory",
        }
    }
}

impl Machine {
    /// All of them, oldest first.
    pub fn all() -> &'static [Machine] {
        &MACHINES
    }

    /// The one that stands for a target.
    pub fn of(target: &Target) -> Machine {
        let fits = |machine: &&Machine| machine.capability == target.capability;
        *MACHINES.iter().find(fits).unwrap_or(&MACHINES[0])
    }

    /// The one that is called `name`, or whose name stands in it, as in what a driver says; else one that has `name` in its
    /// own.
    pub fn named(name: &str) -> Option<Machine> {
        let plain = |text: &str| text.to_ascii_lowercase();
        let name = plain(name);
        let exact = MACHINES.iter().find(|machine| name.contains(&plain(machine.name)));
        exact
            .or_else(|| MACHINES.iter().find(|machine| !name.is_empty() && plain(machine.name).contains(&name)))
            .copied()
    }

    /// Warps that can issue in a cycle of a multiprocessor.
    pub const SCHEDULERS: f64 = 4.0;

    /// Bytes that L1 and shared memory move in a cycle of a multiprocessor.
    pub const L1_BYTES: f64 = 128.0;

    /// What a unit does in a cycle of a multiprocessor: results of a thread, warps for [`Unit::Issue`], accesses of 128
    /// bytes for [`Unit::L1`], products of two f16 for [`Unit::Tensor`].
    pub fn per_clock(&self, unit: Unit) -> f64 {
        let of = |rows: [f64; 6]| match self.capability {
            (7, 0) => rows[0],
            (7, _) => rows[1],
            (8, 0) => rows[2],
            (8, 6) => rows[3],
            (8, _) => rows[4],
            _ => rows[5],
        };
        match unit {
            Unit::Issue => Machine::SCHEDULERS,
            Unit::F32 => of([64.0, 64.0, 64.0, 128.0, 128.0, 128.0]),
            Unit::F64 => of([32.0, 2.0, 32.0, 2.0, 2.0, 64.0]),
            Unit::Half => of([128.0, 128.0, 256.0, 128.0, 128.0, 256.0]),
            Unit::Int => 64.0,
            Unit::Special => 16.0,
            Unit::Tensor => of([512.0, 512.0, 1024.0, 512.0, 512.0, 2048.0]),
            Unit::L1 => 1.0,
        }
    }

    /// Cycles of its clock in a microsecond.
    pub fn cycles_per_us(&self) -> f64 {
        self.clock_mhz
    }

    /// Bytes of its memory in a cycle of its clock.
    pub fn dram_per_clock(&self) -> f64 {
        self.dram_gb_s * 1e3 / self.clock_mhz
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_a_machine_of_its_capability() {
        for target in Target::all() {
            assert_eq!(Machine::of(target).capability, target.capability, "{target}");
        }
        assert_eq!(Machine::of(&Target::parse("sm_90a").expect("known")).name, "H200");
    }

    #[test]
    fn a_machine_is_found_by_the_name_of_its_driver() {
        assert_eq!(Machine::named("NVIDIA H100 80GB HBM3").map(|machine| machine.dram_gb_s), Some(3350.0));
        assert_eq!(Machine::named("cuda:0 NVIDIA H200").map(|machine| machine.name), Some("H200"));
        assert_eq!(Machine::named("h200").map(|machine| machine.name), Some("H200"));
        assert_eq!((Machine::named(""), Machine::named("Banana")), (None, None));
    }

    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        // Operations a second of f32 and of f16 products, in units of 10^12.
        let peak =
            |machine: &Machine, unit| 2.0 * machine.per_clock(unit) * machine.sms as f64 * machine.clock_mhz / 1e6;
        let close = |value: f64, to: f64| assert!((value / to - 1.0).abs() < 0.1, "{value} is not near {to}");
        let of = |name| Machine::named(name).expect("known");
        close(peak(&of("A100-SXM4-80GB"), Unit::F32), 19.5);
        close(peak(&of("A100-SXM4-80GB"), Unit::Tensor), 312.0);
        close(peak(&of("H200"), Unit::F32), 67.0);
        close(peak(&of("H200"), Unit::F64), 34.0);
        close(peak(&of("H200"), Unit::Tensor), 989.0);
        close(peak(&of("V100"), Unit::Tensor), 125.0);
        close(peak(&of("T4"), Unit::Tensor), 65.0);
    }
}
