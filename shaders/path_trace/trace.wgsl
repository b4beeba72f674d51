// A path-traced image: for each pixel, the light of some more samples is added to what is there. In: the scene
// (common/trace_scene.wgsl). Out: sums of light and of coverage; with COUNT the number of rays instead of light, for benchmarks.
// Each sample follows a path from the eye (Kajiya 1986, "The Rendering Equation"). Where it is scattered, by a surface or in a
// volume, it looks at a light; what it meets by itself counts too, by multiple importance sampling with the power heuristic (Veach and
// Guibas 1995). Long paths end by Russian roulette (Arvo and Kirk 1990).
// The random numbers depend on the pixel and the sample only, and samples are added in their order: the image does not depend
// on how the work is split.
//% include "common/math.wgsl"
//% include "common/philox.wgsl"
//% include "common/sobol.wgsl"
//% include "common/color.wgsl"
//% include "common/octahedral.wgsl"
//% include "common/trace_scene.wgsl"
//% include "common/trace_material.wgsl"
//% include "common/trace_surface.wgsl"
//% if TUBES
//% include "common/trace_tube.wgsl"
//% endif
//% if MAPS or LOBES
//% include "common/trace_asset.wgsl"
//% endif
//% include "common/trace_light.wgsl"
//% include "common/trace_volume.wgsl"
//% include "common/trace_lamps.wgsl"
//% include "common/trace_floor.wgsl"
//% include "common/trace_liquid.wgsl"

const EVEN = 4u;            // calls of `random` of a sample
const CERTAIN = 3u;         // scatterings before chance may end a path
const MOST_LIGHT = 6e4;     // of one sample: more than a half float holds

var<private> counter: vec4u;

// The first ones fill their range evenly over the samples of a pixel: those of the lens, of what the eye meets first, and of its light.
fn random() -> vec4f {
    counter.z += 1u;
    if counter.z > EVEN { return philox_uniform(philox(counter, params.key)); }
    let seeds = philox(vec4u(counter.x, 0xffffffffu, counter.z, 0u), params.key);
    return philox_uniform(scrambled_point(counter.y, seeds));
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

// What is behind everything, with `part` of the light from around, and whether it covers the background.
fn backdrop(direction: vec3f, part: f32) -> vec4f {
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
    return vec4f(part * environment_toward(toward) + params.sun_white * disc * f32(with_y_up(toward).y > 0.0), 1.0);
}

// The weight of a sample of one strategy that the other could have found too.
fn power_weight(own: f32, other: f32) -> f32 {
    let ratio = other / max(own, 1e-30);
    return 1.0 / (1.0 + ratio * ratio);
}

// The part of the light from a direction that arrives from `farthest` away, at a position in this medium.
fn arriving(origin: vec3f, direction: vec3f, farthest: f32, medium: Medium) -> vec3f {
    let ray = Ray(origin, direction, stream + 1u);
    liquid_count = 0u;
    liquid_passes = vec3f(1.0);
    liquid_depth = vec3f(0.0);
    liquid_extinction = medium.absorption + medium.scattering;
    if traced(ray, farthest, true).primitive != NONE { return vec3f(0.0); }
    let inside = select(vec3f(0.0), liquid_extinction * farthest, farthest < FAR);
    return transmittance(ray, farthest) * liquid_passes * exp(-max(liquid_depth + inside, vec3f(0.0)));
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
        light += lamp_light(lamp, ray.origin) * power_weight(density, chosen);
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
    var distance = meet_lamp(lamp, origin, direction);
    // Of a small sphere far away, rounding decides whether the ray meets it.
    if lamp.kind > 2.5 { distance = min(distance, dot(lamp.center - origin, direction)); }
    if distance >= FAR { return LampSample(); }
    let density = choice.part * lamp_density(lamp, origin, direction, distance);
    return LampSample(direction, 0.9999 * distance, lamp_light(lamp, origin) / density, density);
}

// Light that arrives at a scattering, if nothing is in its way.
struct Incident {
    origin: vec3f,
    direction: vec3f,
    distance: f32,          // of the light
    light: vec3f,           // what of it goes on along the path, weighted: a sample of the direction could have found it too,
    beyond: vec3f,          // and what does so through a liquid, which no such sample finds
}

fn is_dark(light: vec3f) -> bool {
    return max(light.r, max(light.g, light.b)) <= 0.0;
}

// Of the sun and from around, and of a lamp: `back` goes on of each unit, and `other` is how densely samples of the direction are.
fn toward_distant(origin: vec3f, toward: LightSample, back: vec3f, other: f32) -> Incident {
    let sun = select(vec3f(0.0), params.sun_light, is_sun(toward.direction));
    let light = light_toward(toward.direction) * power_weight(toward.density, other);
    return Incident(origin, toward.direction, FAR, back * light / toward.density, back * sun / toward.density);
}

//% if LOBES
// Whether light samples find what is around for a ray that leaves rough glass. A line of sight meets it only where it is the
// backdrop, or if it was mirrored inside, and neither the floor nor a lamp that is drawn is in its way.
fn finds_around(density: f32, bent: u32, ray: Ray) -> bool {
    if params.environment_size.x == 0u { return false; }
    if density > 0.0 { return true; }
    let is_around = select((bent & MIRRORED) != 0u, params.blur == 0.0, params.backdrop > 0.0);
    return is_around && floor_distance(ray) >= FAR && visible_lamp(ray, FAR).w >= FAR;
}

// Of the light from around, through rough glass: `passes` of it, for each unit of the density `other` of refracted directions.
fn through_glass(origin: vec3f, toward: LightSample, passes: vec3f, other: f32) -> Incident {
    let light = environment_toward(toward.direction) * power_weight(toward.density, other);
    return Incident(origin, toward.direction, FAR, passes * light * (other / toward.density), vec3f(0.0));
}
//% endif

fn toward_lamp(origin: vec3f, lamp: LampSample, back: vec3f, other: f32) -> Incident {
    let all = back * lamp.light;
    return Incident(origin, lamp.direction, lamp.distance, all * power_weight(lamp.density, other), all);
}

fn sample_light(first: Ray) -> vec4f {
    var ray = first;
    var light = vec3f(0.0);
    var through = vec3f(1.0);       // the part of what is found that reaches the eye
    var density = 0.0;              // of the direction of the ray, when it was scattered last; 0: it comes from the eye
    var bent = NOT_BENT;            // by liquids since then
    var refracted = 0.0;            // density of the ray, if rough glass bent it last, of which light samples found what it sees
    var medium = AIR;
    var path = 0.0;                 // how far a line of sight has come
    var bounces = 0u;
    var scatterings = 0u;
    let has_light = params.sun_part > 0.0 || params.environment_size.x > 0u;
    loop {
        let chances = random();
        stream = u32(chances.x * 16777216.0) * 2891336453u + counter.x * 747796405u;
        ray.chance = stream;
        let hit = traced(ray, FAR, false);
        var stop = collision(ray, hit.distance);
        var floor = FAR;            // where a line of sight meets it
        if density > 0.0 {
            if bent == NOT_BENT { light += through * lamps_met(ray, stop.distance, density); }
        } else {
            let lamp = visible_lamp(ray, stop.distance);
            floor = floor_distance(ray);
            if floor >= lamp.w {
                floor = FAR;
                if lamp.w < stop.distance { return vec4f(light + through * lamp.rgb, 1.0); }
            }
        }
        let on_floor = floor < FAR;
        let nothing = !on_floor && stop.volume == NONE && hit.primitive == NONE;
        let sampled = random();
        // In a liquid light is absorbed on the way, and may be scattered before it arrives.
        let ahead = min(stop.distance, floor);
        var free = FAR;
        if medium.scattering > 0.0 { free = -log(1.0 - next_random()) / medium.scattering; }
        let in_liquid = free < ahead;
        through *= exp(-medium.absorption * select(min(free, ahead), 0.0, nothing));
        if nothing {
            var part = 1.0;
            if refracted > 0.0 { part = power_weight(refracted, light_density(ray.direction)); }
            if density == 0.0 {
                let behind = backdrop(ray.direction, part);
                if (bent & MIRRORED) != 0u && behind.a == 0.0 {
                    return vec4f(light + through * part * environment_toward(ray.direction), 1.0);
                }
                return vec4f(light + through * behind.rgb, 1.0 - dot(through, vec3f(1.0 / 3.0)) * (1.0 - behind.a));
            }
            let weight = power_weight(density, light_density(ray.direction));
            let found = light_toward(ray.direction) * weight;
            light += through * select(part * environment_toward(ray.direction), found, bent == NOT_BENT);
            break;
        }
        let sample = light_sample(sampled.xyz);
        let toward_light = sample.direction;
        let is_lit = has_light && sample.density > 0.0;
        var incident = array<Incident, 2>();    // set in each turn: without a value it may keep that of the last
        var next = ray;
        var next_medium = medium;
        var lit_medium = medium;    // where light arrives
        var next_refracted = 0.0;
        var goes_on = true;
        var passes = vec3f(1.0);    // the part of what comes along the next ray
        if on_floor && !in_liquid {
            next.origin = ray.origin + (1.00001 * floor + 1e-6) * ray.direction;
            if params.sun_part > 0.0 && params.floor_shade > 0.0 {
                let above = ray.origin + floor * ray.direction + (1e-5 * floor + 1e-6) * params.floor_up;
                incident[0] = Incident(above, sun_direction(sampled.xy), FAR, vec3f(1.0), vec3f(1.0));
            }
        } else if in_liquid || stop.volume != NONE {
            let position = ray.origin + min(free, ahead) * ray.direction;
            var anisotropy = 0.0;
            scatterings += 1u;
            if !in_liquid {
                let volume = volume_at(stop.volume);
                let color = volume_color(volume, position);
                light += through * (color * (volume.brightness * volume.emissive) + volume_glow(volume, position));
                anisotropy = volume.anisotropy;
                through *= particle_albedo(color, anisotropy) * (1.0 - volume.emissive);
            }
            if scatterings > params.scatterings || is_dark(through) { break; }
            if is_lit {
                let scattered = phase(dot(ray.direction, toward_light), anisotropy);
                incident[0] = toward_distant(position, sample, vec3f(scattered), scattered);
            }
            let lamp = sample_of_lamps(position);
            if lamp.density > 0.0 {
                let scattered = phase(dot(ray.direction, lamp.direction), anisotropy);
                incident[1] = toward_lamp(position, lamp, vec3f(scattered), scattered);
            }
            let direction = scattered_direction(ray.direction, anisotropy, chances.yz);
            density = phase(dot(ray.direction, direction), anisotropy);
            bent = NOT_BENT;
            next = Ray(position, direction, 0u);
        } else {
            let surface = surface_at(hit, ray);
            let flags = primitives[3u * hit.primitive].w;
            var facing_eye = facing_to(surface.material, surface.dielectric, surface.normal, -ray.direction);
            if surface.is_clear { facing_eye = mirror_of(surface, -ray.direction, density > 0.0); }
            let scattered = reflected_direction(facing_eye, chances.yzw);
            var bend = no_bend();
            if surface.is_clear {
                bend = bend_at(surface, ray, liquid_of(flags), medium, scattered, random().x);
                scatterings += 1u;
            } else {
                bounces += 1u;
            }
            light += through * surface.emitted;
            through *= surface.scattering;
            if bounces > params.bounces + 1u || scatterings > params.scatterings || is_dark(through) { break; }
            let mirrors = !surface.is_clear || surface.is_front;   // what is mirrored inside is not looked for
            if is_lit && mirrors && dot(toward_light, surface.side) > 0.0 {
                let back = reflected(facing_eye, toward_light) * mirrored_part(bend, facing_eye, toward_light);
                let chance = chance_of(bend, surface, facing_eye, toward_light);
                let other = chance * reflected_density(facing_eye, toward_light);
                incident[0] = toward_distant(lifted(surface, hit.distance, toward_light), sample, back, other);
            }
//% if LOBES
            let leaves = surface.is_clear && surface.is_rough && (surface.is_thin || !surface.is_front) && is_lit;
            if leaves && dot(toward_light, surface.side) < 0.0 {
                let origin = lifted(surface, hit.distance, toward_light);
                let other = refracted_density(surface, facing_eye, bend.ior, toward_light);
                if other > 0.0 && finds_around(density, bent, Ray(origin, toward_light, 0u)) {
                    let radiance = select(leaving_radiance(liquid_of(flags), medium), 1.0, surface.is_thin);
                    incident[0] = through_glass(origin, sample, radiance * surface.tint, other);
                    if !surface.is_thin { lit_medium = AIR; }
                }
            }
            if leaves && bend.by_facets {
                let origin = lifted(surface, hit.distance, bend.direction);
                if finds_around(density, bent, Ray(origin, bend.direction, 0u)) {
                    next_refracted = refracted_density(surface, facing_eye, bend.ior, bend.direction);
                }
            }
//% endif
            let lamp = sample_of_lamps(surface.position);
            if lamp.density > 0.0 && mirrors && dot(lamp.direction, surface.side) > 0.0 {
                let chance = chance_of(bend, surface, facing_eye, lamp.direction);
                let other = chance * reflected_density(facing_eye, lamp.direction);
                let back = reflected(facing_eye, lamp.direction) * mirrored_part(bend, facing_eye, lamp.direction);
                incident[1] = toward_lamp(lifted(surface, hit.distance, lamp.direction), lamp, back, other);
            }
            var direction = bend.direction;
            if bend.kind == NOT_BENT {
                direction = scattered;
                density = chance_of(bend, surface, facing_eye, direction) * reflected_density(facing_eye, direction);
                goes_on = density > 0.0 && dot(direction, surface.side) > 0.0;
                passes = reflected(facing_eye, direction) * mirrored_part(bend, facing_eye, direction) / max(density, 1e-30);
                bent = NOT_BENT;
            } else {
                passes = bend.passes * select(vec3f(1.0), surface.tint, bend.kind == REFRACTED);
                bent |= bend.kind;
                next_medium = bend.medium;
                path += hit.distance;
            }
            next = Ray(lifted(surface, hit.distance, direction), direction, 0u);
        }
        // One loop for all shadows: the walk through the tree is compiled wherever it is called.
        var found = array<vec3f, 2>(vec3f(0.0), vec3f(0.0));
        for (var i = 0u; i < 2u; i++) {
            let one = incident[i];
            if is_dark(one.light + one.beyond) { continue; }
            let arrives = arriving(one.origin, one.direction, one.distance, lit_medium);
            found[i] = arrives * select(one.light, one.beyond, liquid_count > 0u);
        }
        if on_floor && !in_liquid {
            let ground = floor_light_at(ray, floor, path, select(1.0, found[0].g, !is_dark(incident[0].light)));
            light += through * ground.rgb;
            through *= 1.0 - ground.a;
            path += floor;
        } else {
            light += through * (found[0] + found[1]);
            through *= passes;
        }
        if !goes_on { break; }
        ray = next;
        medium = next_medium;
        refracted = next_refracted;
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
