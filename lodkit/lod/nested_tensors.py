"""LoDTensors from and to PyTorch's nested tensors."""

from __future__ import annotations


class NestedTensors:
    """Conversions that PyTorch, or what speaks its language, takes part in."""

    __slots__ = ()

    @classmethod
    def from_torch(cls, x):
        """Make a LoDTensor over the values of a ragged value of another library, without copying them.

        Parameters
        ----------
        x : torch.Tensor, JaggedTensor, KeyedJaggedTensor or tf.RaggedTensor
            A nested tensor of layout ``torch.jagged``; TorchRec's types and TensorFlow's are told by their methods, and
            neither library is needed.

        Returns
        -------
        LoDTensor, or dict of str to LoDTensor
            Over tensors, or NumPy arrays for a tf.RaggedTensor; a dictionary by key for a KeyedJaggedTensor, of views.
            Offsets are checked and copied.

        Raises
        ------
        LoDError
            The nested tensor has holes, or another ragged dimension than 1.
        TypeError
            ``x`` is none of these.

        Examples
        --------
        >>> nested = torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)  # doctest: +SKIP
        >>> LoDTensor.from_torch(nested).recursive_sequence_lengths()  # doctest: +SKIP
        [[2, 1]]
        """
        from ..interop.torch.nested import from_torch

        return from_torch(cls, x)

    def to_torch(self):
        """Return a jagged nested tensor of PyTorch over the same values; of lod_level 0 the values as a tensor.

        Raises
        ------
        LoDLevelError
            There is more than one level.
        """
        from ..interop.torch.nested import to_torch

        return to_torch(self)
