// Index along Hilbert's curve of a cell, 10 bits an axis (Skilling 2004).
fn hilbert(cell: vec3u) -> u32 {
    var x = cell;
    for (var bit = 512u; bit > 1u; bit = bit >> 1u) {
        let low = bit - 1u;
        for (var axis = 0u; axis < 3u; axis += 1u) {
            if (x[axis] & bit) != 0u {
                x.x = x.x ^ low;
            } else {
                let swap = (x.x ^ x[axis]) & low;
                x.x = x.x ^ swap;
                x[axis] = x[axis] ^ swap;
            }
        }
    }
    x.y = x.y ^ x.x;
    x.z = x.z ^ x.y;
    var flip = 0u;
    for (var bit = 512u; bit > 1u; bit = bit >> 1u) {
        flip = select(flip, flip ^ (bit - 1u), (x.z & bit) != 0u);
    }
    x = x ^ vec3u(flip);
    var key = 0u;
    for (var bit = 512u; bit > 0u; bit = bit >> 1u) {
        let digits = select(vec3u(0u), vec3u(4u, 2u, 1u), (x & vec3u(bit)) != vec3u(0u));
        key = (key << 3u) | digits.x | digits.y | digits.z;
    }
    return key;
}
