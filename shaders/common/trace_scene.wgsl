// What a path tracer knows: camera, light, triangles and spheres in a tree of boxes, and the tables that they refer to.
// Mirrored by app/vertigrad/path_trace/. All positions and directions are in world space.
// The tree is that of path_trace/tree.py: each node has the boxes of its two children (Aila and Laine 2009, "Understanding the
// Efficiency of Ray Traversal on GPUs"); it is walked with a stack, the nearer child first.

//% include "common/hashed.wgsl"
//% include "common/fresnel.wgsl"

struct Params {
    size: vec2u,            // pixels of the image
    first_row: u32,         // of those that this dispatch traces
    rows: u32,
    key: vec2u,             // of the random numbers
    first_sample: u32,
    samples: u32,
    bounces: u32,           // of light at surfaces
    scatterings: u32,       // in volumes
    volume_count: u32,
    has_tree: u32,          // 0: there are only volumes
    first_volume: u32,      // row of `materials`, where they begin
    eye: vec3f,
    parallel: f32,          // 1: orthographic
    right: vec3f,           // half the width of the image: at distance 1, or everywhere if orthographic
    backdrop: f32,          // 1: the light from around is visible, 0: the background is
    above: vec3f,           // half the height
    lens: f32,              // radius of the lens; 0: everything is sharp
    focus: f32,             // distance of what is sharp, along `forward`
    blur: f32,              // roughness with which the backdrop is seen
    forward: vec3f,
    disc: f32,              // radiance of the visible disc of the sun, for that of a white surface; 0: there is none
    sun: vec3f,             // toward the sun
    sun_sine: f32,          // of half its angle
    sun_light: vec3f,       // radiance of the sun
    sun_density: f32,       // of directions to it: 1 / solid angle
    sun_white: vec3f,       // radiance of a white matt surface that faces it
    sun_part: f32,          // the part of the samples of light that goes to the sun
    up_z: f32,              // 1: z is up in the world, else y
    turn: f32,              // of the environment around the up axis [rad]
    environment_size: vec2u,    // columns and rows of its table; 0: there is no light from around
    environment: u32,       // elements of `tables` where it begins, r, g, b;
    marginal: u32,          // the cumulative distribution of its rows;
    conditional: u32,       // and of the columns of each row
    lamps: u32,             // the area lights: common/trace_lamps.wgsl;
    lamp_count: u32,
    reflectance: u32,       // the table of what facets reflect, by facing and roughness
    clip_0: vec4f,          // planes: what has dot(plane, (position, 1)) > 0 is cut off
    clip_1: vec4f,
    clip_2: vec4f,
    floor_up: vec3f,        // the world's up: common/trace_floor.wgsl
    floor_height: f32,
    floor_middle: vec3f,    // of the box around everything
    floor_size: f32,        // over which it fades; 0: there is no floor
    floor_light: f32,       // radiance of its lines
    floor_line: f32,        // and how wide they are, in pixels
    floor_shade: f32,       // how dark shadows are on it
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> nodes: array<vec4u>;
@group(0) @binding(2) var<storage, read> primitives: array<vec4u>;  // three for each: corners; center and radius; two ends, radii
@group(0) @binding(3) var<storage, read> corners: array<vec4u>;     // normal, color (two), and one that is free
@group(0) @binding(4) var<storage, read> materials: array<vec4u>;   // rows of words: four of each, then those of volumes
@group(0) @binding(5) var<storage, read> tables: array<f32>;
@group(0) @binding(6) var<storage, read_write> sums: array<vec4f>;  // of light and coverage, for each pixel

const LEAF = 0x80000000u;       // of a child: 28 bits of the first primitive, and 3 of their number
const SPHERE = 0x80000000u;     // of a primitive, whose lowest bits are its material
const CLEAR = 0x40000000u;      // lets light through
const FLAT = 0x20000000u;       // has no normals; of a piece of a line: casts no shadow
const LIQUID = 0x10000000u;     // is a side of a liquid's surface, whose corners turn counterclockwise as seen from outside
const TUBE = 0x08000000u;       // is a piece of a line
const MATERIAL = 0x00ffffffu;
const NONE = 0xffffffffu;
const MOST_LEVELS = 64u;       // of the tree: its keys have 63 bits
const FAR = 3e38;

struct Ray {
    origin: vec3f,
    direction: vec3f,       // of unit length
    chance: u32,            // decides whether it passes through what is transparent
}

// What a liquid does with light, for each world unit; black and 0 is air.
struct Medium {
    absorption: vec3f,
    scattering: f32,
    ior: f32,               // index of refraction; 0: air
}

const AIR = Medium(vec3f(0.0), 0.0, 0.0);

struct Hit {
    distance: f32,
    primitive: u32,         // NONE: nothing was hit
    u: f32,                 // weights of the second and the third corner
    v: f32,
}

fn is_clipped(position: vec3f) -> bool {
    let at = vec4f(position, 1.0);
    return max(dot(params.clip_0, at), max(dot(params.clip_1, at), dot(params.clip_2, at))) > 0.0;
}

// Where a ray enters a box, or FAR if it misses it before `farthest`. The far side is moved by 2 ulp (Ize 2013, "Robust BVH Ray
// Traversal").
fn entry(low: vec3f, high: vec3f, ray: Ray, inverse: vec3f, farthest: f32) -> f32 {
    let a = (low - ray.origin) * inverse;
    let b = (high - ray.origin) * inverse;
    let nearer = min(a, b);
    let farther = max(a, b);
    let begin = max(max(nearer.x, nearer.y), max(nearer.z, 0.0));
    let end = min(min(farther.x, farther.y), min(farther.z, farthest)) * 1.0000004;
    return select(FAR, begin, begin <= end);
}

fn corner_color(row: u32) -> vec4f {
    let packed = corners[row].yz;
    return vec4f(unpack2x16float(packed.x), unpack2x16float(packed.y));
}

fn color_at(primitive: u32, u: f32, v: f32) -> vec4f {
    let first = primitives[3u * primitive + 1u].w;
    if (primitives[3u * primitive].w & SPHERE) != 0u { return corner_color(first); }
    return (1.0 - u - v) * corner_color(first) + u * corner_color(first + 1u) + v * corner_color(first + 2u);
}

// Whether a ray is stopped by what it hits: by a part of what is transparent.
fn stops(flags: u32, primitive: u32, ray: Ray, alpha: f32) -> bool {
    return (flags & CLEAR) == 0u || hashed(primitive, ray.chance) < alpha;
}

//% if not MAPS and not LOBES
// Of a triangle that lets light through: how opaque it is, and the color with which it does.
fn passed_color(flags: u32, primitive: u32, u: f32, v: f32) -> vec4f {
    return vec4f(vec3f(1.0), color_at(primitive, u, v).a);
}

//% endif
fn liquid_of(flags: u32) -> Medium {
    let row = 4u * (flags & MATERIAL);
    let values = bitcast<vec4f>(materials[row + 2u]);
    return Medium(values.xyz, bitcast<f32>(materials[row + 3u].x), values.w);
}

// What liquids take of the light that a straight ray brings: shadow rays go through them, and are not refracted.
var<private> liquid_count: u32;         // of surfaces on the way
var<private> liquid_passes: vec3f;      // the fraction that they do not reflect
var<private> liquid_depth: vec3f;       // optical depth, as if a liquid that is entered did not end,
var<private> liquid_extinction: vec3f;  // and extinction at the end

fn pass_liquid(flags: u32, distance: f32, cosine: f32, tint: vec3f) {
    let liquid = liquid_of(flags);
    let extinction = (liquid.absorption + liquid.scattering) * sign(cosine);    // above 0: it is entered
    liquid_count += 1u;
    liquid_passes *= tint * (1.0 - fresnel(max(abs(cosine), 1e-4), liquid.ior));
    liquid_depth -= extinction * distance;
    liquid_extinction += extinction;
}

// A sphere, by the stable quadratic of Haines, Guenther and Akenine-Moeller 2019 (Ray Tracing Gems, chapter 7). Where its near side is
// cut away, the far one is hit.
fn meet_sphere(primitive: u32, first: vec4u, ray: Ray, hit: ptr<function, Hit>) {
    let from_center = ray.origin - bitcast<vec3f>(first.xyz);
    let radius = bitcast<f32>(primitives[3u * primitive + 1u].x);
    let along = -dot(from_center, ray.direction);
    let aside = from_center + along * ray.direction;
    let inside = radius * radius - dot(aside, aside);
    if inside < 0.0 { return; }
    let q = along + select(-1.0, 1.0, along >= 0.0) * sqrt(inside);
    let c = dot(from_center, from_center) - radius * radius;
    let near = min(c / q, q);
    let far = max(c / q, q);
    var found = near;
    if !(near > 0.0) || is_clipped(ray.origin + near * ray.direction) { found = far; }
    if !(found > 0.0 && found < (*hit).distance) || is_clipped(ray.origin + found * ray.direction) { return; }
    if stops(first.w, primitive, ray, color_at(primitive, 0.0, 0.0).a) { *hit = Hit(found, primitive, 0.0, 0.0); }
}

// A triangle, by Moeller and Trumbore 1997.
fn meet_triangle(primitive: u32, first: vec4u, ray: Ray, anything: bool, hit: ptr<function, Hit>) {
    let a = bitcast<vec3f>(first.xyz);
    let ab = bitcast<vec3f>(primitives[3u * primitive + 1u].xyz) - a;
    let ac = bitcast<vec3f>(primitives[3u * primitive + 2u].xyz) - a;
    let across = cross(ray.direction, ac);
    let area = dot(ab, across);
    if area == 0.0 { return; }
    let from_a = ray.origin - a;
    let u = dot(from_a, across) / area;
    let over = cross(from_a, ab);
    let v = dot(ray.direction, over) / area;
    let distance = dot(ac, over) / area;
    if !(u >= 0.0 && v >= 0.0 && u + v <= 1.0 && distance > 0.0 && distance < (*hit).distance) { return; }
    if is_clipped(ray.origin + distance * ray.direction) { return; }
    var color = vec4f(1.0);
    if (first.w & (CLEAR | LIQUID)) != 0u { color = passed_color(first.w, primitive, u, v); }
    if !stops(first.w, primitive, ray, color.a) { return; }
    if anything && (first.w & LIQUID) != 0u {
        pass_liquid(first.w, distance, area / length(cross(ab, ac)), color.rgb);
        return;
    }
    *hit = Hit(distance, primitive, u, v);
}

//% if COUNT
var<private> rays: u32;         // that were traced

//% endif
// What a ray hits first before `farthest`; with `anything`, whatever it hits but liquids, which it passes.
fn traced(ray: Ray, farthest: f32, anything: bool) -> Hit {
    var hit = Hit(farthest, NONE, 0.0, 0.0);
//% if COUNT
    rays += 1u;
//% endif
    if params.has_tree == 0u { return hit; }
    let inverse = 1.0 / select(ray.direction, vec3f(1e-30), abs(ray.direction) < vec3f(1e-30));
    var stack: array<u32, MOST_LEVELS>;
    var top = 0u;
    var child = 0u;
    loop {
        if (child & LEAF) != 0u {
            let first = (child & ~LEAF) >> 3u;
            for (var i = first; i < first + (child & 7u); i++) {
                let words = primitives[3u * i];
                if (words.w & SPHERE) != 0u {
                    meet_sphere(i, words, ray, &hit);
//% if TUBES
                } else if (words.w & TUBE) != 0u {
                    if !anything || (words.w & FLAT) == 0u { meet_tube(i, words, ray, &hit); }
//% endif
                } else {
                    meet_triangle(i, words, ray, anything, &hit);
                }
            }
            if anything && hit.primitive != NONE { return hit; }
        } else {
            let low_0 = nodes[4u * child];
            let high_0 = nodes[4u * child + 1u];
            let low_1 = nodes[4u * child + 2u];
            let high_1 = nodes[4u * child + 3u];
            let near_0 = entry(bitcast<vec3f>(low_0.xyz), bitcast<vec3f>(high_0.xyz), ray, inverse, hit.distance);
            let near_1 = entry(bitcast<vec3f>(low_1.xyz), bitcast<vec3f>(high_1.xyz), ray, inverse, hit.distance);
            let nearer = select(low_1.w, low_0.w, near_0 <= near_1);
            if max(near_0, near_1) < FAR {
                stack[top] = select(low_0.w, low_1.w, near_0 <= near_1);
                top++;
            }
            if min(near_0, near_1) < FAR {
                child = nearer;
                continue;
            }
        }
        if top == 0u { break; }
        top--;
        child = stack[top];
    }
    return hit;
}

// Two axes across a unit vector, and it (Duff et al. 2017, "Building an Orthonormal Basis, Revisited").
fn axes_around(n: vec3f) -> mat3x3f {
    let side = select(-1.0, 1.0, n.z >= 0.0);
    let a = -1.0 / (side + n.z);
    let b = n.x * n.y * a;
    return mat3x3f(vec3f(1.0 + side * n.x * n.x * a, side * b, -side * n.x), vec3f(b, side + n.y * n.y * a, -n.y), n);
}

fn turned(local: vec3f, n: vec3f) -> vec3f {
    return axes_around(n) * local;
}

fn counted(direction: vec3f, n: vec3f) -> vec3f {
    return direction * axes_around(n);
}
