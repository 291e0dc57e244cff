"""LLVM IR behind ``lodkit.jit.simd``: one module a group of intrinsics."""
