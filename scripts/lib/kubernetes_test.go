package lib_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// The functions of the library must have the same results as those of Kubernetes, so these tests compare them.

func TestQuantitiesMatchKubernetes(t *testing.T) {
	suffixes := strings.Split("n,u,m,,k,M,G,T,P,E,Ki,Mi,Gi,Ti,Pi,Ei,e3,E6,e-3,e0,e2", ",")
	random := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for _, number := range []string{"0", "1", "-1", "+2", "0.5", ".5", "5.", "100", "1000", "1024", "1536", "0.0001", "1.0000000001", "999999", "123456789", "-0.001"} {
		for _, suffix := range suffixes {
			texts = append(texts, number+suffix)
		}
	}
	for range 5000 {
		number := fmt.Sprint(random.IntN(1 << random.IntN(30)))
		if random.IntN(2) == 0 {
			number += fmt.Sprintf(".%d", random.IntN(10000))
		}
		texts = append(texts, number+suffixes[random.IntN(len(suffixes))])
	}
	last := "1"
	for _, text := range append(texts, "", "a", "1 Gi", "1gi", "--1", "1e", "1K", "0x10", "1_0") {
		q, err := resource.ParseQuantity(text)
		got, ours := call("quantity.format", text)
		if ours != nil && strings.Contains(ours.Error(), "larger") && (err != nil || q.CmpInt64(1<<62) > 0 || q.CmpInt64(-1<<62) < 0) {
			continue // it is cut there
		}
		if (err != nil) != (ours != nil) {
			t.Errorf("quantity.format(%q): %v, Kubernetes: %v", text, ours, err)
		}
		if err != nil || ours != nil {
			continue
		}
		if want := canonical(q); got != want {
			t.Errorf("quantity.format(%q) = %v, Kubernetes has %s", text, got, want)
		}
		if milli, err := call("quantity.milli", text); err == nil && q.Sign() >= 0 && q.CmpInt64(1<<50) < 0 && milli != q.MilliValue() {
			t.Errorf("quantity.milli(%q) = %v, Kubernetes has %d", text, milli, q.MilliValue())
		}
		other := resource.MustParse(last)
		if order, _ := call("quantity.compare", text, last); order != int64(q.Cmp(other)) {
			t.Errorf("quantity.compare(%q, %q) = %v, Kubernetes has %d", text, last, order, q.Cmp(other))
		}
		sum := q.DeepCopy()
		sum.Add(other)
		if ours, err := call("quantity.add", text, last); err == nil && ours != canonical(sum) {
			t.Errorf("quantity.add(%q, %q) = %v, Kubernetes has %s", text, last, ours, canonical(sum))
		}
		last = text
	}
}

// canonical returns the canonical text of q.
func canonical(q resource.Quantity) string {
	number, suffix := q.CanonicalizeBytes(make([]byte, 0, 64))
	return string(number) + string(suffix)
}

func TestSelectorsMatchKubernetes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	some := func() (l []string) {
		for range random.IntN(3) {
			l = append(l, pick("x", "y", "z", ""))
		}
		return l
	}
	matched := 0
	for range 20_000 {
		var selector metav1.LabelSelector
		for range random.IntN(2) {
			selector.MatchLabels = map[string]string{pick("a", "b"): pick("x", "y")}
		}
		for range random.IntN(3) {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: pick("a", "b", "c"), Operator: metav1.LabelSelectorOperator(pick("In", "NotIn", "Exists", "DoesNotExist", "Gt")), Values: some(),
			})
		}
		set := labels.Set{}
		for range random.IntN(4) {
			set[pick("a", "b", "c")] = pick("x", "y", "")
		}
		theirs, err := metav1.LabelSelectorAsSelector(&selector)
		got, ours := call("labels.matches", jsonShaped(t, selector), jsonShaped(t, set))
		if (err != nil) != (ours != nil) {
			t.Fatalf("labels.matches(%v, %v): %v, Kubernetes: %v", selector, set, ours, err)
		}
		if err == nil && got != theirs.Matches(set) {
			t.Fatalf("labels.matches(%v, %v) = %v, Kubernetes has %v", selector, set, got, theirs.Matches(set))
		}
		if got == true {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d matched: there should be more cases that match", matched)
	}
}

// jsonShaped returns v as a JSON-shaped value.
func jsonShaped(t testing.TB, v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := call("json.decode", string(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// documents are YAML texts that some readers read differently.
var documents = []string{
	"", "# nothing\n", "---\n", "a", "a: 1", "- 1\n- 2.5\n- 1e3\n- -0.5\n- .5\n- 1_000\n- 0x1F\n- 0o17\n- 017\n- 0b101\n- +1\n- 1.\n",
	"[y, Y, yes, Yes, YES, n, N, no, No, NO, on, On, ON, off, Off, OFF, true, True, TRUE, false, False, FALSE]",
	"['yes', \"no\", !!str on, yEs, oN, tRUE]", "[~, null, Null, NULL, nULL, '', ]",
	"[2001-01-01, 2001-01-01T00:00:00Z, 2001-01-01 10:00:00, 12:30, 12:30:45, 1:2]",
	"{1: a, 2.5: b, true: c, yes: d, on: e, 'x': f, 0x10: g, 2001-01-01: h}", "null: a", "? [a]\n: b", "a: b: c", "a: 'b", "\ta: b", "a: [1, 2",
	"a: &x {b: 1}\nc: *x\n", "a: &x {b: 1, c: 2}\nd: {<<: *x, e: 3}\n", "a: &x {b: 1}\nd:\n  <<: [*x, {f: 4}]\n  e: 3\n", "a: *x", "a: &x [*x]", "<<: 1",
	"a: |\n  b\n  c\n", "a: >\n  b\n  c\n\n  d\n", "a: |-\n  b\n", "a: |+\n  b\n\n", "a: \"b\\nc\\u00e9\"", "a: b # c", "a: 'it''s'", "%YAML 1.1\n---\na: 1\n",
	"!!int '5'", "!!float 1", "!!bool yes", "!!str 1", "!foo bar", "!foo {a: 1}", "!!binary aGk=", "!!set {a, b}", "!!timestamp 2001-01-01", "=", "<<",
	".inf", "-.inf", ".nan", "18446744073709551615", "9223372036854775807", "-9223372036854775808", "1e999", "0.1", "1E+3", "._1", "0_", "_1", "1__0", "0x", "-0x10", "-0b1", "- - - a\n  - b\n",
	"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {on: off}\nspec:\n  containers:\n  - name: c\n    image: nginx:1.2\n    args: [\"-c\", 'x: y']\n    ports:\n    - containerPort: 0080\n",
	"a:\n- b\n-\n- c", "a:   \n  b:\nc:", "\ufeffa: 1", "a: \U0001f600", "a: \"\\U0001F600\"", "'a': {b: [c, {d: e}]}", "a: -", "a: - b", "-a: 1", "a:1", "a : 1", "{a}", "{a, b: c}", "[a: b]", "*", "&", "%", "@a", "`a`", "a: @b", "'", "\"", "|", ">", "? a", ":", ": a",
}

func TestYAMLIsReadAsInKubernetes(t *testing.T) {
	for _, text := range documents {
		ours, theirs := sameYAML(t, text)
		if (ours != nil) != (theirs != nil) && !differs(ours) {
			t.Errorf("yaml.decode(%q): %v, Kubernetes: %v", text, ours, theirs)
		}
	}
}

// What is JSON is read as JSON, with escapes that YAML does not have and characters that YAML does not allow. A surrogate without its
// other half is replaced, as kubectl does.
func TestJSONIsReadAsInKubernetes(t *testing.T) {
	for _, text := range []string{
		`{"a": "\ud83d\ude00"}`, `{"b": ["\uD83D\uDE00", "a\/b", "\ud83d", "\ude00x"]}`, "{\"a\": \"\x7f\u0085\u2028\ufffe\"}", "{\"a\"\n:\n1}",
		`{"` + strings.Repeat("k", 2000) + `": "\ud83d\ude00"}`, "{\n\t\"a\":\t[1e2, -0.0, 9007199254740993]\n}",
	} {
		if ours, theirs := sameYAML(t, text); ours != nil || theirs != nil {
			t.Errorf("yaml.decode(%q): %v, Kubernetes: %v", text, ours, theirs)
		}
	}
	for text, want := range map[string]any{
		"a: \"\\ud83d\\ude00\"\nb: '\\ud83d\\ude00'\n": obj{"a": "\U0001f600", "b": `\ud83d\ude00`},
		"\"x\\/\"": "x/",
	} {
		if got, err := call("yaml.decode", text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("yaml.decode(%q) = %#v, %v", text, got, err)
		}
	}
	if _, err := call("yaml.decode", "a: 1\nb: \"\\ud83d\"\n"); err == nil || !strings.Contains(err.Error(), "invalid Unicode character escape code") {
		t.Errorf("a surrogate without its other half: %v", err)
	}
}

// differs reports whether the library is meant to differ from Kubernetes: for numbers beyond 64 bits, duplicate keys, and several
// documents.
func differs(err error) bool {
	for _, part := range []string{"beyond 64 bits", "is there twice", "documents", "not a number that JSON has"} {
		if err != nil && strings.Contains(err.Error(), part) {
			return true
		}
	}
	return false
}

// sameYAML checks that both return the same value, and returns their errors. Kubernetes reads only the first document.
func sameYAML(t *testing.T, text string) (ours, theirs error) {
	t.Helper()
	got, ours := call("yaml.decode", text)
	var want any
	theirs = yaml.Unmarshal([]byte(text), &want)
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) { // as kubectl does
		theirs = json.Unmarshal([]byte(text), &want)
	}
	if ours == nil && theirs == nil && !cmp.Equal(asFloats(got), asFloats(want)) {
		t.Errorf("yaml.decode(%q) = %#v, Kubernetes has %#v", text, got, want)
	}
	return ours, theirs
}

// asFloats converts all numbers to float64, like encoding/json.
func asFloats(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = asFloats(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key := range v {
			out[key] = asFloats(v[key])
		}
		return out
	}
	return v
}

func TestYAMLHasDocuments(t *testing.T) {
	text := "# first\na: 1\n---\n---\n- 2\n...\n---\n# nothing\n"
	got, err := call("yaml.decodeAll", text)
	if want := (arr{obj{"a": int64(1)}, arr{int64(2)}}); err != nil || !cmp.Equal(got, any(want)) {
		t.Errorf("yaml.decodeAll: %v, %v, want %v", got, err, want)
	}
	if _, err := call("yaml.decode", text); err == nil || !strings.Contains(withHint(err), "2 documents (yaml.decodeAll") {
		t.Errorf("yaml.decode: %v", err)
	}
}

// strings that mean something else when they are written without quotes.
var odd = strings.Split("y|yes|on|No|null|~|1|1.0|1e3|0x10|0o7|017|1_0|.inf|.nan|2001-01-01|12:30:45|-|- a|a: b|a #b|#a|[a|{a|*a|&a|!a|%a|@a|`a|'a|\"a|,|?|:|=|<<| a|a |\ta|a\tb|\n|a\nb|a\nb\n|\n\na|a\n\n|  a\n b|é|\U0001f600|\u2028|\u0085|\ufeff|\x00|\x7f|\x1b|\\|---|...|--- a|a\r\nb|\r|0.|1:2|null |yes\n|>|>-|\t\n|a\n \t\nb|a\n  \n", "|")

func TestWrittenYAMLIsReadableByKubernetes(t *testing.T) {
	for _, s := range append(odd, "|", "|\n", "") {
		writtenAndRead(t, s)
		writtenAndRead(t, obj{s: arr{s, obj{"a": s}}})
	}
	writtenAndRead(t, arr{nil, true, int64(1), 1.5, 1e21, 1e-7, int64(-1 << 63), obj{}, arr{}, arr{arr{}}, obj{"a": arr{obj{"b": int64(1), "c": int64(2)}}}})
	text, _ := call("yaml.encode", obj{"spec": obj{"ports": arr{obj{"port": int64(80), "name": "on"}}}, "a": 2.0})
	if want := "a: 2\nspec:\n  ports:\n  - name: \"on\"\n    port: 80\n"; text != want {
		t.Errorf("yaml.encode gives\n%s, want\n%s", text, want)
	}
}

func writtenAndRead(t *testing.T, v any) {
	t.Helper()
	text, err := call("yaml.encode", v)
	if err != nil {
		t.Errorf("yaml.encode(%q): %v", v, err)
		return
	}
	var theirs any
	if err := yaml.Unmarshal([]byte(text.(string)), &theirs); err != nil || !cmp.Equal(theirs, asFloats(v)) {
		t.Errorf("yaml.encode(%q) = %q, which Kubernetes reads as %q, %v", v, text, theirs, err)
	}
	if ours, err := call("yaml.decode", text); err != nil || !cmp.Equal(asFloats(ours), asFloats(v)) {
		t.Errorf("yaml.encode(%q) = %q, which yaml.decode reads as %q, %v", v, text, ours, err)
	}
}

func FuzzYAMLIsReadAsKubernetesReadsIt(f *testing.F) {
	for _, text := range documents {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.Contains(text, "!") { // tags that are none are read in another way
			_, _ = sameYAML(t, text)
		}
	})
}

func FuzzYAMLIsWrittenSoThatKubernetesReadsTheSame(f *testing.F) {
	for _, text := range odd {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ToValidUTF8(text, "") == text {
			writtenAndRead(t, arr{text, obj{text: text}})
		}
	})
}
