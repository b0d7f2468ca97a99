//! A run of a pipeline shown: the program between passes, differences, folders and pages of HTML, traces of time.
