// The color of what no light falls on, from a linear `base`. If DISPLAY_REFERRED, it is what a screen shows, with `brightness`
// as a factor of its light; else it is light, which the tone map compresses and which may glow. Needs the uniform `style`.

fn unlit(base: vec3f) -> vec3f {
    let light = bounded(base * style.brightness);
//% if DISPLAY_REFERRED
    return linear_to_srgb(light);
//% else
    return light;
//% endif
}
