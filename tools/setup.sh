#!/usr/bin/env bash
# Makes .venv with the locked dependencies and the package itself (editable). `make setup` calls it.
# PYTHON names the interpreter to use, if python3 should not be it.
set -euo pipefail
cd "$(dirname "$0")/.."

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if "$candidate" -c "$new_enough" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  local first=${PYTHON:-python3}
  echo "Vertigrad needs Python 3.11 or newer, but $first is $("$first" -V 2>&1 || true):" \
    "install a newer one and name it, as in: make setup PYTHON=python3.12" >&2
  return 1
}

python=$(find_python)
"$python" tools/system_packages.py

if ! .venv/bin/python -c "$new_enough" 2>/dev/null; then
  "$python" -m venv --clear .venv
fi
pip=(.venv/bin/python -m pip --disable-pip-version-check --quiet install --no-input)
echo "Installing the dependencies in requirements.lock into .venv (about 400 MB the first time) ..."
# PyTorch's own index has builds without CUDA, a tenth of the size.
index=https://download.pytorch.org/whl/cpu
reachable="import urllib.request; urllib.request.urlopen('$index/torch/', timeout=5)"
if [ "$(uname -s)" = Linux ] && ! .venv/bin/python -c 'import torch' 2>/dev/null && "$python" -c "$reachable" 2>/dev/null; then
  "${pip[@]}" --no-deps --index-url "$index" "$(grep '^torch==' requirements.lock)"
fi
"${pip[@]}" --requirement requirements.lock
"${pip[@]}" --no-deps --no-build-isolation --editable .
# vertigrad-cuda is compiled. Without it, tests/cuda is skipped, and CUDA gets copies.
headers='#include <vulkan/vulkan.h>
#include <vulkan/vk_layer.h>'
if [ "$(uname -sm)" = "Linux x86_64" ]; then
  if ! ${CC:-cc} -x c -fsyntax-only - <<<"$headers" 2>/dev/null; then
    echo "Note: vertigrad-cuda is not built, for lack of a C compiler or the headers of Vulkan" \
      "(Debian and Ubuntu: gcc libc6-dev libvulkan-dev); going on without it."
  elif ! "${pip[@]}" --no-deps --no-build-isolation --force-reinstall ./cuda; then
    echo "Note: vertigrad-cuda does not compile here, as shown above; going on without it."
  fi
  rm -rf cuda/build cuda/*.egg-info
fi
.venv/bin/python tools/adapter.py
