//! tc-schedule.
