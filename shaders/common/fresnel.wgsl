// The fraction of unpolarized light that is reflected where it enters a medium of index `ior` at this cosine (Fresnel's
// equations; Born and Wolf 1999, "Principles of Optics", section 1.5.2). An index below 1 is that of a medium that it leaves into: all
// is reflected beyond the critical angle.
fn fresnel(cosine: f32, ior: f32) -> f32 {
    let inside = sqrt(max(1.0 - (1.0 - cosine * cosine) / (ior * ior), 0.0));
    let across = (cosine - ior * inside) / (cosine + ior * inside);
    let along = (ior * cosine - inside) / (ior * cosine + inside);
    return 0.5 * (across * across + along * along);
}
