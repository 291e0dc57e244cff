from .lod_programs import PROGRAMS, REPRESENTATIONS, draw, prepare


class OffsetsAndLengths:
    """The same programs on the same batch, in every representation."""

    param_names = ["program", "representation", "levels", "sequences"]
    params = [list(PROGRAMS), REPRESENTATIONS, [1, 2], [100, 10_000]]

    def setup(self, program, representation, levels, sequences):
        self.call = prepare(program, representation, draw(sequences, levels))
        self.call()

    def time_program(self, *_):
        self.call()
