// class: bypass
// attacks: a text that is not there, and a place where the search begins that changes
// want: answer
function sync({parent, children}) {
  let n = 0;
  const pattern = /(?:u|un|nd|d)+x/y;
  pattern.lastIndex = {valueOf: () => n++ ? 1 : 0};
  return {found: pattern.test(), also: /undefined/.test(undefined)};
}
