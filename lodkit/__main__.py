"""``python -m lodkit``: train a model on ragged text, label texts by it, or print what a bug report needs."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import math
import os
import pathlib
import sys
import warnings

from .demo.config import DEFAULTS, POOLS, RATES, Config
from .demo.process import launched_rank
from .demo.progress import Kernels, clear, format_warning, say

LIBRARY = "the docstrings of Python's standard library"


def parser():
    models = "; ".join(f"{name}: {model.says}" for name, model in DEFAULTS.items())
    p = argparse.ArgumentParser(prog="python -m lodkit", description=__doc__)
    p.add_argument(
        "command", nargs="?", choices=["info"], help="print versions, CPU, threads, cache, GPU and libraries found"
    )
    p.add_argument(
        "--data",
        type=_file,
        metavar="FILE",
        help='JSON lines {"label": ..., "words": [...]} or label<TAB>text; the standard library by default',
    )
    p.add_argument("--model", choices=sorted(DEFAULTS), help=f"{models}. By default bag, or what was saved")
    p.add_argument(
        "--pool",
        choices=[*POOLS, "last"],
        help="how a text's words, or a layer's states, become one vector; mean by default",
    )
    p.add_argument("--optimizer", metavar="NAME", help="a class of lodkit.optim in lower case; adagrad by default")
    p.add_argument("--epochs", type=_integer(1), help=_defaults("epochs"))
    p.add_argument("--lr", type=rate, help=f"learning rate; by default 0.1, and {_rates()}")
    p.add_argument("--dim", type=_integer(1), help="width of word vectors and states; 64 by default")
    p.add_argument("--batch", type=_integer(1), help=f"texts per step; {_defaults('batch')}")
    p.add_argument("--seed", type=_integer(0), help="of initial values, batches and the split; 0 by default")
    p.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    p.add_argument(
        "--distributed",
        action="store_true",
        help="deal the rows of the table to the processes of mpirun -n 4 python -m lodkit --distributed",
    )
    p.add_argument("--save", type=path, metavar="DIR", help="save the state after every epoch")
    p.add_argument("--resume", type=path, metavar="DIR", help="resume from a saved state, with its settings")
    p.add_argument(
        "--predict",
        type=_file,
        metavar="FILE",
        help='with --resume: print label<TAB>score for each line, a text or JSON {"words": [...]}, and end',
    )
    return p


def _defaults(setting):
    found = {name: getattr(model, setting) for name, model in DEFAULTS.items()}
    others = [f"{value} for {name}" for name, value in found.items() if value != found["bag"]]
    return ", ".join([f"by default {found['bag']}", *others])


def _rates():
    optimizers = collections.defaultdict(list)
    for optimizer, lr in RATES.items():
        optimizers[lr].append(optimizer)
    return "; ".join(f"{lr} for {', '.join(names)}" for lr, names in optimizers.items())


def _integer(least):
    def integer(text):
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return number

    return integer


def path(text):
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def rate(text):
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _file(text):
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def check_together(p, options):
    """Refuse options that would be ignored."""
    given = [name for name, value in vars(options).items() if name != "command" and value != p.get_default(name)]
    if options.command is not None and given:
        p.error(f"{options.command} takes no options; leave out --{given[0]}")
    if options.distributed and options.device != "cpu":
        p.error("--distributed keeps the table on CPUs; leave out --device")
    if options.predict is None:
        return
    if options.resume is None:
        p.error("--predict FILE needs --resume DIR, a state that --save DIR wrote")
    if others := [name for name in given if name not in ("resume", "predict", "device")]:
        p.error(f"--predict takes the saved model as it is, with --resume and --device; leave out --{others[0]}")


def main(argv=None):
    p = parser()
    options = p.parse_args(argv)
    check_together(p, options)
    if options.distributed and launched_rank():
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  rank 0 speaks
    try:
        if options.command is None and options.predict is None:
            what = LIBRARY if options.data == "stdlib" else options.data or options.resume or LIBRARY
            # Said before NumPy and Numba are imported, which takes a second.
            say(f"reading {what}")
        from .base.errors import LodkitError

        code = run(options)
        # A full disk is an error here, and not at the end of the interpreter.
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # head has enough
        _drop_output()
        return 1
    except KeyboardInterrupt:
        from .demo.checkpoint import STATE

        saved = options.save and pathlib.Path(options.save, STATE).exists()
        kept = f"; {options.save} holds the last saved state" if saved else ""
        print(f"\ninterrupted{kept}", file=sys.stderr)
        return 130
    except MemoryError as error:
        clear()
        print(f"error: {str(error) or 'out of memory'}; reduce --dim or --batch", file=sys.stderr)
        return 2
    except OSError as error:  # before LodkitError, which is not imported where the first line cannot be printed
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return _report_failure(error)
    except LodkitError as error:
        return _report_failure(error)


def _drop_output():
    """Send what is printed, and what could not be, nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_failure(error):
    clear()
    print(f"error: {error}", file=sys.stderr)
    return 2


def run(options):
    if options.command == "info":
        from .demo.info import report

        print(report())
        return 0
    import numpy as np

    from .arrays import to_device

    if options.device == "cuda":
        # Raises without a GPU, before anything is read.
        to_device(np.zeros(1), "cuda")
    if options.predict is not None:
        from .demo.predict import predict
        from .demo.sharded import read_any

        predict(options.predict, options.resume, read_any(options.resume), options.device)
        return 0
    with Kernels(0) as kernels:
        if options.distributed:
            from .demo.sharded import ending_together, run_at_all_ranks
            from .distributed import as_engine

            engine = as_engine()
            job = run_at_all_ranks(engine, make_job, options, kernels, engine)
            with ending_together(engine):
                train(options, job, kernels)
        else:
            train(options, make_job(options, kernels), kernels)
    return 0


def make_job(options, kernels, engine=None):
    """Read data, and settings of a saved state; make the model of one process, or of the ranks of an engine."""
    from .demo.checkpoint import check_data, check_folder, check_settings, check_unused
    from .demo.sharded import ShardedJob
    from .demo.train import Job

    if options.save is not None:
        check_unused(options.save, options.resume)
    given = {field.name: getattr(options, field.name) for field in dataclasses.fields(Config)}
    given = {name: value for name, value in given.items() if value is not None}
    if options.resume is not None:
        state = (Job if engine is None else ShardedJob).read(options.resume)
        check_settings(options.resume, state["config"], given)
        if options.data is None:
            check_data(options.resume, state["config"].data)
            say(f"reading {LIBRARY}")
        given = {**dataclasses.asdict(state["config"]), **given}
    config = Config(**given)
    kernels.expected = DEFAULTS[config.model].kernels
    resumed = {"resume": options.resume}
    job = Job(config, device=options.device, **resumed) if engine is None else ShardedJob(config, engine, **resumed)
    if options.save is not None:
        check_folder(options.save)
    return job


def train(options, job, kernels):
    """Train, and print how well and how fast."""
    from .demo.train import describe

    epochs = options.epochs or DEFAULTS[job.config.model].epochs
    say(describe(job))
    if job.epoch >= epochs:
        say(f"{options.resume} is already trained for {job.epoch} epochs; --epochs is the total")
    # Compiles nearly all that a step takes, before the first epoch.
    job.prepare()
    job.run(epochs, options.save, kernels)
    accuracy, majority = job.model.accuracy(*job.test), job.majority()
    print(f"model: {job.config.model}")
    print(f"test accuracy: {100 * accuracy:.1f} %")
    print(f"majority baseline: {100 * majority:.1f} %")
    if job.rate:
        print(f"words per second: {job.rate:,.0f} (rows per second of the word table)")
    print(job.facts())


if __name__ == "__main__":
    from .demo.process import settle

    settle()
    warnings.formatwarning = format_warning
    sys.exit(main())
