import numpy as np

import lodkit


class LinearChainCrf:
    """256 sequences of 25 steps on average."""

    param_names = ["tags"]
    params = [[20, 50]]

    def setup(self, tags):
        rng = np.random.default_rng(0)
        lengths = np.maximum(1, rng.poisson(25, 256))
        values = rng.standard_normal((int(lengths.sum()), tags), dtype=np.float32)
        self.emission = lodkit.LoDTensor(values, [lengths])
        self.transition = rng.standard_normal((tags + 2, tags), dtype=np.float32)
        self.label = self.emission.with_values(rng.integers(0, tags, len(values)))
        self.grad = np.ones(256, np.float32)
        self.time_forward(tags)
        self.time_gradient(tags)
        self.time_decoding(tags)

    def time_forward(self, tags):
        lodkit.linear_chain_crf(self.emission, self.transition, self.label)

    def time_gradient(self, tags):
        lodkit.linear_chain_crf_grad(self.emission, self.transition, self.label, self.grad)

    def time_decoding(self, tags):
        lodkit.crf_decoding(self.emission, self.transition)
