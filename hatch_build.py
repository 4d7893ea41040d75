"""How dpmine/kernels becomes a library: the build hook of pyproject.toml, and a script.

    python hatch_build.py              compile beside the sources, if they changed
    python hatch_build.py --sanitize   into build/sanitized, so that faults of memory and arithmetic end the process
    python hatch_build.py --wheels     a wheel for each of TARGETS, in dist

CC, CFLAGS and LDFLAGS are honoured. Where there is no C compiler, ziglang brings one from the package registry: pip
installs it for the time of a build, the script in a folder of its own that it removes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # the script runs before anything is installed
    BuildHookInterface = object  # type: ignore[assignment,misc]

ROOT = Path(__file__).resolve().parent
KERNELS = ROOT / "dpmine" / "kernels"
ZIG = "ziglang==0.17.*"
TARGETS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64",
    "x86_64-linux-musl": "musllinux_1_2_x86_64",
    "aarch64-linux-musl": "musllinux_1_2_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}
"""What DPMINE_TARGET may name, a target of zig, and the platform that its wheel is for."""

TARGET = os.environ.get("DPMINE_TARGET", "")
if TARGET:
    if TARGET not in TARGETS:
        sys.exit(f"DPMINE_TARGET is {TARGET}: it must be one of {', '.join(TARGETS)}.")
    MACHINE, SYSTEM, PLATFORM = *re.split("[-.]", TARGET)[:2], TARGETS[TARGET]
else:
    MACHINE, SYSTEM = platform.machine().lower().replace("amd64", "x86_64"), platform.system().lower()
    SYSTEM = SYSTEM.replace("darwin", "macos")
    PLATFORM = f"macosx_11_0_{MACHINE}" if SYSTEM == "macos" else re.sub(r"\W", "_", sysconfig.get_platform())
LIBRARY = (KERNELS / "libkernels").with_suffix({"macos": ".dylib", "windows": ".dll"}.get(SYSTEM, ".so"))

FLAGS = ["-std=c11", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra"]
FLAGS += ["-ffp-contract=off"]  # no fused multiply-add: every machine rounds alike
if MACHINE == "x86_64":
    FLAGS += ["-msse4.2", "-mpopcnt"]  # x86-64-v2, which numpy needs too, in words that compilers of 2018 know
if SYSTEM == "macos":
    FLAGS += ["-mmacosx-version-min=11.0", f"-Wl,-install_name,@rpath/{LIBRARY.name}"]
if SYSTEM != "windows":
    FLAGS += ["-fPIC"]
RELEASED = ["-O3", *([] if SYSTEM == "macos" and not TARGET else ["-s"])]  # Apple's linker knows no -s
SANITIZED = [
    "-Werror",
    "-O1",
    "-g",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
]


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the library into the wheel, which is then for one platform, and for every Python."""

    def dependencies(self) -> list[str]:
        """What pip installs for the time of the build: a compiler, where there is none."""
        return [] if _is_current() or compiler() else [ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - editable and standard alike
        """Compile, unless that was done; for another platform not in place, because this one could not load it."""
        place = LIBRARY.relative_to(ROOT).as_posix()
        if TARGET:
            library = ROOT / "build" / TARGET / LIBRARY.name
            compile_kernels(library)
            build_data["force_include"][str(library)] = place
        else:
            if not _is_current():
                compile_kernels(LIBRARY)
            build_data["artifacts"].append(f"/{place}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORM}"


def sources() -> str:
    """What the library carries to say what it was made from: a SHA-256 of the sources, this file and the settings."""
    settings = [PLATFORM, *(os.environ.get(name, "") for name in ("CC", "CFLAGS", "LDFLAGS"))]
    parts = [repr(settings).encode()]
    for file in (Path(__file__), *sorted(KERNELS.glob("*.[ch]"))):
        parts += file.name.encode(), file.read_bytes()
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def compiler() -> list[str]:
    """The command of a C compiler: CC, one of this machine that works, or zig's; empty where there is none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    if not TARGET:  # zig alone brings the headers and libraries of other platforms
        for name in filter(_works, ("cc", "gcc", "clang")):
            return [name]
    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else []


def compile_kernels(library: Path, how: Sequence[str] = RELEASED, command: Sequence[str] = ()) -> None:
    """Compile all sources into this file, which is replaced at once: processes may have loaded the old one."""
    command = command or compiler()
    if not command:
        sys.exit(
            "No C compiler was found (CC, cc, gcc, clang, or the Python package ziglang), and dpmine's kernels are C. "
            f"Install one, then try again: apt install gcc libc6-dev, xcode-select --install, or pip install '{ZIG}'. "
            "pip brings ziglang by itself unless it is given --no-build-isolation."
        )
    flags = [*FLAGS, f'-DKERNELS_SOURCES="{sources()}"', *(["-target", TARGET] if TARGET else []), *how]
    names = sorted(file.name for file in KERNELS.glob("*.c"))  # no path is built in: the file is the same anywhere
    library.parent.mkdir(parents=True, exist_ok=True)
    with _folder() as folder:
        built = folder / library.name
        line = [*command, *flags, *_words("CFLAGS"), *names, "-o", str(built), *_words("LDFLAGS")]
        caches = dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(folder))
        try:
            subprocess.run(line, cwd=KERNELS, env={**caches, **os.environ}, check=True)
        except (OSError, subprocess.CalledProcessError):
            sys.exit(
                f"The kernels were not compiled: {shlex.join(command)} failed, or is not there. "
                "Set CC to another C compiler (CC=clang), or unset what is set of CC, CFLAGS and LDFLAGS."
            )
        built.replace(library)


def _is_current() -> bool:
    return LIBRARY.is_file() and sources().encode() in LIBRARY.read_bytes()


def _words(variable: str) -> list[str]:
    return shlex.split(os.environ.get(variable, ""))


def _works(name: str) -> bool:
    """Whether this is a C compiler with its headers: some machines have one of the two, or only its name."""
    if shutil.which(name) is None:
        return False
    with _folder() as folder:
        line = [name, "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / "probe")]
        return subprocess.run(line, input=b"#include <stdlib.h>\n", capture_output=True, check=False).returncode == 0


@contextmanager
def _folder() -> Iterator[Path]:
    (ROOT / "build").mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOT / "build") as folder:
        yield Path(folder)


@contextmanager
def _zig() -> Iterator[list[str]]:
    """The command of zig's compiler, installed for as long as this lasts."""
    with _folder() as folder:
        venv.create(folder, with_pip=True)
        python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-cache-dir"]
        subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements-compiler.lock")], check=True)
        yield [python, "-m", "ziglang", "cc"]


def main() -> None:
    """Compile as the command line says."""
    parser = argparse.ArgumentParser(description="Compile the kernels of dpmine.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--sanitize", action="store_true", help="with sanitizers, into build/sanitized")
    what.add_argument("--wheels", action="store_true", help="a wheel for every platform, in dist")
    asked = parser.parse_args()
    if asked.wheels:
        with _zig() as command, _folder() as cache:
            settings = {"CC": shlex.join(command), "ZIG_GLOBAL_CACHE_DIR": str(cache)}
            for target in TARGETS:
                build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"]
                subprocess.run(build, cwd=ROOT, env={**os.environ, **settings, "DPMINE_TARGET": target}, check=True)
    elif asked.sanitize:
        compile_kernels(ROOT / "build" / "sanitized" / LIBRARY.name, SANITIZED)
    elif not _is_current() and compiler():
        compile_kernels(LIBRARY)
    elif not _is_current():
        print("No C compiler was found: ziglang is installed for as long as it takes to compile.", flush=True)
        with _zig() as command:
            compile_kernels(LIBRARY, command=command)


if __name__ == "__main__":
    main()
