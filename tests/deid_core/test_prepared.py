"""Arrays made once for a machine."""

import multiprocessing
import os

import numpy as np
import pytest

from deid_core.prepared import prepared


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "prepared"


class Maker:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return {"scores": np.arange(6.0).reshape(2, 3), "none": np.empty(0, np.int32)}


def test_they_are_made_once_and_then_read_only(folder):
    make = Maker()

    first, second = prepared("a", "1", make), prepared("a", "1", make)

    assert 1 == make.calls
    for found in (first, second):
        np.testing.assert_array_equal(make()["scores"], found["scores"])
        assert (np.int32, 0) == (found["none"].dtype, len(found["none"]))
        with pytest.raises(ValueError, match="read-only"):
            found["scores"][0, 0] = 1
    assert ["a-1"] == os.listdir(folder)


def test_another_digest_makes_them_anew(folder):
    make = Maker()

    prepared("a", "1", make)
    prepared("a", "2", make)

    assert 2 == make.calls


@pytest.mark.parametrize("name", ["scores.npy", "names"])
@pytest.mark.parametrize("left", [b"", b"\x93NUMPY"])
def test_files_that_are_not_whole_are_made_anew(folder, name, left):
    make = Maker()
    prepared("a", "1", make)
    (folder / "a-1" / name).write_bytes(left)

    found = prepared("a", "1", make)

    np.testing.assert_array_equal(make()["scores"], found["scores"])
    np.testing.assert_array_equal(make()["scores"], prepared("a", "1", make)["scores"])
    assert ["a-1"] == os.listdir(folder)


def test_where_nothing_can_be_written_each_process_makes_its_own(folder):
    folder.parent.joinpath("prepared").write_text("a file, and no folder")

    found = prepared("a", "1", Maker())

    assert (2, 3) == found["scores"].shape
    with pytest.raises(ValueError, match="read-only"):
        found["scores"][0, 0] = 1


def _read(name):
    return float(prepared(name, "1", Maker())["scores"].sum())


def test_processes_that_start_at_once_have_the_same(folder):
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert [15.0] * 8 == pool.map(_read, ["a"] * 8)
    assert ["a-1"] == os.listdir(folder)
