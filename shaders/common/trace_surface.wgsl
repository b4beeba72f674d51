// Surfaces for a path tracer, where rays hit them. Needs common/trace_scene.wgsl and common/trace_material.wgsl.

// The surface at a hit.
struct Surface {
    position: vec3f,
    side: vec3f,            // the normal of the triangle or sphere, toward where the ray came from
    normal: vec3f,          // for light
    material: Material,
    emitted: vec3f,
    scattering: f32,        // the part of it that is lit
    is_front: bool,         // the ray came from where the corners of the triangle turn counterclockwise
    dielectric: f32,        // what it reflects head-on where it is no metal
    is_clear: bool,         // what it does not reflect is refracted
    tint: vec3f,            // and multiplied by this
    is_thin: bool,          // it has two sides that are so close that light goes straight on
    is_rough: bool,         // facets refract it, as they reflect
}

fn corner_normal(row: u32) -> vec3f {
    return from_octahedral(corners[row].x);
}

fn surface_at(hit: Hit, ray: Ray) -> Surface {
    let first = primitives[3u * hit.primitive];
    let second = primitives[3u * hit.primitive + 1u];
    var out = Surface();
    var edges = mat2x3f();
    out.position = ray.origin + hit.distance * ray.direction;
    if (first.w & SPHERE) != 0u {
        let center = bitcast<vec3f>(first.xyz);
        out.side = normalize(out.position - center);
        out.position = center + bitcast<f32>(second.x) * out.side;
        out.normal = out.side;
//% if TUBES
    } else if (first.w & TUBE) != 0u {
        let tube = tube_at(hit.primitive);
        let center = tube.begin + hit.u * tube.along;
        out.side = normalize(out.position - center);
        out.position = center + (tube.radius - hit.u * tube.thinner) * out.side;
        out.normal = out.side;
//% endif
    } else {
        let a = bitcast<vec3f>(first.xyz);
        let ab = bitcast<vec3f>(second.xyz) - a;
        let ac = bitcast<vec3f>(primitives[3u * hit.primitive + 2u].xyz) - a;
        out.position = a + hit.u * ab + hit.v * ac;
        out.side = normalize(cross(ab, ac));
        edges = mat2x3f(ab, ac);
        out.normal = out.side;
        if (first.w & FLAT) == 0u {
            out.normal = normalize(
                (1.0 - hit.u - hit.v) * corner_normal(second.w) + hit.u * corner_normal(second.w + 1u)
                    + hit.v * corner_normal(second.w + 2u),
            );
        }
    }
    let to_eye = -ray.direction;
    out.is_front = dot(out.side, to_eye) >= 0.0;
    if !out.is_front { out.side = -out.side; }
    if dot(out.normal, out.side) < 0.0 { out.normal = -out.normal; }
    let row = materials[4u * (first.w & MATERIAL)];
    let glow = materials[4u * (first.w & MATERIAL) + 1u];
    var values = bitcast<vec4f>(row);       // metallic, roughness, emissive, brightness
    var emission = bitcast<vec4f>(glow);    // light of its own, and 1 for what is not lit
    var base = color_at(hit.primitive, hit.u, hit.v).rgb;
    let smooth_normal = out.normal;
//% if MAPS
    let mapped = mapped_at(hit, first.w, second.w);
    let least = min(values.y, LEAST_ROUGHNESS);
    values *= vec4f(maps[METALLIC_ROUGHNESS].zy, 1.0, 1.0);
    values.y = max(values.y, least);
    emission *= vec4f(maps[EMISSIVE].rgb, 1.0);
    base *= maps[BASE_COLOR].rgb;
    out.normal = turned_normal(mapped, edges, smooth_normal, out.is_front, NORMAL);
//% endif
    out.material = Material(base, values.x, values.y);
    // A glowing ball is darker toward its rim, as in draw/points.wgsl.
    let rim = select(1.0, 0.45 + 0.55 * dot(out.normal, to_eye), (first.w & SPHERE) != 0u);
    out.emitted = base * (values.z * values.w * rim + emission.w) + emission.rgb;
    out.scattering = (1.0 - values.z) * (1.0 - emission.w);
    out.dielectric = PAINT;
    out.is_clear = (first.w & LIQUID) != 0u;
    out.tint = vec3f(1.0);
//% if LOBES
    choose_layer(&out, details_of(first.w), ${"turned_normal(mapped, edges, smooth_normal, out.is_front, COAT_NORMAL)" if MAPS else "smooth_normal"}, to_eye);
//% endif
    // A normal may lean away from the eye near an outline, or where a map turns it.
    let facing = dot(out.normal, to_eye);
    if facing < 0.01 { out.normal = normalize(out.normal + (0.01 - facing) * to_eye); }
    return out;
}

// Where a ray begins that leaves a surface: so far above it that rounding does not let it meet it again.
fn lifted(surface: Surface, distance: f32, direction: vec3f) -> vec3f {
    let size = abs(surface.position);
    let away = 1e-5 * (max(size.x, max(size.y, size.z)) + 0.1 * distance) + 1e-7;
    return surface.position + surface.side * select(-away, away, dot(surface.side, direction) > 0.0);
}
