"""Assets: files of meshes with materials, textures, nodes, skins, morph targets and animations.

`reading` reads any of them as a `content.Asset`; `gltf_*` are the parts of glTF 2.0 and GLB, `obj` is OBJ with MTL.
"""
