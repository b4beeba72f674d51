"""Whether kernels could use the matrix units of a GPU: "tensor cores", in WGSL cooperative matrices.

Nothing uses them yet: wgpu-native 29 lists the feature on GPUs that have it, but refuses devices with it, since it is
experimental and there is no way to allow that. When a release accepts it, `OPTIONAL_FEATURES` gets `FEATURE`, and
`ops/product_variants.py` a variant whose shader multiplies with it and whose `_fits` asks for it in `gpu.features`;
tuning then measures it like any other.
"""

from __future__ import annotations

import wgpu

from .adapter import AdapterChoice

FEATURE = "cooperative-matrix"


def unavailable(choice: AdapterChoice) -> str | None:
    """Why kernels cannot use the matrix units of an adapter; None if they could. Opens a device to find out."""
    if FEATURE not in choice.adapter.features:
        return f"the adapter does not list the feature {FEATURE}"
    try:
        device = choice.adapter.request_device_sync(required_features=[FEATURE])  # pyright: ignore
    except (RuntimeError, wgpu.GPUError) as error:
        return f"the adapter lists {FEATURE}, but no device with it is opened: {' '.join(str(error).split())}"
    device.destroy()
    return None
