//! A failing run made small: reproducers, reduction of the input, bisection of the pipeline.
