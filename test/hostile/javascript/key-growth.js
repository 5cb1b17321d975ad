// class: memory
// attacks: names of properties that are long texts
// want: Memory|Timeout
function sync({parent, children}) {
  const big = 'x'.repeat(1.6e7); const l = []; for (let i = 0;; i++) l.push({[big + i]: 1})
  return {};
}
