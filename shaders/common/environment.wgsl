// Light from around: the sky of three colors of common/lighting_terms.wgsl, or an environment, whose maps are computed by
// draw/environment_maps.wgsl in directions with y up. Needs a uniform `view` of common/view.wgsl; the bindings are those of
// `lighting_layout` in renderer/bindings.py. Without an environment, loops without turns: see common/shadows.wgsl.

@group(1) @binding(3) var specular_map: texture_cube<f32>;      // blurred by the facets of a roughness, from level to level
@group(1) @binding(4) var irradiance_map: texture_cube<f32>;    // mean radiance over the hemisphere, by the cosine
@group(1) @binding(5) var reflectance_table: texture_2d<f32>;   // by facing and roughness: for each unit of f0, and in addition
@group(1) @binding(6) var environment_sampler: sampler;

// A direction of eye space in that of the maps.
fn to_environment(direction: vec3f) -> vec3f {
    let to_world = transpose(mat3x3f(view.world_to_eye[0].xyz, view.world_to_eye[1].xyz, view.world_to_eye[2].xyz));
    let world = to_world * direction;
    return select(world, vec3f(world.x, world.z, -world.y), (to_world * view.up).z > 0.5);
}

// 1 where there is an environment, else 0. A direction matters in name only.
fn lookups(direction: vec3f) -> u32 {
    return select(0u, u32(ceil(min(view.environment, 1.0))), dot(direction, direction) < 1e30);
}

// Radiance in a direction, blurred over the lobe that `roughness` spreads it to.
fn sky_toward(direction: vec3f, roughness: f32) -> vec3f {
    var light = gradient_toward(direction, roughness);
    for (var i = 0u; i < lookups(direction); i++) {
        let level = roughness * f32(textureNumLevels(specular_map) - 1u);
        let found = textureSampleLevel(specular_map, environment_sampler, to_environment(direction), level).rgb;
        light = found * view.environment;
    }
    return light;
}

// Mean radiance over the hemisphere around `normal`, weighed by the cosine.
fn sky_around(normal: vec3f) -> vec3f {
    var light = gradient_around(normal);
    for (var i = 0u; i < lookups(normal); i++) {
        let found = textureSampleLevel(irradiance_map, environment_sampler, to_environment(normal), 0.0).rgb;
        light = found * view.environment;
    }
    return light;
}

fn sky_reflectance(roughness: f32, facing: f32) -> vec2f {
    var fraction = fitted_reflectance(roughness, facing);
    for (var i = 0u; i < lookups(vec3f(facing)); i++) {
        let size = vec2f(textureDimensions(reflectance_table));
        let at = (vec2f(min(facing, 1.0), roughness) * (size - 1.0) + 0.5) / size;
        fraction = textureSampleLevel(reflectance_table, environment_sampler, at, 0.0).xy;
    }
    return fraction;
}
