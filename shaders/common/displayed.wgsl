// What a screen shows of the light of a display-referred layer, in its encoding: by the exposure of the view and the layer's own
// TONE_MAP. Without one, "none", it is the light as it is, not cut off at 1, since what blends may be brighter. Needs common/color.wgsl
// and the uniform `view`.
//% include "common/tone_map.wgsl"

fn displayed(light: vec3f) -> vec3f {
//% if TONE_MAP == "none"
    return linear_to_srgb(light);
//% else
    return linear_to_srgb(tone_map(bounded(light * view.exposure)));
//% endif
}
