// class: memory
// attacks: different patterns with large classes without end
// want: Memory|Timeout
function sync({parent, children}) {
  for (let i = 0; ; i++) new RegExp('\\b' + i + '[\\p{L}\\p{N}]'.repeat(20), 'iu').test('é');
}
