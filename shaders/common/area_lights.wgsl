// Light of the rectangles, discs and spheres of `view.lights`, as it leaves a metal-rough surface. Diffuse: Lambert's formula for the
// irradiance of a polygon, cut off at the horizon. Facets: the same formula after a transformation that turns their lobe into a
// cosine (Heitz, Dupuy, Hill and Neubelt 2016, "Real-Time Polygonal-Light Shading with Linearly Transformed Cosines"), whose
// numbers tools/fit_area_lights.py has fitted to common/material.wgsl. A disc is a polygon of as large an area; a sphere is the disc that
// covers as much of what is seen from a point. Needs common/shadows.wgsl, which includes it.
// In: AREA_LIGHTS, whether there are any (true where it is not given): also where none shines, their code takes registers of a GPU.

@group(1) @binding(8) var area_lobes: texture_2d<f32>;     // by the eye's angle and roughness: tilt, and three numbers of a matrix

const RIM = 12u;                // corners of a disc

struct Outline {                // of a light, relative to the point that it lights
    toward: vec3f,
    right: vec3f,
    above: vec3f,
    corners: u32,               // 4 of a rectangle, RIM of an ellipse; 0: it does not shine there
}

// What of a light shines on a position of eye space.
fn outline_from(light: AreaLight, eye: vec3f) -> Outline {
    let toward = light.center - eye;
    if light.kind < 1.5 {
        let before = dot(cross(light.right, light.above), toward) < 0.0;
        return Outline(toward, light.right, light.above, select(0u, select(4u, RIM, light.kind > 0.5), before));
    }
    let away = length(toward);      // a sphere: the disc of its outline
    let radius = length(light.right);
    let grown = radius / sqrt(max(1.0 - (radius / away) * (radius / away), 1e-6));
    let side = select(vec3f(toward.y, -toward.x, 0.0), vec3f(0.0, toward.z, -toward.y), abs(toward.x) < abs(toward.z));
    let right = normalize(side);
    return Outline(toward, grown * right, grown * cross(right, toward / away), select(0u, RIM, away > radius));
}

// Corners, counterclockwise as the light has them.
fn outline_corner(outline: Outline, number: u32) -> vec3f {
    let angle = f32(number) * (2.0 * PI / f32(RIM));
    let round = 1.0235 * vec2f(cos(angle), sin(angle));     // the polygon has the area of the ellipse
    let square = vec2f(select(-1.0, 1.0, number == 1u || number == 2u), select(-1.0, 1.0, number > 1u));
    let at = select(round, square, outline.corners == 4u);
    return outline.toward + at.x * outline.right + at.y * outline.above;
}

// A polygon whose corners come one after the other, and the part of a cosine lobe that it covers: the sum over its edges of their
// angle, along their common normal.
struct Covered {
    first: vec3f,
    last: vec3f,
    sum: f32,
}

fn edge_between(one: vec3f, other: vec3f, normal: vec3f) -> f32 {
    let around = cross(one, other);
    let sine = length(around);
    return dot(around, normal) * select(1.0, atan2(sine, dot(one, other)) / sine, sine > 1e-7);
}

fn with_corner(before: Covered, corner: vec3f, normal: vec3f) -> Covered {
    let direction = normalize(corner);
    if all(before.first == vec3f(0.0)) { return Covered(direction, direction, 0.0); }
    return Covered(before.first, direction, before.sum + edge_between(before.last, direction, normal));
}

fn covered_cosine(polygon: Covered, normal: vec3f) -> f32 {
    return abs(polygon.sum + edge_between(polygon.last, polygon.first, normal)) / (2.0 * PI);
}

struct AreaLobe {               // of facets, in the frame of a surface
    axes: mat3x3f,              // two across it, the first of them toward the eye, and its normal
    tilt: vec2f,                // cosine and sine of the angle between its middle and the normal, away from the eye
    numbers: vec3f,
}

fn area_lobe(roughness: f32, normal: vec3f, to_eye: vec3f) -> AreaLobe {
    let facing = clamp(dot(normal, to_eye), 0.0, 1.0);
    let side = to_eye - facing * normal;
    let other = select(vec3f(0.0, normal.z, -normal.y), vec3f(-normal.y, normal.x, 0.0), abs(normal.x) > abs(normal.z));
    let first = normalize(select(other, side, dot(side, side) > 1e-8));
    let size = vec2f(textureDimensions(area_lobes));
    let at = (vec2f(sqrt(1.0 - facing), roughness) * (size - 1.0) + 0.5) / size;
    let found = textureSampleLevel(area_lobes, environment_sampler, at, 0.0);
    let width = max(roughness * roughness, 0.005);
    return AreaLobe(
        mat3x3f(first, cross(normal, first), normal), vec2f(cos(found.x), sin(found.x)), width * found.yzw,
    );
}

fn in_lobe(lobe: AreaLobe, corner: vec3f) -> vec3f {
    let v = corner * lobe.axes;
    let along = lobe.tilt.x * v.z - lobe.tilt.y * v.x;
    let across = lobe.tilt.x * v.x + lobe.tilt.y * v.z;
    return vec3f((across - lobe.numbers.z * along) / lobe.numbers.x, v.y / lobe.numbers.y, along);
}

fn horizon_between(one: vec3f, height: f32, other: vec3f, other_height: f32) -> vec3f {
    return mix(one, other, height / (height - other_height));
}

// The parts of the cosine lobe around `normal` and of that of the facets that an outline covers. Both are cut off at their horizon, the
// second one at both, while its corners come (Sutherland and Hodgman 1974): arrays of corners would have to be in memory.
fn covered_lobes(outline: Outline, normal: vec3f, lobe: AreaLobe) -> vec2f {
    const UP = vec3f(0.0, 0.0, 1.0);
    var above = Covered();
    var facets = Covered();
    var corner = outline_corner(outline, max(outline.corners, 1u) - 1u);
    var height = dot(corner, normal);
    var first = vec3f(0.0);         // of those in the facets' lobe that are above the surface, and the latest
    var latest = vec3f(0.0);
    var begun = false;
    for (var n = 0u; n <= outline.corners; n++) {
        let is_last = n == outline.corners;     // from the latest corner back to the first
        let before = corner;
        let height_before = height;
        corner = outline_corner(outline, n);
        height = dot(corner, normal);
        for (var part = 0u; part < 2u; part++) {     // where an edge meets the horizon, then its end
            let meets = (height_before > 0.0) != (height > 0.0);
            if select(!select(height > 0.0, meets, part == 0u), part > 0u || !begun, is_last) { continue; }
            var next = first;
            if !is_last {
                let point = select(corner, horizon_between(before, height_before, corner, height), part == 0u);
                above = with_corner(above, point, normal);
                next = in_lobe(lobe, point);
                if !begun {
                    first = next;
                    latest = next;
                    begun = true;
                }
            }
            if (latest.z > 0.0) != (next.z > 0.0) {
                facets = with_corner(facets, horizon_between(latest, latest.z, next, next.z), UP);
            }
            if next.z > 0.0 && !is_last { facets = with_corner(facets, next, UP); }
            latest = next;
        }
    }
    return vec2f(covered_cosine(above, normal), covered_cosine(facets, UP));
}

// Light of all of them that leaves a surface toward the eye, by the parts of its reflection.
fn light_of_areas(
    material: Material, part: Reflection, normal: vec3f, to_eye: vec3f, eye: vec3f, pixel: vec2f,
) -> vec3f {
    var sum = vec3f(0.0);
    //% if AREA_LIGHTS is not defined or AREA_LIGHTS
    let count = select(0u, view.light_count, dot(eye, eye) < 1e30);    // a position matters in name only: see common/shadows.wgsl
    if count == 0u { return sum; }
    let lobe = area_lobe(material.roughness, normal, to_eye);
    for (var i = 0u; i < count; i++) {
        let light = view.lights[i];
        let covered = covered_lobes(outline_from(light, eye), normal, lobe);
        let light_ = light.radiance * (part.below * covered.x + part.once * part.gain * covered.y);
        if !any(light_ > vec3f(0.0)) { continue; }
        sum += light_ * area_open(light, eye, normal, pixel);
    }
    //% endif
    return sum;
}

// The visible fraction of a light behind what is opaque.
fn area_open(light: AreaLight, eye: vec3f, normal: vec3f, pixel: vec2f) -> f32 {
    let taps = select(0u, view.light_taps, light.map >= 0.0);
    if taps == 0u { return 1.0; }
    let forward = cross(normalize(light.map_above), normalize(light.map_right));
    let sunward = dot(normalize(light.center - eye), normal);
    let away = 0.6 + 1.2 * sqrt(max(1.0 - sunward * sunward, 0.0));
    let raised = eye + normal * (away * light.texel * max(dot(eye - light.center, forward), 0.0)) - light.center;
    let distance = dot(raised, forward);
    if distance <= light.near { return 1.0; }
    let across = vec2f(dot(raised, light.map_right), dot(raised, light.map_above)) / distance;
    let coordinate = across * vec2f(1.0, -1.0) + 0.5;
    let border = max(abs(across.x), abs(across.y));
    if border > 0.5 { return 1.0; }
    // The surface's own depth, near / distance, changes evenly across the map.
    let scale = vec2f(length(light.map_right), length(light.map_above));
    let plane = vec2f(dot(normal, light.map_right), dot(normal, light.map_above)) / (scale * scale);
    let facing = min(dot(normal, raised), -0.05 * distance);
    var slope = light.near * plane / facing * vec2f(1.0, -1.0);
    let turn = 6.2831853 * fract(52.9829189 * fract(dot(floor(pixel), vec2f(0.06711056, 0.00583715))));
    let depth = light.near / distance;
    let size = max(length(light.right), length(light.above));
    let axes = mat2x2f(
        vec2f(dot(light.right, light.map_right), -dot(light.right, light.map_above)) / (size * scale.x),
        vec2f(dot(light.above, light.map_right), -dot(light.above, light.map_above)) / (size * scale.x),
    );
    let is_round = light.kind > 1.5;
    let shape = mat2x2f(select(axes[0], vec2f(1.0, 0.0), is_round), select(axes[1], vec2f(0.0, 1.0), is_round));
    let search = min(light.search * light.spread / distance, 0.25);
    let map = ShadowMap(
        u32(light.map), vec3f(1.0, 0.0, 0.0), shape, light.spread / light.near, search, 2e-3 * depth,
    );
    let open = open_in_map(Shaded(vec3f(coordinate, depth), slope, turn), map, taps);
    return mix(open, 1.0, smoothstep(0.45, 0.5, border));
}
