// Two substances that react and diffuse on a surface: u is fed everywhere, v eats it, and both spread (Gray & Scott).
//   du/dt = D_u L u − u v² + F (1 − u)      dv/dt = D_v L v + u v² − (F + k) v          (Pearson 1993, equation 2)
// In: MESH, whether the surface is a mesh (neighbors from starts, neighbors, weights) or a plane that repeats (a square
//     of params.side points a side, nine-point Laplacian). points, normals: the surface, a row of four numbers each.
// Out: after, u and v a step later (react); field, with v added by the paint tool (paint); positions and normals of the
//      surface, raised by v (show). The reference implementation is app/vertigrad/models/reference/gray_scott.py.
//% include "common/index.wgsl"

struct Params {
    count: u32,
    side: u32,
    edge: f32,  // from point to point of the plane
    feed: f32,
    kill: f32,
    diffusion: vec2f,
    dt: f32,
    height: f32,
    origin: vec3f,  // of the ray from the eye through the cursor
    direction: vec3f,
    radius: f32,
    amount: f32,
    goal: f32,
    fastest: f32,  // rate at which u may be eaten: with more, a step would not be stable
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> before: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> after: array<vec2f>;
@group(0) @binding(3) var<storage, read> points: array<vec4f>;
@group(0) @binding(4) var<storage, read> normals: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> raised: array<f32>;
@group(0) @binding(6) var<storage, read_write> tilted: array<f32>;
//% if MESH
@group(0) @binding(7) var<storage, read> starts: array<u32>;
@group(0) @binding(8) var<storage, read> neighbors: array<u32>;
@group(0) @binding(9) var<storage, read> weights: array<f32>;

fn laplacian(i: u32, here: vec2f) -> vec2f {
    var sum = vec2f(0.0);
    for (var at = starts[i]; at < starts[i + 1u]; at += 1u) {
        sum += weights[at] * (before[neighbors[at]] - here);
    }
    return sum;
}

// Gradient of v: twice the gradients' product of v and a coordinate x is L(v x) − v L x − x L v.
fn gradient(i: u32) -> vec3f {
    let here = before[i].y;
    var sum = vec3f(0.0);
    for (var at = starts[i]; at < starts[i + 1u]; at += 1u) {
        let j = neighbors[at];
        sum += weights[at] * (before[j].y - here) * (points[j].xyz - points[i].xyz);
    }
    return 0.5 * sum;
}
//% else

// Rows and columns next to a point of the plane: before it and after it.
struct Stencil {
    row: vec3u,  // where the rows above, of and below the point begin
    column: vec3u,
}

fn stencil_of(i: u32) -> Stencil {
    let n = params.side;
    let row = i / n;
    let column = i - row * n;
    let rows = vec3u(select(row, n, row == 0u) - 1u, row, select(row + 1u, 0u, row == n - 1u));
    return Stencil(rows * n, vec3u(select(column, n, column == 0u) - 1u, column, select(column + 1u, 0u, column == n - 1u)));
}

fn laplacian(i: u32, here: vec2f) -> vec2f {
    let at = stencil_of(i);
    let r = at.row;
    let c = at.column;
    let edges = before[r.x + c.y] + before[r.z + c.y] + before[r.y + c.x] + before[r.y + c.z];
    let corners = before[r.x + c.x] + before[r.x + c.z] + before[r.z + c.x] + before[r.z + c.z];
    return (4.0 * edges + corners - 20.0 * here) / (6.0 * params.edge * params.edge);
}

fn gradient(i: u32) -> vec3f {
    let at = stencil_of(i);
    let r = at.row;
    let c = at.column;
    let east = before[r.x + c.z].y + 4.0 * before[r.y + c.z].y + before[r.z + c.z].y;
    let west = before[r.x + c.x].y + 4.0 * before[r.y + c.x].y + before[r.z + c.x].y;
    let south = before[r.z + c.x].y + 4.0 * before[r.z + c.y].y + before[r.z + c.z].y;
    let north = before[r.x + c.x].y + 4.0 * before[r.x + c.y].y + before[r.x + c.z].y;
    return vec3f(east - west, 0.0, south - north) / (12.0 * params.edge);
}
//% endif

@compute @workgroup_size(128)
fn react(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let here = before[i];
    let eaten = here.x * min(here.y * here.y, params.fastest);
    let reaction = vec2f(params.feed * (1.0 - here.x) - eaten, eaten - (params.feed + params.kill) * here.y);
    after[i] = here + params.dt * (params.diffusion * laplacian(i, here) + reaction);
}

// Brings v towards a value, within a radius of the ray and on the side of the surface that faces the eye.
@compute @workgroup_size(128)
fn paint(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count || dot(normals[i].xyz, params.direction) >= 0.0 {
        return;
    }
    let away = points[i].xyz - params.origin;
    let sideways = away - dot(away, params.direction) * params.direction;
    let near = max(1.0 - dot(sideways, sideways) / (params.radius * params.radius), 0.0);
    let v = after[i].y;
    after[i].y = v + params.amount * near * near * (params.goal - v);
}

@compute @workgroup_size(128)
fn show(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let normal = normals[i].xyz;
    let raised_point = points[i].xyz + params.height * before[i].y * normal;
    let across = normalize(normal - params.height * gradient(i));
    for (var k = 0u; k < 3u; k += 1u) {
        raised[3u * i + k] = raised_point[k];
        tilted[3u * i + k] = across[k];
    }
}
