package history

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fill sets all fields of a value, each to another value, without those that are not kept.
func fill(v reflect.Value, next *int64) {
	*next++
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Unix(1_700_000_000+*next, *next*1000).UTC()
		return
	case *metav1.Duration:
		at.Duration = time.Duration(*next) * 1001
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Type() != reflect.TypeFor[Entry]() || name != "Candidate" && name != "Hidden" {
				fill(v.Field(i), next)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), next)
		fill(v.Index(1), next)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]int{"b": 1, "<a>": int(*next)}))
	case reflect.String:
		v.SetString("text \"\n\x00\xff<é\u2028>" + time.Duration(*next).String())
	case reflect.Int:
		v.SetInt(*next)
	case reflect.Bool:
		v.SetBool(true)
	}
}

func TestAppendEntry(t *testing.T) {
	full, n := Entry{}, int64(0)
	fill(reflect.ValueOf(&full).Elem(), &n)
	for name, e := range map[string]*Entry{"all fields": &full, "no field": {Reasons: []string{}}, "empty values": {
		Reasons: []string{"parent"}, Causes: []Cause{{}}, Calls: []Call{{}}, Writes: []Write{{Fields: []Field{{}}}}, Next: &Next{},
	}} {
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendEntry(nil, e); string(got) != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}
