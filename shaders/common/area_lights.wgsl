// Light of the rectangles, discs and spheres of `view.lights`, as it leaves a metal-rough surface. Diffuse: Lambert's formula for the
// irradiance of a polygon, cut off at the horizon. Facets: the same formula after a transformation that turns their lobe into a
// cosine (Heitz, Dupuy, Hill and Neubelt 2016, "Real-Time Polygonal-Light Shading with Linearly Transformed Cosines"), whose
// numbers tools/fit_area_lights.py has fitted to common/material.wgsl. A disc is a polygon of as large an area; a sphere is the disc that
// covers as much of what is seen from a point. Needs common/shadows.wgsl, which includes it.
// In: AREA_LIGHTS, whether there are any (true where it is not given): also where none shines, their code takes registers of a GPU.

@group(1) @binding(8) var area_lobes: texture_2d<f32>;     // by the eye's angle and roughness: tilt, and three numbers of a matrix

const RIM = 12u;                // corners of a disc

struct Outline {                // a polygon, relative to the point that it lights; two more corners where planes cut it
    corners: array<vec3f, 14>,
    count: u32,
}

// What of a light shines on a position of eye space, counterclockwise as the light has it.
fn outline_from(light: AreaLight, eye: vec3f) -> Outline {
    var out: Outline;
    let toward = light.center - eye;
    var right = light.right;
    var above = light.above;
    if light.kind > 1.5 {       // a sphere: the disc of its outline
        let away = length(toward);
        let radius = length(right);
        if away <= radius { return out; }
        let grown = radius / sqrt(1.0 - (radius / away) * (radius / away));
        right = normalize(select(vec3f(toward.y, -toward.x, 0.0), vec3f(0.0, toward.z, -toward.y), abs(toward.x) < abs(toward.z)));
        above = grown * cross(right, toward / away);
        right = grown * right;
    } else if dot(cross(right, above), toward) >= 0.0 {
        return out;             // behind it
    }
    if light.kind < 0.5 {
        out.corners[0] = toward - right - above;
        out.corners[1] = toward + right - above;
        out.corners[2] = toward + right + above;
        out.corners[3] = toward - right + above;
        out.count = 4u;
        return out;
    }
    for (var i = 0u; i < RIM; i++) {
        let angle = f32(i) * (2.0 * PI / f32(RIM));
        out.corners[i] = toward + 1.0235 * (cos(angle) * right + sin(angle) * above);  // of the area of the ellipse
    }
    out.count = RIM;
    return out;
}

// The part of a polygon on the side of a plane through the origin (Sutherland and Hodgman 1974).
fn cut(polygon: Outline, side: vec3f) -> Outline {
    var out: Outline;
    var before = polygon.corners[max(polygon.count, 1u) - 1u];
    for (var i = 0u; i < polygon.count; i++) {
        let corner = polygon.corners[i];
        let heights = vec2f(dot(before, side), dot(corner, side));
        if (heights.x > 0.0) != (heights.y > 0.0) {
            out.corners[min(out.count, 13u)] = mix(before, corner, heights.x / (heights.x - heights.y));
            out.count++;
        }
        if heights.y > 0.0 {
            out.corners[min(out.count, 13u)] = corner;
            out.count++;
        }
        before = corner;
    }
    return out;
}

// The part of a cosine lobe around `normal` that a polygon above the horizon covers: the sum over its edges of their angle, along their
// common normal.
fn covered_cosine(polygon: Outline, normal: vec3f) -> f32 {
    var sum = 0.0;
    var before = normalize(polygon.corners[max(polygon.count, 1u) - 1u]);
    for (var i = 0u; i < polygon.count; i++) {
        let corner = normalize(polygon.corners[i]);
        let around = cross(before, corner);
        let sine = length(around);
        sum += dot(around, normal) * select(1.0, atan2(sine, dot(before, corner)) / sine, sine > 1e-7);
        before = corner;
    }
    return abs(sum) / (2.0 * PI);
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

fn transformed(lobe: AreaLobe, polygon: Outline) -> Outline {
    var out: Outline;
    out.count = polygon.count;
    for (var i = 0u; i < polygon.count; i++) {
        let v = polygon.corners[i] * lobe.axes;
        let along = lobe.tilt.x * v.z - lobe.tilt.y * v.x;
        let across = lobe.tilt.x * v.x + lobe.tilt.y * v.z;
        out.corners[i] = vec3f((across - lobe.numbers.z * along) / lobe.numbers.x, v.y / lobe.numbers.y, along);
    }
    return out;
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
        let above = cut(outline_from(light, eye), normal);
        if above.count < 3u { continue; }
        let facets = cut(transformed(lobe, above), vec3f(0.0, 0.0, 1.0));
        let mirrored = part.once * part.gain * covered_cosine(facets, vec3f(0.0, 0.0, 1.0));
        let light_ = light.radiance * (part.below * covered_cosine(above, normal) + mirrored);
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
