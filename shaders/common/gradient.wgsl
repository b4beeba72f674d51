// Light from around in compute shaders, which have no environment: the sky of three colors of common/lighting_terms.wgsl.

fn sky_toward(direction: vec3f, roughness: f32) -> vec3f {
    return gradient_toward(direction, roughness);
}

fn sky_around(normal: vec3f) -> vec3f {
    return gradient_around(normal);
}

fn sky_reflectance(roughness: f32, facing: f32) -> vec2f {
    return fitted_reflectance(roughness, facing);
}
