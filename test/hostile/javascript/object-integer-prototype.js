// class: native
// attacks: names that are numbers, one behind the other, behind the object that a loop goes through
// want: answer|Timeout|Memory
function sync() {
  const o = {};
  for (let i = 3e5; i > 0; i--) o[i] = 1;
  for (const k in Object.create(o)) break;
  return {};
}
