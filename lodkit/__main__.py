"""``python -m lodkit``: train a real model on real ragged text."""

from __future__ import annotations

import argparse
import math
import pathlib
import sys

from .errors import LodkitError


def parser():
    from .demo.models import GRU, MODELS
    from .demo.train import OPTIMIZERS

    names = f"one of lodkit.optim: {', '.join(sorted(OPTIMIZERS))}"
    models = "; ".join(f"{name}: {cls.__doc__}" for name, cls in MODELS.items())
    p = argparse.ArgumentParser(prog="python -m lodkit", description=__doc__)
    p.add_argument(
        "--data",
        default="stdlib",
        metavar="FILE",
        help='JSON lines {"label": ..., "words": [...]} or label<TAB>text; the standard library by default',
    )
    p.add_argument("--model", default="bag", choices=sorted(MODELS), help=f"{models}. By default: bag")
    p.add_argument(
        "--pool", choices=GRU.pools, help="how a text's words, or a layer's states, become one vector; mean by default"
    )
    p.add_argument("--optimizer", default="adagrad", choices=sorted(OPTIMIZERS), metavar="NAME", help=names)
    p.add_argument("--epochs", type=_integer(1), help=_defaults("epochs"))
    p.add_argument("--lr", type=rate, help="learning rate; 0.1 by default, adam and its kin take 0.003")
    p.add_argument("--dim", type=_integer(1), help="width of word vectors and states; 64 by default")
    p.add_argument("--batch", type=_integer(1), help=f"texts per step; {_defaults('batch')}")
    p.add_argument("--seed", type=_integer(0), default=0)
    p.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    p.add_argument("--save", metavar="DIR", help="save the state after every epoch")
    p.add_argument("--resume", metavar="DIR", help="resume from a saved state")
    return p


def _defaults(setting):
    from .demo.models import MODELS

    found = {name: getattr(model.defaults, setting) for name, model in MODELS.items()}
    others = [f"{value} for {name}" for name, value in found.items() if value != found["bag"]]
    return ", ".join([f"by default {found['bag']}", *others])


def _integer(least):
    def integer(text):
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return number

    return integer


def rate(text):
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def main(argv=None):
    options = parser().parse_args(argv)
    try:
        return run(options)
    except KeyboardInterrupt:
        from .demo.train import STATE

        saved = options.save and pathlib.Path(options.save, STATE).exists()
        kept = f"; {options.save} holds the last saved state" if saved else ""
        print(f"\ninterrupted{kept}", file=sys.stderr)
        return 130
    except MemoryError as error:
        print(f"error: {str(error) or 'out of memory'}; reduce --dim or --batch", file=sys.stderr)
        return 2
    except (LodkitError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def run(options):
    import numpy as np

    from .arrays import to_device
    from .demo.models import MODELS
    from .demo.train import Config, Job, check_folder, describe

    epochs = options.epochs or MODELS[options.model].defaults.epochs
    if options.device == "cuda":
        to_device(np.zeros(1), "cuda")  # raises without a GPU, before the texts are read
    names = ("data", "pool", "optimizer", "lr", "dim", "batch", "seed", "model")
    config = Config(**{name: getattr(options, name) for name in names})
    what = "the docstrings of Python's standard library" if options.data == "stdlib" else options.data
    print(f"reading {what}", flush=True)
    job = Job(config, resume=options.resume, device=options.device)
    if options.save is not None:
        check_folder(options.save)
    print(describe(job))
    if job.epoch >= epochs:
        print(f"{options.resume} is already trained for {job.epoch} epochs; --epochs is the total")
    job.run(epochs, options.save)
    sparse, dense = job.update_times()
    print(f"model: {options.model}")
    print(f"test accuracy: {100 * job.model.accuracy(*job.test):.1f} %")
    print(f"majority baseline: {100 * job.majority():.1f} %")
    if job.rate:
        print(f"words per second: {job.rate:,.0f} (rows per second of the word table)")
    print(f"table update: sparse {1e3 * sparse:.3f} ms, dense {1e3 * dense:.3f} ms ({dense / sparse:.1f} times)")
    return 0


if __name__ == "__main__":
    from .demo.blas import use_one_thread

    use_one_thread()
    sys.exit(main())
