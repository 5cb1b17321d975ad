package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// ways are what scripts do with texts of a parent. A way may use both texts.
var ways = map[string]func(a, b string) string{
	"as it is":      func(a, b string) string { return a + " " + b },
	"in upper case": func(a, b string) string { return strings.ToUpper(a + " " + b) },
	"in lower case": func(a, b string) string { return strings.ToLower(a + " " + b) },
	"in base64":     func(a, b string) string { return base64.StdEncoding.EncodeToString([]byte(a)) },
	"in base64 twice": func(a, b string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(a))))
	},
	"in base64, joined": func(a, b string) string { return base64.URLEncoding.EncodeToString([]byte(a + ":" + b)) },
	"in hex":            func(a, b string) string { return hex.EncodeToString([]byte(a)) },
	"joined":            func(a, b string) string { return a + b },
	"joined by a dash":  func(a, b string) string { return "x-" + a + "-" + b },
	"joined by a list":  func(a, b string) string { return strings.Join(strings.Split(a, ""), "") },
	"reordered":         func(a, b string) string { return b + ":" + a },
	"sliced":            func(a, b string) string { return a[1 : len(a)-1] },
	"as Go shows it":    func(a, b string) string { return fmt.Sprintf("%q", []string{a, b}) },
	"as an address":     func(a, b string) string { return "https://" + url.PathEscape(a) + "/?q=" + url.QueryEscape(b) },
	"within another":    func(a, b string) string { return "size-" + a + "-of-web" },
	"padded":            func(a, b string) string { return fmt.Sprintf("%20s|%s", a, b) },
}

// A user guesses parts of a value, in parents whose texts the script shows. No guess has an effect: the text is the same as beside another Secret.
func TestGuessesHaveNoEffect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, value := range []string{"vN8#kQz2-Wp!rT5", "postgres://app:q7R_m2+Xv9@db/x", "4821", "271828", "b1946ac92492d2347c6235b4d2611184", "correct horse battery staple"} {
		secret := secretWith(map[string]string{"password": value})
		for name, way := range ways {
			for range 40 {
				from := 3 + r.IntN(len(value)-3)
				to := from + 1 + r.IntN(len(value)-from)
				if r.IntN(3) == 0 {
					from, to = 0, len(value)
				}
				a, b := value[from:to], value[max(0, from-5):from]
				if r.IntN(2) == 0 {
					a, b = value[from:(from+to)/2], value[(from+to)/2:to]
				}
				if len(a) < 3 || len(b) < 3 {
					continue // texts that are shorter are public only as a part of a text
				}
				text := "sync.star:7:13: spec.size is " + way(a, b) + ", want small or large"
				quoted := fmt.Sprintf("Invalid value: %q: a valid label must", way(a, b))
				for place, parent := range parentsWith(a, b) {
					redactor := New("Site", "default", "w", "sites")
					redactor.Add(secret)
					redactor.AddPublic(parent)
					for _, text := range []string{text, quoted} {
						if got := redactor.Text(text); got != text {
							t.Errorf("%q in %s, %s: %s", a+"|"+b, place, name, got)
						}
					}
				}
			}
		}
	}
}

// parentsWith returns objects with two texts at different places.
func parentsWith(a, b string) map[string]*object.Object {
	thing := func(meta map[string]any, spec any) *object.Object {
		return object.New(map[string]any{"apiVersion": "example.com/v1", "kind": "Site", "metadata": meta, "spec": spec})
	}
	letters := []any{}
	for _, c := range strings.Split(a, "") {
		letters = append(letters, c)
	}
	return map[string]*object.Object{
		"spec":        thing(nil, map[string]any{"size": a, "tag": b}),
		"annotations": thing(map[string]any{"annotations": map[string]any{"x": a + "/" + b}}, nil),
		"a list":      thing(nil, []any{a, int64(3), b}),
		"letters":     thing(nil, map[string]any{"letters": letters, "other": b}),
		"base64":      thing(nil, map[string]any{"encoded": base64.StdEncoding.EncodeToString([]byte(a)), "b": b}),
		"keys":        thing(map[string]any{"labels": map[string]any{a: "x", b: "y"}}, nil),
	}
}

// What shows a value shows nothing of it, also if a user has guesses that are parts of it, or of the right alphabet.
func TestGuessesDoNotShowValues(t *testing.T) {
	const digits = "0123456789abcdef"
	var all strings.Builder // each text of four digits
	for i := range 1 << 16 {
		fmt.Fprintf(&all, "%04x ", i)
	}
	for _, value := range []string{"vN8#kQz2-Wp!rT5", "b1946ac92492d2347c6235b4d2611184", "271828314159"} {
		for _, guesses := range []string{all.String(), digits, strings.Repeat(digits, 20), value[:len(value)-3], value[3:], value[:8], "x" + value[4:]} {
			r := New()
			r.Add(secretWith(map[string]string{"password": value}))
			r.AddPublic(parentsWith(guesses, digits)["spec"])
			for _, show := range shown {
				got := r.Text("the password is " + show(value) + ".")
				if strings.Contains(strings.ToLower(got), strings.ToLower(value[2:8])) || !strings.Contains(got, Mark) {
					t.Errorf("%.60q shows %q: %s", guesses, value, got)
				}
			}
		}
	}
}

// A few characters that are public do not show a short value.
func TestMostOfAValueMustBePublic(t *testing.T) {
	for public, want := range map[string]string{"aaaqr93bbb": Mark, "a7qr93zb": Mark, "x7qr93z": "x7qr93zt", "x7qr93zt": "x7qr93zt"} {
		r := New()
		r.Add(secretWith(map[string]string{"password": "x7qr93zt"}))
		r.AddPublic(parentsWith(public, "1")["spec"])
		if got := r.Text(`login with "x7qr93zt" failed`); !strings.Contains(got, want) {
			t.Errorf("with the public text %s: %s", public, got)
		}
	}
}

// Of many texts, short values can be joined by chance.
func TestManyTextsDoNotShowShortValues(t *testing.T) {
	var all []any
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	for _, a := range letters {
		for _, b := range letters {
			for _, c := range letters {
				all = append(all, string([]rune{a, b, c}))
			}
		}
	}
	for _, value := range []string{"k3v8zp", "4821", "48213"} {
		r := New()
		r.Add(secretWith(map[string]string{"password": value}))
		r.AddPublic(object.New(map[string]any{"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"a": all}}))
		if got := r.Text("the code is " + value + " here"); strings.Contains(got, value) {
			t.Errorf("got %s", got)
		}
	}
}

// What a hook has written is not public: the status of the parent, and in children what the controller has applied.
func TestWhatIsPublic(t *testing.T) {
	const value = "zQx7Kp2mVw9RtB4n"
	secret := secretWith(map[string]string{"a": value})
	of := func(text string) *object.Object { return objecttest.ParseObject(t, text) }
	const applied = `metacontroller.k8s.io/last-applied-configuration: '{"data":{"a":"zQx7Kp2mVw9RtB4n"}}'`
	for text, want := range map[string]string{
		`{apiVersion: v1, kind: Site, metadata: {name: x}, spec: {a: zQx7Kp2mVw9RtB4n}}`:                                                                                      value,
		`{apiVersion: v1, kind: Site, metadata: {name: zqx7kp2mvw9rtb4n}}`:                                                                                                    value,
		`{apiVersion: v1, kind: Site, metadata: {name: x}, status: {a: zQx7Kp2mVw9RtB4n}}`:                                                                                    Mark,
		`{apiVersion: v1, kind: Site, metadata: {name: x, uid: zQx7Kp2mVw9RtB4n}}`:                                                                                            Mark,
		`{apiVersion: v1, kind: Secret, metadata: {name: x, annotations: {b: "1", ` + applied + `}}, data: {a: elF4N0twMm1WdzlSdEI0bg==}, stringData: {b: zQx7Kp2mVw9RtB4n}}`: Mark,
		`{apiVersion: v1, kind: Secret, metadata: {name: x, labels: {b: zQx7Kp2mVw9RtB4n}}}`:                                                                                  value,
	} {
		r := New()
		r.Add(secret)
		r.AddRequest(of(text), nil, nil)
		if got := r.Text(value); got != want {
			t.Errorf("the parent %s: got %s", text, got)
		}
	}
	for text, want := range map[string]string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {` + applied + `}}, data: {a: zQx7Kp2mVw9RtB4n}}`:                                                        Mark,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: zqx7kp2mvw9rtb4n, annotations: {` + applied + `}}, data: {a: zQx7Kp2mVw9RtB4n}}`:                                         Mark,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {metacontroller.k8s.io/last-applied-configuration: '{"data":{"a":"b"}}'}}, data: {b: zQx7Kp2mVw9RtB4n}}`: value,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {b: zQx7Kp2mVw9RtB4n}}`:                                                                                        Mark, // it is not known what was applied
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}, data: {b: zQx7Kp2mVw9RtB4n}}`:                 Mark,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: server-side}, data: {a: zQx7Kp2mVw9RtB4n}}`:                                                                              Mark,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: server-side}, data: {a: b, b: zQx7Kp2mVw9RtB4n}}`:                                                                        value,

		// What was applied was stored in another form.
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {` + applied + `}}, data: {a: zQx7Kp2mVw9RtB4n/}}`: Mark,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {` + applied + `}}, data: {a: ZQX7Kp2mVw9RtB4n}}`:  Mark,
	} {
		children := &object.Set{}
		children.Put(of(text))
		r := New()
		r.Add(secret)
		r.SetOrigin(origin{})
		r.AddRequest(of(`{apiVersion: v1, kind: Site, metadata: {name: x}}`), children, nil)
		if got := r.Text(value); got != want {
			t.Errorf("the child %s: got %s", text, got)
		}
	}
}

// What is escaped in JSON was applied too.
func TestAppliedValuesWithEscapes(t *testing.T) {
	for _, value := range []string{`abcde"fghijk`, `k3"v8zp1`, "a&b<c>d&efgh", `a\b\c\d\efgh`} {
		applied, err := json.Marshal(map[string]any{"data": map[string]any{"a": value}})
		if err != nil {
			t.Fatal(err)
		}
		child := object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}, "data": map[string]any{"a": value}})
		for name, annotations := range map[string]map[string]string{"server-side": nil, "x": {"metacontroller.k8s.io/last-applied-configuration": string(applied)}} {
			child.SetName(name)
			child.SetAnnotations(annotations)
			r := New()
			r.Add(secretWith(map[string]string{"a": value}))
			r.SetOrigin(origin{})
			children := &object.Set{}
			children.Put(child)
			r.AddRequest(objecttest.ParseObject(t, `{apiVersion: v1, kind: Site, metadata: {name: x}}`), children, nil)
			if got := r.Text("got " + value + " there"); strings.Contains(got, value) {
				t.Errorf("%s %s: got %s", name, value, got)
			}
		}
	}
}

// An origin knows of objects by their names.
type origin struct{}

func (origin) Applied(o *object.Object) map[string]any { // as managedFields say
	if a, _ := o.Field("data", "a"); o.GetName() == "server-side" {
		return map[string]any{"data": map[string]any{"a": a}}
	}
	return nil
}

func (origin) ParentOf(o *object.Object) *object.Object {
	if o.GetName() != "of-another-parent" {
		return nil
	}
	return object.New(map[string]any{"apiVersion": "v1", "kind": "Site", "metadata": map[string]any{"name": "another"}, "spec": map[string]any{"a": "vW3xY8zQ2k"}})
}

func (origin) HasStatus(kind object.Kind) bool { return kind.Kind == "Site" }

// A value that a hook of this controller, or another controller, has written into a related object is shown to nobody who may not read the object.
func TestRelatedObjectsThatControllersWrite(t *testing.T) {
	const value = "zQx7Kp2mVw9RtB4n"
	const applied = `metacontroller.k8s.io/last-applied-configuration: '{"data":{"a":"zQx7Kp2mVw9RtB4n"}}'`
	for text, want := range map[string]string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: zQx7Kp2mVw9RtB4n}}`:                                    value,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {` + applied + `}}, data: {a: zQx7Kp2mVw9RtB4n}}`:    value, // everybody can write this annotation
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: of-another-parent}, data: {a: zQx7Kp2mVw9RtB4n}}`:                    Mark,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: own, uid: u}, data: {a: zQx7Kp2mVw9RtB4n}}`:                          Mark,
		`{apiVersion: v1, kind: Site, metadata: {name: x}, status: {url: "postgres://app:zQx7Kp2mVw9RtB4n@db/x"}}`:               Mark,
		`{apiVersion: v1, kind: Note, metadata: {name: without-a-status-subresource}, status: {url: "app:zQx7Kp2mVw9RtB4n@db"}}`: value,
	} {
		children, related := &object.Set{}, &object.Set{}
		children.Put(objecttest.ParseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: own, uid: u}}`))
		related.Put(objecttest.ParseObject(t, text))
		r := New()
		r.Add(secretWith(map[string]string{"a": value}))
		r.SetOrigin(origin{})
		r.AddRequest(objecttest.ParseObject(t, `{apiVersion: v1, kind: Site, metadata: {name: x}}`), children, related)
		if got := r.Text("got " + value); got != "got "+want {
			t.Errorf("the related object %s: %s", text, got)
		}
	}
}

// Guesses beside other texts, large ones, escapes and other letters than those of ASCII.
func TestGuessesBesideOtherTexts(t *testing.T) {
	padding := strings.Repeat("x ", 140<<10)
	for name, c := range map[string]struct {
		value, other string
		spec         map[string]any
		text         string
	}{
		"two characters joined":   {"abcdefgRtB4n", "abcdefgXtB4n", map[string]any{"a": "ab", "m": "zzz", "z": "cdefgR"}, "got abcdefgR"},
		"one character joined":    {"abcdefgRtB4n", "abcdefgXtB4n", map[string]any{"a": "a", "m": "zzz", "z": "bcdefgR"}, "got abcdefgR"},
		"two halves of a number":  {"4821", "4822", map[string]any{"a": "48", "m": "zz", "z": "21"}, "got 4821"},
		"a number of six digits":  {"482135", "482136", map[string]any{"a": "48", "m": "zz", "z": "2135"}, "got 482135"},
		"base64 beside padding":   {"vN8kQz2Wprt5", "vN8kQz3Wprt5", map[string]any{"a": padding, "b": base64.StdEncoding.EncodeToString([]byte("vN8kQz2Wp"))}, "bad vN8kQz2Wp here"},
		"a URL beside padding":    {"vN8kQz2Wprt5", "vN8kQz3Wprt5", map[string]any{"a": padding, "b": "%76%4e%38%6b%51%7a%32%57"}, "bad vN8kQz2W here"},
		"after an escape":         {"my-token12R", "my-token12Q", map[string]any{"a": "\token12R"}, fmt.Sprintf("Invalid value: %q: a valid label must", "\token12R")},
		"Kelvin signs":            {"mkskskq7", "mkskskq8", map[string]any{"a": "m\u212as\u212as\u212aq7"}, "got mkskskq7"},
		"long letters s":          {"passwords-1", "passwordz-1", map[string]any{"a": "pa\u017f\u017fword\u017f"}, "got PASSWORDS"},
		"umlauts in upper case":   {"GEHÄUSEÖL", "GEHÄUSEÖX", map[string]any{"a": "gehäuseöl"}, "got GEHÄUSEÖL"},
		"base64 in pieces":        {"vN8kQz2Wprt5", "vN8kQz3Wprt5", map[string]any{"a": []any{"dk4", "4a1", "F6M", "ldw"}}, "bad vN8kQz2Wp here"},
		"a constant of two":       {"x: q7Rm2xV9Kp", "x: X7Rm2xV9Kp", map[string]any{"a": "q7Rm2x"}, "x: q7Rm2x"},
		"a condition of the same": {"vN8kQz2Wprt5", "XXXXXXXXXXXX", map[string]any{"size": "vN8kQz2W"}, "size vN8kQz2W is wrong"},
	} {
		for _, value := range []string{c.value, c.other} {
			r := New()
			r.Add(secretWith(map[string]string{"a": value}))
			r.AddPublic(object.New(map[string]any{"apiVersion": "example.com/v1", "kind": "Site", "spec": c.spec}))
			if got := r.Text(c.text); got != c.text {
				t.Errorf("%s: beside %s, got %s", name, value, got)
			}
		}
	}
}

func TestValuesInOtherCaseAndOfSymbols(t *testing.T) {
	for value, text := range map[string]string{"pÄsswÖrdÜx1": "pässwördüx1", "!@#$%^&*name()+": "!@#$%^&*name()+", "~~~~true~~~~": "'~~~~true~~~~'"} {
		if got := strings.Trim(knowing(value).Text(text), "'"); got != Mark {
			t.Errorf("%s: got %s", text, got)
		}
	}
}
