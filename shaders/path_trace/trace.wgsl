// A path-traced image: for each pixel, the light of some more samples is added to what is there. In: the scene
// (common/trace_scene.wgsl). Out: sums of light and of coverage; with COUNT the number of rays instead of light, for benchmarks.
// Each sample follows a path from the eye (Kajiya 1986, "The Rendering Equation"). Where it is scattered, by a surface or in a
// volume, it looks at a light; what it meets by itself counts too, by multiple importance sampling with the power heuristic (Veach and
// Guibas 1995). Long paths end by Russian roulette (Arvo and Kirk 1990).
// The random numbers depend on the pixel and the sample only, and samples are added in their order: the image does not depend
// on how the work is split.
//% include "common/math.wgsl"
//% include "common/philox.wgsl"
//% include "common/color.wgsl"
//% include "common/trace_scene.wgsl"
//% include "common/trace_material.wgsl"
//% include "common/trace_light.wgsl"
//% include "common/trace_volume.wgsl"
//% include "common/trace_lamps.wgsl"
//% include "common/trace_floor.wgsl"

const CERTAIN = 3u;         // scatterings before chance may end a path
const MOST_LIGHT = 6e4;     // of one sample: more than a half float holds

var<private> counter: vec4u;

fn random() -> vec4f {
    counter.z += 1u;
    return philox_uniform(philox(counter, params.key));
}

// The line of sight through a position on the image, counted in pixels, from a position on the lens by two random numbers.
fn camera_ray(position: vec2f, random_: vec2f) -> Ray {
    let at = (2.0 * position / vec2f(params.size) - 1.0) * vec2f(1.0, -1.0);
    let aside = params.right * at.x + params.above * at.y;
    if params.parallel > 0.0 { return Ray(params.eye + aside, params.forward, 0u); }
    let angle = 2.0 * PI * random_.y;
    let on_lens = params.lens * sqrt(random_.x) * vec2f(cos(angle), sin(angle));
    let offset = normalize(params.right) * on_lens.x + normalize(params.above) * on_lens.y;
    return Ray(params.eye + offset, normalize(params.focus * (params.forward + aside) - offset), 0u);
}

// What is behind everything, and whether it covers the background.
fn backdrop(direction: vec3f) -> vec4f {
    if params.backdrop == 0.0 { return vec4f(0.0); }
    var toward = direction;
    // Blurred as facets would: each direction as often as the cosine says.
    for (var i = 0; i < 16 && params.blur > 0.0; i++) {
        let chance = random();
        let width = max(params.blur * params.blur, 1e-4);
        let cosine = sqrt((1.0 - chance.x) / (1.0 + (width * width - 1.0) * chance.x));
        let sine = sqrt(max(1.0 - cosine * cosine, 0.0));
        let facet = turned(vec3f(sine * cos(2.0 * PI * chance.y), sine * sin(2.0 * PI * chance.y), cosine), direction);
        toward = 2.0 * dot(direction, facet) * facet - direction;
        if chance.z < dot(toward, direction) { break; }
    }
    let off = length(cross(toward, params.sun));
    let disc = params.disc * (1.0 - smoothstep(0.00374, 0.00632, off)) * f32(dot(toward, params.sun) > 0.0);
    return vec4f(environment_toward(toward) + params.sun_white * disc * f32(with_y_up(toward).y > 0.0), 1.0);
}

// The surface at a hit.
struct Surface {
    position: vec3f,
    side: vec3f,            // the normal of the triangle or sphere, toward where the ray came from
    normal: vec3f,          // for light
    material: Material,
    emitted: vec3f,
    scattering: f32,        // the part of it that is lit
}

fn corner_normal(row: u32) -> vec3f {
    let across = unpack2x16snorm(corners[row].x);
    let up = 1.0 - abs(across.x) - abs(across.y);
    let folded = max(-up, 0.0);
    return normalize(vec3f(across + select(vec2f(folded), vec2f(-folded), across >= vec2f(0.0)), up));
}

fn surface_at(hit: Hit, ray: Ray) -> Surface {
    let first = primitives[3u * hit.primitive];
    let second = primitives[3u * hit.primitive + 1u];
    var out: Surface;
    out.position = ray.origin + hit.distance * ray.direction;
    if (first.w & SPHERE) != 0u {
        let center = bitcast<vec3f>(first.xyz);
        out.side = normalize(out.position - center);
        out.position = center + bitcast<f32>(second.x) * out.side;
        out.normal = out.side;
    } else {
        let a = bitcast<vec3f>(first.xyz);
        let ab = bitcast<vec3f>(second.xyz) - a;
        let ac = bitcast<vec3f>(primitives[3u * hit.primitive + 2u].xyz) - a;
        out.position = a + hit.u * ab + hit.v * ac;
        out.side = normalize(cross(ab, ac));
        out.normal = out.side;
        if (first.w & FLAT) == 0u {
            out.normal = normalize(
                (1.0 - hit.u - hit.v) * corner_normal(second.w) + hit.u * corner_normal(second.w + 1u)
                    + hit.v * corner_normal(second.w + 2u),
            );
        }
    }
    let to_eye = -ray.direction;
    if dot(out.side, to_eye) < 0.0 { out.side = -out.side; }
    if dot(out.normal, out.side) < 0.0 { out.normal = -out.normal; }
    // A smooth normal may lean away from the eye near an outline.
    let facing = dot(out.normal, to_eye);
    if facing < 0.01 { out.normal = normalize(out.normal + (0.01 - facing) * to_eye); }
    let row = materials[2u * (first.w & MATERIAL)];
    let glow = materials[2u * (first.w & MATERIAL) + 1u];
    let values = bitcast<vec4f>(row);       // metallic, roughness, emissive, brightness
    let emission = bitcast<vec4f>(glow);    // light of its own, and 1 for what is not lit
    let base = color_at(hit.primitive, hit.u, hit.v).rgb;
    out.material = Material(base, values.x, values.y);
    // A glowing ball is darker toward its rim, as in draw/points.wgsl.
    let rim = select(1.0, 0.45 + 0.55 * dot(out.normal, to_eye), (first.w & SPHERE) != 0u);
    out.emitted = base * (values.z * values.w * rim + emission.w) + emission.rgb;
    out.scattering = (1.0 - values.z) * (1.0 - emission.w);
    return out;
}

// Where a ray begins that leaves a surface: so far above it that rounding does not let it meet it again.
fn lifted(surface: Surface, distance: f32, direction: vec3f) -> vec3f {
    let size = abs(surface.position);
    let away = 1e-5 * (max(size.x, max(size.y, size.z)) + 0.1 * distance) + 1e-7;
    return surface.position + surface.side * select(-away, away, dot(surface.side, direction) > 0.0);
}

// The weight of a sample of one strategy that the other could have found too.
fn power_weight(own: f32, other: f32) -> f32 {
    let ratio = other / max(own, 1e-30);
    return 1.0 / (1.0 + ratio * ratio);
}

// The part of the light from a direction that arrives, from `farthest` away.
fn arriving(origin: vec3f, direction: vec3f, farthest: f32) -> f32 {
    let ray = Ray(origin, direction, stream + 1u);
    if traced(ray, farthest, true).primitive != NONE { return 0.0; }
    return transmittance(ray, farthest);
}

// Light of the area lights that a ray meets before `farthest`, of directions as dense as `density`.
fn lamps_met(ray: Ray, farthest: f32, density: f32) -> vec3f {
    var light = vec3f(0.0);
    let total = select(0.0, lamp_weights(ray.origin), params.lamp_count > 0u);
    for (var i = 0u; i < params.lamp_count; i++) {
        let lamp = lamp_at(i);
        let distance = meet_lamp(lamp, ray.origin, ray.direction);
        if distance >= farthest { continue; }
        let chosen = lamp_weight(lamp, ray.origin) / max(total, 1e-30)
            * lamp_density(lamp, ray.origin, ray.direction, distance);
        light += lamp.radiance * power_weight(density, chosen);
    }
    return light;
}

// The nearest of them that the eye sees on a line of sight before `farthest`: its light, and how far away it is, or `farthest`.
fn visible_lamp(ray: Ray, farthest: f32) -> vec4f {
    var light = vec3f(0.0);
    var nearest = farthest;
    for (var i = 0u; i < params.lamp_count; i++) {
        let lamp = lamp_at(i);
        let distance = meet_lamp(lamp, ray.origin, ray.direction);
        if lamp.visible > 0.0 && distance < nearest && !is_clipped(ray.origin + distance * ray.direction) {
            nearest = distance;
            light = lamp.radiance;
        }
    }
    return vec4f(light, nearest);
}

// A direction to an area light, the light from there for each unit of its density, and that.
struct LampSample {
    direction: vec3f,
    distance: f32,
    light: vec3f,           // divided by the density
    density: f32,           // 0: there is none
}

fn sample_of_lamps(origin: vec3f) -> LampSample {
    if params.lamp_count == 0u { return LampSample(); }
    let chances = random();
    let choice = chosen_lamp(origin, chances.z);
    if choice.number == NONE { return LampSample(); }
    let lamp = lamp_at(choice.number);
    let direction = lamp_direction(lamp, origin, chances.xy);
    let distance = meet_lamp(lamp, origin, direction);
    if distance >= FAR { return LampSample(); }
    let density = choice.part * lamp_density(lamp, origin, direction, distance);
    return LampSample(direction, 0.9999 * distance, lamp.radiance / density, density);
}

// Light that arrives at a scattering, if nothing is in its way.
struct Incident {
    origin: vec3f,
    direction: vec3f,
    distance: f32,          // of the light
    light: vec3f,           // what of it goes on along the path
}

fn is_dark(light: vec3f) -> bool {
    return max(light.r, max(light.g, light.b)) <= 0.0;
}

fn sample_light(first: Ray) -> vec4f {
    var ray = first;
    var light = vec3f(0.0);
    var through = vec3f(1.0);       // the part of what is found that reaches the eye
    var density = 0.0;              // of the direction of the ray; 0: it comes from the eye
    var path = 0.0;                 // how far a line of sight has come
    var bounces = 0u;
    var scatterings = 0u;
    let has_light = params.sun_part > 0.0 || params.environment_size.x > 0u;
    loop {
        let chances = random();
        stream = u32(chances.x * 16777216.0) * 2891336453u + counter.x * 747796405u;
        ray.chance = stream;
        let hit = traced(ray, FAR, false);
        let stop = collision(ray, hit.distance);
        var floor = FAR;            // where a line of sight meets it
        if density > 0.0 {
            light += through * lamps_met(ray, stop.distance, density);
        } else {
            let lamp = visible_lamp(ray, stop.distance);
            floor = floor_distance(ray);
            if floor >= lamp.w {
                floor = FAR;
                if lamp.w < stop.distance { return vec4f(light + through * lamp.rgb, 1.0); }
            }
        }
        let on_floor = floor < FAR;
        if !on_floor && stop.volume == NONE && hit.primitive == NONE {
            if density == 0.0 {
                let behind = backdrop(ray.direction);
                return vec4f(light + through * behind.rgb, 1.0 - through.r * (1.0 - behind.a));
            }
            light += through * light_toward(ray.direction) * power_weight(density, light_density(ray.direction));
            break;
        }
        let sampled = random();
        let toward_light = light_direction(sampled.xyz);
        let chosen = light_density(toward_light);
        let is_lit = has_light && chosen > 0.0;
        var incident: array<Incident, 2>;
        var next = ray;
        var goes_on = true;
        var passes = vec3f(1.0);    // the part of what comes along the next ray
        if on_floor {
            next.origin = ray.origin + (1.00001 * floor + 1e-6) * ray.direction;
            if params.sun_part > 0.0 && params.floor_shade > 0.0 {
                let above = ray.origin + floor * ray.direction + (1e-5 * floor + 1e-6) * params.floor_up;
                incident[0] = Incident(above, sun_direction(sampled.xy), FAR, vec3f(1.0));
            }
        } else if stop.volume != NONE {
            let volume = volume_at(stop.volume);
            let position = ray.origin + stop.distance * ray.direction;
            let color = volume_color(volume, position);
            light += through * (color * (volume.brightness * volume.emissive) + volume_glow(volume, position));
            scatterings += 1u;
            through *= particle_albedo(color, volume.anisotropy) * (1.0 - volume.emissive);
            if scatterings > params.scatterings || is_dark(through) { break; }
            if is_lit {
                let scattered = phase(dot(ray.direction, toward_light), volume.anisotropy);
                let weight = scattered / chosen * power_weight(chosen, scattered);
                incident[0] = Incident(position, toward_light, FAR, light_toward(toward_light) * weight);
            }
            let lamp = sample_of_lamps(position);
            if lamp.density > 0.0 {
                let scattered = phase(dot(ray.direction, lamp.direction), volume.anisotropy);
                let weight = scattered * power_weight(lamp.density, scattered);
                incident[1] = Incident(position, lamp.direction, lamp.distance, lamp.light * weight);
            }
            let direction = scattered_direction(ray.direction, volume.anisotropy, chances.yz);
            density = phase(dot(ray.direction, direction), volume.anisotropy);
            next = Ray(position, direction, 0u);
        } else {
            let surface = surface_at(hit, ray);
            light += through * surface.emitted;
            through *= surface.scattering;
            if bounces > params.bounces || surface.scattering <= 0.0 { break; }
            let facing_eye = facing_to(surface.material, surface.normal, -ray.direction);
            if is_lit && dot(toward_light, surface.side) > 0.0 {
                let back = reflected(facing_eye, toward_light);
                let weight = power_weight(chosen, reflected_density(facing_eye, toward_light)) / chosen;
                let origin = lifted(surface, hit.distance, toward_light);
                incident[0] = Incident(origin, toward_light, FAR, back * light_toward(toward_light) * weight);
            }
            let lamp = sample_of_lamps(surface.position);
            if lamp.density > 0.0 && dot(lamp.direction, surface.side) > 0.0 {
                let weight = power_weight(lamp.density, reflected_density(facing_eye, lamp.direction));
                let origin = lifted(surface, hit.distance, lamp.direction);
                let back = reflected(facing_eye, lamp.direction);
                incident[1] = Incident(origin, lamp.direction, lamp.distance, back * lamp.light * weight);
            }
            let direction = reflected_direction(facing_eye, chances.yzw);
            density = reflected_density(facing_eye, direction);
            goes_on = density > 0.0 && dot(direction, surface.side) > 0.0;
            passes = reflected(facing_eye, direction) / max(density, 1e-30);
            next = Ray(lifted(surface, hit.distance, direction), direction, 0u);
            bounces += 1u;
        }
        // One loop for all shadows: the walk through the tree is compiled wherever it is called.
        var arrives = array<f32, 2>(0.0, 0.0);
        for (var i = 0u; i < 2u; i++) {
            if is_dark(incident[i].light) { continue; }
            arrives[i] = arriving(incident[i].origin, incident[i].direction, incident[i].distance);
        }
        if on_floor {
            let ground = floor_light_at(ray, floor, path, select(1.0, arrives[0], !is_dark(incident[0].light)));
            light += through * ground.rgb;
            through *= 1.0 - ground.a;
            path += floor;
        } else {
            light += through * (incident[0].light * arrives[0] + incident[1].light * arrives[1]);
            through *= passes;
        }
        if !goes_on { break; }
        ray = next;
        if bounces + scatterings > CERTAIN {
            let survives = min(max(through.r, max(through.g, through.b)), 0.95);
            if sampled.w >= survives { break; }
            through /= survives;
        }
    }
    return vec4f(light, 1.0);
}

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= params.size.x || id.y >= params.rows { return; }
    let pixel = vec2u(id.x, params.first_row + id.y);
    let number = pixel.y * params.size.x + pixel.x;
    var sum = sums[number];
    for (var i = 0u; i < params.samples; i++) {
        counter = vec4u(number, params.first_sample + i, 0u, 0u);
        let chances = random();
        let ray = camera_ray(vec2f(pixel) + chances.xy, chances.zw);
//% if COUNT
        rays = 0u;
        let covered = sample_light(ray).a;
        let found = vec4f(vec3f(f32(rays)), covered);
//% else
        let found = sample_light(ray);
//% endif
        let is_sound = all_finite(found.rgb);
        sum += vec4f(select(vec3f(0.0), clamp(found.rgb, vec3f(0.0), vec3f(MOST_LIGHT)), is_sound), found.a);
    }
    sums[number] = sum;
}
