"""Print the GPU that Vertigrad uses; fail if there is none."""

import os
import sys
import tempfile

# Mesa prints a warning if no desktop session has set it.
os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())

import wgpu

adapters = wgpu.gpu.enumerate_adapters_sync()
if not adapters:
    sys.exit(
        "There is no usable GPU driver here, not even a software one. Install a Vulkan driver;\n"
        "on Debian and Ubuntu: sudo apt-get install libvulkan1 mesa-vulkan-drivers"
    )
for found in adapters:
    info = found.info
    print(f"GPU: {info['device']} ({info['adapter_type']}, {info['backend_type']})")
