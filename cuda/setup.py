"""Builds the wheel: the Python files, and the layer, compiled by `cc` (or $CC) with the headers of Vulkan."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).resolve().parent / "src"
LIBRARY = "libvertigrad_cuda.so"
FLAGS = "-std=gnu11 -O2 -Wall -Wextra -Wno-missing-field-initializers -fPIC -shared -fvisibility=hidden -pthread"
LINKED = "-Wl,-z,relro,-z,now,-z,defs"


class BuildLibrary(build_py):
    """Compiles the layer into the folder of the package."""

    def run(self) -> None:
        super().run()
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise SystemExit("vertigrad-cuda builds on Linux for x86_64 only")
        output = Path(self.build_lib) / "vertigrad_cuda" / LIBRARY
        compiler = shlex.split(os.environ.get("CC") or "cc")
        sources = sorted(str(file) for file in SOURCE.glob("*.c"))
        command = [*compiler, *FLAGS.split(), LINKED, *sources, "-o", str(output)]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            needed = "a C compiler and the headers of Vulkan (on Debian and Ubuntu: gcc libc6-dev libvulkan-dev)"
            raise SystemExit(f"vertigrad-cuda needs {needed}: {error}") from error


class PlatformWheel(bdist_wheel):
    """For one platform, and every Python: the library knows nothing of Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", "linux_x86_64"


class WithLibrary(Distribution):
    """Its files depend on the platform."""

    def has_ext_modules(self) -> bool:
        return True


setup(cmdclass={"build_py": BuildLibrary, "bdist_wheel": PlatformWheel}, distclass=WithLibrary)
