// Tone mapping: from linear light, after exposure, to linear colors that a screen shows. Needs common/color.wgsl.
// In: TONE_MAP, one of TONE_MAPS of renderer/view.py: software adapters run all branches of a shader.

// The film's response per channel is Naka and Rushton's x^n / (x^n + s^n): an S in log exposure that leaves
// middle gray unchanged. As in Sobotka's AgX the channels are first drawn together and afterwards apart again,
// so that very bright colors turn white instead of clipping to a pure primary.
const GRAY = 0.18;
const WHITE = 12.0;         // exposure that becomes full white
const INWARD = 0.12;
const OUTWARD = 0.10;

fn film(light: vec3f) -> vec3f {
    let gray = luminance(light);
    let drawn = steep(mix(light, vec3f(gray), INWARD));
    let half_point = steep(vec3f(GRAY)) * (1.0 / GRAY - 1.0);
    let white = steep(vec3f(WHITE));
    let shown = drawn / (drawn + half_point) * ((white + half_point) / white);
    let shown_gray = luminance(shown);
    return clamp((shown - shown_gray * OUTWARD) / (1.0 - OUTWARD), vec3f(0.0), vec3f(1.0));
}

// x to the power of 1.5, the film's contrast.
fn steep(x: vec3f) -> vec3f {
    return x * sqrt(x);
}

// AgX (Troy Sobotka) by the matrix and the polynomial of Benjamin Wrensch, "Minimal AgX Implementation", 2023: channels
// drawn together, the logarithm of light between two exposures, an S, channels apart again; its result has a gamma of 2.2.
const AGX_INSET = mat3x3f(
    0.842479062253094, 0.0423282422610123, 0.0423756549057051,
    0.0784335999999992, 0.878468636469772, 0.0784336,
    0.0792237451477643, 0.0791661274605434, 0.879142973793104,
);
const AGX_OUTSET = mat3x3f(
    1.19687900512017, -0.0528968517574562, -0.0529716355144438,
    -0.0980208811401368, 1.15190312990417, -0.0980434501171241,
    -0.0990297440797205, -0.0989611768448433, 1.15107367264116,
);
const AGX_LEAST = -12.47393;    // log2 of the light that becomes black,
const AGX_MOST = 4.026069;      // and of that which becomes white

fn agx(light: vec3f) -> vec3f {
    let together = max(AGX_INSET * light, vec3f(1e-10));
    let x = clamp((log2(together) - AGX_LEAST) / (AGX_MOST - AGX_LEAST), vec3f(0.0), vec3f(1.0));
    let curve = -0.00232 + x * (0.1191 + x * (0.4298 + x * (-6.868 + x * (31.96 + x * (-40.14 + x * 15.5)))));
    return pow(clamp(AGX_OUTSET * curve, vec3f(0.0), vec3f(1.0)), vec3f(2.2));
}

// Khronos PBR Neutral Tone Mapper (Khronos Group, 2024): colors of surfaces stay as they are up to 0.8 but for the 4 %
// that a dielectric reflects; above that highlights are compressed and lose their saturation.
const NEUTRAL_REFLECTED = 0.04;
const NEUTRAL_START = 0.8 - NEUTRAL_REFLECTED;
const NEUTRAL_DESATURATION = 0.15;

fn neutral(light: vec3f) -> vec3f {
    let least = min(light.r, min(light.g, light.b));
    let reflected = select(NEUTRAL_REFLECTED, least - 6.25 * least * least, least < 2.0 * NEUTRAL_REFLECTED);
    let color = light - reflected;
    let peak = max(color.r, max(color.g, color.b));
    if peak < NEUTRAL_START {
        return color;
    }
    let range = 1.0 - NEUTRAL_START;
    let compressed = 1.0 - range * range / (peak + range - NEUTRAL_START);
    let saturation = 1.0 / (NEUTRAL_DESATURATION * (peak - compressed) + 1.0);
    return mix(vec3f(compressed), color * (compressed / peak), saturation);
}

fn tone_map(light: vec3f) -> vec3f {
//% if TONE_MAP == "none"
    return clamp(light, vec3f(0.0), vec3f(1.0));
//% else
    return ${TONE_MAP}(light);
//% endif
}
