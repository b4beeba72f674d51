// Pieces of lines for a path tracer: two spheres and the cone around both, which path_trace/lines.py has as primitives of its own. Needs
// common/trace_scene.wgsl.

// From the one sphere, at `begin`, to the other, at `begin + along`.
struct Tube {
    begin: vec3f,
    along: vec3f,
    radius: f32,
    thinner: f32,           // how much smaller the radius is at the end
}

fn tube_at(primitive: u32) -> Tube {
    let begin = bitcast<vec3f>(primitives[3u * primitive].xyz);
    let radii = bitcast<vec2f>(primitives[3u * primitive + 2u].xy);
    return Tube(begin, bitcast<vec3f>(primitives[3u * primitive + 1u].xyz) - begin, radii.x, radii.x - radii.y);
}

// Which of the spheres, of which the tube is the hull, touches its side from within at a position: 0 to 1 are between the ends. The position
// is on that sphere where the distance to it is least.
fn part_of_tube(tube: Tube, from_begin: vec3f) -> f32 {
    let spread = dot(tube.along, tube.along) - tube.thinner * tube.thinner;
    return (dot(from_begin, tube.along) - tube.radius * tube.thinner) / max(spread, 1e-30);
}

// Where a ray enters a sphere; FAR if it does not.
fn entry_of_sphere(from_center: vec3f, direction: vec3f, radius: f32) -> f32 {
    let along = -dot(from_center, direction);
    let aside = from_center + along * direction;
    let inside = radius * radius - dot(aside, aside);
    return select(FAR, along - sqrt(max(inside, 0.0)), inside >= 0.0);
}

// A ray is stopped where it enters. The side is the envelope of spheres between the ends: |p - c(t)| = r(t), and the same derived by t. The
// chance is that of the line: where its pieces overlap they are not more opaque.
fn meet_tube(primitive: u32, first: vec4u, ray: Ray, hit: ptr<function, Hit>) {
    let tube = tube_at(primitive);
    // From the position on the ray next to the middle: lines are thin, and cameras far.
    let ahead = dot(tube.begin + 0.5 * tube.along - ray.origin, ray.direction);
    let origin = ray.origin + ahead * ray.direction - tube.begin;
    var near = min(
        entry_of_sphere(origin, ray.direction, tube.radius),
        entry_of_sphere(origin - tube.along, ray.direction, tube.radius - tube.thinner),
    );
    let spread = dot(tube.along, tube.along) - tube.thinner * tube.thinner;
    if spread > 0.0 {
        let toward = dot(ray.direction, tube.along);
        let begun = dot(origin, tube.along) - tube.radius * tube.thinner;
        let a = 1.0 - toward * toward / spread;
        let b = dot(origin, ray.direction) - begun * toward / spread;
        let c = dot(origin, origin) - tube.radius * tube.radius - begun * begun / spread;
        let root = b * b - a * c;
        // Where a ray is steeper than the side (a < 0), only one of the two is on the cone between the spheres.
        let sides = vec2f(-b - sqrt(max(root, 0.0)), -b + sqrt(max(root, 0.0))) / select(a, 1e-7, abs(a) < 1e-7);
        let parts = (begun + sides * toward) / spread;
        let is_met = root >= 0.0 && abs(a) > 1e-7;
        near = min(near, select(FAR, sides.x, is_met && parts.x >= 0.0 && parts.x <= 1.0));
        near = min(near, select(FAR, sides.y, is_met && parts.y >= 0.0 && parts.y <= 1.0));
    }
    let distance = near + ahead;
    if near >= FAR || !(distance > 0.0 && distance < (*hit).distance) { return; }
    if is_clipped(ray.origin + distance * ray.direction) { return; }
    let u = clamp(part_of_tube(tube, origin + near * ray.direction), 0.0, 1.0);
    let line = primitives[3u * primitive + 2u].z;
    if stops(first.w, line, ray, color_at(primitive, u, 0.0).a) { *hit = Hit(distance, primitive, u, 0.0); }
}
