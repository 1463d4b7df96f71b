# SPDX-License-Identifier: Apache-2.0
"""client/python/setup.py: builds the extension module from the sources in client/ring of this checkout."""

import pathlib

from setuptools import Extension, setup

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RING = [f"../ring/{name}.cc" for name in ("channel", "handshake", "memory", "socket", "spinner")]

setup(packages=["hatrpc"],
      ext_modules=[Extension("hatrpc._ring", ["hatrpc/_ring.cc", *RING], include_dirs=[str(ROOT)],
                             language="c++", extra_compile_args=["-std=c++20"])])
