// The light that a path tracer samples: the sun, a disc with a width, and the light from around, a table by longitude and latitude.
// Directions to both are one distribution: `params.sun_part` of them go to the sun. Needs common/trace_scene.wgsl and PI.

// A direction of the world with y up, as the table has it.
fn with_y_up(world: vec3f) -> vec3f {
    return select(world, vec3f(world.x, world.z, -world.y), params.up_z > 0.0);
}

fn with_world_up(direction: vec3f) -> vec3f {
    return select(direction, vec3f(direction.x, -direction.z, direction.y), params.up_z > 0.0);
}

// Where the table has a direction, from 0 to 1: its middle is -z, to the right of it +x.
fn on_table(world: vec3f) -> vec2f {
    let direction = with_y_up(world);
    let around = atan2(direction.x, -direction.z) + params.turn;
    return vec2f(fract(0.5 + around / (2.0 * PI)), acos(clamp(direction.y, -1.0, 1.0)) / PI);
}

fn texel(cell: vec2i) -> vec3f {
    let size = vec2i(params.environment_size);
    let column = (cell.x + size.x) % size.x;
    let first = params.environment + 3u * u32(clamp(cell.y, 0, size.y - 1) * size.x + column);
    return vec3f(tables[first], tables[first + 1u], tables[first + 2u]);
}

// Radiance from around, linear between texels.
fn environment_toward(world: vec3f) -> vec3f {
    if params.environment_size.x == 0u { return vec3f(0.0); }
    let position = on_table(world) * vec2f(params.environment_size) - 0.5;
    let low = vec2i(floor(position));
    let part = position - floor(position);
    let upper = mix(texel(low), texel(low + vec2i(1, 0)), part.x);
    return mix(upper, mix(texel(low + vec2i(0, 1)), texel(low + vec2i(1, 1)), part.x), part.y);
}

fn is_sun(world: vec3f) -> bool {
    return params.sun_part > 0.0 && dot(world, params.sun) > 0.0 && length(cross(world, params.sun)) < params.sun_sine;
}

fn light_toward(world: vec3f) -> vec3f {
    return environment_toward(world) + select(vec3f(0.0), params.sun_light, is_sun(world));
}

// The part of a cumulative distribution that is at `i`, counted from `first`.
fn part_at(first: u32, i: u32) -> f32 {
    return tables[first + i] - select(0.0, tables[first + max(i, 1u) - 1u], i > 0u);
}

fn environment_density(world: vec3f) -> f32 {
    let size = params.environment_size;
    if size.x == 0u { return 0.0; }
    let at = on_table(world);
    let cell = min(vec2u(at * vec2f(size)), size - 1u);
    let part = part_at(params.marginal, cell.y) * part_at(params.conditional + cell.y * size.x, cell.x);
    return part * f32(size.x * size.y) / (2.0 * PI * PI * max(sin(PI * at.y), 1e-6));
}

// How densely directions of `light_sample` are around this one, per steradian.
fn light_density(world: vec3f) -> f32 {
    let sun = select(0.0, params.sun_density, is_sun(world));
    return mix(environment_density(world), sun, params.sun_part);
}

// The index at which a cumulative distribution of `count` numbers passes x, and how far between it and the next.
fn found_in(first: u32, count: u32, x: f32) -> vec2f {
    var low = 0u;
    var high = count - 1u;
    while low < high {
        let middle = (low + high) / 2u;
        if tables[first + middle] <= x { low = middle + 1u; } else { high = middle; }
    }
    let before = select(0.0, tables[first + max(low, 1u) - 1u], low > 0u);
    let part = tables[first + low] - before;
    return vec2f(f32(low), clamp((x - before) / max(part, 1e-30), 0.0, 0.999999));
}

// A direction toward the light, and how densely directions are around it, per steradian.
struct LightSample {
    direction: vec3f,
    density: f32,
}

// The density is that of the cell which was chosen: by the direction, rounding may find the next one, which may be much darker.
fn environment_sample(at: vec2f) -> LightSample {
    let size = params.environment_size;
    let row = found_in(params.marginal, size.y, at.x);
    let columns = params.conditional + u32(row.x) * size.x;
    let column = found_in(columns, size.x, at.y);
    let latitude = PI * (row.x + row.y) / f32(size.y);
    let around = 2.0 * PI * ((column.x + column.y) / f32(size.x) - 0.5) - params.turn;
    let direction = with_world_up(vec3f(sin(latitude) * sin(around), cos(latitude), -sin(latitude) * cos(around)));
    let part = part_at(params.marginal, u32(row.x)) * part_at(columns, u32(column.x));
    return LightSample(direction, part * f32(size.x * size.y) / (2.0 * PI * PI * max(sin(latitude), 1e-6)));
}

// By three random numbers.
fn light_sample(random_: vec3f) -> LightSample {
    if random_.z >= params.sun_part && params.environment_size.x > 0u {
        let found = environment_sample(random_.xy);
        let sun = select(0.0, params.sun_density, is_sun(found.direction));
        return LightSample(found.direction, mix(found.density, sun, params.sun_part));
    }
    let direction = sun_direction(random_.xy);
    return LightSample(direction, light_density(direction));
}

fn sun_direction(random_: vec2f) -> vec3f {
    let sine = 0.9999 * params.sun_sine * sqrt(random_.x);
    let angle = 2.0 * PI * random_.y;
    return turned(vec3f(sine * cos(angle), sine * sin(angle), sqrt(1.0 - sine * sine)), params.sun);
}
