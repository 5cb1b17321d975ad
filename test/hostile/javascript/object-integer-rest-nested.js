// class: native
// attacks: names that are numbers, of an object without prototype, in a pattern with a rest, in a parameter
// want: Memory|Timeout|Output
function sync() {
  const o = {__proto__: null};
  for (let i = 200000; i > 0; i--) o[i] = 1;
  return (({b: [{a, ...rest}]}) => rest)({b: [o]});
}
