// class: native
// attacks: taking a long text apart into an object, in a parameter, and catching what ends it
// want: Memory|Timeout
function sync() { const f = ([{...r}]) => r; try { f(['x'.repeat(1.6e7)]); } catch (e) {} for (;;); }
