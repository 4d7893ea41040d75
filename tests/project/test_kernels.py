"""The compiled kernels: that they are those of the sources, what compiles them, and what is said where nothing can."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every

import hatch_build
from dpmine.kernels import INSTRUCTION_SETS, INSTRUCTIONS, SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "hatch_build.py"
SETTINGS = ("CC", "CFLAGS", "LDFLAGS", "DPMINE_TARGET")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """No setting of a compiler, and none on the path."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(hatch_build, "find_spec", lambda _: None)
    return monkeypatch


@pytest.fixture
def library() -> Iterator[Path]:
    """On the file system of the sources: it is compiled in their folder, and then moved."""
    (ROOT / "build").mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOT / "build") as folder:
        yield Path(folder) / "library"


def loaded(target: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as it is where DPMINE_TARGET is set."""
    monkeypatch.setenv("DPMINE_TARGET", target)
    spec = importlib.util.spec_from_file_location("other_hatch_build", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hook(module: ModuleType = hatch_build) -> Any:
    return module.KernelsHook(str(ROOT), {}, None, None, "", "wheel")


def program(path: Path, text: str) -> None:
    path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    path.chmod(0o755)


def test_the_library_is_that_of_the_sources() -> None:
    assert hatch_build.sources() == SOURCES, "the sources of the kernels changed; rebuild: make kernels"


def test_the_instructions_are_those_that_the_system_lists() -> None:
    """Whatever compiled the library: what zig links leaves the compilers' own question unanswered."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        pytest.skip("no /proc/cpuinfo is here")
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    wide = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vpopcntdq"}
    flags = set(line.split())
    listed = "AVX-512" if wide <= flags else "AVX2" if "avx2" in flags else "baseline"
    assert INSTRUCTION_SETS[INSTRUCTIONS] == listed


def test_an_edit_and_a_setting_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hatch_build, "KERNELS", tmp_path)
    states = [hatch_build.sources()]
    for name, text in (("a.c", "int a;"), ("a.c", "int b;"), ("a.h", ""), ("b.h", "")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        states.append(hatch_build.sources())
    monkeypatch.setenv("CFLAGS", "-O0")
    assert len({*states, hatch_build.sources()}) == 6


def test_pip_brings_a_compiler_only_where_there_is_none(bare: pytest.MonkeyPatch) -> None:
    bare.setattr(hatch_build, "_is_current", lambda: False)
    assert hook().dependencies() == [hatch_build.ZIG]
    bare.setenv("CC", "some-cc -m64")
    assert hook().dependencies() == []
    assert hatch_build.compiler() == ["some-cc", "-m64"]
    bare.delenv("CC")
    bare.setattr(hatch_build, "find_spec", lambda _: object())
    assert hook().dependencies() == []
    assert hatch_build.compiler() == [sys.executable, "-m", "ziglang", "cc"]


def test_nothing_is_brought_for_a_library_that_is_there(bare: pytest.MonkeyPatch) -> None:
    bare.setattr(hatch_build, "_is_current", lambda: True)
    assert hook().dependencies() == []


@pytest.mark.usefixtures("bare")
def test_a_compiler_that_does_not_work_is_passed_over(tmp_path: Path) -> None:
    """Such as Apple's stub, and GCC without the headers of the C library."""
    program(tmp_path / "cc", "raise SystemExit(1)")
    assert hatch_build.compiler() == []
    program(tmp_path / "clang", "")
    assert hatch_build.compiler() == ["clang"]


@pytest.mark.usefixtures("bare")
def test_without_a_compiler_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"No C compiler was found.*apt install gcc.*pip install 'ziglang"):
        hatch_build.compile_kernels(tmp_path / "library")


@every(("name", "value"), [("CC", "no-such-compiler"), ("CC", sys.executable + " -c 1/0")])
def test_a_failure_names_the_compiler(name: str, value: str) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={**os.environ, "CFLAGS": "-DANEW", name: value, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"The kernels were not compiled: {value} failed" in done.stderr
    assert 'Traceback (most recent call last):\n  File "' + str(SCRIPT) not in done.stderr


def test_a_failure_leaves_the_library_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.write_bytes(b"old")
    program(tmp_path / "failing", "import sys; open(sys.argv[sys.argv.index('-o') + 1], 'w'); sys.exit(1)")
    monkeypatch.setenv("CC", str(tmp_path / "failing"))
    with pytest.raises(SystemExit):
        hatch_build.compile_kernels(library)
    assert library.read_bytes() == b"old"


def test_flags_of_the_user_come_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, library: Path) -> None:
    program(
        tmp_path / "recording",
        "import sys; open(sys.argv[sys.argv.index('-o') + 1], 'w').write('\\n'.join(sys.argv[1:]))",
    )
    monkeypatch.setenv("CC", str(tmp_path / "recording"))
    monkeypatch.setenv("CFLAGS", "-O1 '-DTEXT=two words'")
    monkeypatch.setenv("LDFLAGS", "-Wl,--as-needed")
    hatch_build.compile_kernels(library)
    line = library.read_text(encoding="utf-8").splitlines()
    own, users = line.index("-O3"), line.index("-O1")
    assert own < users < line.index("baskets.c") < line.index("-Wl,--as-needed")
    assert line[users + 1] == "-DTEXT=two words"
    assert "-Werror" not in line


@every("target", hatch_build.TARGETS)
def test_a_wheel_for_another_platform(target: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        module = loaded(target, patch)
        patch.setattr(module, "compile_kernels", lambda *_: None)
        data: dict[str, Any] = {"artifacts": [], "force_include": {}}
        hook(module).initialize("standard", data)
    assert data["tag"] == f"py3-none-{hatch_build.TARGETS[target]}"
    assert data["pure_python"] is False
    assert data["artifacts"] == []  # the library of this machine stays out
    ((built, place),) = data["force_include"].items()
    suffix = "dll" if "windows" in target else "dylib" if "macos" in target else "so"
    assert built == str(ROOT / "build" / target / f"libkernels.{suffix}")
    assert place == f"dpmine/kernels/libkernels.{suffix}"
    assert ("-msse4.2" in module.FLAGS) == target.startswith("x86_64")


def test_a_target_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"DPMINE_TARGET is pdp11: it must be one of x86_64-linux-gnu"):
        loaded("pdp11", monkeypatch)


@pytest.mark.slow
def test_compilers_have_no_warning(library: Path) -> None:
    if not hatch_build.compiler():
        pytest.skip("no C compiler is here")
    hatch_build.compile_kernels(library, [*hatch_build.RELEASED, "-Werror", "-Wpedantic"])
    assert hatch_build.sources().encode() in library.read_bytes()
