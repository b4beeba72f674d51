// The fragment stage of draw/lines.wgsl: how much of a pixel a piece of a line covers, its color and its light as a tube.

// How far along the piece a fragment is, 0 to 1, how far outside, in pixels, and in which direction that grows.
struct Nearest {
    part: f32,
    beyond: bool,       // past one of the ends
    outside: f32,
    outward: vec2f,
}

fn nearest_part(in: Corner) -> Nearest {
    let piece = in.ends.zw - in.ends.xy;
    let to_here = in.pixel - in.ends.xy;
    let along = dot(to_here, piece) / max(dot(piece, piece), 1e-12);
    let part = clamp(along, 0.0, 1.0);
    let aside = to_here - part * piece;
    let miss = length(aside);
    return Nearest(part, along < 0.0 || along >= 1.0, miss - 0.5 * mix(in.widths.x, in.widths.y, part), aside / max(miss, 1e-6));
}

//% if PICKING or not TRAILS
// The position in eye space that is visible at a fraction of the line on the image.
fn line_position(in: Corner, part: f32) -> vec3f {
    let depths = select(vec2f(-in.first_eye.z, -in.last_eye.z), vec2f(1.0), is_parallel());
    let along = part * depths.x / max(mix(depths.y, depths.x, part), 1e-20);
    return mix(in.first_eye, in.last_eye, along);
}

// What a fragment shows, at the depth of the line there.
fn visible_position(in: Corner, part: f32) -> vec3f {
    let middle = line_position(in, part);
    return vec3f(in.pixel * pixel_of(middle), middle.z);
}

//% endif
fn line_color(in: Corner, part: f32) -> vec4f {
//% if COLORMAPPED
    let value = mix(in.first.x, in.last.x, part);
    let x = colormap_coordinate(value, in.first.yz, f32(textureDimensions(colormap).x));
    let color = textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% else
    let color = mix(in.first, in.last, part);
//% endif
    return color;
}

fn light_fraction(in: Corner, part: f32) -> f32 {
    return mix(in.widths.z, in.widths.w, part);
}

//% if PICKING
@fragment
fn line_fragment(in: Corner) -> PickPixel {
    let here = nearest_part(in);
    let alpha = line_color(in, here.part).a * light_fraction(in, here.part);
    if here.outside >= 0.5 || alpha < LEAST_ALPHA { discard; }
//% if TRAILS
    let row = in.row;
//% else
    let row = in.row + select(0u, 1u, here.part > 0.5);
//% endif
    return picked_row(row, visible_position(in, here.part));
}
//% else
// How much of a pixel is covered, without the round ends: pieces that blend must not overlap.
fn covered(here: Nearest) -> f32 {
    return select(clamp(0.5 - here.outside, 0.0, 1.0), 0.0, here.beyond);
}

//% endif
//% if TRAILS and not PICKING
@fragment
fn line_fragment(in: Corner) -> Output {
    let here = nearest_part(in);
    let color = line_color(in, here.part);
    let alpha = color.a * light_fraction(in, here.part) * covered(here);
    return output(vec4f(unlit(color.rgb), 1.0) * alpha);
}
//% elif not PICKING
//% include "common/pixel.wgsl"

// Light of a tube: its normal leans aside as far as a fragment is away from the piece's line, also beyond its ends, where the
// next piece goes on.
fn tube_light(in: Corner, here: Nearest, base: vec3f) -> vec3f {
    let eye = line_position(in, here.part);
    let to_eye = -sight_to(eye);
    let radius = max(0.5 * mix(in.widths.x, in.widths.y, here.part), 1e-6);
    let piece = in.ends.zw - in.ends.xy;
    let left = select(here.outward, vec2f(-piece.y, piece.x) / length(piece), dot(piece, piece) > 1e-12);
    let fine = clamp(1.4 - 0.7 * radius, 0.0, 1.0);     // of a few pixels one sees all around: no glint falls between them
    let aside = (1.0 - fine) * clamp(dot(in.pixel - in.ends.xy, left) / radius, -0.999, 0.999);
    let across = cross(in.last_eye - in.first_eye, to_eye);
    let side = select(vec3f(left, 0.0), normalize(across), dot(across, across) > 1e-20 * dot(in.last_eye, in.last_eye));
    let outward = side * select(-1.0, 1.0, dot(side.xy, left) > 0.0);
    let facing = normalize(to_eye - outward * dot(to_eye, outward));
    let normal = outward * aside + facing * sqrt(1.0 - aside * aside);
    let position = eye + normal * (radius * pixel_of(eye));    // the shadow map has a ribbon through the middle of the tube
    return lit_at(Material(base, 0.0, mix(style.roughness, 1.0, fine)), normal, to_eye, position, in.clip.xy);
}

fn line_light(in: Corner, here: Nearest, base: vec3f) -> vec3f {
    if (style.tube > 0.0) & (here.part >= 0.0) { return bounded(tube_light(in, here, base)); }
    return unlit(base);
}

@fragment
fn line_fragment(in: Corner) -> Pixel {
    let here = nearest_part(in);
    let color = line_color(in, here.part);
    var samples = covered_samples(here.outside, here.outward * vec2f(1.0, -1.0));
    samples &= select(alpha_samples(color.a, in.clip.xy), 15u, color.a >= 1.0);
    let is_thin = light_fraction(in, here.part) < FULL;
    if samples == 0u || is_thin || beyond_clips(visible_position(in, here.part)) > 0.0 { discard; }
    return solid_pixel(line_light(in, here, color.rgb), samples);
}

@fragment
fn thin_fragment(in: Corner) -> Output {
    let here = nearest_part(in);
    let color = line_color(in, here.part);
    let light = light_fraction(in, here.part);
    let alpha = color.a * light * covered(here);
    if light >= FULL || alpha <= 0.0 || beyond_clips(visible_position(in, here.part)) > 0.0 { discard; }
    return output(vec4f(line_light(in, here, color.rgb), 1.0) * alpha);
}

@fragment
fn line_depth(in: Corner) {
    let here = nearest_part(in);
    let hole = is_hole(line_color(in, here.part).a * light_fraction(in, here.part), in.clip.xy);
    if hole || here.outside >= 0.0 || beyond_clips(visible_position(in, here.part)) > 0.0 { discard; }
}
//% endif
