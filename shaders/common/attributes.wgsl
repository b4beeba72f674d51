// Colors of rows, as layers take them: constants, sRGB, or scalars through a colormap. Import for the macro `color`,
// which defines ROW_color(row) for a vertex input of type `struct` with the attributes color and extent. Needs the uniform
// `style` with color, range and auto_range, and where COLORMAPPED `colormap` and `smooth_sampler`.
//% macro color(name, struct, components, colormapped)
fn ${name}_color(row: ${struct}) -> vec4f {
//% if colormapped
    let range = select(style.range, row.extent, style.auto_range > 0.0);
    let x = colormap_coordinate(f32(row.color), range, f32(textureDimensions(colormap).x));
    return textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% elif components == 4
    return vec4f(srgb_to_linear(vec3f(row.color.rgb)), f32(row.color.a));
//% elif components
    return vec4f(srgb_to_linear(vec3f(row.color)), 1.0);
//% else
    return style.color;
//% endif
}
//%- endmacro
