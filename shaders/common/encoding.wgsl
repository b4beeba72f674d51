// What a coordinate network is given in place of its coordinates.
// In: ENCODING, "", "frequency" or "hash"; DIMENSIONS, coordinates of a point; for hash grids also FEATURES (1, 2 or 4)
//     of each level and ENTRIES of its table, a uniform `params` with `resolutions` (array<vec4u, 8>, cells along an
//     axis of each level) and `tables_offset`, and a storage array `tables` of a level's features after the other.
//% set PRIMES = [1, 2654435761, 805459861, 3674653429]
//% set VALUES = {1: "f32", 2: "vec2f", 4: "vec4f"}[FEATURES]
//% if ENCODING == "frequency"

// sin(pi x) for |x| <= 1/2, by a Taylor polynomial of degree 11 (6e-8).
fn sin_quarter(x: f32) -> f32 {
    let r = x * 3.14159265;
    let s = r * r;
    let q = -1.66666667e-1 + s * (8.33333333e-3 + s * (-1.98412698e-4 + s * (2.75573192e-6 - s * 2.50521084e-8)));
    return r + r * s * q;
}

// sin(pi x) and cos(pi x) for any x that f32 holds: whole turns are taken off without rounding.
fn sin_half_turns(x: f32) -> f32 {
    let t = x - 2.0 * round(x * 0.5);
    let folded = select(-1.0 - t, 1.0 - t, t > 0.0);
    return sin_quarter(select(t, folded, abs(t) > 0.5));
}

fn cos_half_turns(x: f32) -> f32 {
    return sin_quarter(0.5 - abs(x - 2.0 * round(x * 0.5)));
}
//% elif ENCODING == "hash"

// The features of one level at a point, d-linear between the corners of its cell. A level with few enough corners has
// each in an entry of its own; in others the entry is found by the spatial hash of Müller et al. 2022, "Instant Neural
// Graphics Primitives", equation 4. Coordinates go from 0 to 1; a point outside has the features of the border.
fn level_features(point: array<f32, ${DIMENSIONS}>, level: u32) -> ${VALUES} {
    let cells = params.resolutions[level / 4u][level % 4u];
    let line = cells + 1u;
    //% for d in range(DIMENSIONS)
    let place${d} = clamp(point[${d}], 0.0, 1.0) * f32(cells);
    let low${d} = min(u32(place${d}), cells - 1u);
    let share${d} = place${d} - f32(low${d});
    //% endfor
    var corners = 1.0;
    //% for d in range(DIMENSIONS)
    corners *= f32(line);
    //% endfor
    let begin = params.tables_offset / ${FEATURES}u + level * ${ENTRIES}u;
    var sum = ${VALUES}();
    //% for corner in range(2 ** DIMENSIONS)
    {
        //% for d in range(DIMENSIONS)
        let at${d} = low${d} + ${corner // 2 ** d % 2}u;
        //% endfor
        var number = 0u;
        var hash = 0u;
        var weight = 1.0;
        //% for d in range(DIMENSIONS)
        hash = hash ^ (at${d} * ${PRIMES[d]}u);
        number = number * line + at${DIMENSIONS - 1 - d};
        weight *= ${"share" ~ d if corner // 2 ** d % 2 else "(1.0 - share" ~ d ~ ")"};
        //% endfor
        let entry = select(hash % ${ENTRIES}u, number, corners <= ${ENTRIES}.0);
        sum += weight * ${VALUES}(tables[begin + entry]);
    }
    //% endfor
    return sum;
}
//% endif
