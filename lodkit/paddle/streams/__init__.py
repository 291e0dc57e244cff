"""Paddle's binary streams of tensors: bytes, reading, writing."""
