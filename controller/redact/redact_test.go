package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/secretvalues"
	"metascript/engine"
)

func secretWith(values map[string]string) *object.Object {
	data := map[string]any{}
	for key, value := range values {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "data": data})
}

func knowing(values ...string) *Redactor {
	r := New("Widget", "default", "w", "my-widgets")
	for i, value := range values {
		r.Add(secretWith(map[string]string{fmt.Sprint(i): value}))
	}
	return r
}

// awkward is a value with everything in it that anybody escapes.
const awkward = "kT9\"qX2\\v<m&n>L'w%z é日本\n\tQ7\x01+/ r8"

// shown are ways in which values are shown.
var shown = map[string]func(string) string{
	"as it is":            func(s string) string { return s },
	"by Go":               func(s string) string { return fmt.Sprintf("%q", s) },
	"in ASCII by Go":      func(s string) string { return fmt.Sprintf("%+q", s) },
	"by Go twice":         func(s string) string { return fmt.Sprintf("%q", fmt.Sprintf("%q", s)) },
	"by JSON":             asJSON,
	"by JSON within Go":   func(s string) string { return fmt.Sprintf("%q", asJSON(s)) },
	"by YAML":             func(s string) string { text, _ := yaml.Marshal(map[string]string{"key": s}); return string(text) },
	"by HTML":             html.EscapeString,
	"in a query":          url.QueryEscape,
	"in a path":           url.PathEscape,
	"in a path, by Go":    func(s string) string { return fmt.Sprintf("%q", url.PathEscape(s)) },
	"on one line":         func(s string) string { return strings.Join(strings.Fields(s), " ") },
	"in base64":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"in base64 for URLs":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"in base64 after one": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "yz")) },
	"in base64 after two": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x:" + s + "y")) },
	"in hex":              func(s string) string { return hex.EncodeToString([]byte(s)) },
	"in upper case hex":   func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"in lower case":       strings.ToLower,
}

func asJSON(s string) string { text, _ := json.Marshal(s); return string(text) }

func TestEncodedValuesAreRedacted(t *testing.T) {
	for _, value := range []string{"zQx7Kp2mVw9RtB4n", awkward, strings.Repeat("p9Wq", 2000) + "unique7Tail"} {
		for name, show := range shown {
			for _, quote := range []string{"", `"`, "'"} {
				if name == "by YAML" && quote != "" {
					continue // it has a key before the value
				}
				got := knowing(value).Text("before: " + quote + show(value) + quote + " :after")
				rest := strings.TrimSuffix(strings.TrimPrefix(got, "before: "), " :after")
				rest = strings.NewReplacer(Mark, "", "key:", "", `"`, "", "|-", "", `\`, "", "'", "", "`", "").Replace(rest)
				// A value may end in a part that is too short.
				if len(strings.ReplaceAll(rest, " ", "")) > 6 || !strings.HasPrefix(got, "before:") || !strings.HasSuffix(got, ":after") {
					t.Errorf("%.20q %s: %.200q", value, name, got)
				}
			}
		}
	}
}

func TestPartsOfValuesAreRedacted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, 40)
	for i := range value {
		value[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_#"[random.IntN(66)]
	}
	r := knowing(string(value))
	for from := range len(value) - secretvalues.Part {
		part := string(value[from : from+secretvalues.Part])
		for text, want := range map[string]string{
			"(" + part + ")": "([redacted])", "is '" + part + " x' it": "is '[redacted]' it", "is AA" + part + "BB, it": "is [redacted], it",
			"is " + part[1:] + " it": "is " + part[1:] + " it",
		} {
			if got := r.Text(text); got != want {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		}
	}
}

func TestCommonWordsAreNotRedacted(t *testing.T) {
	r := knowing("default", `{"namespace": "default", "name": "my-widgets", "spec": true, "Invalid": "value"}`, "my-default-zQx7Kp2m")
	for text, want := range map[string]string{
		`create Widget default/w: Widget "w" is invalid: metadata.name: Invalid value: "zQx7Kp2m"`: `create Widget default/w: Widget "w" is invalid: metadata.name: Invalid value: "[redacted]"`,
		"my-default-zQx7Kp2m":       "[redacted]",
		"my-widgets":                "my-widgets",
		"undefaulted":               "undefaulted",
		"nothing to see in 1:78: é": "nothing to see in 1:78: é",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The names in a value are in many errors.
func TestNamesInValuesAreNotRedacted(t *testing.T) {
	r := knowing("username=app\npassword=zQx7Kp2mVw\nreplicas: 3", `{"type": "service_account", "client_email": "x@y.iam.gserviceaccount.com", "private_key_id": "Vw9RtB4nzQx7"}`,
		"contexts:\n- context: {cluster: app.kubernetes.io}\n", "host=db password=Hn5Kq2Lm9x user=app")
	for _, text := range []string{
		`Widget "w" is invalid: spec.password: Required value; spec.username: Invalid value: "x"; spec.replicas: 3`,
		`pods "x" is forbidden: User "system:serviceaccount:default:web" cannot create resource "pods"`,
		`metadata.labels[app.kubernetes.io/name]: Invalid value; spec.contexts, private_key_id and client_email`,
	} {
		if got := r.Text(text); got != text {
			t.Errorf("got %s", got)
		}
	}
	if got := r.Text("a zQx7Kp2mVw, Vw9RtB4nzQx7 and Hn5Kq2Lm9x"); got != "a [redacted], [redacted] and [redacted]" {
		t.Errorf("got %s", got)
	}
}

func TestValuesWithQuotationMarks(t *testing.T) {
	const value = `Zq_xW7/Kp?Vw "RjT<n9yBhG`
	text := fmt.Sprintf("create ConfigMap ns/%s: ConfigMap %q is invalid: data[%s]: Invalid value: %q: a name must", value, value, value, value)
	const want = `create ConfigMap [redacted]: ConfigMap "[redacted]" is invalid: data[[redacted]]: Invalid value: "[redacted]": a name must`
	if got := knowing(value).Text(text); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBoundariesOfPEMAreNotRedacted(t *testing.T) {
	const pem = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIU\nq8yqG7hZ2zYw1kS+\n-----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\nx7Kp2mVw9RtB4n\n-----END RSA PRIVATE KEY-----\n"
	r := knowing(pem)
	for text, want := range map[string]string{
		"tls: bad record: verification of the specific certificate ended; private keys": "tls: bad record: verification of the specific certificate ended; private keys",
		pem: "-----BEGIN CERTIFICATE-----\n[redacted]\n-----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\n[redacted]\n-----END RSA PRIVATE KEY-----\n",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := knowing("-----BEGIN zQx5Kp3m-----").Text("zQx5Kp3m"); got != "[redacted]" {
		t.Errorf("what is not a boundary of PEM: got %q", got)
	}
	if got := r.Text(base64.StdEncoding.EncodeToString([]byte(pem))); strings.Contains(got, base64.StdEncoding.EncodeToString([]byte("q8yqG7hZ2zYw"))[4:12]) {
		t.Errorf("got %q", got)
	}
}

func TestShortValuesAreRedactedInQuotes(t *testing.T) {
	r := knowing("abc", "é", "1")
	for text, want := range map[string]string{
		`Invalid value: "abc", abcd, 'é' "abcd"`: `Invalid value: "[redacted]", abcd, '[redacted]' "abcd"`,
		`"{\"a\":\"abc\"}" 1:1`:                  `"{\"a\":\"[redacted]\"}" 1:1`,
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestOtherTextsAreNotRedacted(t *testing.T) {
	r := New()
	r.Add(nil, object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "zQx7Kp2m"}}))
	r.AddSets(nil, &object.Set{})
	if got := r.Text("zQx7Kp2m"); got != "zQx7Kp2m" {
		t.Errorf("got %q", got)
	}
	var none *Redactor
	none.Add(secretWith(map[string]string{"a": "zQx7Kp2m"}))
	none.AddTexts("zQx7Kp2m")
	if got := none.Text("zQx7Kp2m"); got != "zQx7Kp2m" {
		t.Errorf("got %q", got)
	}
}

func TestOtherFieldsOfSecretAreRedacted(t *testing.T) {
	secret := object.New(map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"a":"b2xkLXpReDdLcDJt"}}`}},
		"data":       map[string]any{"a": "no base64, rV5jH8wQ", "n": int64(7777777), "none": nil, "empty": ""},
		"stringData": map[string]any{"b": "gN3sD6fY"},
	})
	for _, secret := range []*object.Object{secret, objecttest.Packed(t, secret)} {
		set := &object.Set{}
		set.Put(secret)
		r := New()
		r.AddSets(set)
		for _, text := range []string{"old-zQx7Kp2m", "b2xkLXpReDdLcDJt", "rV5jH8wQ", "7777777", "gN3sD6fY"} {
			if got := r.Text(text); got != Mark {
				t.Errorf("%q: got %q", text, got)
			}
		}
	}
}

// A kept error is one that callers know by its type.
type kept struct{ inner error }

func (k *kept) Error() string { return "kept: " + k.inner.Error() }
func (k *kept) Unwrap() error { return k.inner }

var errSentinel = errors.New("zQx7Kp2m changed")

func TestRedactedErrorsKeepTheirTypes(t *testing.T) {
	r := knowing("zQx7Kp2mVw9RtB4n")
	fault := &engine.Error{Kind: engine.KindRaised, Msg: "bad zQx7Kp2m", Hint: "zQx7Kp2m?", Source: `fail("zQx7Kp2m")`, Stack: "zQx7Kp2m", Trace: []engine.Frame{{Func: "zQx7Kp2m"}}, Pos: engine.Pos{Line: 1, Col: 16}}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "zQx7Kp2m", field.ErrorList{field.Invalid(field.NewPath("data").Key("zQx7Kp2m"), "Vw9RtB4n", "no")})
	refused := &engine.Located{Pos: engine.Pos{File: "sync.star", Line: 7, Col: 3}, Source: `key = "zQx7Kp2m"`, Err: fmt.Errorf("create Service zQx7Kp2m: %w", invalid)}
	var located *engine.Located
	if got := r.Error(fmt.Errorf("x: %w", refused)); !errors.As(got, &located) || !apierrors.IsInvalid(got) || located.Source != `key = "********"` || strings.Contains(located.Detail(), "zQx7") {
		t.Errorf("an error with a place: %v", got)
	}
	all := errors.Join(&kept{fmt.Errorf("x zQx7Kp2m: %w", fault)}, fmt.Errorf("create: %w", invalid), fmt.Errorf("y: %w", errSentinel))
	got := r.Error(all)
	var status apierrors.APIStatus
	var clean *engine.Error
	var known *kept
	if !errors.As(got, &status) || !errors.As(got, &clean) || !errors.As(got, &known) || !errors.Is(got, errSentinel) || !apierrors.IsInvalid(got) || clean.Kind != fault.Kind {
		t.Errorf("it is something else: %#v", got)
	}
	said := status.Status()
	text := fmt.Sprintf("%v %+v %#v %q %s %s", got, got, got, got, clean.Detail(), said.String()) + clean.Stack
	for _, part := range []string{"zQx7", "Kp2m", "Vw9R"} {
		if strings.Contains(text, part) {
			t.Errorf("%s is in %s", part, text)
		}
	}
	if !strings.Contains(clean.Detail(), `fail("********")`) {
		t.Errorf("the line is not of the same length: %s", clean.Detail())
	}
	if fault.Msg != "bad zQx7Kp2m" || !strings.Contains(invalid.Error(), "zQx7") {
		t.Error("the error itself was changed")
	}
	if plain := fmt.Errorf("x: %w", apierrors.NewNotFound(schema.GroupResource{}, "n")); r.Error(plain) != plain || r.Error(nil) != nil {
		t.Error("an error without a secret is another one")
	}
}

func TestLogHandler(t *testing.T) {
	r := knowing("zQx7Kp2mVw9RtB4n")
	var out strings.Builder
	log := slog.New(r.Handler(slog.NewJSONHandler(&out, nil))).With("with", "zQx7Kp2m")
	log.Info("Warning: zQx7Kp2m", "error", errors.New("Vw9RtB4n"), "bytes", []byte("zQx7Kp2m"), "n", 5,
		"struct", struct{ A string }{"zQx7Kp2m"}, slog.Group("group", "a", "zQx7Kp2m"))
	if text := out.String(); strings.Contains(text, "zQx7") || strings.Contains(text, "RtB4") || !strings.Contains(text, `"n":5`) {
		t.Errorf("got %s", text)
	}
	out.Reset()
	ours := slog.New(Handler(slog.NewTextHandler(&out, nil), func(slog.Record) *Redactor { return r })).With("controller", "c")
	ours.Warn("reconcile failed", "error", "zQx7Kp2m")
	if text := out.String(); strings.Contains(text, "zQx7") || !strings.Contains(text, "reconcile failed") || !strings.Contains(text, "controller=c") {
		t.Errorf("got %s", text)
	}
}

func TestPastValuesOfSecretAreRedacted(t *testing.T) {
	version := func(i int, value string) *object.Object {
		o := secretWith(map[string]string{"a": value})
		o.SetUID("u")
		o.SetResourceVersion(fmt.Sprint(i))
		return o
	}
	r := New()
	for i := range 40 {
		r = New().AddPast(r)
		r.Add(version(i, fmt.Sprintf("%02d-zQx7Kp2m-%02d", i, i)))
	}
	for text, want := range map[string]string{"39-zQx7Kp": Mark, "38-zQx7Kp": Mark, "25-zQx7Kp": Mark, "10-zQx7K": "10-zQx7K"} {
		if got := r.Text(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for range 40 { // a relist gives others that are the same
		r = New().AddPast(r)
		r.Add(version(39, "39-zQx7Kp2m-39"))
	}
	if len(r.past) > maxPast+1 || r.Text("38-zQx7Kp") != Mark {
		t.Errorf("%d are remembered", len(r.past))
	}
	r = New().AddPast(r)
	r = New().AddPast(r)
	if got := r.Text("39-zQx7Kp"); got != Mark {
		t.Errorf("a value of a removed Secret: %q", got)
	}
}

// Where a text was cut, the beginning of a value is redacted.
func TestBeginningsOfValuesBeforeACut(t *testing.T) {
	for _, value := range []string{"zQx7Kp2mVw9RtB4n", "tiger1 horse9battery", "abc defg hij"} {
		r := knowing(value)
		for _, before := range []string{"bad ", strings.Repeat("a", 300) + "/", strings.Repeat("a ", 100)} {
			text := before + value + " more text"
			for n := len(before) + 8; n < len(text); n++ {
				got := r.Text(engine.Clip(text, n))
				for part := 4; part < len(value); part++ {
					if strings.Contains(got, value[:part]) {
						t.Fatalf("%q of %d bytes: got %q", value, n, got)
					}
				}
			}
		}
	}
	if got := knowing("zQx7Kp2mVw9RtB4n").Text("it is zQx7"); got != "it is zQx7" {
		t.Errorf("a text that was not cut: %q", got)
	}
}

// Children that are written, and owners that are found, while a reconcile fails cost what is new only.
func TestOnlyWhatIsNewIsRead(t *testing.T) {
	r := New()
	r.AddPublic(object.New(map[string]any{"apiVersion": "v1", "kind": "Site", "spec": map[string]any{"a": "b"}}))
	for i := range 300 {
		secret := secretWith(map[string]string{"a": fmt.Sprintf("zQx7Kp2m-%d", i)})
		secret.SetName(fmt.Sprint("s", i))
		r.Add(secret)
		r.AddPublicTexts("ConfigMap", fmt.Sprint("owner-", i))
		before := r.read
		if got := r.Text(fmt.Sprintf("create Secret s%d: zQx7Kp2m-%d, by owner-%d", i, i, i)); got != fmt.Sprintf("create Secret s%d: [redacted], by owner-%d", i, i) {
			t.Fatalf("got %s", got)
		}
		if len(r.read) != i+1 || i > 0 && before[0] != r.read[0] {
			t.Fatalf("%d values are read of %d Secrets", len(r.read), i+1)
		}
		made := r.public.made
		r.AddPublicTexts("another-", fmt.Sprint("owner-", i))
		if r.public.made != made {
			t.Fatal("the public texts are made again")
		}
	}
}

func TestCostIsLimited(t *testing.T) {
	r := New()
	big := strings.Repeat("zQx7Kp2mVw9RtB4n", 1<<16)
	add := func(name string) {
		r.Add(object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{name: big}}))
	}
	add("first")
	for range 500 { // what has no text costs nothing
		r.Texts(nil)
		r.Texts([]string{"", ""})
	}
	if got := r.Text("any text, and zQx7Kp2mVw9R"); got != "any text, and "+Mark {
		t.Errorf("got %q", got)
	}
	for i := range 500 {
		add(fmt.Sprint(i))
	}
	if got := r.Texts([]string{"any text", " ", ""}); got[0] != tooMuch || got[1] != "" {
		t.Errorf("got %q", got)
	}
	if got := r.Error(fmt.Errorf("x: %w", apierrors.NewNotFound(schema.GroupResource{}, "n"))); !apierrors.IsNotFound(got) || strings.Contains(got.Error(), "x") && got.Error() != tooMuch {
		t.Errorf("got %v", got)
	}
}

// BenchmarkFailure measures what the redaction of one failed sync costs: a Redactor with the Secrets, an error that wraps another one, and a
// text for an event, beside Secrets of which the parent reads all.
func BenchmarkFailure(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ secrets, size int }{{1, 1 << 10}, {1, 1 << 20}, {500, 200}, {5000, 200}} {
		var related object.Set
		for n := range c.secrets {
			value := make([]byte, c.size)
			for i := range value {
				value[i] = byte('!' + random.IntN('~'-'!'))
			}
			secret := secretWith(map[string]string{"a": string(value)})
			secret.SetName(fmt.Sprint("s", n))
			related.Put(objecttest.Packed(b, secret))
		}
		parent := object.New(map[string]any{"apiVersion": "v1", "kind": "Site", "spec": map[string]any{"size": "no-such-thing"}})
		refused := fmt.Errorf("create Service default/web: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", field.ErrorList{field.Invalid(field.NewPath("spec", "size"), "no-such-thing", "no")}))
		b.Run(fmt.Sprintf("%dx%d", c.secrets, c.size), func(b *testing.B) {
			fail := func() {
				r := New()
				r.AddRequest(parent, nil, &related)
				r.Text(r.Error(refused).Error())
			}
			fail() // the first one reads the values
			for b.Loop() {
				fail()
			}
		})
	}
}

func TestWithholdingRemovesTextsOfAPIServer(t *testing.T) {
	service := schema.GroupKind{Kind: "Service"}
	quoted := []error{
		apierrors.NewInvalid(service, "s", field.ErrorList{field.Invalid(field.NewPath("spec", "externalName"), "zQx7Kp2m", "no zQx7Kp2m")}),
		apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "s", errors.New("admission webhook says zQx7Kp2m")),
		apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "s", errors.New(`admission webhook "w" denied the request: zQx7Kp2m`)),
		apierrors.NewBadRequest("zQx7Kp2m"),
	}
	r := Withholding()
	for _, err := range quoted {
		got := r.Error(fmt.Errorf("update Service default/s: %w", err))
		var status apierrors.APIStatus
		if !errors.As(got, &status) || status.Status().Reason != apierrors.ReasonForError(err) {
			t.Fatalf("%v is something else: %v", err, got)
		}
		if text := fmt.Sprintf("%v %#v %v", got, got, status.Status()); strings.Contains(text, "zQx7") || !strings.HasPrefix(text, "update Service default/s: "+string(status.Status().Reason)) {
			t.Errorf("got %s", text)
		}
	}
	if got := r.Error(quoted[0]).Error(); !strings.HasPrefix(got, "Invalid spec.externalName (422): ") {
		t.Errorf("got %s", got)
	}
	for _, err := range []error{
		apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "s", errors.New("the object has been modified")),
		apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "s", errors.New(`User "u" cannot update resource "services" in API group "" in the namespace "default"`)),
		errors.New("zQx7Kp2m"),
	} {
		if r.Error(err) != err {
			t.Errorf("%v is another error: %v", err, r.Error(err))
		}
	}
	var out strings.Builder
	log := slog.New(r.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: mostForeign})))
	log.Info("Warning: zQx7Kp2m", "error", "zQx7Kp2m")
	log.Log(t.Context(), mostForeign, "Response", "url", "/api/v1")
	if text := out.String(); strings.Contains(text, "zQx7") || !strings.Contains(text, "is not shown") || !strings.Contains(text, "/api/v1") {
		t.Errorf("got %s", text)
	}
}
