"""Make an environment with the versions that Colab had in August 2026, in build/colab_env: `python tests/colab_env.py`.

Prints where its Python is. The tests of the self-study notebooks run in it when POSLAB_PYTHON names it:

    POSLAB_PYTHON=$(python tests/colab_env.py) pytest tests/test_self_study.py -k "stub or solution"

torch is the exception: Colab had 2.11 (for a GPU); here it is the version that the course installs everywhere.
"""
import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "colab_env"
PINS = """ipython==7.34.0 ipykernel==6.17.1 ipywidgets==7.7.1 matplotlib==3.10.0 numpy==2.1.3 nbformat==5.11.1 nbclient==0.10.4
jupyter_client==7.4.9 traitlets==5.7.1 tqdm""".split()


def make() -> Path:
    """Make it, or leave it as it is when it is complete. -> its Python"""
    torch = re.search(r"^torch==[\d.]+", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)[0]
    wanted = "\n".join([torch, *PINS])
    python, stamp = FOLDER / "bin" / "python", FOLDER / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(FOLDER, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *wanted.split()], check=True, stdout=sys.stderr)
        stamp.write_text(wanted)
    return python


if __name__ == "__main__":
    print(make())
