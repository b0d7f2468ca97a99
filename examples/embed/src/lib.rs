//! A compiler of someone else's: Einstein sums as strings, compiled by tc.
