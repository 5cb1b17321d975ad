// class: native
// attacks: a regular expression: a class of tens of thousands of ranges, ignoring case
// want: answer|Memory|Timeout
function sync({parent, children}) {
  let ranges = '';
  for (let i = 0x100; i < 0xa000; i += 2) ranges += String.fromCharCode(i);
  return {found: new RegExp('[' + ranges + ']{500}z', 'i').test('\u0101'.repeat(1e5))};
}
