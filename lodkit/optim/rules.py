"""The optimizers: an operator each, optional states that a flag adds, and defaults that are not the operator's."""

from __future__ import annotations

from .optimizer import Optimizer


class SGD(Optimizer, op="sgd"):
    """Steps against the gradient."""


class Momentum(Optimizer, op="momentum"):
    """Steps along a velocity that gathers gradients; dampening and Nesterov's look ahead by choice."""


class Adagrad(Optimizer, op="adagrad", epsilon=1e-10):
    """Steps over the root of the sum of squared gradients."""


class RowwiseAdagrad(Optimizer, op="rowwise_adagrad"):
    """Adagrad with one sum of squares per row."""


class DecayedAdagrad(Optimizer, op="decayed_adagrad"):
    """Adagrad whose squares decay."""


class Adadelta(Optimizer, op="adadelta"):
    """Steps scaled by the size of earlier ones."""


class RMSprop(Optimizer, op="rmsprop", flags={"centered": "mean"}):
    """Steps over the root of averaged squares; ``centered=True`` subtracts the squared average of gradients."""


class Adam(Optimizer, op="adam", flags={"amsgrad": "largest"}, corrected_epsilon=True):
    """Averaged gradients over the root of averaged squares; ``amsgrad=True`` divides by the largest so far."""


class RowwiseAdam(Optimizer, op="rowwise_adam"):
    """Adam with one average of squares per row."""


class AdamW(Optimizer, op="adamw", flags={"amsgrad": "largest"}):
    """Adam with decoupled weight decay."""


class Adamax(Optimizer, op="adamax"):
    """Adam over the largest decayed gradient."""


class NAdam(Optimizer, op="nadam"):
    """Adam with Nesterov's look ahead."""


class RAdam(Optimizer, op="radam"):
    """Adam whose first steps are not divided by averaged squares."""


class SmartDecayAdam(Optimizer, op="smart_decay_adam"):
    """Adam that makes up, when a row is seen again, for the decay of the steps since."""


class Lion(Optimizer, op="lion"):
    """Steps of one size, by the sign of averaged gradients."""


class LARS(Optimizer, op="lars"):
    """Momentum scaled by the norms of the parameter and its gradient."""


class LAMB(Optimizer, op="lamb"):
    """Adam scaled by the norms of the parameter and the step."""


class WNGrad(Optimizer, op="wngrad"):
    """Gradient descent whose rate shrinks by the norms of all gradients so far, one number per parameter."""


class Storm(Optimizer, op="storm"):
    """Momentum that corrects earlier gradients, at a rate by the norms of all so far; ``beta`` is larger than 0."""


class DPSGD(Optimizer, op="dpsgd", clip_norm=1.0):
    """SGD with the gradient of each parameter clipped by its norm, and Gaussian noise, another for each parameter."""


class FTRL(Optimizer, op="ftrl"):
    """Follow the regularised leader: weights that l1 sets to exactly 0.

    What no gradient has reached is 0 after a dense step, as the accumulators have it: start from zeros, or pass
    SelectedRows.
    """


class ProximalGD(Optimizer, op="proximal_gd"):
    """Gradient descent that l1 and l2 pull towards 0."""


class ProximalAdagrad(Optimizer, op="proximal_adagrad"):
    """Adagrad that l1 and l2 pull towards 0."""
