"""``python -m lodkit``: train a real model on real ragged text."""

from __future__ import annotations

import argparse
import math
import pathlib
import sys

from .errors import LodkitError


def parser():
    from .demo.train import OPTIMIZERS

    names = f"one of lodkit.optim: {', '.join(sorted(OPTIMIZERS))}"
    p = argparse.ArgumentParser(prog="python -m lodkit", description=__doc__)
    p.add_argument(
        "--data",
        default="stdlib",
        metavar="FILE",
        help='JSON lines {"label": ..., "words": [...]} or label<TAB>text; the standard library by default',
    )
    p.add_argument("--pool", default="mean", choices=["sum", "mean", "sqrt", "max", "min"])
    p.add_argument("--optimizer", default="adagrad", choices=sorted(OPTIMIZERS), metavar="NAME", help=names)
    p.add_argument("--epochs", type=_integer(1), default=12)
    p.add_argument("--lr", type=rate, default=0.1, help="learning rate; adam and its kin take 0.003")
    p.add_argument("--dim", type=_integer(1), default=64, help="embedding width")
    p.add_argument("--batch", type=_integer(1), default=64, help="texts per step")
    p.add_argument("--seed", type=_integer(0), default=0)
    p.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    p.add_argument("--save", metavar="DIR", help="save the state after every epoch")
    p.add_argument("--resume", metavar="DIR", help="resume from a saved state")
    return p


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
        saved = options.save and pathlib.Path(options.save, "state.npz").exists()
        kept = f"; {options.save} holds the last saved state" if saved else ""
        print(f"\ninterrupted{kept}", file=sys.stderr)
        return 130
    except (LodkitError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"error: {str(error) or 'out of memory'}; reduce --dim or --batch", file=sys.stderr)
        return 2


def run(options):
    import numpy as np

    from .arrays import to_device
    from .demo.train import Config, Job, check_folder, describe

    if options.device == "cuda":
        to_device(np.zeros(1), "cuda")  # raises without a GPU, before the texts are read
    what = "the docstrings of Python's standard library" if options.data == "stdlib" else options.data
    print(f"reading {what}", flush=True)
    names = ("data", "pool", "optimizer", "lr", "dim", "batch", "seed")
    job = Job(Config(**{name: getattr(options, name) for name in names}), resume=options.resume, device=options.device)
    if options.save is not None:
        check_folder(options.save)
    print(describe(job))
    if job.epoch >= options.epochs:
        print(f"{options.resume} is already trained for {job.epoch} epochs; --epochs is the total")
    job.run(options.epochs, options.save)
    sparse, dense = job.update_times()
    print(f"test accuracy: {100 * job.model.accuracy(*job.test):.1f} %")
    print(f"majority baseline: {100 * job.majority():.1f} %")
    if job.rate:
        print(f"rows per second: {job.rate:,.0f}")
    print(f"table update: sparse {1e3 * sparse:.3f} ms, dense {1e3 * dense:.3f} ms ({dense / sparse:.1f} times)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
