// The tiles of an image that have lists of a liquid's particles. They have `TILE` pixels along each side, or twice as many for
// each level: the first level is used at which there is memory for all pairs of a tile and a particle. Needs a uniform
// `lists`, and for `level_of_lists` the `totals` of pairs at each level, in two words.

//% include "common/liquid_lists.wgsl"

const TILE = ${TILE}u;
const LEVELS = ${LEVELS}u;          // the last one has one tile
const NONE = vec2u(0xffffffffu);    // what touches no tile

// The first and the last tile along x and y, at a level.
fn tiles_of(rect: vec2u, level: u32) -> vec4u {
    return vec4u(rect.x & 0xffffu, rect.x >> 16u, rect.y & 0xffffu, rect.y >> 16u) >> vec4u(level);
}

fn tiles_across(level: u32) -> u32 {
    return (((lists.viewport.x - 1u) / TILE) >> level) + 1u;
}

//% if ENTRY != "project"
fn level_of_lists(capacity: u32) -> u32 {
    var level = 0u;
    while level + 1u < LEVELS && (totals[2u * level + 1u] > 0u || totals[2u * level] > capacity) { level++; }
    return level;
}
//% endif
