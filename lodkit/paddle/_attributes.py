"""Attributes that Paddle declares and no operator here reads: what a saved program says of engines, servers, gradients.

``run_op`` and ``infer_op`` take them for the operator types that Paddle declares them for: whatever their value where
the result does not depend on it, else the one value that operators here have.
"""

from __future__ import annotations

#: Of every operator type: its part in a program, where it comes from, its device, and how its kernel is chosen.
OF_ALL = frozenset(
    (
        *("op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "with_quant_attr"),
        *("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", "@ENABLE_CACHE_RUNTIME_CONTEXT@"),
    )
)
_MKLDNN = ("use_mkldnn", "mkldnn_data_type")
_ENGINES = (*_MKLDNN, "use_cudnn")
_SERVERS = ("is_distributed", "remote_prefetch", "trainer_id", "height_sections", "epmap", "table_names")
_TABLE = (*_SERVERS, "grad_inplace", "entry", "entry_config", "table_class", "slot", "is_test")
_QUANTIZED = (*_MKLDNN, "use_quantizer", "x_data_format", "y_data_format", "Scale_x", "Scale_y", "Scale_out")
_FUSED = (*_MKLDNN, "use_seq", "Scale_data", "Shift_data", "Scale_weights", "force_fp32_output", "is_test")
_SIZES = ("min_row_size_to_use_multithread",)

#: Operator type -> its others.
_OTHERS = {
    "lookup_table": _TABLE,
    "lookup_table_v2": _TABLE,
    "fused_embedding_seq_pool": ("grad_inplace",),
    **dict.fromkeys(("abs", "square", "sqrt"), (*_ENGINES, "is_test")),
    **dict.fromkeys(("sum", "scale", "clip", "shape", "sgd"), _MKLDNN),
    "elementwise_mul": _QUANTIZED,
    "hash": ("use_mkldnn",),
    "sequence_softmax": (*_ENGINES, "data_format"),
    **dict.fromkeys(("sequence_pool", "lstm", "lstmp", "gru"), ("is_test",)),
    **dict.fromkeys(("fusion_lstm", "fusion_gru"), _FUSED),
    **dict.fromkeys(("adam", "adamw"), _SIZES),
    "warpctc": ("use_cudnn",),
    "im2sequence": ("out_stride",),  # read with the input Y, which is not taken
}


_MASTER = {"multi_precision": False}
#: Operator type -> attributes that change what it does, and the only value that operators here have.
_FIXED = {
    **dict.fromkeys(("sgd", "adagrad", "adadelta", "adamax", "rmsprop", "momentum", "lars_momentum"), _MASTER),
    "adam": {**_MASTER, "use_global_beta_pow": False},
    "adamw": {**_MASTER, "use_global_beta_pow": False, "lr_ratio": 1.0},
    "lamb": {**_MASTER, "always_adapt": False},
}


def fixed_attributes(name):
    """The attributes of an operator type that have one value here."""
    return _FIXED.get(name, {})


def unread_attributes(name):
    """The attributes of an operator type that Paddle declares and nothing here reads."""
    return OF_ALL.union(_OTHERS.get(name, ()))
