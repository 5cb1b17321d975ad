"""Prints what Python answers to generated expressions that are Starlark too, one JSON array [expression, answer] in a line.

The answer to an expression that fails is missing. "make references" writes it to starlark.jsonl.
"""
import itertools
import json

INTS = ["0", "1", "-1", "7", "-7", "255", "1000", "4294967296", "9007199254740993", "-9223372036854775808", "123456789012345678901234567890"]
FLOATS = ["0.0", "1.0", "0.5", "-2.5", "3.5", "0.1", "26.01", "1e16", "1e22", "1e-7", "123456789.125", "1.7976931348623157e308", "5e-324"]
TEXTS = ["", "a", "abc", "Hello World", "a,b,,c", "  x  y ", "é", "naïve Straße", "日本語", "😀x", "ﬁ", "İ", "ǆ", "line1\nline2\r\nline3\n", "\t a\x0b", "007", "-12", "1e3", "½", "٣", "x\u2028y", "a_b-C.d"]


def quote(text):
    return json.dumps(text, ensure_ascii=False).replace("\u2028", "\\u2028")


def expressions():
    numbers = INTS + FLOATS
    for x in numbers:
        yield from (f"str({x})", f"str(float({x}))", f"str(int({x}))", f"str(bool({x}))", f"str(abs({x}))", f"repr({x})", f"str({x} == float({x}))")
    for x, y in itertools.product(numbers, ("1", "-7", "1000", "9007199254740993", "0.1", "-2.5", "1e22")):
        for op in ("+", "-", "*", "/", "//", "%", "<", "=="):
            yield f"str(({x}) {op} ({y}))"
    for x, y in itertools.product(INTS, INTS[:6]):
        for op in ("&", "|", "^"):
            yield f"str(({x}) {op} ({y}))"
    for x in INTS:
        yield from (f"str(~({x}))", f"str(({x}) << 3)", f"str(({x}) >> 3)")
        for verb in "dixXosr":
            yield f'"%{verb}" % ({x})'
    for x in FLOATS:
        for verb in "efgdsr":
            yield f'"%{verb}" % {x}'
    for text in ("", "0", "-0", "+5", " 5 ", "5_0", "0x1F", "0b11", "0o17", "017", "1.5", "ff", "zz", "9" * 30, "٣"):
        yield f"str(int({quote(text)}))"
        for base in (0, 2, 8, 10, 16, 36):
            yield f"str(int({quote(text)}, {base}))"
    for text in ("", "1", "1.5", "-1e3", ".5", "5.", "inf", "-Infinity", "nan", " 1.5 ", "1_0", "1e400", "0x10", "1e", "--1"):
        yield f"str(float({quote(text)}))"
    for text in map(quote, ("ß", "É", "Éa Îb", "aÉ", "ﬁ", "ǅ", "ⅰⅠ", "ªA", "İ", "Σς", "中A", "É1")):
        yield from (f"{text}.isupper()", f"{text}.islower()", f"{text}.istitle()")
    for text in map(quote, TEXTS):
        for method in ("upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "isalpha", "isdigit", "isalnum", "isspace", "isupper", "islower", "istitle"):
            yield f"{text}.{method}()"
        yield from (f"len({text})", f"{text}[::-1]", f"{text}[1:]", f"{text}[-2:]", f"{text} * 2", f"repr({text})", f"str([{text}, 1, None, True])", f"str({{{text}: ({text},)}})")
        for other in map(quote, ("a", "l", ",", "é")):
            for method in ("find", "rfind", "count", "startswith", "endswith", "split", "rsplit", "partition", "rpartition", "strip", "removeprefix", "removesuffix"):
                yield f"list({text}.{method}({other}))" if "partition" in method else f"{text}.{method}({other})"
            yield from (f"{text}.replace({other}, 'Z')", f"{text}.replace({other}, 'Z', 1)", f"{text}.split({other}, 1)", f"{other}.join([{text}, {text}])", f"{text} < {other}", f"{other} in {text}", f'"%s|%r" % ({text}, {other})', f'"{{}}-{{0}}".format({text})', f'"{{1}}{{0}}{{x}}{{{{".format({text}, {other}, x=1)')
    for items in ("[3, 1, 2]", "[1.5, 1, -2]", "['b', 'a', 'é', 'Z', '日', '😀', '']", "[(2, 'a'), (1, 'b'), (1, 'a')]", "[True, False]", "[[2], [1, 5], []]", "[1, 'a']", "[None, None]", "[]", "[1, 1.0, True]"):
        for call in ("sorted(x)", "sorted(x, reverse=True)", "sorted(x, key=str)", "max(x)", "min(x)", "list(reversed(x))", "list(enumerate(x, 2))", "list(zip(x, x))", "any(x)", "all(x)", "x[-1]", "x[::2]", "x[5:]", "x * 2", "x + x", "len(x)", "str(x)", "x == x", "1 in x", "sorted(x, key=lambda y: -len(str(y)))", "x[1:-1]", "sorted(set(x))"):
            yield f"str((lambda x: {call})({items}))"
    for arguments in ("5", "2, 5", "5, 2", "0, 10, 3", "10, 0, -3", "0, 5, 0", "-5"):
        yield from (f"list(range({arguments}))", f"len(range({arguments}))", f"3 in range({arguments})", f"list(range({arguments})[1:3])")
    for items in ("{'b': 1, 'a': 2}", "{}", "dict([('x', 1), ('y', 2)], z=3)", "dict(a=1)", "{'a': 1} | {'a': 2, 'c': 3}", "{1: 'x', 1.0: 'y'}", "{(1, 2): 3}"):
        for call in ("list(x)", "list(x.items())", "list(x.keys())", "list(x.values())", "x.get('a')", "x.get('q', 7)", "x['a']", "x.pop('a')", "x.popitem()", "len(x)", "str(x)", "'a' in x", "sorted(x)", "bool(x)", "x == dict(x)"):
            yield f"str((lambda x: {call})({items}))"
    for code in ("65", "233", "128512", "55357", "1114112", "-1"):
        yield f"chr({code})"
    for text in ("A", "é", "😀", "ab", ""):
        yield f"ord({quote(text)})"


def answer(expression):
    try:
        return [expression, eval(expression)]
    except Exception:
        return [expression]


for expression in dict.fromkeys(expressions()):
    found = answer(expression)
    try:
        line = json.dumps(found, ensure_ascii=False)
        line.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        line = json.dumps(found)
    print(line.replace("\u2028", "\\u2028"))
