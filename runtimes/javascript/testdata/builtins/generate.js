// Writes answers.json: expressions, and what Node.js answers. Run it by "make builtins". The expressions are generated from fixed
// seeds, so that two runs differ only if Node.js does. TestBuiltins compares the answers with those of this package.
'use strict'

const fs = require('fs')
const path = require('path')

const show = new Function('return (' + fs.readFileSync(path.join(__dirname, 'show.js'), 'utf8') + ')')()

// A generator of pseudo-random numbers (mulberry32).
let seed = 0
function random() {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
const below = n => Math.floor(random() * n)
const pick = list => list[below(list.length)]
const many = (n, f) => Array.from({length: n}, (_, i) => f(i))

// quote returns a literal in ASCII.
function quote(text) {
  let s = "'"
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x27 || c === 0x5c) s += '\\' + text[i]
    else if (c < 0x20 || c > 0x7e) s += '\\u' + c.toString(16).padStart(4, '0')
    else s += text[i]
  }
  return s + "'"
}

// Numbers.
const numbers = ['0', '-0', '1', '-1', '0.1', '0.5', '1.5', '2.5', '-2.5', '1.005', '1.45', '10.235', '123.456', '0.000001', '1e-7', '1.5e-10', '1e21',
  '123456789012345680000', '5e-324', '2.2250738585072014e-308', '1.7976931348623157e308', 'NaN', 'Infinity', '-Infinity', '255', '4294967295', '2147483648',
  '9007199254740991', '9007199254740993', '0.1+0.2', '1/3', '2/3', '1e100', '0.00001', '99.99', '999.995', '26.01']
function double() {
  switch (below(5)) {
    case 0: return pick(numbers)
    case 1: return String(below(2000) / 8 - 100)
    case 2: return String(below(1e9) / 1e4)
    case 3: {
      const view = new DataView(new ArrayBuffer(8))
      view.setUint32(0, below(2 ** 32)); view.setUint32(4, below(2 ** 32))
      return String(view.getFloat64(0))
    }
  }
  return String(Math.floor(random() * 2 ** 53) * (below(2) ? 1 : -1))
}
const numerals = ['', ' ', '0', '-0', '+5', '--5', '.5', '5.', '.', '5.5.5', '1e3', '1e', '1e+', '1E-3', '1e1000', '-1e1000', '0x1F', '0xg', '-0x10', '0b101', '0b2', '0o17', '0o8',
  '017', '08', '1_000', '1,000', 'Infinity', '-Infinity', '+Infinity', 'infinity', 'Infinityx', 'NaN', '  12  ', '\u00a012\ufeff', '12px', '\t\n5', '12 34', '1n', 'null',
  '9007199254740993', '0.1e-400', '123456789012345678901234567890', '0.000000000000000000000000000001', '\u0661', '\u180e5', '5\u2028', '1e21', '1e-7', '0.1.2', '$5', '1e5.5']

function numbersGroup() {
  const a = []
  for (const n of numbers) a.push(`String(${n})`, `(${n}).toString(2)`, `Math.round(${n})`, `Math.fround(${n})`, `(${n})|0`, `(${n})>>>0`, `JSON.stringify(${n})`)
  for (const s of numerals) a.push(`Number(${quote(s)})`, `parseFloat(${quote(s)})`, `parseInt(${quote(s)})`, `+${quote(s)}`, `isNaN(${quote(s)})`)
  a.push(...many(120, () => `(${double()}).toString(${2 + below(35)})`))
  a.push(...many(120, () => `(${double()}).toFixed(${below(4) ? below(6) : below(102)})`))
  a.push(...many(120, () => `(${double()}).toPrecision(${below(4) ? 1 + below(10) : below(102)})`))
  a.push(...many(60, () => `(${double()}).toExponential(${below(3) ? below(20) : ''})`))
  a.push(...many(60, () => `parseInt(${quote(pick(numerals) + below(100))}, ${below(38)})`))
  a.push(...many(60, () => `parseFloat(${quote(double() + pick(['', 'e5', 'e-5', 'x', ' ', '.', '00']))})`))
  a.push(...many(60, () => `String(${double()})`))
  for (const f of ['abs', 'ceil', 'floor', 'trunc', 'sign', 'sqrt', 'cbrt', 'clz32', 'round']) a.push(...many(8, () => `Math.${f}(${double()})`))
  for (const f of ['sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'exp', 'expm1', 'log', 'log2', 'log10', 'log1p']) {
    a.push(...many(4, () => `Math.${f}(${double()}).toPrecision(10)`))
  }
  for (const f of ['max', 'min', 'hypot', 'atan2', 'pow', 'imul']) a.push(...many(6, () => `Math.${f}(${double()}, ${double()})` + (f === 'atan2' || f === 'pow' || f === 'hypot' ? '.toPrecision(10)' : '')))
  for (const op of ['+', '-', '*', '/', '%', '&', '|', '^', '<<', '>>', '>>>', '<', '===']) a.push(...many(5, () => `(${double()}) ${op} (${double()})`))
  a.push('Number.isInteger(5.0)', 'Number.isSafeInteger(2**53)', 'Number.MAX_SAFE_INTEGER', 'Number.EPSILON', 'Math.max()', 'Math.min()', 'Math.hypot()', '(25).toString(37)',
    '(1e21).toLocaleString()', '(1234567.891).toLocaleString()', "(0.5).toLocaleString('en-US', {style: 'percent'})", 'Number(null)', 'Number(undefined)', 'Number([5])', 'Number([1,2])', 'Number({})',
    'Number(true)', 'Number(new Date(5))', "Number('')", '2**-1074', '(-8)**2', '0.1*3', '7%-3', '-7%3', '5/0', '-5/0', '0/0', 'Math.sin(1e10)', 'Math.tan(1)', '(1e21).toString(7)', 'typeof BigInt', 'typeof 1n', 'Math.cos(1e5)',
    'Array.from({length: 640}, (_, i) => Math.log10(Number(`1e${i - 323}`)))', 'Array.from({length: 300}, (_, i) => Math.log(i / 200 + 0.1))', 'Math.log(5e-324)', 'Math.log()', "Math.log('8')", 'Math.log10(-1)', 'Math.log10(0)', 'Math.log(null)',
    "'5' * '2'", "'5' + 2", "'10' / '4'", "'3' < '12'", "3 < '12'", "null + 1", "undefined + 1", "[] + {}", "true + true", "'b' > 'a'", "null >= 0", "null == 0", "undefined == null", "NaN != NaN", "'1' == 1", "[1] == 1")
  return a
}

// Texts.
const pieces = ['a', 'b', 'Z', '0', ' ', '-', '_', '.', '$', '\n', '\t', '\r', '\u00e4', '\u00df', '\u00c9', 'e\u0301', '\u0130', '\u0131', '\u017f', '\u212a', '\u03a3', '\u03c3', '\u03c2', '\u0410', '\u044f',
  '\u05d0', '\u0627', '\u4e2d', '\u3042', '\uac00', '\u1100\u1161', '\ufb01', '\u01c5', '\u0149', '\u1e9e', '\u1fb3', '\u2028', '\ufeff', '\u00a0', '\u180e', '\u200d', '\ud83d\ude00', '\ud835\udc9c', '\ud801\udc00',
  '\ud83d', '\ude00', '\u0301', '\uff21', '\u216b', '\u00bd', '\u0000']
const chars = n => many(below(n + 1), () => pick(pieces)).join('')
const text = () => quote(chars(6))
const small = () => below(12) - 4

function textGroup() {
  const a = []
  for (const p of pieces) {
    for (const f of ['toLowerCase', 'toUpperCase', 'toLocaleUpperCase', 'trim']) a.push(`${quote('x' + p + 'y')}.${f}()`)
    for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD']) a.push(`${quote(p)}.normalize('${form}')`)
    a.push(`encodeURIComponent(${quote(p)})`, `escape(${quote(p)})`, `[...${quote(p + 'a')}]`, `JSON.stringify(${quote(p)})`, `${quote(p)}.isWellFormed()`, `${quote(p)}.toWellFormed()`)
  }
  for (const c of ['toLowerCase', 'toUpperCase']) {
    // Every character of the basic plane whose case differs in JavaScript, up to Unicode 15.
    const ranges = [[0x80, 0x250], [0x370, 0x400], [0x400, 0x530], [0x531, 0x588], [0x10a0, 0x1100], [0x13a0, 0x1400], [0x1c90, 0x1cc0], [0x1e00, 0x2000], [0x2126, 0x218a], [0x2c00, 0x2d30], [0xa640, 0xa69c], [0xa722, 0xa7cb], [0xab53, 0xabc0], [0xff21, 0xff5b]]
    for (const [lo, hi] of ranges) a.push(`Array.from({length: ${hi - lo}}, (_, i) => String.fromCharCode(${lo} + i)).filter(c => !/^[\\ua7c0-\\ua7df\\u1c89\\u1c8a]$/.test(c)).map(c => c.${c}()).join('')`)
  }
  a.push(...many(40, () => `${text()}.at(${small()})`), ...many(40, () => `${text()}.codePointAt(${small()})`), ...many(20, () => `${text()}.charCodeAt(${small()})`), ...many(20, () => `${text()}.charAt(${small()})`))
  for (const f of ['slice', 'substring', 'substr']) a.push(...many(30, () => `${text()}.${f}(${small()}, ${small()})`))
  for (const f of ['indexOf', 'lastIndexOf', 'includes', 'startsWith', 'endsWith']) a.push(...many(20, () => `${text()}.${f}(${quote(chars(1))}${below(2) ? ', ' + small() : ''})`))
  for (const f of ['padStart', 'padEnd']) a.push(...many(30, () => `${text()}.${f}(${below(20)}, ${quote(chars(3))})`))
  a.push(...many(30, () => `${text()}.repeat(${below(4) - 1})`), ...many(40, () => `${text()}.split(${quote(chars(1))}${below(2) ? ', ' + small() : ''})`))
  a.push(...many(40, () => `${text()}.replace(${quote(chars(1))}, ${quote(pick(['$&', '$$', '[$`]', "$'", '$1', '$<a>', 'x', '$']))})`), ...many(30, () => `${text()}.replaceAll(${quote(chars(1))}, ${quote(pick(['$&', '$$', '[$`]', 'x']))})`))
  a.push(...many(40, () => `${text()}.normalize('${pick(['NFC', 'NFD', 'NFKC', 'NFKD'])}')`), ...many(20, () => `${text()}.concat(${text()}, ${small()}, null)`), ...many(30, () => `${text()} < ${text()}`), ...many(30, () => `${text()}.toLowerCase()`), ...many(30, () => `${text()}.toUpperCase()`))
  a.push(...many(20, () => `[...${text()}].length`), ...many(20, () => `encodeURI(${text()})`), ...many(20, () => `encodeURIComponent(${text()})`), ...many(30, () => `decodeURIComponent(${quote(pick(['%41', '%C3%A4', '%F0%9F%98%80', '%', '%4', '%C3', '%FF', '%E4%B8%AD', '+', '%00', '%ED%A0%80', 'a%20b']))})`), ...many(10, () => `unescape(${quote(pick(['%u0107', '%41', '%', '%u01', '%ff']))})`))
  a.push(...many(20, () => `String.fromCodePoint(${pick(['65', '0x1f600', '0x10ffff', '0x110000', '-1', '1.5', '0xd800'])})`), `'abc'.localeCompare('abd')`, `'I'.toLocaleLowerCase('tr')`, `'\\u00e4'.localeCompare('z', 'sv')`, `'a10'.localeCompare('a9', undefined, {numeric: true})`, `'a'.localeCompare('A', undefined, {sensitivity: 'base'})`, `'x'.normalize('X')`,
    '`a${1}b${[1, 2]}`', 'String.raw`a\\n${1}`', `'abc'.length`, `'abc'[1]`, `'abc'[5]`, `'a,b'.split()`, `''.split('')`, `''.split(',')`, `'abc'.anchor('x')`, `'abc'.at()`, `String(Symbol('x'))`, `String([1, [2, null, undefined, 3]])`, `String({})`, `String(() => 1)`, `'a'.localeCompare('b')`, `'\\ud83d\\ude00'.length`,
    `Array.from('a\\ud83d\\ude00')`, `'\\ud83d\\ude00'.charAt(0)`, `'\\ud83d\\ude00'.substring(0, 1)`, `'\\ud83d\\ude00'.split('')`)
  for (const limit of ['-1', '-2', '"-1"', '0', '1', '2.5', '4294967296', '4294967297', 'Infinity', 'NaN', 'null', 'undefined', 'true'])
    a.push(`'a,b,c'.split(',', ${limit})`, `'a,b,c'.split(/,/, ${limit})`, `'a,b,c'.split(/,/u, ${limit})`, `'abc'.split('', ${limit})`, `'abc'.split(/(?:)/, ${limit})`)
  const words = ['a', 'A', 'b', 'B', '\u00e4', '\u00c4', 'z', 'e\u0301', '\u00e9', 'e', 'E', 'aa', 'ab', 'a b', 'a-b', 'a_b', 'ab1', 'ab10', 'ab2', '', ' ', '1', '10', '2', '\u00df', 'ss', 'co-op', 'coop', 'Coop', 'CO-OP', '\u4e2d', '\u3042', '\u044f', '\u042f', '-', '_', '.', ',', '\ud83d\ude00', 'cote', 'cot\u00e9', 'c\u00f4te', 'resume', 'r\u00e9sum\u00e9']
  a.push(...many(120, () => `${quote(pick(words))}.localeCompare(${quote(pick(words))})`))
  return a
}

// Sorting.
function sortingGroup() {
  const a = []
  const value = () => pick([() => String(below(200) - 50), () => quote(chars(2)), () => 'undefined', () => 'null', () => 'true', () => 'NaN', () => `[${below(9)}]`, () => '']) ()
  const list = n => '[' + many(below(n), value).join(',') + ']'
  const integers = n => '[' + many(below(n), () => below(100)).join(',') + ']'
  a.push(...many(50, () => `${list(12)}.sort()`), ...many(20, () => `${list(12)}.toSorted()`), ...many(20, () => `${integers(40)}.sort()`), ...many(20, () => `${integers(40)}.sort((a, b) => a - b)`), ...many(10, () => `${integers(40)}.sort((a, b) => b - a)`))
  a.push(...many(30, () => `${integers(60)}.map((v, i) => [v % 5, i]).sort((a, b) => a[0] - b[0]).join(' ')`), ...many(10, () => `${integers(20)}.sort(() => 0)`), ...many(10, () => `${integers(20)}.sort(() => ${pick(['NaN', 'undefined', "'x'"])})`))
  a.push(...many(10, () => `${list(8)}.sort((a, b) => String(a).length - String(b).length)`), ...many(10, () => `${integers(30)}.toSorted((a, b) => a % 10 - b % 10)`))
  a.push('[3, 1, 2].sort(5)', '[3, 1, 2].sort(null)', '[3, 1, 2].sort(undefined)', '[2, 1].sort({})', '[true, false].sort()', "['b', , 'a'].sort()", '[,].sort()', '[3, 2, 1].toSorted(undefined)', 'const a = [2, 1]; return a.toSorted() === a', 'const a = [2, 1]; return a.sort() === a',
    "['b', 'a', 'C', '\\u00e4', 'z'].sort((a, b) => a.localeCompare(b))", '[5, 25, 100, 1].sort()', "Object.entries({b: 1, a: 2}).sort()", "[[2, 'a'], [1, 'b'], [10, 'c']].sort()", '[-1, -2, 5, 10].sort()', '[1, 2, 3].toReversed()', '[1, 2, 3].reverse()', '[{n: 2}, {n: 1}].sort((a, b) => a.n > b.n)', '[{n: 2}, {n: 1}].sort((a, b) => a.n > b.n ? 1 : -1)', '[3, 1, 2].sort((a, b) => a < b)',
    "['\\ud83d\\ude00', '\\uffff', 'a'].sort()", "['1', 1, '01'].sort()")
  return a
}

// Dates.
function datesGroup() {
  const a = []
  const texts = ['2020-01-01', '2020-01', '2020', '2020-01-01T00:00', '2020-01-01T00:00Z', '2020-01-01T00:00:00', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00.1Z', '2020-01-01T00:00:00.123456789Z', '2020-01-01T24:00:00Z', '2020-01-01T24:00:01Z', '2020-01-01T00:00:60Z', '2020-13-01', '2020-00-01', '2020-02-30', '2020-02-31T00:00:00Z', '2021-02-29',
    '2020-01-01T00:00:00+01:00', '2020-01-01T00:00:00-0130', '2020-01-01T00:00:00+01', '2020-01-01T00:00:00 Z', '2020-01-01 00:00:00', '2020-01-01 00:00:00Z', '2020-01-01 00:00:00+02:00', '2020-1-1', '2020-1-1T00:00:00Z', '2020/01/01', '1/2/2020', '13/2/2020', '01-02-2020', 'Jan 1 2020', 'Jan 1, 2020', '1 Jan 2020', 'January 1, 2020 10:00', 'January 1, 2020 10:00 PM', 'Wed Jan 01 2020', 'Wed, 01 Jan 2020 00:00:00 GMT', 'Wed Jan 01 2020 00:00:00 GMT+0100',
    'Wed Jan 01 2020 00:00:00 GMT+0100 (CET)', 'Thu, 01 Jan 1970 00:00:00 +0000', 'Jan 1 2020 EST', '+012345-01-01T00:00:00Z', '-000001-01-01T00:00:00Z', '-000000-01-01T00:00:00Z', '+275760-09-13T00:00:00Z', '+275760-09-13T00:00:00.001Z', '20200101', '20200101T000000Z', '', ' ', 'foo', 'now', 'today', '12:00', '2020-W01', '2020-001', '0', '1', '99', '100', '12', '13', '32', '50', '1e3', '2020-01-01T', '2020-01-01Z', 'T00:00Z', '2020-01-01t00:00:00z', '2020-01-01T00:00:00,5Z', ' 2020-01-01 ', '2020-01-01T1:00Z', '1577836800000',
    'Sat, 29 Feb 2020 12:34:56 GMT', '2020-02-29T12:34:56.789Z', '0000-01-01', '9999-12-31T23:59:59.999Z', '2020-06-15T12:00:00-07:00', 'Mon Jun 15 2020 12:00:00 GMT-0700 (PDT)', '2020.01.01', 'Jan 32 2020', 'Feb 30 2020', '2020-01-01T00:00:00.Z', '1 January', 'Tue, 15 Nov 1994 08:12:31 GMT', 'Tuesday, 15-Nov-94 08:12:31 GMT', 'Tue Nov 15 08:12:31 1994', '2020-01-01t00:00:00.5z', '2020-01-01T00:00z', '2020-01-01t00:00:00+01:00', 'Jan 1 2020 10:00 CET', 'Jan 1 2020 10:00 EDT', 'Jan 1 2020 10:00 utc', '2020-01-01 10:00:00-05:00', '2020-01-01 10:00:00.123456-05:00', '2020-01-01 10:00:00 +0000 UTC', 'Mon Jan  6 10:00:00 UTC 2020', 'Wed Jan 01 2020 00:00:00 GMT+0100 (Central European Standard Time)', '1 DEC 2100 23:59:59-0530', 'Jan 0 2020', '00/10/2020', '12/00/2020', 'Jan/32/2020', '29 Jan +012020', '1900-Jan-01+01', '01 DEC 0099', '5 Jan 30 12:30 PMz']
  for (const t of texts) a.push(`Date.parse(${quote(t)})`, `new Date(${quote(t)})`)
  const time = () => pick([() => String(below(4e12) - 1e12), () => String(below(1e6)), () => '0', () => '8.64e15', () => '8.64e15+1', () => 'NaN', () => '-1', () => '951782400000', () => '-62167219200000'])()
  for (const f of ['toISOString', 'toUTCString', 'toJSON', 'getTime', 'getUTCDay', 'getDay', 'getFullYear', 'getMonth', 'getDate', 'getHours', 'getTimezoneOffset', 'getUTCMilliseconds', 'toDateString', 'valueOf']) a.push(...many(8, () => `new Date(${time()}).${f}()`))
  for (const f of ['setDate', 'setMonth', 'setFullYear', 'setHours', 'setMinutes', 'setSeconds', 'setMilliseconds', 'setTime', 'setUTCDate', 'setUTCMonth', 'setUTCFullYear', 'setUTCHours']) a.push(...many(8, () => `{ const d = new Date(${time()}); return [d.${f}(${below(3) ? below(500) - 100 : pick(['NaN', '1.9', '-0', "'7'", 'undefined', ''])}), d] }`))
  a.push(...many(40, () => `new Date(${many(1 + below(7), (i) => i ? below(200) - 50 : pick([99, 2020, 1969, 0, 50, 100, -1, 275760])).join(', ')})`), ...many(30, () => `Date.UTC(${many(1 + below(7), (i) => i ? below(200) - 50 : pick([99, 2020, 1969, 0, 275760])).join(', ')})`))
  a.push(...many(8, () => `String(new Date(${time()}))`), ...many(4, () => `new Date(${time()}).toTimeString()`), ...many(4, () => `new Date(${time()}).toLocaleString()`), ...many(4, () => `new Date(${time()}).toLocaleDateString()`), ...many(4, () => `new Date(${time()}).toLocaleTimeString()`))
  a.push('new Date(2020, 0).getTimezoneOffset()', 'new Date(2020, 6).toISOString()', 'new Date(NaN).getTime()', 'JSON.stringify(new Date(NaN))', 'JSON.stringify({d: new Date(0)})', 'new Date(new Date(5)).getTime()', 'new Date(null)', 'new Date(undefined)', 'new Date(true)', "new Date('5')", 'new Date(2020, 1, 31)', 'new Date(5) - new Date(3)', 'new Date(5) + 1', 'new Date(0) < new Date(1)', 'typeof Date()', 'Date.length', 'new Date(0).getYear()', 'new Date(0).toGMTString()', "new Date(0).toLocaleDateString('de-DE')", "new Date(0).toLocaleDateString('en-US', {year: 'numeric'})", 'new Date(1e20)', 'new Date(0)[Symbol.toPrimitive]("number")', 'new Date(0)[Symbol.toPrimitive]("string")')
  return a
}

// JSON.
function jsonGroup() {
  const a = []
  const value = (depth) => pick([() => double(), () => text(), () => 'null', () => 'true', () => 'undefined', () => 'NaN', () => '-0', () => '() => 1', () => 'new Date(0)', () => "Symbol('x')", () => 'new Map([[1, 2]])', () => 'new Number(3)', () => "new String('s')", () => '{toJSON: k => k + 1}',
    () => depth ? '[' + many(below(4), () => value(depth - 1)).join(',') + ']' : '[]', () => depth ? '{' + many(below(4), () => quote(chars(2)) + ':' + value(depth - 1)).join(',') + '}' : '{}', () => '{10: 1, 9: 2, b: 3, a: 4}'])()
  a.push(...many(150, () => `JSON.stringify(${value(3)})`), ...many(30, () => `JSON.stringify(${value(3)}, null, ${pick(['2', '0', '20', "'--'", '\'\\t\'', '1.9', "''"])})`), ...many(20, () => `JSON.stringify({a: ${value(2)}, b: ${value(2)}, c: {a: 1, b: 2}}, ${pick(["['a', 'c']", '(k, v) => typeof v === "number" ? v + 1 : v', '(k, v) => k === "a" ? undefined : v', "['b', 'a', 1]"])})`))
  const json = ['', ' ', '1', '-1', '-0', '+1', '01', '1.', '.5', '1.5', '1e5', '1E+5', '1e400', '-1e400', '1e-400', '12345678901234567890', '9007199254740993', '0.1', 'true', 'True', 'null', 'undefined', 'NaN', 'Infinity', '"a"', "'a'", '"\\u0041"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\x41"', '"\\n"', '"\n"', '"\t"', '"\u007f"', '"\u2028"', '"\\/"', '"a', '"\\"', '[]', '[1,]', '[,1]', '[1 2]', '[1', '{}', '{"a":1}', '{a:1}', '{"a":1,}', '{"a":1,"a":2}', '{"__proto__":1}', '{"a" : [ 1 , { } ] }', '{"b":1,"a":2,"1":3,"0":4}', '1 2', '// x\n1', '/* */1', '\u00a01', '\ufeff1', '\t\r\n 1', '"\u00e4"', '"\ud83d"', '[[[[1]]]]', '{"":1}', '"\\u00e4\\u4e2d"', '"\\uD83D\\uDE00"', '"\\u12"', '-', '--1', '1e', '0x1', '1_0', 'nul', 'tru', '{"a":undefined}', '{"length":1}', '{"constructor":1}', '0', '0.0', '-0.0', '1e0', '100000000000000000000000']
  for (const s of json) a.push(`JSON.parse(${quote(s)})`, `JSON.stringify(JSON.parse(${quote(s)}))`)
  a.push(`JSON.parse('[1,{"a":2}]', (k, v) => typeof v === 'number' ? v * 2 : v)`, `JSON.parse('{"a":1,"b":2}', (k, v) => k === 'a' ? undefined : v)`, `JSON.stringify()`, `JSON.stringify(undefined)`, `JSON.stringify(() => 1)`, `const o = {}; o.o = o; return JSON.stringify(o)`, `JSON.stringify({a: [undefined, () => 1]})`, `JSON.stringify('\\u2028\\u007f\\u0000\\ud800')`, `JSON.stringify(new Set([1]))`, `JSON.stringify(Object.create({a: 1}))`, `JSON.stringify([,1])`, `JSON.stringify({a: 1n})`, `JSON.stringify(JSON.stringify('"'))`, `JSON.stringify(/x/)`, `JSON.stringify(new Error('x'))`, `JSON.stringify([new Boolean(false)])`, `JSON.stringify({[Symbol('a')]: 1})`, `JSON.stringify('\\ud83d\\ude00')`, `JSON.stringify({'\\ud800': '\\udc00\\ud800'})`, `JSON.parse(JSON.stringify('\\ud800')).length`)
  return a
}

// Arrays, objects, maps, sets.
function collectionsGroup() {
  const a = []
  const element = () => pick(['1', '2', '3', '0', '-0', 'NaN', "'a'", 'undefined', 'null', '[1]', '[2, [3]]', ''])
  const list = () => '[' + many(below(7), element).join(', ') + (below(4) ? '' : ',') + ']'
  for (const f of ['slice', 'splice', 'toSpliced', 'copyWithin', 'fill']) a.push(...many(15, () => `{ const a = ${list()}; return [a.${f}(${many(below(4), small).join(', ')}), a] }`))
  for (const f of ['indexOf', 'lastIndexOf', 'includes']) a.push(...many(12, () => `${list()}.${f}(${element() || 1}${below(2) ? ', ' + small() : ''})`))
  for (const f of ['map', 'filter', 'some', 'every', 'find', 'findIndex', 'findLast', 'findLastIndex', 'flatMap', 'forEach']) a.push(...many(6, () => `{ const seen = []; return [${list()}.${f}((v, i) => { seen.push(i); return ${pick(['v', 'i', '!v', '[v, i]', 'v > 1'])} }), seen] }`))
  for (const f of ['push', 'unshift', 'concat']) a.push(...many(6, () => `{ const a = ${list()}; return [a.${f}(${many(below(3), () => element() || 1).join(', ')}), a] }`))
  for (const f of ['pop', 'shift', 'reverse', 'toReversed', 'flat', 'join', 'keys', 'entries', 'values', 'toString']) a.push(...many(5, () => `{ const a = ${list()}; const r = a.${f}(); return [typeof r === 'object' && r && r.next ? [...r] : r, a] }`))
  a.push(...many(12, () => `${list()}.at(${small()})`), ...many(12, () => `${list()}.with(${small()}, 9)`), ...many(8, () => `${list()}.reduce((a, v) => a + '|' + v${below(2) ? ", ''" : ''})`), ...many(8, () => `${list()}.reduceRight((a, v) => a + '|' + v${below(2) ? ", ''" : ''})`), ...many(10, () => `[${list()}, [${list()}]].flat(${pick(['', '1', '2', 'Infinity', '0', '-1'])})`))
  a.push(...many(8, () => `Array.from(${pick(["'abc'", '{length: 3}', 'new Set([1, 1, 2])', 'new Map([[1, 2]])', '[1,,3]', '5', '{length: 2, 0: 7}'])}${below(2) ? ', (v, i) => [v, i]' : ''})`), 'Array.of(7)', 'Array(3)', 'Array(3, 4)', 'new Array(-1)', 'Array.isArray([])', '[1, 2, 3].length = 1', 'const a = [1, 2, 3]; a.length = 1; return a', 'const a = []; a[3] = 1; return a', 'delete [1, 2][0]', 'Array.isArray(new Proxy([], {}))', '[..."ab"]', '[...[1,,3]]', '[1, 2, 3].includes("2")', 'Array.prototype.slice.call({length: 2, 0: 1})')
  a.push('Object.fromEntries([["a", 1], ["b", 2]])', 'Object.fromEntries(new Map([["a", 1]]))', 'Object.fromEntries([1])', 'Object.entries({b: 1, a: 2, 1: 3, 0: 4})', 'Object.keys("ab")', 'Object.values({b: 1, a: 2})', 'Object.assign({a: 1}, {b: 2}, null, "xy")', 'Object.is(NaN, NaN)', 'Object.is(0, -0)', 'Object.hasOwn({a: 1}, "a")', '"a" in {a: 1}',
    'Object.freeze([1]).push(2)', '"use strict"; Object.freeze({a: 1}).a = 2', 'Object.getOwnPropertyNames("ab")', 'const {a, ...rest} = {a: 1, b: 2}; return rest', 'const [x, ...y] = [1, 2, 3]; return y', '({a: 1})?.b?.c', 'null ?? 5', '0 ?? 5', '0 || 5', 'typeof structuredClone', 'typeof Intl', "typeof ''.isWellFormed", 'typeof Promise.withResolvers', 'typeof Symbol.asyncIterator', 'typeof WeakRef', 'typeof queueMicrotask', 'typeof Error.captureStackTrace', 'typeof Iterator', 'typeof Array.fromAsync', 'typeof Promise.try', 'typeof RegExp.escape', 'typeof globalThis.crypto', 'typeof Buffer', 'typeof URL', 'typeof TextEncoder', 'typeof setTimeout', 'typeof process', 'typeof fetch', 'typeof btoa', 'typeof Uint8Array', 'typeof Proxy', 'typeof eval', 'typeof Function', 'typeof SharedArrayBuffer', 'typeof Atomics', 'typeof console', 'typeof escape', 'typeof WeakMap')
  a.push("structuredClone({a: [1, {b: new Date(0)}], c: undefined, d: null, e: -0, f: NaN})", 'const o = {}; o.self = o; const c = structuredClone(o); return [c === o, c.self === c]', 'structuredClone(new Map([[1, {a: 1}]]))', 'structuredClone(new Set([1, [2]]))', 'structuredClone(() => 1)', "structuredClone(Symbol('x'))", 'structuredClone({f() {}})', 'structuredClone(/x/gi)', 'structuredClone([1,,3])', "structuredClone('s')", 'structuredClone(new (class A { x = 1 }))', 'structuredClone(Object.create({a: 1}))', 'const a = [1]; const c = structuredClone([a, a]); return c[0] === c[1]', "structuredClone(new Error('x')).message", 'structuredClone()', 'structuredClone(new Number(3))', 'structuredClone({get a() { return 5 }})', 'structuredClone(undefined)', 'structuredClone(null)', 'structuredClone({"__proto__": null, a: 1})', 'structuredClone(new WeakMap())', "structuredClone(new String('ab'))", 'structuredClone(new TypeError("x")) instanceof TypeError', "const r = /x/g; r.lastIndex = 2; return structuredClone(r).lastIndex")
  a.push('new Map([[NaN, 1]]).get(NaN)', 'new Map([[0, 1]]).get(-0)', '[...new Map([["b", 1], ["a", 2]]).keys()]', 'new Set([3, 1, 3]).size', 'new Set("aab")', 'const s = new Set([1]); s.add(2).delete(1); return s', 'new Map([1])', '[...new Set([1, 2]).entries()]', 'new WeakMap([[1, 2]])', 'const m = new Map([[1, 1], [2, 2]]); for (const [k] of m) m.delete(k); return m', 'Symbol.for("a") === Symbol.for("a")', 'Symbol("x").description', 'typeof Symbol()', 'function* g() { yield 1; yield* [2, 3] } return [...g()]', 'const o = {*[Symbol.iterator]() { yield 1 }}; return [...o]', 'Reflect.ownKeys({b: 1, 1: 2, [Symbol.iterator]: 3}).length', 'class A { static #x = 1; static get() { return A.#x } } return A.get()', 'new Error("x", {cause: 5}).cause', 'String(new TypeError("x"))', 'new AggregateError([1], "m").errors', 'null.x', 'undefinedName', 'const c = 1; c = 2', 'new (class { #p; has(o) { return #p in o } })().has({})', 'label: for (const i of [1, 2]) { for (;;) continue label } return "done"', 'let s = ""; for (const k in {b: 1, 2: 1, a: 1, 1: 1}) s += k; return s', 'let a = null; a ??= 5; a ||= 6; a &&= 7; return a', 'typeof null', 'void 0', '[1, 2, 3] + ""', 'const t = 1 < 2; return t < 3', 'const t = 3 > 2; return t > 1', '1 < 2 < 3', '[] == false', 'isNaN("x")', 'Number.isNaN("x")', 'parseInt(null, 36)', '[10, 1, 3].map(parseInt)', '(function () { return arguments.length })(1, 2)', '((a, b = a) => [a, b])(1)', 'Math.max(...[1, 5, 3])', 'Math.max([])', '"b" + "a" + +"a" + "a"', 'new Date(NaN) === new Date(NaN)')
  a.push('[1234.5, null, undefined, "a", true, [1000, 2000]].toLocaleString()', '[new Date(0)].toLocaleString()', '[{toLocaleString() { return 5 }}].toLocaleString()', '[Object.create(null)].toLocaleString()', "[1234.5].toLocaleString('de')", "[1234.5].toLocaleString('en-US')", 'Array.prototype.toLocaleString.call({length: 2, 0: 1000, 1: 2000})', 'const a = [1234.5]; a.push(a); return a.toLocaleString()')
  for (const v of ['() => 1', "Symbol('x')", '(function* () {})()', '[].values()', 'new Map().entries()', 'new Set([1]).values()', "'a'[Symbol.iterator]()", "'a'.matchAll(/a/g)", 'Promise.resolve()', 'new WeakMap()', '(function () { return arguments })(1)', '{a: [() => 1]}', '[1, , 2]', 'new Date(NaN)', '/a/gi', 'new (class { x = 1 })()', 'Object.create({a: 1})', "Object.assign([1], {a: 2})", '-0', 'Math'])
    a.push(`structuredClone(${v})`)
  a.push("structuredClone(new TypeError('x', {cause: 1})).cause", "structuredClone(new Error('x', {cause: () => 1}))", 'const e = (() => { try { structuredClone(() => 1) } catch (e) { return e } })(); return [e.name, e instanceof Error, e.code]')
  return a
}

// Regular expressions.
const atomsPlain = ['a', 'b', 'x', '.', '\\d', '\\w', '\\s', '\\D', '\\W', '\\S', '[a-z]', '[^a-z]', '[abc]', '[\\d-]', '[^\\s]', '[\\w.]', '\\.', '\\-', '\\x41', '\\u0041', '\\t', '\\n', '[\\]]', '-', ' ', 'K', 'S', '\u00e9', '\u00c9', '\u0130', '\u017f', '\u212a', '\u03c3', '\u03c2', '\u1e9e', '\u00df', '\u01c5', '\u1fb3']
const atomsOld = ['\\a', '\\_', ']', '}', '{', '\\8', '\\0', '\\101', '\\cA', '\\c', '[\\b]', '\\u{61}', '\\x4', '\\u12', '[a-\\d]', '\\p{L}', '\\k', '{,5}', '\ud83d\ude00', '[\ud83d\ude00]', '\\ud83d', '[^]', '[]']
const atomsUnicode = ['\\p{L}', '\\P{L}', '\\p{Lu}', '\\p{Ll}', '\\p{N}', '\\p{Nd}', '\\p{P}', '\\p{S}', '\\p{Letter}', '\\p{gc=Lu}', '\\p{General_Category=Uppercase_Letter}', '\\p{Script=Greek}', '\\p{sc=Cyrl}', '\\p{Script=Han}', '\\P{Script=Latin}', '\\p{Alphabetic}', '\\p{Lowercase}', '\\p{Uppercase}', '\\p{White_Space}', '\\p{ASCII}', '\\p{Any}', '\\p{Emoji}', '\\p{Emoji_Presentation}', '\\p{Extended_Pictographic}', '\\p{ID_Start}', '\\p{Hex_Digit}', '\\p{Cased}', '\\p{M}', '[\\p{L}\\p{N}]', '[^\\p{L}]', '[\\P{L}a]', '\\u{1f600}', '\\u{61}', '[\\u{1f600}-\\u{1f64f}]', '\ud83d\ude00', '[\ud83d\ude00]', '[^\ud83d\ude00]', '\\ud83d', '\\ude00', '\\ud83d\\ude00', '[\\ud83d]', '[^x]', '\\$', '\\/', '[\\-a]', '\\u{10ffff}', '\\p{Cn}', '\\p{Cs}', '\\p{LC}', '\\p{Z}']
const faulty = ['(', ')', '[', '*', '+', '?', 'a**', 'a{2,1}', '[b-a]', '(?<a', '(?<a>x)(?<a>y)', '(?x)', '\\', '(?<1a>x)', '\\k<b>(?<a>x)', 'a{1}{2}', '^*', '(?=a)*', '(?<=a)*', '\\u{110000}', '\\u{', '\\p{Foo}', '\\p{Script=Foo}', '\\p', '\\p{L', '\\1', '\\2(a)', '{1}', 'a{', 'a{1', ']', '}', '\\-', '\\a', '\\c', '\\00', '[\\d-z]', '[a-\\d]', '\\u12', '\\x1', '\\k', '\\k<a>', '(?<a>x)\\k', '\\p{lu}', '\\p{ L}', '\\p{gc=Greek}', '\\pL', '\\p{^L}', '\\p{Latin}', '\\p{Other_Alphabetic}', 'a|*', '(?:', '(?<=', '\\ud83d\\u12', '[\\k]', '[\\b]', '[\\B]', '\\8', '[\\8]', '\\_', '[\\-]', '(?i:a)', 'a{99999999999}']
const inputs = ['', 'a', 'b', 'ab', 'aab', 'abcabc', 'x-y_z', 'A', 'K', 'k', '\u212a', 's', 'S', '\u017f', '\u00e9', '\u00c9', 'e\u0301', '\u00df', '\u1e9e', '\u03c3\u03a3\u03c2', '\u0130i\u0131I', '\u01c4\u01c5\u01c6', '\u1fb3\u1fbc', '\ud83d\ude00', 'a\ud83d\ude00b', '\ud83d', '\ude00', '\ude00\ud83d', '\u0416\u0436', '\u4e2d\u6587', '12', '\u0661', 'a1 b2', 'foo bar', 'a\nb', 'a\r\nb', '\u2028x', 'line\rline', '\ufeff \u00a0', 'aaa', 'A-B', '{}[]', 'u{61}', '\\', '/', '\u0000', '\u03b1\u03b2\u0393', 'na\u00efve caf\u00e9', '_\u2c80', '\ud801\udc00\ud801\udc28']

function patternText(atoms, depth, flags) {
  const atom = () => {
    const n = below(12)
    if (depth > 0 && n === 0) return '(' + patternText(atoms, depth - 1, flags) + ')'
    if (depth > 0 && n === 1) return '(?:' + patternText(atoms, depth - 1, flags) + ')'
    if (depth > 0 && n === 2) return pick(['(?=', '(?!', '(?<=', '(?<!']) + patternText(atoms, depth - 1, flags) + ')'
    if (n === 3) return pick(['^', '$', '\\b', '\\B'])
    return pick(atoms)
  }
  const quantified = () => {
    const x = atom()
    if (below(4) || /^(\^|\$|\\b|\\B|\(\?=|\(\?!|\(\?<=|\(\?<!)/.test(x)) return x
    return x + pick(['*', '+', '?', '{2}', '{1,}', '{0,2}', '*?', '+?', '??'])
  }
  const sequence = () => many(1 + below(3), quantified).join('')
  return below(5) ? sequence() : sequence() + '|' + sequence()
}

const use = pattern => {
  const input = () => quote(below(2) ? pick(inputs) : pick(inputs) + pick(inputs))
  switch (below(8)) {
    case 0: return `${pattern}.test(${input()})`
    case 1: return `${input()}.replace(${pattern}, '<$&>')`
    case 2: return `${input()}.split(${pattern})`
    case 3: return `[...${input()}.matchAll(${pattern.replace(/'([a-z]*)'\)$/, (_, f) => `'${f.includes('g') ? f : f + 'g'}')`)})]`
    case 4: return `${input()}.search(${pattern})`
    case 5: return `{ const r = ${pattern.replace(/'([a-z]*)'\)$/, (_, f) => `'${f.replace('g', '')}${pick(['g', 'y', 'gy'])}')`)}; r.lastIndex = ${below(4)}; return [r.exec(${input()}), r.lastIndex] }`
    case 6: return `${input()}.match(${pattern})`
  }
  return `${pattern}.exec(${input()})`
}
const made = (text, flags) => `new RegExp(${quote(text)}, '${flags}')`
const valid = (text, flags) => { try { new RegExp(text, flags); return true } catch { return false } }

function patternsGroup() {
  const a = []
  const flags = base => base + ['i', 'm', 's', 'g'].filter(() => below(4) === 0).join('')
  const add = (n, atoms, base) => {
    for (let i = 0; i < n;) {
      const f = flags(base), t = patternText(atoms, 2, f)
      if (!valid(t, f)) continue
      a.push(use(made(t, f)))
      i++
    }
  }
  add(350, atomsPlain, '')
  add(150, atomsOld.concat(atomsPlain), '')
  add(350, atomsPlain, 'i')
  add(700, atomsUnicode.concat(atomsPlain), 'u')
  add(300, atomsUnicode.concat(atomsPlain), 'iu')
  add(100, atomsPlain, 'm')
  for (const t of atomsUnicode) for (const f of ['u', 'iu']) a.push(`[${inputs.map(quote).join(',')}].map(s => s.match(${made(t, f + 'g')}))`)
  for (const t of faulty) for (const f of ['', 'u', 'iu', 'i']) a.push(`${made(t, f)}.exec('a')`)
  for (const f of ['gg', 'x', 'uu', 'v', 'd', 'uv', 'gimsuy', 'iu', 'ui', ' ']) a.push(`${made('a', f)}.flags`, `${made('a', f)}.test('A')`)
  for (const f of ['', 'i', 'u', 'iu', 'giu']) {
    a.push(`String(${made('\u00e9/\\/[/]\n', f)})`, `${made('a', f)}.ignoreCase`, `new RegExp(${made('[a-b]', f)}, 'g').flags`, `new RegExp(${made('[a-b]', f)}).source`, `new RegExp(${made('[a-b]', f)}).flags`, `${made('', f)}.source`, `'xAx'.split(${made('a', f)})`)
  }
  a.push("/(?<y>\\d{4})-(?<m>\\d\\d)/u.exec('\\u00e92020-12').groups", "'2020-12'.replace(/(?<y>\\d{4})-(?<m>\\d\\d)/u, '$<m>/$<y>')", "'\\u00e92020-12'.replace(/(?<y>\\d{4})-(?<m>\\d\\d)/u, '$<m>/$<y>')", "'\\u00e9'.replace(/(?<c>.)/u, (...all) => JSON.stringify(all[all.length - 1]))", "[...'\\ud83d\\ude00a'.matchAll(/./gu)].map(m => m.index)", "'\\ud83d\\ude00a'.match(/./gu)", "'\\ud83d\\ude00a'.split(/(?:)/u)", "'\\ud83d\\ude00a'.replace(/(?:)/gu, '-')", "{ const r = /\\ude00/gu; r.lastIndex = 1; return [r.exec('\\ud83d\\ude00'), r.lastIndex] }", "{ const r = /./gu; r.lastIndex = 1; return [r.exec('\\ud83d\\ude00a'), r.lastIndex] }", "{ const r = /^a/my; r.lastIndex = 2; return [r.exec('b\\na'), r.lastIndex] }",
    "/(a)\\1/i.test('aA')", "/(\\u212a)\\1/iu.test('kK')", "/^foo$/m.test('foo\\r\\nbar')", "/^bar$/m.test('foo\\r\\nbar')", "/^bar/m.test('foo\\u2028bar')", "'a\\r\\nb'.replace(/$/gm, ';')", "'a\\r\\nb'.split(/^/m)", "/[^]/.test('\\n')", "/[]/.test('a')", "/(a*)*/.exec('b')", "/(?:a*?)*?b/.exec('aab')", "/(z)((a+)?(b+)?(c))*/.exec('zaacbbbcac')", "/(?=(a+))a*b\\1/.exec('baaabac')", "/(.*?)a(?!(a+)b\\2c)\\2(.*)/.exec('baaabaac')", "/a|ab/.exec('abc')", "/((a)|(ab))((c)|(bc))/.exec('abc')", "/(?:)/.exec('')", "/\\bfoo\\b/.test('\\u00e9foo')", "/\\w+/iu.exec('\\u017fs')", "/\\W/iu.exec('\\u017f')", "/\\bk/iu.test('\\u212ak')", "/[^\\W]/iu.exec('S')", "'abc'.replace(/(?<x>b)/, '[$<x>][$<y>]')", "'abc'.replace(/(b)/, '[$1][$2][$01][$10]')", "/a{0}b/.exec('ab')", "/(?:a|b)*?$/.exec('ab')", "/\\d{3,}/.exec('12345')", "/(?<!a)b/.exec('ab b')", "/(?<=(\\d+)(\\d+))$/.exec('1053')", "/(?<=\\1(a))b/.exec('aab')", "/(?<a>.)(?<b>.)/.exec('xy').groups", "/x/.lastIndex", "RegExp('a').source", "RegExp.prototype.toString.call(/a/g)", "/[/]/.source", "new RegExp('/').source", "/a/g[Symbol.replace]('aa', 'b')", "RegExp.prototype.source", "RegExp.prototype.flags", "RegExp.prototype.ignoreCase", "/a/y.test('ba')", "'aaba'.replace(/a/gy, '-')", "'aBc'.replace(/b/i, x => x + '!')", "'caf\\u00e9 \\u00fcber \\u4e2d'.match(/\\p{L}+/gu)", "'Hello W\\u00f6rld'.replace(/[^\\p{L}\\p{N}]+/gu, '-').toLowerCase()", "'\\u00dcber'.replace(/\\p{Lu}/gu, c => c.toLowerCase())", "/^\\p{Lu}/u.test('Ab')", "/^\\p{ID_Start}\\p{ID_Continue}*$/u.test('na\\u00efve1')", "'a\\u0301'.normalize('NFD').replace(/\\p{M}/gu, '')", "'\\ud83d\\ude00 x'.replace(/\\p{Emoji_Presentation}/gu, '')", "/\\p{Script_Extensions=Greek}/u.test('\\u03b1')", "/\\p{XID_Start}/u.test('a')", "/^.$/v.test('\\ud83d\\ude00')", "/a/d.test('a')")
  a.push("/(?:(a)|b)+/.exec('ab')", "'ab'.replace(/(?:(a)|b)+/, '[$1]')", "'xaby'.split(/(?:(a)|b)+/)", "/(?:(?<x>a)|b)+/.exec('ab').groups", "/(?:(a)|(b))+\\1$/.exec('xab')", "/(?:|a)+/.exec('aa')", "/(.)\\1/iu.exec('s\\u017f')", "/[[:digit:]]/.exec('d]')", "/[[:alpha:]_]+/.test('x')", "/(?=.*(b))(a)/.exec('aab')",
    "/(a)(?<=(x).a)/.exec('xya')", "Object.keys(/(?<a>a)/.exec('a'))", "Object.getPrototypeOf(/(?<a>a)/.exec('a').groups)", "'aab'.replace(/a*/g, '-')", "'aab'.match(/a*/g)", "'aab'.split(/(a*)/)", "[...'aab'.matchAll(/a*/g)].map(m => m.index)", "'aab'.replaceAll(/a?|b/g, '-')", "'abc'.match()", "'abnullc'.match(null)", "[...'a.b.'.matchAll('.')].length", "'aXbX'.search('X')", "{ const r = /a/g; r.lastIndex = '1'; return [r.exec('aa'), r.lastIndex] }", "{ const r = Object.freeze(/a/g); return r.exec('aa') }",
    "{ const r = /a/; r.lastIndex = 7; return [r.exec('aa'), r.lastIndex] }", "{ const r = /a/g; const out = []; let m; while ((m = r.exec('\\u00e4a\\u00e4a'))) out.push(m.index, r.lastIndex); return out }")
  const letters = ['a', 'b', 'c', '.', '[ab]', '(a)', '(b)', '(a|b)', '(?:a|(b))', '(?:|a)', '(a?)', '\\1', '\\2', '(?<x>c)?']
  for (const f of ['', 'i', 'u']) {
    for (let n = 0; n < 200;) {
      const t = patternText(letters, 3, f), input = quote(many(1 + below(8), () => pick('abcaABb')).join(''))
      if (!valid(t, f)) continue
      a.push(pick([`${made(t, f)}.exec(${input})`, `${input}.replace(${made(t, f + 'g')}, '[$1$2]')`, `${input}.split(${made(t, f)})`]))
      n++
    }
  }
  return a
}

// examplesGroup has the examples of what differs on purpose, in docs/scripts.md.
function examplesGroup() {
  const manual = fs.readFileSync(path.join(__dirname, '../../../../docs/scripts.md'), 'utf8')
  const section = manual.split('\n### Differences from Node.js\n')[1].split('\n#')[0]
  return [...section.matchAll(/^\| `(.+?)` \|/gm)].map(m => m[1])
}

const groups = {examples: examplesGroup, numbers: numbersGroup, texts: textGroup, sorting: sortingGroup, dates: datesGroup, json: jsonGroup, collections: collectionsGroup, patterns: patternsGroup}

// statements returns the body of a function that returns the value of an expression, a block, or statements with return.
function statements(source) {
  if (/^\{ const /.test(source)) return source
  if (/\breturn\b/.test(source) && /^(const|let|function|class|label)/.test(source)) return source
  if (/^(const|let|"use strict")/.test(source)) return source
  return 'return (' + source + ')'
}

function answer(source) {
  let f
  try {
    f = new Function(statements(source))
  } catch (e) {
    return 'throws ' + e.name
  }
  try {
    return show(f())
  } catch (e) {
    return 'throws ' + e.name
  }
}

const lines = []
let n = 1
for (const [name, make] of Object.entries(groups)) {
  seed = n++
  const cases = [...new Set(make())]
  lines.push(`${JSON.stringify(name)}: [\n` + cases.map(source => JSON.stringify([statements(source), answer(source)]).replace(/[\u007f-\uffff]/g, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))).join(',\n') + '\n]')
}
fs.writeFileSync(path.join(__dirname, 'answers.json'), '{\n' + lines.join(',\n') + '\n}\n')
