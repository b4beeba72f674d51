// What is drawn over and around an image for reading it: sizes, colors and positions. Needs a uniform `overlay` of type
// Overlay.

struct Bar {                // of colors
    rectangle: vec4f,       // left, top, width, height in pixels
    range: vec2f,           // values at the two ends of the colormap
    auto_range: f32,        // 1: the ends are as the GPU finds them
    total_width: f32,       // width of the bar with its title and its numbers
}

struct Overlay {               // mirrored by renderer/annotations/overlay.py
    viewport: vec2f,        // pixels
    unit: f32,              // pixels of what is one wide in an image of ordinary height
    em: f32,                // pixels
    ink: vec4f,             // as a screen shows it
    halo: vec4f,            // around the ink, so that it can be read on everything
    plate: vec4f,           // behind bars, in the color of the background: visible only where something is behind them
    low: vec3f,             // a box that the scene asks for, in world space
    own_low: f32,           // 1: it does
    high: vec3f,
    own_high: f32,
    scale: vec4f,           // of the scale bar: left and bottom in pixels, its longest length, the width of its unit
    distance: f32,          // from the eye to the camera's target
    floor_height: f32,
    own_floor: f32,         // 1: the floor is at `floor_height`; 0: under everything
    light: f32,             // of lines in the scene, before exposure
    bars: array<Bar, 4>,
}
