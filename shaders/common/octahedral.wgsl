// A unit vector as two numbers of 16 bits in a word (Meyer et al. 2010, "On Floating-Point Normal Vectors").

fn octahedral(direction: vec3f) -> u32 {
    let across = direction / (abs(direction.x) + abs(direction.y) + abs(direction.z));
    let signs = select(vec2f(-1.0), vec2f(1.0), across.xy >= vec2f(0.0));
    return pack2x16snorm(select(across.xy, (1.0 - abs(across.yx)) * signs, across.z < 0.0));
}

fn from_octahedral(word: u32) -> vec3f {
    let across = unpack2x16snorm(word);
    let up = 1.0 - abs(across.x) - abs(across.y);
    let signs = select(vec2f(-1.0), vec2f(1.0), across >= vec2f(0.0));
    return normalize(vec3f(select(across, (1.0 - abs(across.yx)) * signs, up < 0.0), up));
}
