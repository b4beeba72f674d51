// Where colors are drawn to. An image with display-referred layers has two targets, of light and of what a screen shows. The
// same goes to both: a pipeline stores it in one and attenuates the other by its alpha (renderer/target.py).
// Where there is one target, the second output goes nowhere.

struct Output {
    @location(0) light: vec4f,
    @location(1) display: vec4f,
}

fn output(color: vec4f) -> Output {
    return Output(color, color);
}
