"""Find missing system packages: install them as root, otherwise print which to install.

Runs before there is a virtual environment, so it uses the standard library only. What is missing is found
by testing for the library or program (a library that loads, a program on the path), never by asking a package
manager: drivers from other sources count. Fails only if an essential package is missing.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

WINDOW_LIBRARIES = {
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libXext.so.6": "libxext6",
    "libXrandr.so.2": "libxrandr2",
    "libXinerama.so.1": "libxinerama1",
    "libXcursor.so.1": "libxcursor1",
    "libXi.so.6": "libxi6",
    "libXrender.so.1": "libxrender1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libGL.so.1": "libgl1",
}
WINDOW_TEST_PROGRAMS = {"Xvfb": "xvfb", "xdotool": "xdotool", "chromium": "chromium"}
VALIDATION = Path("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json")
VULKAN_HEADERS = b"#include <vulkan/vulkan.h>\n#include <vulkan/vk_layer.h>\n"


class Missing(NamedTuple):
    """A package to install. Without an essential one nothing works; without another, part of it does not."""

    package: str
    essential: bool


def loads(soname: str) -> bool:
    """Whether the dynamic linker finds this library."""
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def manifests(*folders: str) -> bool:
    """Whether any of these folders holds a driver manifest."""
    return any(next(Path(folder).glob("*.json"), None) for folder in folders)


def has_vulkan() -> bool:
    """A Vulkan loader, and a driver in the loader's search path."""
    if not loads("libvulkan.so.1"):
        return False
    if os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES"):
        return True
    data = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    roots = ["/etc", "/etc/xdg", home, *data.split(":")]
    return manifests(*(f"{root}/vulkan/icd.d" for root in roots))


def has_gl() -> bool:
    """An EGL loader, and a vendor's driver behind it."""
    return loads("libEGL.so.1") and manifests("/usr/share/glvnd/egl_vendor.d", "/etc/glvnd/egl_vendor.d")


def lacks_headers() -> bool:
    """Whether there is a C compiler that does not find the headers of Vulkan, with which cuda/ is compiled."""
    if platform.machine() != "x86_64" or not shutil.which("cc"):
        return False
    command = ["cc", "-x", "c", "-fsyntax-only", "-"]
    return subprocess.run(command, input=VULKAN_HEADERS, stderr=subprocess.DEVNULL).returncode != 0


def lacks_validation() -> bool:
    """Whether Khronos's validation, by which tests check the calls of cuda/, is missing where that is compiled."""
    return platform.machine() == "x86_64" and shutil.which("cc") is not None and not VALIDATION.exists()


def has_venv() -> bool:
    """Debian's python3 lacks ensurepip, without which a new environment has no pip."""
    importlib.invalidate_caches()
    return importlib.util.find_spec("ensurepip") is not None


def find_missing() -> list[Missing]:
    """All missing packages that Vertigrad or its tests use, essential ones first."""
    vulkan, gl = has_vulkan(), has_gl()
    missing = []
    if not has_venv():
        missing.append(Missing(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv", True))
    if not vulkan:
        missing += [Missing("libvulkan1", not gl), Missing("mesa-vulkan-drivers", not gl)]
    if not gl:
        missing.append(Missing("libegl1", False))
    optional = [package for soname, package in WINDOW_LIBRARIES.items() if not loads(soname)]
    optional += [package for name, package in WINDOW_TEST_PROGRAMS.items() if not shutil.which(name)]
    optional += ["libvulkan-dev"] if lacks_headers() else []
    optional += ["vulkan-validationlayers"] if lacks_validation() else []
    return missing + [Missing(package, False) for package in optional]


def install(packages: list[str]) -> None:
    """Run apt-get; failures are found by checking again, not by its exit status."""
    print("Installing system packages:", *packages, flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    options = ["-qq", "-o", "Dpkg::Use-Pty=0"]
    subprocess.run(["apt-get", "update", *options], env=quiet, stdin=subprocess.DEVNULL)
    command = ["apt-get", "install", "-y", "--no-install-recommends", *options, *packages]
    subprocess.run(command, env=quiet, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def advice(missing: list[Missing], apt: bool) -> str:
    """The message for a user: what is missing, then the line to run."""
    packages = " ".join(need.package for need in missing)
    if any(need.essential for need in missing):
        opening = "Vertigrad cannot work here yet: a GPU driver or Python's venv module is missing."
    else:
        opening = "Note: windows, their tests, or the layer for CUDA need missing packages; going on without them."
    if not apt:
        return f"{opening}\nInstall them under this system's names. Debian calls them: {packages}"
    listed = next(Path("/var/lib/apt/lists").glob("*_Packages*"), None)
    update = "" if listed else "sudo apt-get update && "
    return f"{opening} Run this, then make again:\n\n    {update}sudo apt-get install {packages}\n"


def main() -> int:
    """Exit status 1 if an essential package is still missing."""
    if sys.platform != "linux":
        return 0
    apt = shutil.which("apt-get") is not None
    missing = find_missing()
    if missing and apt and os.geteuid() == 0:
        install([need.package for need in missing])
        missing = find_missing()
    if missing:
        print(advice(missing, apt), file=sys.stderr)
    return 1 if any(need.essential for need in missing) else 0


if __name__ == "__main__":
    sys.exit(main())
