package informer

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"metascript/controller/wire"
)

// An answer is the response to a list or a watch.
type answer struct {
	code    int               // 0 is 200
	headers map[string]string // besides the type, which is JSON
	body    string
}

func (a answer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range a.headers {
		w.Header().Set(name, value)
	}
	if a.code != 0 {
		w.WriteHeader(a.code)
	}
	_, _ = io.WriteString(w, a.body)
}

// clients returns our client and that of client-go for a server with one answer.
func clients(t *testing.T, a answer) (*reading, dynamic.ResourceInterface) {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	ours, err := wire.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &reading{ours, Spec{Resource: configMaps}, nil}, theirs.Resource(configMaps)
}

// cleaned returns an object of client-go as a cache has it.
func cleaned(o map[string]any) map[string]any {
	unstructured.RemoveNestedField(o, "metadata", "managedFields")
	return o
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// fieldsAtEdges are fields of objects that decoders may read in different ways.
var fieldsAtEdges = []string{
	`"a":1,"a":2`, `"a":{"b":1,"b":2},"a":{"c":3}`, `"a":{"":1,"":2}`, `"\u0061":1,"a":2`,
	`"a":[9223372036854775807,9223372036854775808,-9223372036854775808,-9223372036854775809,18446744073709551615,123456789012345678901234567890]`,
	`"a":[1.7976931348623157e308,5e-324,4.9e-324,2.2250738585072014e-308,1e-400,-1e-400,-0,-0.0,0.1,1e2,1E+2,1.0,100000000000000000000.5]`, `"a":1e309`, `"a":-1e400`,
	"\"a\":\"\xff\xfe\"", "\"\xff\":1,\"\xfe\":2", `"a":"\ud83d"`, `"a":"\ude00\ud83d\ude00"`, "\"a\":\"\xed\xa0\x80\"", `"a":"\u0000\u2028"`,
	`"a":"` + strings.Repeat("x", 1500<<10) + `"`, `"a":{"b":"` + strings.Repeat(`\"\\ä`, 200<<10) + `"}`,
	`"a":` + nested(1000), `"a":` + nested(9_990), `"a":` + nested(10_001), `"a":` + strings.Repeat(`{"b":`, 10_001) + "1" + strings.Repeat("}", 10_001),
	`"a":` + nested(1<<20), `"a":tru`, `"a":01`, `"a":.5`, `"a":+1`, `"a":'x'`, `"a":NaN`, `"a":"` + "\n" + `"`, `"a":"\x"`, `"a"`, `"a":1,`, `a:1`,
	`"metadata":null`, `"metadata":{"name":"twice"}`, `"metadata":{"managedFields":[{"manager":"m"}],"name":"x","labels":{"a":"b"}}`, `"metadata":{"managedFields":1}`,
	`"kind":"Other"`, `"kind":""`, `"apiVersion":""`, `"Kind":"x","Metadata":{"name":"y"}`,
}

func withField(field string) string {
	return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"5"},` + field + `}`
}

// refused are lists that client-go takes for lists without objects, or without a resourceVersion.
var refused = []string{"a Status", "metadata of another type"}

// Lists have the same objects, or fail in the same cases, as those of client-go.
func TestListsAreThoseOfClientGo(t *testing.T) {
	listOf := func(items string) string {
		return `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c"},"items":[` + items + `]}`
	}
	item := withField(`"data":{"a":"b"}`)
	answers := map[string]answer{
		"none":                     {body: listOf("")},
		"null":                     {body: `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":null}`},
		"no items":                 {body: `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{}}`},
		"without kinds":            {body: listOf(`{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"kind":"ConfigMap"}`)},
		"items twice":              {body: `{"kind":"ConfigMapList","apiVersion":"v1","items":[` + item + `],"items":[` + withField(`"n":2`) + `]}`},
		"other fields":             {body: `{"kind":"ConfigMapList","apiVersion":"v1","Items":[1],"more":{"items":[` + item + `]},"items":[]}`},
		"an invalid other field":   {body: `{"kind":"ConfigMapList","apiVersion":"v1","more":tru,"items":[]}`},
		"an invalid other object":  {body: `{"kind":"ConfigMapList","apiVersion":"v1","more":{"a":[1 2]},"items":[]}`},
		"a key without quotes":     {body: `{kind:"ConfigMapList","apiVersion":"v1","items":[]}`},
		"a number as a key":        {body: `{"kind":"ConfigMapList","apiVersion":"v1","items":[],1:2}`},
		"an escaped key":           {body: `{"kind":"ConfigMapList","apiVersion":"v1","\u0069tems":[` + item + `]}`},
		"no kind":                  {body: `{"apiVersion":"v1","items":[` + item + `]}`},
		"an empty object":          {body: `{}`},
		"an empty array":           {body: `[]`},
		"an empty body":            {},
		"null alone":               {body: `null`},
		"two values":               {body: listOf("") + listOf("")},
		"text at the end":          {body: listOf("") + "x"},
		"white space at the end":   {body: listOf("") + " \r\n\t"},
		"cut after the items":      {body: strings.TrimSuffix(listOf(item), "}")},
		"cut in an item":           {body: listOf(item)[:150]},
		"items of another type":    {body: `{"kind":"ConfigMapList","apiVersion":"v1","items":{}}`},
		"an item of another type":  {body: listOf(`1`)},
		"metadata of another type": {body: `{"kind":"ConfigMapList","apiVersion":"v1","metadata":[],"items":[]}`},
		"gzip":                     {headers: map[string]string{"Content-Encoding": "gzip"}, body: zipped(listOf(strings.Repeat(item+",", 5000) + item))},
		"gzip that is cut":         {headers: map[string]string{"Content-Encoding": "gzip"}, body: zipped(listOf(strings.Repeat(item+",", 5000) + item))[:300]},
		"gzip that is not gzip":    {headers: map[string]string{"Content-Encoding": "gzip"}, body: listOf("")},
		"HTML of a proxy":          {headers: map[string]string{"Content-Type": "text/html"}, body: "<!DOCTYPE html><html><body>Please log in</body></html>"},
		"JSON of a proxy":          {body: `{"error":"please log in"}`},
		"protobuf":                 {headers: map[string]string{"Content-Type": "application/vnd.kubernetes.protobuf"}, body: "k8s\x00\n\x14\n\x02v1\x12\x0eConfigMapList"},
		"YAML":                     {headers: map[string]string{"Content-Type": "application/yaml"}, body: "kind: ConfigMapList\napiVersion: v1\nitems: []\n"},
		"JSON of another type":     {headers: map[string]string{"Content-Type": "text/plain"}, body: listOf(item)},
		"JSON with a charset":      {headers: map[string]string{"Content-Type": "application/json; charset=utf-8"}, body: listOf(item)},
		"without a type":           {headers: map[string]string{"Content-Type": ""}, body: listOf(item)},
		"410":                      {code: 410, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}`},
		"404 of a proxy":           {code: 404, headers: map[string]string{"Content-Type": "text/plain"}, body: "404 page not found"},
		"503 without a body":       {code: 503},
		"401":                      {code: 401, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`},
		"204":                      {code: 204},
		"a Status":                 {body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`},
		"items that are a word":    {body: `{"kind":"ConfigMapList","apiVersion":"v1","items":nope}`},
		"a kind of another type":   {body: `{"kind":1,"apiVersion":"v1","items":[]}`},
		"a byte order mark":        {body: "\ufeff" + listOf("")},
	}
	for i, field := range fieldsAtEdges {
		answers[fmt.Sprintf("field %d, %.40s", i, field)] = answer{body: listOf(withField(field))}
	}
	for name, a := range answers {
		ours, theirs := clients(t, a)
		want, wantErr := theirs.List(t.Context(), metav1.ListOptions{})
		got, err := ours.ListWithContext(t.Context(), metav1.ListOptions{})
		if slices.Contains(refused, name) && err != nil {
			continue
		}
		if (err == nil) != (wantErr == nil) || apierrors.ReasonForError(err) != apierrors.ReasonForError(wantErr) {
			t.Errorf("%s: got error %.300v, want %.300v", name, err, wantErr)
		}
		if err != nil || wantErr != nil {
			continue
		}
		found := got.(*list)
		var gotItems, wantItems []map[string]any
		for _, o := range found.Items {
			gotItems = append(gotItems, o.Map())
		}
		for _, u := range want.Items {
			wantItems = append(wantItems, cleaned(u.Object))
		}
		if !reflect.DeepEqual(gotItems, wantItems) || found.ResourceVersion != want.GetResourceVersion() || found.Continue != want.GetContinue() {
			t.Errorf("%s: got %.500v, want %.500v", name, gotItems, wantItems)
		}
	}
}

// Watches have the same events, and end in the same way, as those of client-go.
func TestWatchesAreThoseOfClientGo(t *testing.T) {
	event := func(kind, o string) string { return `{"type":"` + kind + `","object":` + o + "}\n" }
	item := withField(`"data":{"a":"b"}`)
	status := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Expired","code":410,"message":"too old resource version: 1 (5)"}`
	answers := map[string]answer{
		"each type":                    {body: event("ADDED", item) + event("MODIFIED", item) + event("DELETED", item)},
		"a bookmark":                   {body: event("BOOKMARK", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`)},
		"410 in mid-stream":            {body: event("ADDED", item) + event("ERROR", status) + event("ADDED", item)},
		"500 in mid-stream":            {body: event("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500}`)},
		"an error without a kind":      {body: event("ERROR", `{"code":410}`)},
		"an error that is no Status":   {body: event("ERROR", item)},
		"an error without a reason":    {body: event("ERROR", `{"kind":"Status","apiVersion":"v1"}`)},
		"an error that is null":        {body: event("ERROR", `null`)},
		"an unknown type":              {body: event("ADDED", item) + event("RENAMED", item)},
		"no type":                      {body: `{"object":` + item + `}`},
		"no object":                    {body: `{"type":"ADDED"}`},
		"null":                         {body: event("ADDED", "null")},
		"a list":                       {body: event("ADDED", `{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`)},
		"no kind":                      {body: event("ADDED", `{"metadata":{"name":"a"}}`)},
		"type twice":                   {body: `{"type":"ADDED","type":"DELETED","object":` + item + `}`},
		"object twice":                 {body: `{"type":"ADDED","object":` + item + `,"object":` + withField(`"n":2`) + `}`},
		"keys in capitals":             {body: `{"Type":"ADDED","Object":` + item + `}`},
		"another key in capitals":      {body: `{"type":"ADDED","object":` + item + `,"TYPE":"DELETED"}`},
		"cut in an event":              {body: event("ADDED", item) + event("ADDED", item)[:60]},
		"cut before the end":           {body: strings.TrimSuffix(event("ADDED", item), "}\n")},
		"cut in a multibyte character": {body: event("ADDED", item) + `{"type":"ADDED","object":{"a":"` + "\xc3"},
		"no event":                     {},
		"white space":                  {body: "\n \n"},
		"text":                         {body: "hello"},
		"HTML of a proxy":              {headers: map[string]string{"Content-Type": "text/html"}, body: "<!DOCTYPE html><html><body>Please log in</body></html>"},
		"protobuf":                     {headers: map[string]string{"Content-Type": "application/vnd.kubernetes.protobuf;stream=watch"}, body: "\x00\x00\x00\x04k8s\x00"},
		"JSON of a proxy":              {body: `{"error":"please log in"}`},
		"a stream of another type":     {headers: map[string]string{"Content-Type": "application/json;stream=watch"}, body: event("ADDED", item)},
		"gzip":                         {headers: map[string]string{"Content-Encoding": "gzip"}, body: zipped(strings.Repeat(event("ADDED", item), 100))},
		"410":                          {code: 410, body: status},
		"404 of a proxy":               {code: 404, headers: map[string]string{"Content-Type": "text/plain"}, body: "404 page not found"},
		"without white space":          {body: strings.ReplaceAll(event("ADDED", item)+event("DELETED", item), "\n", "")},
	}
	for i, field := range fieldsAtEdges {
		answers[fmt.Sprintf("field %d, %.40s", i, field)] = answer{body: event("ADDED", withField(field)) + event("DELETED", item)}
	}
	for name, a := range answers {
		ours, theirs := clients(t, a)
		want, wantErr := eventsOf(theirs.Watch(t.Context(), metav1.ListOptions{}))
		got, err := eventsOf(ours.WatchWithContext(context.Background(), metav1.ListOptions{}))
		if (err == nil) != (wantErr == nil) || apierrors.ReasonForError(err) != apierrors.ReasonForError(wantErr) {
			t.Errorf("%s: got error %.300v, want %.300v", name, err, wantErr)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %.500v, want %.500v", name, got, want)
		}
	}
}

// eventsOf returns the types and the objects of the events of a watch that ends. Of an error it has the reason and the code.
func eventsOf(w watch.Interface, err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	var all []any
	for event := range w.ResultChan() {
		all = append(all, event.Type, contentOf(event.Object))
	}
	return all, nil
}

func contentOf(o runtime.Object) any {
	switch o := o.(type) {
	case *cached:
		return o.Map()
	case *unstructured.Unstructured:
		return cleaned(o.Object)
	case *metav1.Status:
		return fmt.Sprint(o.Reason, o.Code)
	}
	return fmt.Sprintf("%T", o)
}
