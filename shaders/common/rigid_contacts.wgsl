// Contacts of bodies with a box and with each other, by sequential impulses (Catto 2005, "Iterative Dynamics with Temporal
// Coherence").
// Include for collide, after what models/rigid_body.wgsl declares: bodies and blocks, `moving`, and the functions of an obstacle.

const POINTS = 32u;
const SLOTS = 4u;        // contacts of a point: with three walls and with another body
const SWEEPS = 12u;
const PUSHED_OUT = 0.2;  // fraction of an overlap that a step takes away
const FASTEST_OUT = 1.0; // m/s, at most
const NONE = ${OBSTACLES}u;

var<workgroup> found: array<u32, ${32 * OBSTACLES}>;
var<workgroup> touching: array<u32, ${32 * OBSTACLES}>;     // the points that have contacts, in order

// A contact: point and gap; normal, away from what is touched, and the body that this is, or NONE; impulses.
fn note(slot: u32, at: vec3f, gap: f32, normal: vec3f, other: u32) {
    contacts[3u * slot] = vec4f(at, gap);
    contacts[3u * slot + 1u] = vec4f(normal, f32(other));
    contacts[3u * slot + 2u] = vec4f(0.0);
}

// The contacts of a point, and how many there are.
fn touched(pair: u32) -> u32 {
    let which = pair / POINTS;
    obstacle_block = blocks[which];
    if !is_free() || pair % POINTS >= u32(bodies[obstacle_block + 19u]) {
        return 0u;
    }
    let own = obstacle_row(48u + 3u * (pair % POINTS)) * bodies[obstacle_block + 4u];
    let at = obstacle_row(1u) + axes() * own;
    let radius = bodies[obstacle_block + 15u];
    let body = moving[which];
    let fast = length(body.velocity + cross(body.spin, at - body.center));
    let reach = 2.0 * params.dt * fast + 0.02 * length(obstacle_row(5u)) * bodies[obstacle_block + 4u];
    var count = 0u;
    for (var axis = 0u; axis < 3u; axis += 1u) {
        let below = at[axis] - params.low[axis] - radius;
        let above = params.high[axis] - at[axis] - radius;
        if min(below, above) < reach {
            var normal = vec3f(0.0);
            normal[axis] = select(-1.0, 1.0, below < above);
            note(SLOTS * pair + count, at - radius * normal, min(below, above), normal, NONE);
            count += 1u;
        }
    }
    var nearest = reach;
    var other = NONE;
    for (var k = 0u; k < ${OBSTACLES}u; k += 1u) {
        obstacle_block = blocks[k];
        let far = obstacle_distance(at) - radius;
        if k != which && far < nearest {
            nearest = far;
            other = k;
        }
    }
    if other < NONE {
        obstacle_block = blocks[other];
        let normal = obstacle_normal(at);
        note(SLOTS * pair + count, at - radius * normal, nearest, normal, other);
        count += 1u;
    }
    return count;
}

fn struck(which: u32, at: vec3f, impulse: vec3f) {
    moving[which].velocity += moving[which].lightness * ${"ALONG * " if FLAT else ""}impulse;
    moving[which].spin += moving[which].turning * cross(at - moving[which].center, impulse);
}

fn velocity_of(which: u32, at: vec3f) -> vec3f {
    return moving[which].velocity + cross(moving[which].spin, at - moving[which].center);
}

// How much faster a body is at a point along `direction` after a unit of impulse there.
fn yielding(which: u32, at: vec3f, direction: vec3f) -> f32 {
    let arm = at - moving[which].center;
    return moving[which].lightness${" * dot(ALONG * direction, direction)" if FLAT else ""} + dot(cross(moving[which].turning * cross(arm, direction), arm), direction);
}

// The impulse of a contact, so that it closes no faster than its gap allows, with Coulomb's friction.
fn solve(slot: u32, which: u32) {
    let at = contacts[3u * slot].xyz;
    let gap = contacts[3u * slot].w;
    let normal = contacts[3u * slot + 1u].xyz;
    let other = u32(contacts[3u * slot + 1u].w);
    let before = contacts[3u * slot + 2u];
    let is_body = other < NONE;
    let partner = min(other, NONE - 1u);
    let aim = select(min(-gap * PUSHED_OUT / params.dt, FASTEST_OUT), -gap / params.dt, gap > 0.0);
    var relative = velocity_of(which, at) - select(vec3f(0.0), velocity_of(partner, at), is_body);
    let inwards = dot(before.xyz, normal);
    let easy = yielding(which, at, normal) + select(0.0, yielding(partner, at, normal), is_body);
    let pressed = max(before.w + (aim - dot(relative, normal)) / easy, 0.0);
    var impulse = (pressed - before.w) * normal;
    struck(which, at, impulse);
    if is_body {
        struck(partner, at, -impulse);
    }
    relative = velocity_of(which, at) - select(vec3f(0.0), velocity_of(partner, at), is_body);
    let sliding = relative - dot(relative, normal) * normal;
    let speed = length(sliding);
    var rubbed = before.xyz - inwards * normal;
    if speed > 1e-9 {
        let direction = sliding / speed;
        let give = yielding(which, at, direction) + select(0.0, yielding(partner, at, direction), is_body);
        rubbed -= sliding / give;
    }
    let most = moving[which].friction * pressed;
    rubbed *= min(1.0, most / max(length(rubbed), 1e-20));
    impulse = rubbed - before.xyz;
    struck(which, at, impulse);
    if is_body {
        struck(partner, at, -impulse);
    }
    contacts[3u * slot + 2u] = vec4f(rubbed, pressed);
}

// Contacts of all bodies, with the velocities in `moving`, which change.
fn collide(lane: u32) {
    workgroupBarrier();
    for (var pair = lane; pair < ${32 * OBSTACLES}u; pair += 64u) {
        found[pair] = touched(pair);
    }
    storageBarrier();
    workgroupBarrier();
    if lane == 0u {
        var count = 0u;
        for (var pair = 0u; pair < ${32 * OBSTACLES}u; pair += 1u) {
            touching[count] = pair;
            count += min(found[pair], 1u);
        }
        for (var sweep = 0u; sweep < select(SWEEPS, 0u, count == 0u); sweep += 1u) {
            for (var n = 0u; n < count; n += 1u) {
                let pair = touching[n];
                for (var k = 0u; k < found[pair]; k += 1u) {
                    solve(SLOTS * pair + k, pair / POINTS);
                }
            }
        }
    }
    workgroupBarrier();
}
