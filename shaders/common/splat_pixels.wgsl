// A color and its alpha as four halves, as tiles of splats are stored.

fn packed_pixel(color: vec4f) -> vec2u {
    return vec2u(pack2x16float(min(color.rg, vec2f(6e4))), pack2x16float(vec2f(min(color.b, 6e4), color.a)));
}

fn unpacked_pixel(packed: vec2u) -> vec4f {
    return vec4f(unpack2x16float(packed.x), unpack2x16float(packed.y));
}
