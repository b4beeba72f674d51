// Where ops/sample.wgsl and its gradient read a tensor: places from -1 to 1 as elements, what lies outside, and weights.
// In: MODE, "nearest", "linear" or "cubic"; PADDING, "zeros", "border" or "reflection"; CORNERS, whether -1 and 1 are the
//     centers of the outermost elements, not their outer borders.

// Between -1 and 1 along an axis of n elements, as a number of elements.
fn place_of(c: f32, n: f32) -> f32 {
    //% if CORNERS
    return (c + 1.0) / 2.0 * (n - 1.0);
    //% else
    return ((c + 1.0) * n - 1.0) / 2.0;
    //% endif
}

// Mirrored at the borders until it lies between them.
fn reflected(place: f32, n: f32) -> f32 {
    let low = ${"0.0" if CORNERS else "-0.5"};
    let high = n ${"- 1.0" if CORNERS else "- 0.5"};
    let span = high - low;
    if (place >= low && place <= high) {
        return place;
    }
    if span <= 0.0 {
        return 0.0;
    }
    let beyond = select(place - high, low - place, place < low);
    let turns = floor(beyond / span);
    let rest = beyond - turns * span;
    let from_low = (place < low) == (turns - 2.0 * floor(turns * 0.5) == 0.0);
    return select(high - rest, low + rest, from_low);
}

// Where a place is read that may lie outside.
fn settled(place: f32, n: f32) -> f32 {
    //% if PADDING == "border"
    let low = ${"0.0" if CORNERS else "-0.5"};
    let high = n ${"- 1.0" if CORNERS else "- 0.5"};
    return select(place, clamp(place, 0.0, n - 1.0), place < low || place > high);
    //% elif PADDING == "reflection"
    return reflected(place, n);
    //% else
    return place;
    //% endif
}

// The element that stands for place i; -1 for none.
fn element_at(i: i32, n: i32) -> i32 {
    //% if PADDING == "border"
    return clamp(i, 0, n - 1);
    //% elif PADDING == "reflection"
    return clamp(i32(reflected(f32(i), f32(n))), 0, n - 1);
    //% else
    return select(-1, i, i >= 0 && i < n);
    //% endif
}

//% if MODE == "cubic"
// Keys' kernel with a = -0.75 at the distances 1 + t, t, 1 - t and 2 - t.
fn weights_of(t: f32) -> vec4f {
    let far = vec2f(1.0 + t, 2.0 - t);
    let near = vec2f(t, 1.0 - t);
    let a = ((-0.75 * far + 3.75) * far - 6.0) * far + 3.0;
    let b = (1.25 * near - 2.25) * near * near + 1.0;
    return vec4f(a.x, b.x, b.y, a.y);
}
//% endif
