// class: bypass
// attacks: native functions that are called for a hole, by find and its like
// want: answer
function sync({parent, children}) {
  const list = [, 1]
  for (const f of [Error, String, Symbol, isNaN, parseInt, Number, Array, Object, 'a'.at.bind('a'), Map.prototype.get.bind(new Map)]) {
    for (const find of ['find', 'findIndex', 'findLast', 'findLastIndex']) list[find](f)
  }
  return {}
}
