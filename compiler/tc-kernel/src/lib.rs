//! What all emitters ask of a device program: launches, facts of a kernel, sizes left open, the manifest.
