// An asset: triangles with the metal-rough materials of glTF 2.0 (section 3.9 and Appendix B) and their textures, lit by sun, sky
// and the lights of the asset. In: the attributes of each vertex, an index buffer, and tables: of materials, lights, and
// textures as the layers of two arrays. What Appendix B leaves out is what facets throw at each other: common/lighting.wgsl.
// KHR_materials_clearcoat, _ior, _transmission and _volume by their formulas; what is behind is what was drawn as opaque.
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"
//% include "common/shadows.wgsl"
//% include "common/transparency.wgsl"
//% include "common/pixel.wgsl"
//% include "common/asset_materials.wgsl"

struct Style {              // packed by name in renderer/layers/asset.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    auto_range: f32,
    blend: f32,             // 1: materials that blend are transparent
    first_material: u32,    // offsets in the storage bindings
    material_count: u32,
    first_light: u32,
    light_count: u32,
}

struct Vertex {
    @location(0) position: ${POSITION},
    @location(1) normal: ${NORMAL},
//% if TANGENT
    @location(2) tangent: ${TANGENT},
//% endif
//% if TEXCOORD
    @location(3) texcoord: ${TEXCOORD},
//% endif
//% if COLOR
    @location(4) color: ${COLOR},
//% endif
//% if COLORMAPPED
    @location(5) extent: vec2f,
//% endif
//% if MATERIAL
    @location(6) material: ${MATERIAL},
//% endif
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
    @location(1) normal: vec3f,         // in eye space
    @location(2) tangent: vec4f,        // 0 without
    @location(3) texcoord: vec4f,
    @location(4) color: vec4f,
    @location(5) @interpolate(flat) material: u32,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
@group(0) @binding(2) var<storage, read> materials: array<f32>;
@group(0) @binding(3) var<storage, read> lights: array<f32>;
@group(0) @binding(4) var color_maps: texture_2d_array<f32>;
@group(0) @binding(5) var data_maps: texture_2d_array<f32>;
@group(0) @binding(6) var repeating: sampler;               // beyond the edge along u and v
@group(0) @binding(7) var ending: sampler;
@group(0) @binding(8) var repeating_ending: sampler;
@group(0) @binding(9) var ending_repeating: sampler;
//% if COLORMAPPED
@group(0) @binding(10) var colormap: texture_2d<f32>;
@group(0) @binding(11) var smooth_sampler: sampler;
//% endif

@vertex
fn asset_vertex(vertex: Vertex) -> Corner {
    var out: Corner;
    out.eye = (view.world_to_eye * vec4f(vec3f(vertex.position), 1.0)).xyz;
    out.clip = view.eye_to_clip * vec4f(out.eye, 1.0);
    out.normal = (view.world_to_eye * vec4f(vec3f(vertex.normal), 0.0)).xyz;
//% if TANGENT
    out.tangent = vec4f((view.world_to_eye * vec4f(vec3f(vertex.tangent.xyz), 0.0)).xyz, f32(vertex.tangent.w));
//% endif
//% if TEXCOORD
    out.texcoord = vec4f(vertex.texcoord);
//% endif
//% if COLORMAPPED
    let range = select(style.range, vertex.extent, style.auto_range > 0.0);
    let x = colormap_coordinate(f32(vertex.color), range, f32(textureDimensions(colormap).x));
    out.color = textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% elif COLOR and COLOR_COMPONENTS == 4
    out.color = vec4f(srgb_to_linear(vec3f(vertex.color.rgb)), f32(vertex.color.a));
//% elif COLOR
    out.color = vec4f(srgb_to_linear(vec3f(vertex.color)), 1.0);
//% else
    out.color = style.color;
//% endif
//% if MATERIAL
    out.material = min(u32(max(f32(vertex.material), 0.0) + 0.5), style.material_count - 1u);
//% endif
    return out;
}

//% include "common/asset_surface.wgsl"
//% include "common/asset_light.wgsl"

// Whether it is drawn by `asset_through`.
fn transmits(in: Corner) -> bool {
//% if TRANSMISSION
    return factor(in.material, TRANSMISSION) > 0.0;
//% else
    return false;
//% endif
}

// Whether a fragment is of the side that is not drawn.
fn is_culled(in: Corner, front: bool) -> bool {
    return !front && factor(in.material, 13u) == 0.0;
}

// The samples of a pixel whose alpha is at least the cutoff of the mask.
fn masked_samples(in: Corner, where_: Coordinates) -> u32 {
    let m = in.material;
    let map = map_of(m, 0u);
    let alpha = factor(m, 3u) * in.color.a;
    let cutoff = factor(m, 7u) - 1.0 / 1024.0;  // GPUs interpolate alike texels to slightly less than they are
    if map.layer < 0.0 { return select(0u, 15u, alpha >= cutoff); }
    var mask = 0u;
    for (var i = 0u; i < 4u; i++) {
        let at = where_.texcoord + where_.across * SAMPLES[i].x + where_.down * SAMPLES[i].y;
        let found = alpha * color_maps_at(map, Coordinates(at, where_.across, where_.down)).a;
        mask |= select(0u, 1u << i, found >= cutoff);
    }
    return mask;
}

@fragment
fn asset_fragment(in: Corner, @builtin(front_facing) front: bool) -> Pixel {
    let where_ = coordinates_of(in);
    let across = dpdx(in.eye);
    let down = dpdy(in.eye);
    var samples = unclipped_samples(in.eye);
    let surface = surface_of(in, where_, front, across, down);
    let mode = factor(in.material, 12u);
    if mode == MASK { samples &= masked_samples(in, where_); }
    let clear = mode == BLEND && style.blend > 0.0 && surface.base.a < OPAQUE;
    if samples == 0u || clear || is_culled(in, front) || transmits(in) { discard; }
    return solid_pixel(light_of(in, surface), samples);
}

//% if TRANSMISSION
// After what is opaque, over it.
@fragment
fn asset_through(in: Corner, @builtin(front_facing) front: bool) -> Pixel {
    var out: Pixel;
    let where_ = coordinates_of(in);
    let across = dpdx(in.eye);
    let down = dpdy(in.eye);
    var samples = unclipped_samples(in.eye);
    var surface = surface_of(in, where_, front, across, down);
    let m = in.material;
    let mode = factor(m, 12u);
    if mode == MASK { samples &= masked_samples(in, where_); }
    let clear = mode == BLEND && style.blend > 0.0 && surface.base.a < OPAQUE;
    surface.transmission = factor(m, TRANSMISSION);
    let map = map_at(m, TRANSMISSION + 8u);
    if map.layer >= 0.0 { surface.transmission *= data_maps_at(map, where_).x; }
    var thickness = factor(m, TRANSMISSION + 1u);
    let thick = map_at(m, TRANSMISSION + 20u);
    if thick.layer >= 0.0 { thickness *= data_maps_at(thick, where_).y; }
    if samples == 0u || clear || is_culled(in, front) || !transmits(in) { discard; }
    let distance = factor(m, TRANSMISSION + 2u);
    let depth = select(thickness / max(distance, 1e-30), 0.0, distance <= 0.0);
    let absorbed = pow(max(factors(m, TRANSMISSION + 3u), vec3f(1e-6)), vec3f(depth));
    let found = leaving(in, surface);
    let through = found.through * absorbed;
    let under = behind(in, surface, thickness);
    out.color = vec4f(found.light + through * under.rgb, 1.0 - dot(through, vec3f(1.0 / 3.0)) * (1.0 - under.a));
//% if SAMPLE_MASK
    out.samples = samples;
//% endif
    out.display = vec4f(0.0, 0.0, 0.0, out.color.a);
    return out;
}

//% endif
@fragment
fn asset_clear(in: Corner, @builtin(front_facing) front: bool) -> Clear {
    let where_ = coordinates_of(in);
    let surface = surface_of(in, where_, front, dpdx(in.eye), dpdy(in.eye));
    let drawn = factor(in.material, 12u) == BLEND && surface.base.a < OPAQUE && !is_culled(in, front);
    let alpha = select(0.0, clamp(surface.base.a, 0.0, 1.0), drawn && beyond_clips(in.eye) <= 0.0);
    return clear(light_of(in, surface), alpha, in.eye);
}

@fragment
fn asset_depth(in: Corner) {
    let alpha = base_color(in, coordinates_of(in)).a;
    let mode = factor(in.material, 12u);
    let masked = mode == MASK && alpha < factor(in.material, 7u);
    let clear = mode == BLEND && style.blend > 0.0 && is_hole(alpha, in.clip.xy);
    if beyond_clips(in.eye) > 0.0 || masked || clear { discard; }
//% if TRANSMISSION
    if is_hole(1.0 - factor(in.material, TRANSMISSION), in.clip.xy) { discard; }
//% endif
}
