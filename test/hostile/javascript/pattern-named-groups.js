// class: memory
// attacks: a regular expression: thousands of names in each match
// want: answer|Timeout|Memory
function sync({parent, children}) {
  let names = '';
  for (let i = 0; i < 2500; i++) names += `(?<a${i}>x?)`;
  return {n: [...'x'.repeat(1e5).matchAll(new RegExp(names + 'x', 'g'))].length};
}
