// The encoding that a coordinate network gets instead of its coordinates.
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

// A level's cell with a point: its lowest corner, and how far the point is from it along each axis, in cells. Coordinates
// go from 0 to 1; a point outside has the features of the border.
struct Cell {
    low: array<u32, ${DIMENSIONS}>,
    fraction: array<f32, ${DIMENSIONS}>,
    line: u32,     // corners along an axis
    begin: u32,    // of the level's table
    dense: bool,   // whether each corner has an entry of its own
}

fn cell_with(point: array<f32, ${DIMENSIONS}>, level: u32) -> Cell {
    let cells = params.resolutions[level / 4u][level % 4u];
    let line = cells + 1u;
    //% for d in range(DIMENSIONS)
    let position${d} = clamp(point[${d}], 0.0, 1.0) * f32(cells);
    let low${d} = min(u32(position${d}), cells - 1u);
    //% endfor
    var corners = 1.0;
    //% for d in range(DIMENSIONS)
    corners *= f32(line);
    //% endfor
    return Cell(
        array<u32, ${DIMENSIONS}>(
            //% for d in range(DIMENSIONS)
            low${d},
            //% endfor
        ),
        array<f32, ${DIMENSIONS}>(
            //% for d in range(DIMENSIONS)
            position${d} - f32(low${d}),
            //% endfor
        ),
        line,
        level * ${ENTRIES}u,
        corners <= ${ENTRIES}.0,
    );
}

struct Corner {
    entry: u32,  // of all tables
    weight: f32,
}

// A corner of a cell, numbered by its bits: where its features are, and how much they count, d-linear between the
// corners. A level with few enough corners has each in an entry of its own; in others the entry is found by the spatial
// hash of Müller et al. 2022, "Instant Neural Graphics Primitives", equation 4.
fn corner_of(cell: Cell, corner: u32) -> Corner {
    //% for d in range(DIMENSIONS)
    let far${d} = corner >> ${d}u & 1u;
    let at${d} = cell.low[${d}] + far${d};
    //% endfor
    var number = 0u;
    var hash = 0u;
    var weight = 1.0;
    //% for d in range(DIMENSIONS)
    hash = hash ^ (at${d} * ${PRIMES[d]}u);
    number = number * cell.line + at${DIMENSIONS - 1 - d};
    weight *= select(1.0 - cell.fraction[${d}], cell.fraction[${d}], far${d} == 1u);
    //% endfor
    return Corner(cell.begin + select(hash % ${ENTRIES}u, number, cell.dense), weight);
}

// The features of one level at a point.
fn level_features(point: array<f32, ${DIMENSIONS}>, level: u32) -> ${VALUES} {
    let cell = cell_with(point, level);
    var sum = ${VALUES}();
    //% for corner in range(2 ** DIMENSIONS)
    {
        let corner = corner_of(cell, ${corner}u);
        sum += corner.weight * ${VALUES}(tables[params.tables_offset / ${FEATURES}u + corner.entry]);
    }
    //% endfor
    return sum;
}
//% endif
