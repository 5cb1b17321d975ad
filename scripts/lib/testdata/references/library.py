"""Prints what Python answers, one JSON array [function, arguments, answer] in a line. The answer to a call that fails is missing.

"make references" writes it to library.jsonl.
"""
import base64
import hashlib
import json
import random

TEXTS = ["", "a", "ab", "abc", "é", "日本語", "😀", "a\nb\r\n\x00", "x" * 63, "y" * 64, "z" * 65, "<&>\u2028\u2029\x7f\x85\"\\/"]
ENCODED = ["", "YQ==", "YQ", "YQ=", "YWI=", "YWJj", "w6k=", "/w==", "YW Jj", "YWJj\n", "8J+YgA==", "-_8=", "=", "!!!!", "YQ==YQ=="]
JSONS = ["{}", "[]", "null", " 1 ", "-0", "0.1", "1e3", "1E-7", "-1.5e+2", "1.0", "9007199254740993", "-9223372036854775808", "01", "+1", ".5", "1.", "NaN", "[1,]", "{\"a\":1,}", "{'a':1}", "\"\\ud83d\\ude00\"", "\"\\u00e9\\n\\/\"", "\"\t\"", "\"\\x41\"", "tru", "", "[[[]]]", "{\"a\":{\"b\":[1,2,{\"c\":null}]}}", "{\"a\":1,\"a\":2}", "1 2", "\"abc"]


def values(rand, depth):
    kind = rand.randrange(8 if depth else 6)
    if kind < 6:
        return [None, rand.random() < 0.5, rand.randrange(-10**6, 10**15), rand.choice(TEXTS), rand.randrange(-1000, 1000) / 8, rand.choice(["", "é", "a b"])][kind]
    if kind == 6:
        return [values(rand, depth - 1) for _ in range(rand.randrange(4))]
    return {rand.choice(["a", "b", "é", "Z", "10", "9", "😀"]): values(rand, depth - 1) for _ in range(rand.randrange(4))}


def plain(value):
    """Returns a value in which numbers without a fraction are integers, as the library writes them."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def decoded(text):
    return json.loads(text, parse_constant=lambda name: 1 / 0)


def encoded(value):
    text = json.dumps(plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def line(function, argument, call):
    try:
        answer = [function, [argument], call(argument)]
    except Exception:
        answer = [function, [argument]]
    print(json.dumps(answer, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


for text in TEXTS:
    line("sha256", text, lambda t: hashlib.sha256(t.encode()).hexdigest())
    line("base64.encode", text, lambda t: base64.b64encode(t.encode()).decode())
for text in ENCODED:
    line("base64.decode", text, lambda t: base64.b64decode(t, validate=True).decode())
for text in JSONS:
    line("json.decode", text, decoded)
rand = random.Random(7)
for _ in range(150):
    line("json.encode", values(rand, 3), encoded)
