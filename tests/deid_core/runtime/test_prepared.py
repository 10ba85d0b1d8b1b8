"""Arrays made once for a machine."""

import multiprocessing
import os

import numpy as np
import pytest

from deid_core.runtime import prepared as module
from deid_core.runtime.prepared import fingerprint, prepared


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

    assert make.calls == 1
    for found in (first, second):
        np.testing.assert_array_equal(make()["scores"], found["scores"])
        assert (np.int32, 0) == (found["none"].dtype, len(found["none"]))
        with pytest.raises(ValueError, match="read-only"):
            found["scores"][0, 0] = 1
    assert os.listdir(folder) == ["a-1"]


@pytest.mark.parametrize("where", [".", "prepared"])
def test_a_folder_to_which_others_can_write_is_not_used(folder, where):
    make = Maker()
    prepared("a", "1", make)
    (folder.parent / where).chmod(0o777)

    prepared("a", "1", make)

    assert make.calls == 2


def test_a_new_folder_is_private_where_groups_may_write(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "new" / "cache"))
    make, before = Maker(), os.umask(0o002)
    try:
        prepared("a", "1", make)
        prepared("a", "1", make)
    finally:
        os.umask(before)

    assert make.calls == 1


def test_a_folder_that_cannot_be_written_is_read(folder, monkeypatch):
    make = Maker()
    prepared("a", "1", make)
    monkeypatch.setattr(module, "_keep", None)

    prepared("a", "1", make)

    assert make.calls == 1


def test_another_digest_makes_them_anew(folder):
    make = Maker()

    prepared("a", "1", make)
    prepared("a", "2", make)

    assert make.calls == 2


@pytest.mark.parametrize("name", ["scores.npy", "names"])
@pytest.mark.parametrize("left", [b"", b"\x93NUMPY", "last byte", "last line"])
def test_files_that_are_not_whole_are_made_anew(folder, name, left):
    make = Maker()
    prepared("a", "1", make)
    place = folder / "a-1" / name
    whole = place.read_bytes()
    if left == "last byte":
        left = whole[:-1] + bytes([whole[-1] ^ 1])
    elif left == "last line":
        left = b"\n".join(whole.split(b"\n")[:-1])
    place.write_bytes(left)

    found = prepared("a", "1", make)

    np.testing.assert_array_equal(make()["scores"], found["scores"])
    np.testing.assert_array_equal(make()["scores"], prepared("a", "1", make)["scores"])
    assert os.listdir(folder) == ["a-1"]


def test_other_users_may_read_them_whatever_the_umask(folder):
    before = os.umask(0o077)
    try:
        prepared("a", "1", Maker())
    finally:
        os.umask(before)

    assert {each.stat().st_mode & 0o777 for each in (folder / "a-1").iterdir()} == {
        0o644
    }


def test_a_fingerprint_is_of_all_files_of_a_package(tmp_path, monkeypatch):
    package = tmp_path / "some_package_for_fingerprints"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    found = [fingerprint([package.name]), fingerprint([package.name], "1")]
    (package / "list.txt").write_text("a")
    found.append(fingerprint([package.name]))
    (package / "list.txt").write_text("b")
    found.append(fingerprint([package.name]))

    assert len(set(found)) == 4
    assert found[-1] == fingerprint([package.name])


def test_where_nothing_can_be_written_each_process_makes_its_own(folder, caplog):
    folder.parent.joinpath("prepared").write_text("a file, and no folder")

    found = prepared("a", "1", Maker())

    assert "a: can't be kept" in caplog.text
    assert found["scores"].shape == (2, 3)
    with pytest.raises(ValueError, match="read-only"):
        found["scores"][0, 0] = 1


def _read(name):
    return float(prepared(name, "1", Maker())["scores"].sum())


def test_processes_that_start_at_once_have_the_same(folder):
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert pool.map(_read, ["a"] * 8) == [15.0] * 8
    assert os.listdir(folder) == ["a-1"]


def test_files_that_a_disk_does_not_keep_as_written_are_not_used(folder, monkeypatch):
    monkeypatch.setattr(module, "_hash", lambda file: str(file))  # no two are equal

    found = prepared("a", "1", Maker())

    np.testing.assert_array_equal(Maker()()["scores"], found["scores"])
