"""What wgpu-py does not report of a device, or reports wrongly, and what it does not query."""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import wgpu
from wgpu.backends.wgpu_native._api import GPUShaderModule
from wgpu.backends.wgpu_native._mappings import enum_int2str

from .foreign import ffi, lib, libf, new_struct_p, to_c_string_view

UNBOUNDED_CHECKS = 0  # WGPUShaderRuntimeChecks: no bounds checks, no loop limits


def timestamp_period(queue: wgpu.GPUQueue) -> float:
    """Nanoseconds for each tick of a timestamp query; not in wgpu-py's own interface."""
    return float(lib.wgpuQueueGetTimestampPeriod(queue._internal))


def subgroup_sizes(adapter: wgpu.GPUAdapter) -> tuple[int, int]:
    """The fewest and the most invocations of a subgroup; (0, 0) if the driver does not report them.

    wgpu-py 0.32 misspells the fields, and always answers 4 and 128.
    """
    info = ffi.new("WGPUAdapterInfo *")
    libf.wgpuAdapterGetInfo(adapter._internal, info)
    sizes = int(info.subgroupMinSize), int(info.subgroupMaxSize)
    lib.wgpuAdapterInfoFreeMembers(info[0])
    return sizes


def trusted_module(device: wgpu.GPUDevice, code: str, label: str) -> wgpu.GPUShaderModule:
    """Compile WGSL without run-time bounds checks (1.18× on all-pairs n-body, H100).

    Only for shaders that ship with the project: an index outside a buffer is undefined behavior there.
    """
    source = new_struct_p("WGPUShaderSourceWGSL *", code=to_c_string_view(code))
    source[0].chain.next = ffi.NULL
    source[0].chain.sType = lib.WGPUSType_ShaderSourceWGSL
    descriptor = new_struct_p(
        "WGPUShaderModuleDescriptor *",
        nextInChain=ffi.cast("WGPUChainedStruct *", source),
        label=to_c_string_view(label),
    )
    module = libf.wgpuDeviceCreateShaderModuleTrusted(device._internal, descriptor, UNBOUNDED_CHECKS)
    return GPUShaderModule(label, module, device)


def surface_formats(context: wgpu.GPUCanvasContext, adapter: wgpu.GPUAdapter) -> list[str]:
    """The texture formats in which an adapter can draw on a window; none if it cannot at all.

    wgpu-py has two formats in its answer even then, and configuring the surface with one of them ends the process.
    """
    capabilities = ffi.new("WGPUSurfaceCapabilities *")
    libf.wgpuSurfaceGetCapabilities(context._surface_id, adapter._internal, capabilities)
    numbers = [capabilities.formats[index] for index in range(capabilities.formatCount)]
    lib.wgpuSurfaceCapabilitiesFreeMembers(capabilities[0])
    names = enum_int2str["TextureFormat"]
    return [names[number] for number in numbers if number in names]


def surface_usages(context: wgpu.GPUCanvasContext, adapter: wgpu.GPUAdapter) -> int:
    """What the textures of a window can be used for, as the bits of `wgpu.TextureUsage`."""
    capabilities = ffi.new("WGPUSurfaceCapabilities *")
    libf.wgpuSurfaceGetCapabilities(context._surface_id, adapter._internal, capabilities)
    usages = int(capabilities.usages)
    lib.wgpuSurfaceCapabilitiesFreeMembers(capabilities[0])
    return usages


def set_vsync(context: wgpu.GPUCanvasContext, on: bool) -> None:
    """Take another present mode when the surface is configured next; wgpu-py asks only when a context is made."""
    context._present_info["vsync"] = on
