// show returns a text that distinguishes all values. Node.js and this package run the same function.
function show(v) {
  switch (typeof v) {
    case 'string': {
      let s = '"'
      for (let i = 0; i < v.length; i++) {
        const c = v.charCodeAt(i)
        s += c < 32 || c > 126 || c === 34 || c === 92 ? '\\' + c.toString(16) + ';' : v[i]
      }
      return s + '"'
    }
    case 'number': return Object.is(v, -0) ? '-0' : String(v)
    case 'function': return 'function'
    case 'object': break
    default: return String(v)
  }
  if (v === null) return 'null'
  const fields = keys => keys.map(k => show(k) + ': ' + show(v[k]))
  if (Array.isArray(v)) {
    const parts = []
    for (let i = 0; i < v.length; i++) parts.push(i in v ? show(v[i]) : 'hole')
    return '[' + parts.concat(fields(Object.keys(v).filter(k => !/^\d+$/.test(k) && k !== 'input'))).join(', ') + ']'
  }
  if (v instanceof Date) return 'Date(' + (isNaN(v) ? 'invalid' : v.toISOString()) + ')'
  if (v instanceof Map) return 'Map' + show([...v])
  if (v instanceof Set) return 'Set' + show([...v])
  if (v instanceof RegExp) return String(v)
  if (v instanceof Error) return v.name
  if (v instanceof Number || v instanceof String || v instanceof Boolean) return 'boxed ' + show(v.valueOf())
  return '{' + fields(Object.keys(v)).join(', ') + '}'
}
