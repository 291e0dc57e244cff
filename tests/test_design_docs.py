"""Every number printed in the documents that lodkit comes from; where one is wrong, the right one and why."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDError, LoDTensor

ARTICLES = [[3, 1, 2], [3, 2, 4, 1, 2, 3]]
PAGES = [[1, 2, 3], [2, 4, 6, 7], [3, 6]]


@pytest.fixture
def articles():
    """Three articles of 3, 1 and 2 sentences; the rows are words."""
    return LoDTensor(np.arange(15), ARTICLES)


def test_a_batch_of_sentences():
    sentences = LoDTensor(np.zeros((6, 8)), [[3, 1, 2]])
    assert [len(s) for s in sentences] == [3, 1, 2]
    assert sentences.lod() == [[0, 3, 4, 6]]


def test_recursive_sequences(articles):
    assert articles.recursive_sequence_lengths() == ARTICLES
    assert articles.lod() == [[0, 3, 4, 6], [0, 3, 5, 9, 10, 12, 15]]
    assert articles.lod_level == 2


def test_a_branch_identifies_a_sentence(articles):
    assert articles[0, 2].tolist() == [5, 6, 7, 8]
    assert len(articles[0]) == 3
    assert dict(articles.branches())[0, 2].tolist() == [5, 6, 7, 8]
    assert articles.slice(0, 2).offsets(absolute=True).tolist() == [5, 9]


def test_a_batch_of_videos():
    frames = np.zeros((3 + 1 + 2, 640, 480), np.uint8)
    videos = LoDTensor(frames, [[3, 1, 2]])
    assert (videos.shape, videos.lod_level) == ((6, 640, 480), 1)
    assert [v.shape for v in videos] == [(3, 640, 480), (1, 640, 480), (2, 640, 480)]


def test_a_batch_of_images_needs_no_index():
    images = LoDTensor(np.zeros((5, 4, 4)), [[1, 1, 1, 1, 1]])
    assert images.drop_level().lod_level == 0
    assert images.drop_level().values is images.values
    assert images.drop_level().append_level().equals(images)


def test_a_parameter_is_a_tensor_of_level_0():
    assert LoDTensor(np.zeros((5, 3))).lod_level == 0


def test_offsets_of_the_upper_level_count_sentences(articles):
    """The document calls 0 3 4 6 "offsets of elements/words"; they count sentences, words are 0 9 10 15."""
    assert articles.offsets(0).tolist() == [0, 3, 4, 6]
    assert articles.offsets(0, absolute=True).tolist() == [0, 9, 10, 15]


def test_slices_are_printed_in_absolute_offsets(articles):
    two, two_zero = articles.slice(2), articles.slice(2, 0)
    assert [two.offsets(k, absolute=True).tolist() for k in (0, 1)] == [[10, 15], [10, 12, 15]]
    assert two_zero.offsets(absolute=True).tolist() == [10, 12]
    assert two.lod() == [[0, 2], [0, 2, 5]]
    assert two_zero.lod() == [[0, 2]]
    assert (len(two.values), len(two_zero.values)) == (5, 2)


def test_a_slice_of_a_slice_counts_from_the_slice(articles):
    """The document's "<2,0>-slice of above slice" counts its branch from the whole tensor."""
    assert articles.slice(2, 0).equals(articles.slice(2).slice(0, 0))
    with pytest.raises(IndexError, match=r"index 2 is out of range for 1 sequences"):
        articles.slice(2).slice(2, 0)


def test_the_code_example():
    """As printed it does not run: ``lod`` is undefined, and no data has 11 rows and then 6."""
    lengths = [[3, 1, 2], [2, 2, 1, 3, 1, 2]]
    tensor = LoDTensor(None, lengths)
    assert tensor.shape == (11,)
    assert tensor.lod() == [[0, 3, 4, 6], [0, 2, 4, 5, 8, 9, 11]]
    assert tensor.offsets(0, absolute=True).tolist() == [0, 5, 8, 11]
    tensor.set_recursive_sequence_lengths([[3, 1, 2]])
    assert tensor.recursive_sequence_lengths() == [[3, 1, 2]]
    assert tensor.shape == (6,)
    filled = LoDTensor(np.zeros(11), lengths)
    with pytest.raises(LoDError, match=r"last offset 6 .* values.shape\[0\]=11"):
        filled.set_recursive_sequence_lengths([[3, 1, 2]])
    assert filled.recursive_sequence_lengths() == lengths


def test_the_reviews_offsets_are_absolute_and_coarse_first():
    coarse, fine = [0, 5, 7, 13], [0, 2, 5, 7, 10, 12, 13]
    t = LoDTensor.from_offsets(np.arange(13), coarse, fine, absolute=True)
    assert t.lod() == [[0, 2, 3, 6], fine]
    assert t.recursive_sequence_lengths() == [[2, 1, 3], [2, 3, 2, 3, 2, 1]]
    with pytest.raises(LoDError, match=r"last offset 13 at level 0 .* the 6 sequences .*absolute=True"):
        LoDTensor(np.arange(13), lod=[coarse, fine])


def test_the_review_also_writes_fine_levels_first(articles):
    """Its 0,3,5,9,10,12,15 / 0,9,10,15 has the sentences first; here the articles come first."""
    fine, coarse = [0, 3, 5, 9, 10, 12, 15], [0, 9, 10, 15]
    assert LoDTensor.from_offsets(np.arange(15), coarse, fine, absolute=True).equals(articles)
    with pytest.raises(LoDError, match="outermost levels come first"):
        LoDTensor.from_offsets(np.arange(15), fine, coarse, absolute=True)


def test_lengths_of_articles_in_words(articles):
    assert articles.lengths(0, absolute=True).tolist() == [9, 1, 5]


def test_lod_level_tells_one_level_from_two_at_batch_size_1():
    one, two = LoDTensor(np.arange(6), [[2, 1, 3]]), LoDTensor(np.arange(6), [[3], [2, 1, 3]])
    assert (one.lod_level, len(one)) == (1, 3)
    assert (two.lod_level, len(two), len(two[0])) == (2, 1, 3)
    assert one.lod() == [[0, 2, 3, 6]]
    assert two.lod() == [[0, 3], [0, 2, 3, 6]]
    assert LoDTensor.from_offsets(one.values, [0, 6], [0, 2, 3, 6], absolute=True).equals(two)
    assert not one.equals(two)


def test_the_last_instance_of_each_sequence():
    """The review's variant with lengths reads 0, 4 and past the end; last = offset + length - 1."""
    t = LoDTensor(np.arange(6), [[3, 1, 2]])
    first = t.offsets()[:-1]
    assert first.tolist() == [0, 3, 4]
    assert (first + t.lengths() - 1).tolist() == [2, 3, 5]
    assert lodkit.sequence_pool(t, pool="last").tolist() == [2, 3, 5]
    assert lodkit.sequence_pool(t, pool="first").tolist() == [0, 3, 4]


def test_the_max_kernel():
    """There: -3.4e38 and -1 for an empty sequence and for one of -inf, and NaN is skipped."""
    inf, nan = np.inf, np.nan
    t = LoDTensor(np.array([1, 5, 5, -inf, -inf, 2, nan, 3], np.float32), [[3, 0, 2, 3]])
    best, index = lodkit.sequence_pool(t, pool="max", return_index=True)
    assert np.array_equal(best, np.array([5, 0, -inf, nan], np.float32), equal_nan=True)
    assert index[:3].tolist() == [1, -1, 3]


def test_lengths_become_offsets_in_one_pass():
    """The review's O(n^2) holds only where every block sums its prefix again; a scan is one pass."""
    assert lodkit.lengths_to_offsets([3, 2, 4, 1, 2, 3]).tolist() == [0, 3, 5, 9, 10, 12, 15]


def test_articles_of_sentences_of_words_have_two_levels():
    """The review corrects 4 levels to 3, counting the stored batch size; without it there are 2."""
    articles = [[["a", "b"], ["c"]], [["d"]]]
    batch = lodkit.vocabulary(articles)(articles)
    assert (batch.lod_level, len(batch)) == (2, 2)


def test_ten_images_stay_ten():
    """The review corrects 32 images to 10."""
    assert LoDTensor(np.zeros((10, 32, 32))).shape == (10, 32, 32)


def test_representations_of_a_batch():
    values = np.array([1, 2, 3, 2, 4, 6, 7, 3, 6])
    t = LoDTensor.from_nested(PAGES)
    assert t.values.tolist() == values.tolist()
    assert t.lengths().tolist() == [3, 4, 2]
    assert t.segment_ids().tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2]
    padded = [[1, 2, 3, -1], [2, 4, 6, 7], [3, 6, -1, -1]]
    assert t.to_padded(-1).tolist() == padded
    assert LoDTensor.from_padded(padded, pad_value=-1).equals(t)
    assert LoDTensor.from_segment_ids(values, t.segment_ids()).equals(t)


def test_the_sparse_matrix():
    t = LoDTensor.from_nested(PAGES)
    matrix = np.zeros((3, 8), int)
    matrix[t.segment_ids(), t.values] = 1
    assert matrix.tolist() == [[0, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 1, 0, 1, 1], [0, 0, 0, 1, 0, 0, 1, 0]]
    assert np.flatnonzero(matrix.sum(axis=0) == 0).tolist() == [0, 5]


def test_unsorted_segment_ids_keep_input_order():
    t = LoDTensor.from_segment_ids(np.array([4, 1, 3, 6, 3, 2, 7, 2, 6]), [1, 0, 2, 1, 0, 1, 1, 0, 2])
    assert t.to_list() == [[1, 3, 2], [4, 6, 2, 7], [3, 6]]


def test_features_with_scores():
    ids = LoDTensor([1, 3, 2, 3, 5], [[2, 3]])
    scores = ids.with_values([0.4, 0.7, 0.5, 0.5, 0.1])
    batch = [dict(zip(i.tolist(), s.tolist(), strict=True)) for i, s in zip(ids, scores, strict=True)]
    assert batch == [{1: 0.4, 3: 0.7}, {2: 0.5, 3: 0.5, 5: 0.1}]
    assert ids.segment_ids().tolist() == [0, 0, 1, 1, 1]


def test_nested_features():
    t = LoDTensor([10, 11, 101, 11, 50, 102, 103], [[2, 3], [2, 1, 1, 1, 2]])
    keys = LoDTensor([1, 3, 1, 2, 3], [[2, 3]])
    batch = [
        {key: set(ids.tolist()) for key, ids in zip(k.tolist(), lists, strict=True)}
        for k, lists in zip(keys, (example.sequences() for example in t), strict=True)
    ]
    assert batch == [{1: {10, 11}, 3: {101}}, {1: {11}, 2: {50}, 3: {102, 103}}]


def test_lengths_to_segment_ids():
    """The page's one-liner has its two loops swapped."""
    lengths = [3, 4, 2]
    ids = [i for i, n in enumerate(lengths) for _ in range(n)]
    assert lodkit.lengths_to_segment_ids(lengths).tolist() == ids == [0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert lodkit.segment_ids_to_lengths(ids).tolist() == lengths


def test_sorted_segment_sum():
    data = np.array([[1, 4], [3, 2], [8, 1], [9, 4], [5, 8]], np.float32)
    ids = np.array([0, 0, 0, 1, 1])
    assert lodkit.segment_reduce(data, ids, by="ids").tolist() == [[12, 7], [14, 12]]


def test_names_that_the_page_gets_wrong():
    """SegmentIdsToLengthsOp is the class of SegmentIdsToLengths; ScatterUpdate is ScatterAssign. Both names run."""
    assert lodkit.caffe2.ScatterUpdate(np.zeros(3), np.array([1, 1]), np.array([5.0, 7.0])).tolist() == [0, 7, 0]
    assert lodkit.caffe2.SegmentIdsToLengthsOp(np.array([0, 0, 1])).tolist() == [2, 1]
    assert lodkit.caffe2.SegmentIdsToLengths(np.array([0, 0, 1])).tolist() == [2, 1]


def test_lookup_fuses_with_the_reductions_of_the_range_operators():
    """The page says every operator has a Sparse twin; Caffe2's Range operators have none, lodkit's have."""
    table = np.array([[1.0], [2.0], [4.0]])
    ids = LoDTensor([2, 0, 1], [[2, 1]])
    assert lodkit.embedding_bag(table, ids, pool="mean").tolist() == [[2.5], [2]]
    assert lodkit.embedding_bag(table, ids, pool="max").tolist() == [[4], [2]]
