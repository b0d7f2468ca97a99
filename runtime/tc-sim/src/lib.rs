//! tc-sim.
