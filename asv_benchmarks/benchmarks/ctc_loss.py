import numpy as np

import lodkit


class CtcLoss:
    param_names = ["classes"]
    params = [[32, 128]]

    def setup(self, classes):
        rng = np.random.default_rng(0)
        frames, labels = rng.integers(100, 201, 64), rng.integers(10, 31, 64)
        self.logits = lodkit.LoDTensor(rng.standard_normal((int(frames.sum()), classes), dtype=np.float32), [frames])
        self.labels = lodkit.LoDTensor(rng.integers(1, classes, labels.sum()), [labels])
        self.grad = np.ones(64, np.float32)
        self.time_forward(classes)
        self.time_backward(classes)

    def time_forward(self, classes):
        lodkit.ctc_loss(self.logits, self.labels)

    def time_backward(self, classes):
        lodkit.ctc_loss_grad(self.logits, self.labels, self.grad)
