"""The SBOM of a release: all packages that dpmine and its extras install, and what the compiler adds to the kernels.

    python release/sbom.py ENVIRONMENT FILE

Runs in .venv-release; `make sbom` made ENVIRONMENT, which holds dpmine with its extras and nothing else. Stops where a
package states no licence: an SBOM with a hole is none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).resolve().parents[1]
RUNTIME: dict[str, Any] = {
    "bom-ref": "compiler-runtime",
    "type": "library",
    "name": "zig",
    "description": "Linked into the kernels of the wheels: compiler-rt, and the start-up code of the C libraries.",
    "licenses": [{"license": {"id": "MIT"}}],
}
"""Its version is that of ziglang in requirements-compiler.lock."""


def written(environment: Path) -> dict[str, Any]:
    """What cyclonedx-py reads from the metadata of the installed packages."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--mc-type", "library"]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), str(environment / "bin" / "python")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def packages(environment: Path) -> set[tuple[str, str]]:
    """Names and versions that are installed there, dpmine apart."""
    (folder,) = (environment / "lib").glob("python*/site-packages")
    found: list[Distribution] = list(distributions(path=[str(folder)]))
    return {(one.metadata["Name"], one.version) for one in found if one.metadata["Name"] != "dpmine"}


def complete(document: dict[str, Any], environment: Path) -> dict[str, Any]:
    """The document with the compiler's runtime; an error where a package or a licence is missing."""
    components = document["components"]
    missing = packages(environment) - {(one["name"], one["version"]) for one in components}
    unlicensed = [one["name"] for one in components if not one.get("licenses")]
    if missing or unlicensed:
        sys.exit(f"The SBOM is not complete: packages {sorted(missing)} are missing, {unlicensed} state no licence.")
    lock = (ROOT / "requirements-compiler.lock").read_text(encoding="utf-8")
    version = lock.partition("ziglang==")[2].split()[0]
    components.append({**RUNTIME, "version": version})
    depends = {one["ref"]: one for one in document["dependencies"]}
    depends[document["metadata"]["component"]["bom-ref"]].setdefault("dependsOn", []).append(RUNTIME["bom-ref"])
    document["dependencies"].append({"ref": RUNTIME["bom-ref"]})
    return document


def main() -> None:
    """Write the file, if it is complete and valid."""
    environment, file = map(Path, sys.argv[1:])
    text = json.dumps(complete(written(environment), environment), indent=2) + "\n"
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"The SBOM is not valid: {wrong}")
    file.write_text(text, encoding="utf-8")
    print(f"{file}: {len(json.loads(text)['components'])} components, each with version and licence")


if __name__ == "__main__":
    main()
