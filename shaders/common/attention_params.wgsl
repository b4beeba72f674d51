// Arguments of the kernels of attention; for what they mean, see ops/attention.py.
struct Params {
    queries: u32,
    keys: u32,
    heads: u32,
    members: u32,
    group_size: u32,      // heads of q that have one head of k and v
    width: u32,
    width_out: u32,
    scale: f32,
    cap: f32,
    offset: i32,     // the key that query 0 stands at
    left: i32,       // keys before a query's own that it may attend, and after it
    right: i32,
    by_length: u32,  // whether the offset is each member's number of keys less the queries
    q_offset: u32,
    k_offset: u32,
    v_offset: u32,
    out_offset: u32,
    mask_offset: u32,
    lengths_offset: u32,
    q_strides: vec4i,
    k_strides: vec4i,
    v_strides: vec4i,
    out_strides: vec4i,
    mask_strides: vec4i,
    lengths_strides: i32,
}
