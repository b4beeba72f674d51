// The samples of a volume at a position of the world: extinction, color, and the glow of its temperature.
// Include for extinction_at, color_at and glow_at, after what draw/volume.wgsl declares. In: COLOR_COMPONENTS, TEMPERATURE.
//% import "common/curve.wgsl" as curve
//% import "common/field.wgsl" as field
//% include "common/fraction.wgsl"

const SURROUNDINGS = 293.0;     // K

${field.functions("densities", "style.density.size", "style.density.first", "style.density.strides")}

//% if TEMPERATURE
${field.functions("temperatures", "style.temperature.size", "style.temperature.first", "style.temperature.strides")}

//% endif
//% if COLOR_COMPONENTS == 1
${field.functions("colors", "style.colors.size", "style.colors.first", "style.colors.strides")}

//% elif COLOR_COMPONENTS
${field.functions("colors", "style.colors.size", "style.colors.first", "style.colors.strides")}

${field.colors("colors", "style.colors.component")}

//% endif
// A position in the box counted in samples.
fn sample_position(world: vec3f, size: vec3u) -> vec3f {
    let relative = (world - style.low) / (style.high - style.low);
    return relative * (vec3f(size) - 1.0 + 2.0 * style.inset) - style.inset;
}

${curve.functions("opacity")}

fn extinction_at(world: vec3f, range: vec2f) -> f32 {
    let value = densities_between(sample_position(world, style.density.size));
    return select(0.0, style.extinction * opacity_at(fraction(value, range)), is_finite(value));
}

fn color_at(world: vec3f) -> vec3f {
//% if COLOR_COMPONENTS == 1
    let value = colors_between(sample_position(world, style.colors.size));
    let range = select(style.range, color_extent[0], style.auto_range > 0.0);
    let x = colormap_coordinate(select(range.x, value, is_finite(value)), range, f32(textureDimensions(colormap).x));
    return textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0).rgb;
//% elif COLOR_COMPONENTS
    return srgb_to_linear(clamp(colors_nearest(sample_position(world, style.colors.size)), vec3f(0.0), vec3f(1.0)));
//% else
    return style.color;
//% endif
}

// The radiance of a black body of the temperature here; nothing below the coldest of the table.
fn glow_at(world: vec3f) -> vec3f {
//% if TEMPERATURE
    let found = temperatures_between(sample_position(world, style.temperature.size));
    let kelvin = select(0.0, found, is_finite(found)) + SURROUNDINGS;
    let last = f32(arrayLength(&black_body) - 1u);
    let slot = clamp((kelvin - style.coldest) / (style.hottest - style.coldest) * last, 0.0, last - 1e-3);
    let light = mix(black_body[u32(slot)], black_body[u32(slot) + 1u], fract(slot)).rgb;
    return style.brightness * select(vec3f(0.0), light, kelvin > style.coldest);
//% else
    return vec3f(0.0);
//% endif
}
