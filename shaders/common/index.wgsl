// Where an invocation is, and the offset of its element. Include this for linear_index, import it for the macro `walk`.

// The index of an invocation in a dispatch whose row of workgroups may have been folded into two dimensions.
fn linear_index(id: vec3u, groups: vec3u, workgroup: u32) -> u32 {
    return id.y * (groups.x * workgroup) + id.x;
}

// NAME_at for each name in `names`: where element number `index` of params.shape is in the array NAME, by
// params.NAME_offset and params.NAME_strides. `rank` is the number of axes, at most 8.
//% macro walk(index, rank, names)
var rest = ${index};
    //% for name in names
    var ${name}_at = i32(params.${name}_offset);
    //% endfor
    //% for axis in range(rank - 1, -1, -1)
    {
        //% if axis == 0
        let at = i32(rest);
        //% else
        let size = params.shape[${axis // 4}][${axis % 4}];
        let at = i32(rest % size);
        rest = rest / size;
        //% endif
        //% for name in names
        ${name}_at += at * params.${name}_strides[${axis // 4}][${axis % 4}];
        //% endfor
    }
    //% endfor
//%- endmacro
