// What streams into a cell of models/lattice_boltzmann.wgsl: from its neighbors, the ends and sides of the channel, and obstacles.
// In: ENDS and SIDES of the channel; OBSTACLES, their number if the flow moves some; the lists C, OPPOSITE, MIRRORED and W of
// the including file.

const YIELDS = vec2f(1.3, 1.5);  // densities between which the inflow yields to what blocks it

// What streams into a cell from beyond an end of the channel, where `back` has left it.
fn through_end(cell: u32, back: f32, weight: f32, c: vec2f) -> f32 {
    let here = fluid(cell);
    if c.x > 0.0 {  // a wall that moves with the inflow (Ladd 1994)
        let gives = clamp((YIELDS.y - 1.0 - here.z) / (YIELDS.y - YIELDS.x), 0.0, 1.0);
        return back + 6.0 * weight * c.x * params.inflow * gives;
    }
    let along = dot(c, here.xy);  // density 1, by bouncing back with the other sign (Ginzburg et al. 2008)
    return -back + weight * (9.0 * along * along - 3.0 * dot(here.xy, here.xy));
}

const MOST_WALL_SPEED = 0.2;  // [cells/step]

//% if SHAPE == "placed"
// Of a cell of the obstacle, limited to what the lattice stands [cells/step].
fn velocity_of_wall(cell: u32) -> vec2f {
    return limited(wall_velocity[cell], MOST_WALL_SPEED);
}

// The mean density, less 1, of the fluid next to a cell; 0 if there is none.
fn extra_around(row: i32, column: i32) -> f32 {
    var sum = vec2f(0.0);
    //% for k in range(1, 9)
    {
        let r = clamp(row + (${C[k][1]}), 0, i32(params.rows) - 1);
        let x = clamp(column + (${C[k][0]}), 0, i32(params.columns) - 1);
        let neighbor = u32(r * i32(params.columns) + x);
        if distance[neighbor] > 0.0 {
            sum += vec2f(fluid(neighbor).z, 1.0);
        }
    }
    //% endfor
    return sum.x / max(sum.y, 1.0);
}
//% endif

// What a wall that moves, in a cell, gives to what it throws back in direction c (Ladd 1994).
fn thrown(density: f32, cell: u32, weight: f32, c: vec2f) -> f32 {
    //% if SHAPE == "placed"
    return 6.0 * weight * density * dot(c, velocity_of_wall(cell));
    //% else
    return 0.0;
    //% endif
}

//% if OBSTACLES
struct Link {
    owner: u32,   // of the cell that threw something back; none if it is FLUID
    cell: u32,
    slope: f32,   // how much more is thrown back for each velocity of the wall
    thrown: f32,  // momentum that this gives to the wall
}
const NO_LINK = Link(FLUID, 0u, 0.0, 0.0);
var<private> link: Link;  // of what `streamed` returned last, where that was thrown back

//% endif
//% for k in range(9)
// What streams into a cell from its side in direction ${k}: from a neighbor, or thrown back by what is there.
fn streamed_${k}(row: i32, column: i32, cell: u32) -> f32 {
    let rows = i32(params.rows);
    let columns = i32(params.columns);
    var r = row - (${C[k][1]});
    var x = column - (${C[k][0]});
    let back = population(${OPPOSITE[k]}u, cell);
    //% if ENDS == "periodic"
    x = select(select(x, x - columns, x >= columns), x + columns, x < 0);
    //% else
    if x < 0 || x >= columns {
        return through_end(cell, back, ${W[k]}, vec2f(${C[k][0]}, ${C[k][1]}));
    }
    //% endif
    if r < 0 || r >= rows {
        //% if SIDES == "periodic"
        r = select(r - rows, r + rows, r < 0);
        //% elif SIDES == "slip"
        let neighbor = u32(row * columns + x);
        return select(back, population(${MIRRORED[k]}u, neighbor), distance[neighbor] > 0.0);
        //% else
        return back;
        //% endif
    }
    let from_ = u32(r * columns + x);
    let beyond = distance[from_];
    if beyond > 0.0 {
        return population(${k}u, from_);
    }
    // from a wall between the cell and its neighbor (Bouzidi, Firdaouss & Lallemand 2001, equation 5)
    let fraction = distance[cell] / max(distance[cell] - beyond, 1e-6);
    let wall_term = thrown(1.0 + fluid(cell).z, from_, ${W[k]}, vec2f(${C[k][0]}, ${C[k][1]}));
    //% if OBSTACLES
    link = Link(owner[from_], from_, 6.0 * ${W[k]} * (1.0 + fluid(cell).z) * select(1.0, 0.5 / fraction, fraction >= 0.5), 0.0);
    //% endif
    if fraction >= 0.5 {
        return mix(population(${k}u, cell), back, 0.5 / fraction) + wall_term * (0.5 / fraction);
    }
    r = row + (${C[k][1]});
    x = column + (${C[k][0]});
    let behind = u32(clamp(r, 0, rows - 1) * columns + clamp(x, 0, columns - 1));
    let usable = r >= 0 && x >= 0 && r < rows && x < columns && distance[behind] > 0.0;
    return wall_term + select(back, mix(population(${OPPOSITE[k]}u, behind), back, 2.0 * fraction), usable);
}
//% endfor
