// A pixel of the outline of a liquid: the distance of its surface, 0 where there is none, and, as one number that a float is exact
// for, the samples that it covers, and where from here the pixel is whose light it has.

const MOST_AWAY = 511;      // pixels, of that

fn packed_outline(distance: f32, samples: u32, away: vec2i) -> vec2f {
    let numbers = vec2u(clamp(away, vec2i(-MOST_AWAY), vec2i(MOST_AWAY)) + MOST_AWAY + 1);
    return vec2f(select(0.0, distance, samples != 0u), f32(samples | (numbers.x << 4u) | (numbers.y << 14u)));
}

struct Outline {
    distance: f32,
    samples: u32,
    away: vec2i,
}

fn outline_of(packed: vec2f) -> Outline {
    let numbers = u32(packed.y);
    let away = vec2i(vec2u((numbers >> 4u) & 1023u, numbers >> 14u)) - MOST_AWAY - 1;
    return Outline(packed.x, numbers & 15u, away);
}
