import os
import subprocess
import sys

from streams.engine.private_files import private_folder


def modes(*paths):
    return [path.stat().st_mode & 0o777 for path in paths]


def test_absent_folders_are_made_for_their_owner_alone(tmp_path):
    tmp_path.chmod(0o755)
    inner = tmp_path / "state" / "group"

    private_folder(inner)

    assert modes(tmp_path, inner.parent, inner) == [0o755, 0o700, 0o700]


def test_a_folder_of_ones_own_is_closed_and_its_parents_are_left(tmp_path):
    folder = tmp_path / "mounted" / "state"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o755)
    folder.chmod(0o777)

    private_folder(folder)

    assert modes(folder.parent, folder) == [0o755, 0o700]


def test_what_a_service_and_its_children_write_is_private(tmp_path):
    code = (
        "import subprocess, sys; from pathlib import Path\n"
        "from streams.engine.private_files import keep_files_private\n"
        "keep_files_private()\n"
        "Path('own').write_text('x'); Path('folder').mkdir()\n"
        "subprocess.run(['touch', 'child'], check=True)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
        umask=0o022,
        check=True,
    )

    names = ("own", "child", "folder")
    assert modes(*(tmp_path / each for each in names)) == [0o600, 0o600, 0o700]
