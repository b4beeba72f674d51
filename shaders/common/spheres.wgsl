// Spheres as quads that face the eye, whose fragments meet the sphere with their lines of sight. Needs a uniform `view` of
// common/view.wgsl. With CORNERS = 3 they are triangles: more fragments that see nothing of a sphere, but fewer vertices.

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);     // outside the clip volume

// How far a quad through `center` must reach to contain the whole outline of the sphere; 0 from within it.
fn outline_reach(center: vec3f, radius: f32) -> f32 {
    // The cone that touches the sphere is wider than the sphere where the quad stands.
    let distance2 = dot(center, center);
    let outside = distance2 > radius * radius;
    let wider = radius * sqrt(distance2 / select(1.0, distance2 - radius * radius, outside));
    // Chosen without branches: Mesa 22's llvmpipe loses memory at every draw whose vertex stage returns early.
    return select(select(0.0, wider, outside), radius, is_parallel());
}

// A quad across the line of sight to `center`, which reaches `reach` from it.
fn quad_corner(corner: u32, center: vec3f, reach: f32) -> vec3f {
    let sight = sight_to(center);
    let right = normalize(vec3f(-sight.z, 0.0, sight.x));
    let above = cross(right, sight);
    let coordinate = quad_coordinate(corner) * reach;
    return center + right * coordinate.x + above * coordinate.y;
}

//% if CORNERS is defined and CORNERS == 3
// Of the triangle with equal sides around the unit circle.
fn quad_coordinate(corner: u32) -> vec2f {
    return vec2f(1.7320509 * (f32(corner) - 1.0), select(-1.0, 2.0, corner == 1u));
}
//% else
fn quad_coordinate(corner: u32) -> vec2f {
    return vec2f(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0;
}
//% endif

struct Hit {
    sight: vec3f,
    along: f32,         // from where the line of sight starts to its nearest point to the center
    aside: vec3f,       // from there to the center
    miss: f32,          // how far that is
    position: vec3f,       // where the line of sight meets the sphere
    inside: bool,       // on the far side: the near one is cut away
}

// Where the line of sight through `eye` meets a sphere.
fn hit_sphere(eye: vec3f, center: vec3f, radius: f32) -> Hit {
    var hit: Hit;
    let start = sight_start(eye);
    let to_center = center - start;
    hit.sight = sight_to(eye);
    hit.along = dot(to_center, hit.sight);
    hit.aside = to_center - hit.sight * hit.along;
    hit.miss = length(hit.aside);
    let depth_inside = sqrt(max(radius * radius - hit.miss * hit.miss, 0.0));
    hit.position = start + hit.sight * (hit.along - depth_inside);
    hit.inside = beyond_clips(hit.position) > 0.0;
    if hit.inside { hit.position = start + hit.sight * (hit.along + depth_inside); }
    return hit;
}
