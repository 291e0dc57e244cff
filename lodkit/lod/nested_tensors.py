"""LoDTensors from and to PyTorch's nested tensors."""

from __future__ import annotations

import numpy as np

from ..base.loading import module_above


class NestedTensors:
    """Conversions that PyTorch, or what speaks its language, takes part in."""

    __slots__ = ()

    @classmethod
    def from_torch(cls, x, *, weights=None):
        """Make a LoDTensor over the values of a ragged value of another library, without copying them.

        Parameters
        ----------
        x : torch.Tensor, JaggedTensor, KeyedJaggedTensor or tf.RaggedTensor
            A nested tensor of layout ``torch.jagged``; TorchRec's types and TensorFlow's are told by their methods, and
            neither library is needed, nor is PyTorch for TensorFlow's.
        weights : bool, optional
            Whether to return the weights of a JaggedTensor or KeyedJaggedTensor too. By default weights raise.

        Returns
        -------
        LoDTensor, or dict of str to LoDTensor
            Over tensors, or NumPy arrays for a tf.RaggedTensor; a dictionary by key for a KeyedJaggedTensor, of views,
            each of the batch of its key. Offsets are checked and copied. With ``weights=True`` a pair: the values, and
            the weights in the same structure; None where there are none.

        Raises
        ------
        LoDError
            The nested tensor has holes, or another ragged dimension than 1; keys that repeat; weights that nobody asked
            for.
        TypeError
            ``x`` is none of these.

        Examples
        --------
        >>> nested = torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)  # doctest: +SKIP
        >>> LoDTensor.from_torch(nested).recursive_sequence_lengths()  # doctest: +SKIP
        [[2, 1]]
        """
        if hasattr(x, "flat_values") and hasattr(x, "nested_row_splits"):  # tf.RaggedTensor
            return cls.from_offsets(np.asarray(x.flat_values), *map(np.asarray, x.nested_row_splits))
        return module_above("interop.torch.nested").from_torch(cls, x, weights)

    def to_torch(self):
        """Return a jagged nested tensor of PyTorch over the same values; of lod_level 0 the values as a tensor.

        Raises
        ------
        LoDLevelError
            There is more than one level.
        """
        return module_above("interop.torch.nested").to_torch(self)
