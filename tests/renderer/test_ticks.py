"""Ticks and their labels on the GPU, against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import wgpu

from vertigrad.gpu import shader

from . import ticks_reference as reference

MOST_TICKS, SYMBOLS = 12, 18
PER_RANGE = 6 + MOST_TICKS * (2 + SYMBOLS)
LETTERS = "0123456789.−×" + reference.RAISED + "⁻"
CODE = """
//% include "common/ticks.wgsl"
@group(0) @binding(0) var<storage, read> ranges: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> found: array<i32>;

@compute @workgroup_size(1)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let range = ranges[id.x];
    let ticks = ticks_of(range.x, range.y, range.z);
    var at = i32(id.x) * PER_RANGE;
    found[at] = ticks.count;
    at += 6;
    for (var i = 0; i < ticks.count; i++) {
        let number = tick_number(ticks, i);
        found[at] = bitcast<i32>(tick_value(ticks, i));
        found[at + 1] = written_length(number);
        for (var k = 0; k < written_length(number); k++) { found[at + 2 + k] = i32(symbol_at(number, k)); }
        at += 2 + SYMBOLS;
    }
}
"""


def on_gpu(gpu, ranges):
    """[(value, label)] for each (low, high, most)."""
    code = shader._environment().from_string(CODE).render()
    code = code.replace("PER_RANGE", str(PER_RANGE)).replace("SYMBOLS", str(SYMBOLS))
    device = gpu.device
    rows_in = np.zeros((len(ranges), 4), np.float32)
    rows_in[:, :3] = ranges
    source = device.create_buffer_with_data(data=rows_in, usage=wgpu.BufferUsage.STORAGE)
    size = 4 * PER_RANGE * len(ranges)
    target = device.create_buffer(size=size, usage=wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC)
    module = device.create_shader_module(code=code)
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    resources = [{"buffer": buffer, "offset": 0, "size": buffer.size} for buffer in (source, target)]
    entries = [{"binding": number, "resource": resource} for number, resource in enumerate(resources)]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = device.create_command_encoder()
    pass_ = encoder.begin_compute_pass()
    pass_.set_pipeline(pipeline)
    pass_.set_bind_group(0, group)
    pass_.dispatch_workgroups(len(ranges))
    pass_.end()
    device.queue.submit([encoder.finish()])
    rows = np.frombuffer(device.queue.read_buffer(target), np.int32).reshape(len(ranges), PER_RANGE)
    return [list(map(label_of, row[6:].reshape(MOST_TICKS, -1)[: row[0]])) for row in rows]


def label_of(tick):
    return float(tick[:1].view(np.float32)[0]), "".join(LETTERS[symbol] for symbol in tick[2 : 2 + tick[1]])


def spread(rng, count):
    """Ranges of all sizes: around zero, next to it, and far from it."""
    size = 10.0 ** rng.uniform(-12, 12, count)
    low = size * rng.choice([0.0, -1.0, 1.0, -0.3, 20.0, -500.0], count) * rng.uniform(0.5, 1.5, count)
    return np.stack([low, low + size, rng.integers(1, 9, count)], axis=-1).astype(np.float32)


ROUND = [(0, 1, 5), (0, 10, 5), (-1, 1, 4), (2, 7, 5), (0, 0.36, 5), (240, 1080, 6), (-4, 4, 5), (0, 1e6, 5)]


def test_ticks_equal_exact_arithmetic(gpu):
    ranges = np.concatenate([np.float32(ROUND), spread(np.random.default_rng(7), 300)])
    for (low, high, most), found in zip(ranges, on_gpu(gpu, ranges), strict=True):
        expected = reference.ticks(low, high, most)
        assert [written for _, written in found] == [tick.written for tick in expected], (low, high, most)
        values = [float(tick.value) for tick in expected]
        np.testing.assert_allclose([value for value, _ in found], values, rtol=3e-7, atol=1e-30)


@pytest.mark.parametrize(
    ("range_", "expected"),
    [
        ((0, 1, 5), "0 0.2 0.4 0.6 0.8 1.0"),
        ((-4, 4, 5), "−4 −2 0 2 4"),
        ((240, 1080, 6), "400 600 800 1000"),
        ((0, 0.36, 4), "0 0.1 0.2 0.3"),
        ((0, 2e7, 4), "0 0.5×10⁷ 1.0×10⁷ 1.5×10⁷ 2.0×10⁷"),
        ((0, 2.5e-5, 5), "0 0.5×10⁻⁵ 1.0×10⁻⁵ 1.5×10⁻⁵ 2.0×10⁻⁵ 2.5×10⁻⁵"),
        ((1e-12, 3e-12, 2), "1×10⁻¹² 2×10⁻¹² 3×10⁻¹²"),
    ],
)
def test_labels_are_in_readable_form(gpu, range_, expected):
    shown = " ".join(written for _, written in on_gpu(gpu, [range_])[0])
    assert shown == expected


def test_a_scale_without_length_has_one_tick(gpu):
    assert on_gpu(gpu, [(0.25, 0.25, 5)])[0] == [(0.25, "0.2500")]
    assert on_gpu(gpu, [(0.0, 0.0, 5)])[0] == [(0.0, "0")]


def test_the_reference_is_exact():
    assert [tick.value for tick in reference.ticks(0.0, 0.5, 5)] == [Fraction(n, 10) for n in range(6)]
    assert reference.decade(Fraction(999, 1000)) == -1
    assert reference.decade(Fraction(10) ** 7) == 7
