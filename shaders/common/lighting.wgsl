// Metal-rough surfaces under a sun, and a sky or an environment. Needs a uniform `view` of common/view.wgsl.
//% include "common/environment.wgsl"
//% include "common/lighting_terms.wgsl"
