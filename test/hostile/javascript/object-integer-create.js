// class: native
// attacks: names that are numbers, as the properties of a new object
// want: Timeout|Memory
function sync() {
  const o = {};
  for (let i = 3e5; i > 0; i--) o[i] = {value: 1};
  for (;;) Object.create({}, o);
}
