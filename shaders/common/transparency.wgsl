// What is transparent, blended without an order: light and alphas are added up with weights that fall with distance, and what
// all of it lets through is multiplied (McGuire and Bavoil 2013, "Weighted Blended Order-Independent Transparency", JCGT 2).
// renderer/transparency.py draws it and draw/transparency.wgsl puts it over what is solid. Needs a uniform `view` of
// common/view.wgsl.

const OPAQUE = 0.999;     // and above: what was 1 may be less by a rounding once it is interpolated

struct Clear {
    @location(0) weighed: vec4f,    // light and alpha, times the weight
    @location(1) through: f32,      // what is let through
}

const BRIGHTEST = 200.0;    // half floats hold the sum of a few hundred of these, weighed

// A fragment at `eye` that shines so toward the eye and lets 1 - alpha through.
fn clear(light: vec3f, alpha: f32, eye: vec3f) -> Clear {
    // The third power of a nearness from 0, far behind what is looked at, to 1 in front of it.
    let near = clamp(1.0 - 0.5 * (-eye.z / view.distance), 0.02, 1.0);
    let weight = alpha * clamp(near * near * near * 8.0, 1e-3, 8.0);
    return Clear(vec4f(min(light, vec3f(BRIGHTEST)), 1.0) * weight, 1.0 - alpha);
}
