// The color of what no light falls on, from a linear `base`. If DISPLAY_REFERRED, it is what a screen shows, with `brightness`
// as a factor of its light, mapped by the layer's own TONE_MAP; else it is light, which the tone map of the view compresses and which
// may glow. Needs the uniform `style` and common/color.wgsl.
//% include "common/displayed.wgsl"

fn unlit(base: vec3f) -> vec3f {
    let light = bounded(base * style.brightness);
//% if DISPLAY_REFERRED
    return displayed(light);
//% else
    return light;
//% endif
}
