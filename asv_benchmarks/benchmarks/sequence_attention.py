import numpy as np

import lodkit


class SequenceAttention:
    """256 sequences of power-law lengths up to 512, 8 heads of 64."""

    param_names = ["causal"]
    params = [[False, True]]

    def setup(self, causal):
        rng = np.random.default_rng(0)
        lengths = np.minimum(512, rng.pareto(1.0, 256) * 16 + 1).astype(int)
        draw = [rng.standard_normal((int(lengths.sum()), 8, 64), dtype=np.float32) for _ in range(4)]
        self.query, self.key, self.value = (lodkit.LoDTensor(x, [lengths]) for x in draw[:3])
        self.grad = draw[3]
        self.time_forward(causal)
        self.time_gradient(causal)

    def time_forward(self, causal):
        lodkit.sequence_attention(self.query, self.key, self.value, causal=causal)

    def time_gradient(self, causal):
        lodkit.sequence_attention_grad(self.query, self.key, self.value, self.grad, causal=causal)
