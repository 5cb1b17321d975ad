// class: memory
// attacks: memory: json text
// want: Memory|Timeout
function sync({parent, children}) {
  JSON.parse('[' + '{},'.repeat(1e6) + '1]')
  return {};
}
