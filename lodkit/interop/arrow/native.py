"""Callbacks that free exported structures, in machine code.

Consumers call them whenever they like: from threads of their own, while Python handles an exception (which Python code
would lose), and at exit. So they run no Python code: they give up references.
"""

from __future__ import annotations

import ctypes
import functools
import typing

# A node is an ArrowSchema or an ArrowArray: {children} is the index of its field ``children``, in words of 64 bits.
_FREE = """
define void @release_{name}(ptr %node) {{
entry:
  %count.at = getelementptr i64, ptr %node, i64 4
  %count = load i64, ptr %count.at
  %children.at = getelementptr i64, ptr %node, i64 {children}
  %children = load ptr, ptr %children.at
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %tail ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %child.at = getelementptr ptr, ptr %children, i64 %i
  %child = load ptr, ptr %child.at
  %child.release.at = getelementptr i64, ptr %child, i64 {release}
  %child.release = load ptr, ptr %child.release.at
  %moved = icmp eq ptr %child.release, null
  br i1 %moved, label %tail, label %here
here:
  call void %child.release(ptr %child)
  br label %tail
tail:
  %next = add i64 %i, 1
  br label %head
done:
  %private.at = getelementptr i64, ptr %node, i64 {private}
  %private = load ptr, ptr %private.at
  %release.at = getelementptr i64, ptr %node, i64 {release}
  store ptr null, ptr %release.at
  %running = call i32 inttoptr (i64 {Py_IsInitialized} to ptr)()
  %python = icmp ne i32 %running, 0
  br i1 %python, label %drop, label %end
drop:
  %lock = call i32 inttoptr (i64 {PyGILState_Ensure} to ptr)()
  call void inttoptr (i64 {Py_DecRef} to ptr)(ptr %private)
  call void inttoptr (i64 {PyGILState_Release} to ptr)(i32 %lock)
  br label %end
end:
  ret void
}}

@name_{name} = private constant [{size} x i8] c"arrow_{name}\\00"

define void @drop_{name}(ptr %capsule) {{
  %node = call ptr inttoptr (i64 {PyCapsule_GetPointer} to ptr)(ptr %capsule, ptr @name_{name})
  %release.at = getelementptr i64, ptr %node, i64 {release}
  %release = load ptr, ptr %release.at
  %moved = icmp eq ptr %release, null
  br i1 %moved, label %free, label %here
here:
  call void %release(ptr %node)
  br label %free
free:
  %memory = call ptr inttoptr (i64 {PyCapsule_GetContext} to ptr)(ptr %capsule)
  call void inttoptr (i64 {Py_DecRef} to ptr)(ptr %memory)
  ret void
}}
"""
_OF_PYTHON = (
    *("Py_IsInitialized", "PyGILState_Ensure", "PyGILState_Release", "Py_DecRef"),
    *("PyCapsule_GetPointer", "PyCapsule_GetContext"),
)


class Callbacks(typing.NamedTuple):
    """Addresses. ``release`` frees a structure and the children that were not moved; ``drop`` frees a capsule."""

    release: int
    drop: int


@functools.cache
def callbacks():
    """The callbacks of schemas and of arrays. Their code is never unloaded: a consumer may call it last of all."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    python = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _OF_PYTHON}
    code = "".join(
        _FREE.format(name=name, children=at, release=at + 2, private=at + 3, size=len(f"arrow_{name}") + 1, **python)
        for name, at in (("schema", 5), ("array", 6))
    )
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(code), machine)
    engine.finalize_object()
    found = [
        Callbacks(engine.get_function_address(f"release_{name}"), engine.get_function_address(f"drop_{name}"))
        for name in ("schema", "array")
    ]
    engine.detach()
    return found
