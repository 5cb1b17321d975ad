package starlark

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

// Each hint for an expression of Python has the code that works here, with the value that Python has.
func TestHintsForPython(t *testing.T) {
	for _, c := range []struct {
		python, code string
		want         any
	}{
		{`x.zfill(3)`, `"0" * (3 - len(x)) + x`, "007"},
		{`x.ljust(9)`, `x + " " * (9 - len(x))`, "7        "},
		{`x.rjust(9)`, `" " * (9 - len(x)) + x`, "        7"},
		{`x.center(9)`, `" " * ((9 - len(x)) // 2) + x`, "    7"},
		{`x.isnumeric()`, `x.isdigit()`, true},
		{`x.casefold()`, `x.lower()`, "7"},
		{`x.format_map(y)`, `x.format(**y)`, "7"},
		{`items.count(1)`, `len([1 for y in x if y == z])`, nil},
		{`y.copy()`, `list(x) or dict(x)`, nil},
		{`y.has_key("a")`, `key in x`, false},
		{`"%05d" % n`, `"0" * (5 - len("%d" % n)) + "%d" % n`, "00007"},
		{`"%5d" % n`, `" " * (5 - len("%d" % n)) + "%d" % n`, "    7"},
		{`"%-5s|" % x`, `str(x) + " " * (5 - len(str(x)))`, "7    "},
		{`"a%%%.2f" % n`, `("%f" % (math.round(n * 100) / 100))[:-4]`, "7.00"},
		{`"%.0f" % n`, `"%d" % math.round(n)`, "7"},
		{`"%.1f" % n`, `("%f" % (math.round(n * 10) / 10))[:-5]`, "7.0"},
		{`"%.9f" % n`, `"%f" % n`, "7.000000"},
		{`"%+d" % n`, `("+" if n >= 0 else "") + "%d" % n`, "+7"},
		{`"%#x" % n`, `"0x%x" % n`, "0x7"},
		{`"%(n)02x" % {"n": n}`, `"0" * (2 - len("%x" % n)) + "%x" % n`, "07"},
		{`"{:>5}".format(x)`, `" " * (5 - len(str(x))) + str(x)`, "    7"},
		{`"{:<5}".format(x)`, `str(x) + " " * (5 - len(str(x)))`, "7    "},
		{`"{:*^5}".format(x)`, `" " * ((5 - len(str(x))) // 2) + str(x)`, "  7"},
		{`"{:5}".format(x)`, `str(x) + " " * (5 - len(str(x)))`, "7    "},
		{`"{:5d}".format(n)`, `" " * (5 - len("%d" % n)) + "%d" % n`, "    7"},
		{`"{:<5d}".format(n)`, `("%d" % n) + " " * (5 - len("%d" % n))`, "7    "},
		{`"{:.2f}".format(n)`, `("%f" % (math.round(n * 100) / 100))[:-4]`, "7.00"},
		{`"{:05d}".format(n)`, `"0" * (5 - len("%d" % n)) + "%d" % n`, "00007"},
		{`"{:x}".format(n)`, `"%x" % n`, "7"},
		{`"{:%}".format(n)`, `"%d%%" % math.round(n * 100)`, "700%"},
		{`"{:,}".format(n)`, `str(x)`, "7"},
		{`hex(n)`, `"%x" % n`, "7"},
		{`divmod(a, b)`, `(a // b, a % b)`, []any{int64(2), int64(1)}},
		{`json.dumps(y)`, `json.encode(x)`, `"7"`},
		{`json.loads(text)`, `json.decode(text)`, []any{}},
		{`copy.deepcopy(items)`, `json.decode(json.encode(x))`, "7"},
		{`base64.b64encode(text)`, `base64.encode(text)`, "W10="},
		{`hashlib.sha256(text).hexdigest()`, `sha256(text)`, "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},
		{`yaml.safe_load(text)`, `yaml.decode(text)`, []any{}},
		{`uuid.uuid4()`, `parent.metadata.uid`, "u-1"},
		{`os.environ["A"]`, `parent.spec`, map[string]any{}},
		{`logging.info(x)`, `print(x)`, nil},
		{`logger.warning(x)`, `print(x)`, nil},
		{`re.match(a, b)`, `x.split(y)`, nil},
		{`datetime.utcnow()`, `time.parse_time(now)`, nil},
		{`time.time()`, `now`, "2026-01-02T15:04:05Z"},
		{`time.strftime("%Y")`, `time.parse_time(now).format("2006-01-02")`, "2026-01-02"},
		{`frozenset(items)`, `set(x)`, nil},
		{`round(n)`, `math.round(x)`, nil},
		{`iter(items)`, `for x in list:`, nil},
		{`__name__ == "__main__"`, `remove it`, nil},
	} {
		_, err := pasted(t, c.python)
		if err == nil || !strings.Contains(engine.DetailOf(err), c.code) {
			t.Errorf("%s: want %s in the hint: %s", c.python, c.code, engine.DetailOf(err))
			continue
		}
		if c.want == nil {
			continue
		}
		got, err := pasted(t, c.code)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.code, err, diff)
		}
	}
}

func TestHintsForLists(t *testing.T) {
	for code, want := range map[string]any{`len([1 for y in x if y == z])`: int64(1), `list(x)`: []any{"7", "8"}, `sorted(x)`: []any{"7", "8"}, `list(x)[0]`: "7"} {
		got, err := pasted(t, strings.ReplaceAll(code, "x", `["7", "8"]`))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", code, err, diff)
		}
	}
}

// pasted returns the value of an expression in a function that has what the hints name.
func pasted(t *testing.T, expr string) (any, error) {
	t.Helper()
	text := "def sync(parent, now):\n    x, n, a, b, z, text, key, items = \"7\", 7, 5, 2, \"7\", \"[]\", \"k\", [1]\n    y = {\"a\": 1}\n    return {\"v\": " + expr + "}\n"
	for _, name := range []string{"base64", "sha256", "yaml"} {
		if strings.HasPrefix(expr, name) {
			text = `load("metascript.star", "` + name + "\")\n" + text
		}
	}
	p, err := New().Compile(t.Context(), script(text), engine.Limits{})
	if err != nil {
		return nil, err
	}
	got, err := p.Call(t.Context(), "sync", map[string]any{
		"parent": map[string]any{"metadata": map[string]any{"uid": "u-1"}, "spec": map[string]any{}}, "now": "2026-01-02T15:04:05Z",
	}, engine.Env{})
	return got["v"], err
}
