"""The cache of machine code. NVIDIA's compiler is needed, and no GPU."""

import subprocess
import sys

import pytest

import tirc
import tirc.cache

TEXT = "te.func @f(A: f32[64]) -> f32[64] {\n  compute B[i: 64] = A[i] * 3.0\n  return B\n}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_compiled_is_kept_listed_and_cleared(folder, capsys):
    assert tirc.cache.folder() == folder and not tirc.cache.entries()
    for _ in range(2):
        assert tirc.parse(TEXT).compile(target="sm_80").is_compiled
    [entry] = tirc.cache.entries()
    assert (entry.function, entry.target, entry.is_whole) == ("f", "sm_80", True)
    tirc.parse(TEXT).compile(target="sm_90")
    assert len(tirc.cache.entries()) == 2
    assert tirc.cache.main(["list"]) == 0 and "2 in " in capsys.readouterr().out
    assert tirc.cache.main(["show", entry.key[:8]]) == 0 and entry.key in capsys.readouterr().out
    assert tirc.cache.main(["show", "zz"]) == 1
    assert tirc.cache.main(["clear", entry.key[:8]]) == 0 and "1 removed" in capsys.readouterr().out
    assert tirc.cache.clear() == 1 and not tirc.cache.entries()


def test_a_broken_entry_is_made_again(folder):
    tirc.parse(TEXT).compile(target="sm_80")
    [file] = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    assert not tirc.cache.entries()[0].is_whole
    tirc.parse(TEXT).compile(target="sm_80")
    assert file.read_bytes() == whole


def test_nothing_is_kept_where_the_variable_is_empty(monkeypatch):
    monkeypatch.setenv("TC_CACHE_DIR", "")
    assert tirc.cache.folder() is None and tirc.cache.entries() == [] and tirc.cache.clear() == 0
    assert tirc.parse(TEXT).compile(target="sm_80").is_compiled


def test_many_processes_share_a_folder(folder):
    code = f"import tirc; assert tirc.parse({TEXT!r}).compile(target='sm_86').is_compiled"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [one.wait() for one in running] == [0] * 4
    assert [entry.is_whole for entry in tirc.cache.entries()] == [True]
