package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/secretvalues"
	"metascript/engine/tree"
)

// secretWith returns a Secret with values in data.
func secretWith(values map[string]string) *object.Object {
	data := map[string]any{}
	for key, value := range values {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": data})
}

// scrubbed returns an object without the values, as a map, and as text.
func scrubbed(t *testing.T, s *Scrubber, o *object.Object) (content map[string]any, redacted []string, text string) {
	t.Helper()
	raw, redacted, err := s.Object(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &content); err != nil {
		t.Fatal(err)
	}
	return content, redacted, string(raw)
}

func TestSecretHasHashesThatKeepEquality(t *testing.T) {
	s := New()
	one := objecttest.ParseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {a: x, kubectl.kubernetes.io/last-applied-configuration:
		'{"apiVersion":"v1","kind":"Secret","data":{"pin":"MTI="},"stringData":{"old":"former-Passw0rd"}}'}},
		data: {password: aHVudGVyMg==, again: aHVudGVyMg==, pin: MTI=, empty: "", broken: "n0t base64"}, stringData: {plain: hunter2}, type: Opaque}`)
	copied := objecttest.ParseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {copy: hunter2, encoded: aHVudGVyMg==, in: "user:hunter2@db", old: former-Passw0rd, other: value}}`)
	for _, o := range []*object.Object{one, objecttest.Packed(t, one)} {
		s.Add(o)
		content, redacted, text := scrubbed(t, s, o)
		data, plain := content["data"].(map[string]any), content["stringData"].(map[string]any)
		mark, _ := plain["plain"].(string)
		if decoded, err := base64.StdEncoding.DecodeString(data["password"].(string)); err != nil || string(decoded) != mark || len(mark) != len(Prefix)+32 || data["again"] != data["password"] {
			t.Errorf("data is %v", content)
		}
		for _, value := range []string{"hunter2", "aHVudGVyMg", "n0t base64", "former-Passw0rd", "MTI="} {
			if strings.Contains(text, value) {
				t.Errorf("%s has %s", text, value)
			}
		}
		if want := "[data.again data.broken data.password data.pin metadata.annotations.kubectl.kubernetes.io/last-applied-configuration stringData.plain]"; fmt.Sprint(redacted) != want || data["empty"] != "" {
			t.Errorf("redacted are %v, want %s", redacted, want)
		}
		content, redacted, _ = scrubbed(t, s, copied)
		data = content["data"].(map[string]any)
		if data["copy"] != mark || data["in"] != "user:"+mark+"@db" || data["encoded"] != base64.StdEncoding.EncodeToString([]byte(mark)) || data["other"] != "value" || len(redacted) != 4 {
			t.Errorf("the copy is %v, redacted %v, want %s", data, redacted, mark)
		}
	}
	if a, b := New().mark("hunter2"), New().mark("hunter2"); a == b {
		t.Error("two recordings have the same hash")
	}
}

// A value is found too without the line break at its end, which files have and scripts remove. The script gets the same hash.
func TestLineBreakAtEndOfValue(t *testing.T) {
	s := New()
	o := secretWith(map[string]string{"password": "hunter2\n", "pin": " 271828\r\n"})
	s.Add(o)
	content, _, _ := scrubbed(t, s, o)
	decoded, err := base64.StdEncoding.DecodeString(content["data"].(map[string]any)["password"].(string))
	if err != nil {
		t.Fatal(err)
	}
	content, redacted, text := scrubbed(t, s, objecttest.ParseObject(t, `{data: {copy: hunter2, encoded: aHVudGVyMg==, in: "user:hunter2@db", pin: 271828}}`))
	data := content["data"].(map[string]any)
	if data["copy"] != string(decoded) || len(redacted) != 4 || strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") || strings.Contains(text, "271828") {
		t.Errorf("the copy is %s, redacted %v, want %s", text, redacted, decoded)
	}
}

// The texts in a value that is JSON are found without its escapes, such as the lines of a key.
func TestTextsInJSON(t *testing.T) {
	s := New()
	s.Add(secretWith(map[string]string{"key.json": `{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n", "list": ["p\u00e4ss-W0rd-1"]}`}))
	o := objecttest.ParseObject(t, `{data: {all: "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n", line: "a MIIEvQIBADANBgkq", other: päss-W0rd-1, type: service, size: 3}}`)
	_, redacted, text := scrubbed(t, s, o)
	for _, value := range []string{"MIIEvQIBADANBgkq", "hkiG9w0BAQEFAASC", "W0rd"} {
		if strings.Contains(text, value) {
			t.Errorf("%s has %s", text, value)
		}
	}
	if want := "[data.all data.line data.other]"; fmt.Sprint(redacted) != want {
		t.Errorf("redacted are %v, want %s: %s", redacted, want, text)
	}
}

// What is not replaced, so that the objects stay what they are.
func TestWhatStays(t *testing.T) {
	s := New()
	s.Add(secretWith(map[string]string{"a": "true", "b": "blog", "c": "80", "d": "5432", "e": "postgres", "f": "replicas", "g": "0b1f6ea2-7a0e-4b54-8d1b-1c6f3d1b2a3c", "h": "v1", "i": "Pass-w0rd-1"}))
	const text = `{apiVersion: v1, kind: Blog, metadata: {name: blog, namespace: postgres, uid: 0b1f6ea2-7a0e-4b54-8d1b-1c6f3d1b2a3c, ownerReferences: [{name: blog, kind: postgres, uid: 0b1f6ea2-7a0e-4b54-8d1b-1c6f3d1b2a3c}]},
		spec: {on: "true", port: 5432, text: "80", replicas: 1, words: blogger, nested: [weblog, {x: "15432"}]}}`
	o := objecttest.ParseObject(t, text)
	if content, redacted, _ := scrubbed(t, s, o); len(redacted) != 0 {
		t.Errorf("redacted are %v: %v", redacted, content)
	}
	replaced := objecttest.ParseObject(t, `{metadata: {name: x-Pass-w0rd-1, labels: {a: blog}}, spec: {words: "a blog", uid: 0b1f6ea2-7a0e-4b54-8d1b-1c6f3d1b2a3c, Pass-w0rd-1: x, image: "postgres:16", text: "port 5432"}}`)
	content, redacted, text2 := scrubbed(t, s, replaced)
	if len(redacted) != 6 || strings.Contains(text2, "Pass-w0rd-1") {
		t.Errorf("redacted are %v: %v", redacted, content)
	}
}

func TestNumbers(t *testing.T) {
	s := New()
	s.Add(secretWith(map[string]string{"pin": "271828", "port": "5432"}))
	content, redacted, _ := scrubbed(t, s, objecttest.ParseObject(t, `{spec: {pin: 271828, list: [5432, 271828, 2718281, 1.5], float: 271828.0}}`))
	spec := content["spec"].(map[string]any)
	pin := spec["pin"].(float64)
	if pin == 271828 || pin < 100000 || pin > 999999 || spec["list"].([]any)[1] != pin || spec["list"].([]any)[2] != 2718281.0 || len(redacted) != 3 || redacted[1] != "spec.list[1]" {
		t.Errorf("the content is %v, redacted %v", content, redacted)
	}
}

// shown are ways in which values are shown.
var shown = []func(string) string{
	func(s string) string { return s },
	strings.ToLower,
	asJSON,
	func(s string) string { return asJSON(asJSON(s)) },
	func(s string) string { text, _ := json.Marshal(map[string]string{"key": s}); return string(text) },
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "yz")) },
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte("xx" + s)) },
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) },
	func(s string) string { return hex.EncodeToString([]byte(s)) },
	url.QueryEscape, url.PathEscape, html.EscapeString,
}

// randomValue returns a value of a Secret.
func randomValue(r *rand.Rand) string {
	alphabets := []string{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "abcdef0123456789", "aA0 \n\"'\\<&>%+/=é日\t:@", "ab"}
	alphabet := []rune(alphabets[r.IntN(len(alphabets))])
	value := make([]rune, 6+r.IntN(60))
	for i := range value {
		value[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(value)
}

// randomObject returns a value with parts in it at random places, and also in keys if these are strong.
func randomObject(r *rand.Rand, depth int, part func() string, inKeys bool) any {
	switch n := r.IntN(6); {
	case depth == 0 || n < 2:
		return part()
	case n == 2:
		return int64(r.IntN(1000))
	case n == 3:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomObject(r, depth-1, part, inKeys)
		}
		return list
	}
	m := map[string]any{}
	for i := range r.IntN(5) {
		key := fmt.Sprint("key", i)
		if inKeys && r.IntN(4) == 0 {
			key = part()
		}
		m[key] = randomObject(r, depth-1, part, inKeys)
	}
	return m
}

// No value is anywhere in what is written, however it was written and wherever it was.
func TestNoValueIsWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		s, values, allStrong := New(), map[string]string{}, true
		for i := range 1 + r.IntN(4) {
			value := randomValue(r)
			values[fmt.Sprint(i)], allStrong = value, allStrong && secretvalues.IsStrong(value)
		}
		secret := secretWith(values)
		s.Add(secret)
		part := func() string {
			if r.IntN(3) == 0 {
				return "plain text"
			}
			value := values[fmt.Sprint(r.IntN(len(values)))]
			return []string{"", "a", "-", "="}[r.IntN(4)] + shown[r.IntN(len(shown))](value) + []string{"", "b", " "}[r.IntN(3)]
		}
		for range 5 {
			o := object.New(map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "x"}, "spec": randomObject(r, 4, part, allStrong)})
			if r.IntN(2) == 0 {
				o = objecttest.Packed(t, o)
			}
			content, _, text := scrubbed(t, s, o)
			_, _, secretText := scrubbed(t, s, secret)
			if canonical, err := tree.AppendJSON(nil, content); err != nil || string(canonical) != text {
				t.Fatalf("round %d: the text is %s, want %s", round, text, canonical)
			}
			all := text + secretText + strings.Join(leaves(content), "\n")
			for _, value := range values {
				for _, form := range []string{value, asJSON(value), base64.StdEncoding.EncodeToString([]byte(value)), core(value, 1), core(value, 2)} {
					if strings.Contains(all, form) {
						t.Fatalf("round %d: %q is left of %q in %q", round, form, value, all)
					}
				}
			}
		}
	}
}

// leaves returns all texts in a value.
func leaves(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, leaves(item)...)
		}
		return all
	case map[string]any:
		var all []string
		for key, item := range v {
			all = append(append(all, key), leaves(item)...)
		}
		return all
	}
	return nil
}

// Parts of a value that look like a password are found without the rest of it.
func TestWordsOfValues(t *testing.T) {
	s := New()
	s.Add(secretWith(map[string]string{
		"url":  "postgres://app:s3cretPassw0rd@db.example.com:5432/app",
		"cert": "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ0\nq8yqG7hZ2zYw1kS+/w==\n-----END CERTIFICATE-----\n",
	}))
	for text, want := range map[string]bool{"the password is s3cretPassw0rd": true, "postgres://": false, "db.example.com": false, "  MIIBszCCAVmgAwIBAgIUQ0": true, "CERTIFICATE": false} {
		if clean, changed := s.Text(text); changed != want || changed && !strings.Contains(clean, Prefix) {
			t.Errorf("%q became %q", text, clean)
		}
	}
}

// Values that overlap in a text leave nothing of both.
func TestValuesThatOverlap(t *testing.T) {
	s := New()
	for _, value := range []string{"foobar12", "r12secretpw", "secret"} {
		s.AddText(value)
	}
	if clean, _ := s.Text("a foobar12secretpw."); strings.Contains(clean, "secretpw") || !strings.HasPrefix(clean, "a "+Prefix) || !strings.HasSuffix(clean, ".") {
		t.Errorf("the text became %q", clean)
	}
}

// A text and a value that repeat themselves do not take for ever.
func TestTextThatRepeatsItself(t *testing.T) {
	s := New()
	s.AddText(strings.Repeat("a", 1<<20))
	for i := range 1000 {
		s.AddText(strings.Repeat("a", 1000+i))
	}
	if clean, changed := s.Text(strings.Repeat("a", 999) + strings.Repeat(" "+strings.Repeat("a", 999), 5000)); changed && len(clean) > 100 {
		t.Errorf("the text has %d bytes", len(clean))
	}
	clean, changed := s.Text(strings.Repeat("a", 1<<20+5000))
	if !changed || len(clean) > 100 {
		t.Errorf("the text has %d bytes", len(clean))
	}
}

// A value that becomes known after it was written is noticed, and others are not.
func TestValueThatIsKnownTooLate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 100 {
		s, value := New(), randomValue(r)
		if !secretvalues.IsStrong(value) {
			continue
		}
		for range 100 {
			s.AddText(randomValue(r))
		}
		s.Text("something else")
		s.AddText("An0ther-password")
		if s.Late() {
			t.Fatalf("round %d: it is late without a reason", round)
		}
		text := "x " + shown[5*r.IntN(2)](value)
		if _, changed := s.Text(text); changed {
			continue // a short one was in it
		}
		s.Add(secretWith(map[string]string{"a": value}))
		if !s.Late() {
			t.Fatalf("round %d: %q is not late", round, value)
		}
		if clean, changed := s.Text(text); !changed {
			t.Fatalf("round %d: %q is written a second time", round, clean)
		}
	}
}

func BenchmarkObject(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	s := New()
	for range 1000 {
		s.AddText(randomValue(r))
	}
	list := make([]any, 200)
	for i := range list {
		list[i] = map[string]any{"name": "some text of a usual length", "value": fmt.Sprint(i), "number": int64(i)}
	}
	o := objecttest.Packed(b, object.New(map[string]any{"kind": "Pod", "spec": list}))
	content, _, _ := s.Object(o)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if _, _, err := s.Object(o); err != nil {
			b.Fatal(err)
		}
	}
}
