"""Nested text: 200 articles of 10 sentences of 20 words on average, a vector of 64 float32 numbers for a word."""

import numpy as np

import lodkit

from . import question


def lengths_around(mean, count, rng):
    """Draw power-law lengths, some of them 0."""
    return rng.multinomial(count * mean, rng.dirichlet(np.full(count, 0.5)))


def articles(rng):
    """Words in sentences in articles in feeds: three levels."""
    feeds = np.full(20, 10)
    sentences = lengths_around(10, int(feeds.sum()), rng)
    words = lengths_around(20, int(sentences.sum()), rng)
    return lodkit.LoDTensor(rng.standard_normal((words.sum(), 64), np.float32), [feeds, sentences, words])


class Pooling:
    param_names = ["pool"]
    params = [["mean", "max"]]

    def setup(self, pool):
        self.x = articles(np.random.default_rng(0))
        self.time_levels(pool)
        for level in range(3):
            lodkit.sequence_pool(self.x, pool=pool, level=level)

    @question("What does pooling sentences cost?")
    def time_sentences(self, pool):
        """The words of each, the innermost level: 2,000 short sequences."""
        lodkit.sequence_pool(self.x, pool=pool)

    @question("What does pooling articles cost?")
    def time_articles(self, pool):
        """The words of each, the level in the middle, in one pass over the words: 200 long sequences."""
        lodkit.sequence_pool(self.x, pool=pool, level=1)

    @question("What does pooling feeds cost?")
    def time_feeds(self, pool):
        """The words of each, the outermost of three levels, in one pass over the words: 20 very long sequences."""
        lodkit.sequence_pool(self.x, pool=pool, level=0)

    @question("What does pooling level by level cost?")
    def time_levels(self, pool):
        """Words to sentences to articles to feeds."""
        x = self.x
        for _ in range(3):
            x = lodkit.sequence_pool(x, pool=pool)
