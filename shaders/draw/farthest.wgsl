// The farthest of the depths around each pixel: what is behind that is hidden in all of its samples, but for gaps that are
// narrower than a pixel. In: the depth of solid things, reversed. Out: the least of 3 x 3 pixels.

@group(0) @binding(0) var depths: texture_depth_2d;
@group(0) @binding(1) var farthest: texture_storage_2d<r32float, write>;

@compute @workgroup_size(8, 8)
fn farthest_pixels(@builtin(global_invocation_id) id: vec3u) {
    let last = vec2i(textureDimensions(depths)) - 1;
    if any(vec2i(id.xy) > last) { return; }
    var least = 1.0;
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            least = min(least, textureLoad(depths, clamp(vec2i(id.xy) + vec2i(x, y), vec2i(0), last), 0));
        }
    }
    textureStore(farthest, id.xy, vec4f(least, 0.0, 0.0, 0.0));
}
