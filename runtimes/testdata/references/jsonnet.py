"""Prints what the reference implementation of Jsonnet, in C++, answers to generated expressions, one JSON array [expression, answer] in a line.

The answer to an expression that fails is missing. "make references" writes it to jsonnet.jsonl.
"""
import itertools
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

NUMBERS = ["0", "1", "-1", "7", "255", "0.5", "-2.5", "3.5", "0.1", "26.01", "1e16", "9007199254740992", "1e22", "1e-7", "123456789.125"]
TEXTS = ["''", "'a'", "'abc'", "'Hello World'", "'a,b,,c'", "'  x  y '", "'é'", "'naïve Straße'", "'日本語'", "'😀x'", "'l1\\nl2\\n'", "'\\u0001\\u0085\"'", "'007'", "'-12'"]
VALUES = ["null", "true", "[]", "{}", "[1, 2.5, 'a']", "{ b: 1, a: [26.01, { c: null }] }", "[[], {}, [[1]]]", "{ 'a b': 'x: y', 'é': '😀', '1': true, 'no': false }", "{ a:: 1, b: 2 }", "[3, 1, 2, 1]", "['b', 'a', 'é', 'Z', '日', '😀', '']"]


def expressions():
    for x in NUMBERS:
        for call in ("std.toString(x)", "'' + x", "std.floor(x)", "std.ceil(x)", "std.abs(x)", "std.sign(x)", "std.sqrt(std.abs(x))", "std.exponent(x)", "std.mantissa(x)", "-x", "x == x + 1", "std.pow(x, 2)", "std.manifestJsonMinified(x)", "std.manifestYamlDoc(x)", "std.manifestPython(x)", "'%(x)s' % { x: x }"):
            yield f"local x = {x}; {call}"
        for verb in ("%d", "%5d", "%05d", "%-5d|", "%+d", "% d", "%x", "%#x", "%o", "%e", "%.2f", "%8.3f", "%g", "%.3g", "%s", "%5s", "%i", "%c"):
            yield f"'{verb}' % {x}"
    for x, y in itertools.product(NUMBERS, ("1", "-2.5", "7", "0.1", "0")):
        for op in ("+", "-", "*", "/", "%", "<", "==", "<<", ">>", "&"):
            yield f"({x}) {op} ({y})"
    for x in TEXTS:
        for call in ("std.length(x)", "std.asciiUpper(x)", "std.asciiLower(x)", "std.stringChars(x)", "std.escapeStringJson(x)", "std.escapeStringPython(x)", "std.escapeStringBash(x)", "std.escapeStringDollars(x)", "std.escapeStringXML(x)", "std.encodeUTF8(x)", "std.base64(x)", "std.md5(x)", "std.manifestJson(x)", "std.manifestYamlDoc(x)", "x[1:]", "x[0]", "x[:2]", "std.substr(x, 1, 2)", "std.stripChars(x, ' a')", "std.parseInt(x)", "std.reverse(std.stringChars(x))", "std.sort(std.stringChars(x))", "std.lines([x, x])", "std.flatMap(function(c) c + c, x)", "std.foldl(function(a, c) c + a, x, '')", "std.repeat(x, 2)", "'%5s|%-5s|' % [x, x]"):
            yield f"local x = {x}; {call}"
        for y in ("'a'", "','", "'é'", "'l'"):
            for call in ("std.split(x, y)", "std.splitLimit(x, y, 1)", "std.strReplace(x, y, 'Z')", "std.findSubstr(y, x)", "std.startsWith(x, y)", "std.endsWith(x, y)", "x < y", "std.join(y, [x, x])", "std.member(x, y)"):
                yield f"local x = {x}, y = {y}; {call}"
    for x in VALUES:
        for call in ("std.toString(x)", "x + ''", "std.manifestJson(x)", "std.manifestJsonEx(x, '  ')", "std.manifestJsonMinified(x)", "std.manifestYamlDoc(x)", "std.manifestPython(x)", "std.manifestPythonVars(x)", "std.manifestIni({ sections: { s: x } })", "std.manifestTomlEx({ a: x }, '  ')", "std.type(x)", "std.length(x)", "std.objectFields(x)", "std.sort(x)", "std.set(x)", "std.uniq(x)", "std.reverse(x)", "std.prune(x)", "x == x", "std.mergePatch(x, { a: null, z: { y: null, w: 1 } })", "std.map(std.type, x)", "std.slice(x, 0, 3, 2)", "x[1:]", "std.setUnion(std.set(x), [9])", "std.count(x, 1)", "std.manifestYamlStream([x])"):
            yield f"local x = {x}; {call}"
    for text in ("{}", "[1, 2.50, 1e3]", '"\\\\ud83d\\\\ude00"', '{"a": {"b": null}}', "[1,]", "", "01", "9007199254740993"):
        yield f"std.parseJson('{text}')"
    for text in ("a: 1", "- 1\\n- yes\\n- 2.5", "--- 1\\n--- 2\\n", "a: [b, {c: d}]", "a: |\\n  b\\n", "'1'", "a: b: c", "", "9007199254740993"):
        yield f"std.parseYaml('{text}')" if "'" not in text else f'std.parseYaml("{text}")'


def answer(expression):
    run = subprocess.run(["jsonnet", "-e", expression], capture_output=True, text=True)
    if run.returncode:
        return json.dumps([expression], ensure_ascii=False)
    return json.dumps([expression, json.loads(run.stdout)], ensure_ascii=False)


with ThreadPoolExecutor(2) as pool:
    for line in pool.map(answer, dict.fromkeys(expressions())):
        print(line)
