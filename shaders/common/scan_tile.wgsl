// Macros of ops/scan.wgsl for the tile that a workgroup reads at once: ROWS rows of 1024 elements.
// In: what ops/scan.wgsl takes and sets; its functions; `thread` is known.

// The elements that are one's own of each row of a tile, EACH in a row, as running totals x{row}_{element}; what comes
// before them in the row; and the total of every row.
//% macro read_tile(line, first)
    //% for r in range(ROWS)
    //% for c in range(0, 4, 4 if VECTOR else 1)
    let v${r}_${c} = ${"load_four" if VECTOR else "load"}(${line}, ${first} + ${r * ROW + c}u + thread.number * 4u);
    //% endfor
    //% endfor
    //% for r in range(ROWS)
    //% for c in range(4)
    //% set value = "v" ~ r ~ "_0." ~ COMPONENTS[c] if VECTOR else "v" ~ r ~ "_" ~ c
    let x${r}_${c} = ${value if c == 0 else "combine(x" ~ r ~ "_" ~ (c - 1) ~ ", " ~ value ~ ")"};
    //% endfor
    //% endfor
    //% if ROWS == 8
    let own = Scanned(vec4<${VALUE}>(x0_3, x1_3, x2_3, x3_3), vec4<${VALUE}>(x4_3, x5_3, x6_3, x7_3));
    let identity = Scanned(vec4<${VALUE}>(${IDENTITY}), vec4<${VALUE}>(${IDENTITY}));
    //% else
    let own = x0_3;
    let identity: ${VALUE} = ${IDENTITY};
    //% endif
    let through = scan_workgroup(own, thread);
    let earlier = scan_before(through, identity, thread);
    let every = scan_total();
//% endmacro

//% macro row(name, r)
${name}${(".low." if r < 4 else ".high.") ~ COMPONENTS[r % 4] if ROWS == 8 else ""}
//%- endmacro

//% macro total_of_rows()
${"combine(" * (ROWS - 1)}${row("every", 0)}
//%- for r in range(1, ROWS)
, ${row("every", r)})
//%- endfor
//%- endmacro

//% macro write_tile(line, first, prefix)
    var rows: ${VALUE} = ${IDENTITY};
    //% for r in range(ROWS)
    {
        let base = combine(rows, ${row("earlier", r)});
        let i = ${first} + ${r * ROW}u + thread.number * 4u;
        //% for c in range(4)
        //% set last = c - 1 if EXCLUSIVE else c
        //% set total = "combine(" ~ prefix ~ ", " ~ ("base" if last < 0 else "combine(base, x" ~ r ~ "_" ~ last ~ ")") ~ ")"
        let y${c} = ${"select(" ~ total ~ ", " ~ VALUE ~ "(" ~ START ~ "), i == 0u)" if last < 0 else total};
        //% endfor
        //% for c in range(0, 4, 4 if VECTOR else 1)
        //% if VECTOR
        store_four(${line}, i + ${c}u, vec4<${VALUE}>(y${c}, y${c + 1}, y${c + 2}, y${c + 3}));
        //% else
        store(${line}, i + ${c}u, y${c});
        //% endif
        //% endfor
        rows = combine(rows, ${row("every", r)});
    }
    //% endfor
//% endmacro
