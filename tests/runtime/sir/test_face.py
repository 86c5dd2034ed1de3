"""The package's face is light: a settings file or a help text never pays for the indicator library."""

import subprocess
import sys


def test_the_face_brings_neither_talib_nor_pandas():
    code = "import sys, runtime.sir; print({'talib', 'pandas', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
