// Where ops/sample.wgsl and its gradient read a tensor: coordinates from -1 to 1 as elements, padding, and weights.
// In: MODE, "nearest", "linear" or "cubic"; PADDING, "zeros", "border" or "reflection"; CORNERS, whether -1 and 1 are the
//     centers of the outermost elements, not their outer borders; VALUE, "f32" or "f64".

// Between -1 and 1 along an axis of n elements, as a number of elements.
fn unnormalized(c: ${VALUE}, n: ${VALUE}) -> ${VALUE} {
    //% if CORNERS
    return (c + 1.0) / 2.0 * (n - 1.0);
    //% else
    return ((c + 1.0) * n - 1.0) / 2.0;
    //% endif
}

// Mirrored at the borders until it is between them.
fn reflected(position: ${VALUE}, n: ${VALUE}) -> ${VALUE} {
    let low: ${VALUE} = ${"0.0" if CORNERS else "-0.5"};
    let high = n ${"- 1.0" if CORNERS else "- 0.5"};
    let span = high - low;
    if (position >= low && position <= high) {
        return position;
    }
    if span <= 0.0 {
        return 0.0;
    }
    let beyond = select(position - high, low - position, position < low);
    let turns = floor(beyond / span);
    let rest = beyond - turns * span;
    let from_low = (position < low) == (turns - 2.0 * floor(turns * 0.5) == 0.0);
    return select(high - rest, low + rest, from_low);
}

// The position that is read for one that may be outside: padding.
fn padded_coordinate(position: ${VALUE}, n: ${VALUE}) -> ${VALUE} {
    //% if PADDING == "border"
    let low: ${VALUE} = ${"0.0" if CORNERS else "-0.5"};
    let high = n ${"- 1.0" if CORNERS else "- 0.5"};
    return select(position, clamp(position, 0.0, n - 1.0), position < low || position > high);
    //% elif PADDING == "reflection"
    return reflected(position, n);
    //% else
    return position;
    //% endif
}

// The element at position i; -1 for none.
fn element_at(i: i32, n: i32) -> i32 {
    //% if PADDING == "border"
    return clamp(i, 0, n - 1);
    //% elif PADDING == "reflection"
    return clamp(i32(reflected(${VALUE}(i), ${VALUE}(n))), 0, n - 1);
    //% else
    return select(-1, i, i >= 0 && i < n);
    //% endif
}

//% if MODE == "cubic"
// Keys' kernel with a = -0.75 at the distances 1 + t, t, 1 - t and 2 - t.
fn weights_of(t: ${VALUE}) -> vec4<${VALUE}> {
    let far = vec2<${VALUE}>(1.0 + t, 2.0 - t);
    let near = vec2<${VALUE}>(t, 1.0 - t);
    let a = ((-0.75 * far + 3.75) * far - 6.0) * far + 3.0;
    let b = (1.25 * near - 2.25) * near * near + 1.0;
    return vec4<${VALUE}>(a.x, b.x, b.y, a.y);
}
//% endif
