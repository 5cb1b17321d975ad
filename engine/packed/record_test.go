package packed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"metascript/engine/tree"
)

// randomValue returns a JSON-shaped value.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(10); {
	case depth > 0 && n < 4:
		return randomMap(r, depth)
	case depth > 0 && n < 6:
		list := make([]any, r.IntN(12))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case n < 7:
		return []any{nil, true, false, int64(r.IntN(300)), 1.5}[r.IntN(5)]
	}
	return strings.Repeat(string(rune('a'+r.IntN(3))), r.IntN(20))
}

func randomMap(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(12) {
		m[randomKey(r)] = randomValue(r, depth-1)
	}
	return m
}

func randomKey(r *rand.Rand) string { return fmt.Sprint("key", r.IntN(14)) }

// change changes a random part of a value.
func change(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		key := randomKey(r)
		if there, found := v[key]; found && r.IntN(5) > 0 {
			v[key] = change(r, there)
		} else if found {
			delete(v, key)
		} else if r.IntN(3) == 0 {
			v[key] = randomValue(r, 2)
		}
		return v
	case []any:
		switch n := len(v); {
		case n > 0 && r.IntN(5) > 0:
			i := r.IntN(n)
			v[i] = change(r, v[i])
		case n > 0 && r.IntN(2) == 0:
			return v[1:]
		default:
			return append(v, randomValue(r, 1))
		}
		return v
	}
	return randomValue(r, 2)
}

// script reads some of a value, as a script that always does the same with the same values. It returns what it has seen.
func script(seed uint64, steps int, v any) string {
	r := rand.New(rand.NewPCG(seed, 3))
	var seen strings.Builder
	views := []any{v}
	for range steps {
		var got any
		switch view := views[r.IntN(len(views))].(type) {
		case interface {
			tree.Map
			Keys() []string
		}:
			switch n := r.IntN(20); {
			case n == 0:
				fmt.Fprint(&seen, view.Keys())
			case n == 1:
				fmt.Fprint(&seen, view.Len())
			case n == 2:
				for key, value := range view.All() {
					fmt.Fprint(&seen, key)
					views = append(views, note(&seen, value))
				}
			case n == 3:
				fmt.Fprint(&seen, Whole(view).(Map).Build())
			default:
				value, found := view.Get(randomKey(r))
				fmt.Fprint(&seen, found)
				got = value
			}
		case tree.Array:
			if n := view.Len(); n > 0 {
				fmt.Fprint(&seen, n)
				got = view.Index(r.IntN(n))
			}
		}
		views = append(views, note(&seen, got))
		views = slices.DeleteFunc(views, func(v any) bool { return v == nil })
	}
	return seen.String()
}

// note notes a value that a script has read. It returns it if it is a map or an array, and nil otherwise.
func note(seen *strings.Builder, v any) any {
	switch v.(type) {
	case Map, RecordedMap:
		seen.WriteString("{}")
	case Array, RecordedArray:
		seen.WriteString("[]")
	default:
		fmt.Fprintf(seen, "%#v", v)
		return nil
	}
	return v
}

// If the reads of an object hold for another version, a script sees the same in it; also after other versions between them.
func TestReadsThatHoldSeeTheSame(t *testing.T) {
	held, changed := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		content, steps := randomMap(r, 4), r.IntN(60)
		object, err := Pack(content)
		if err != nil {
			t.Fatal(err)
		}
		recording := (&Recorder{}).Record(object)
		want := script(seed, steps, recording.Map())
		if plain := script(seed, steps, object); plain != want {
			t.Fatalf("seed %d: a script sees\n%s\nand without recording\n%s", seed, want, plain)
		}
		reads := recording.Reads()
		for range 20 {
			change(r, content)
			now, err := Pack(content)
			if err != nil {
				t.Fatal(err)
			}
			moved, hold := reads.Hold(object, now)
			same := script(seed, steps, now) == want
			if hold && !same {
				t.Fatalf("seed %d: the reads %v hold, but a script sees something else in\n%v\nthan in\n%v", seed, reads, now.Build(), object.Build())
			}
			if !hold {
				changed++
				break
			}
			held++
			object, reads = now, moved
		}
	}
	if held < 1000 || changed < 1000 {
		t.Errorf("the reads hold %d times, and %d times not", held, changed)
	}
}

// entriesIn returns what EntriesRead means of a map or an array, and all maps and arrays in it.
func entriesIn(v any) (text string, inner []any) {
	entry := func(key string, v any) {
		switch v.(type) {
		case Map, Array:
			text += fmt.Sprintf("%q is a %T\n", key, v)
			inner = append(inner, v)
			return
		}
		if Apart(key) {
			v = "?"
		}
		text += fmt.Sprintf("%q is %#v\n", key, v)
	}
	switch v := v.(type) {
	case Map:
		for key, v := range v.All() {
			entry(key, v)
		}
	case Array:
		for i := range v.Len() {
			entry("", v.Index(i))
		}
	}
	return text, inner
}

// If the entries of some maps and arrays are the same in another version, a script that has read them sees the same.
func TestEntriesThatHold(t *testing.T) {
	held, changed := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		content := randomMap(r, 4)
		content["resourceVersion"], content["generation"] = int64(1), int64(1)
		// see reads the entries of some parts, those of a part before those in it, and records them if it has a RecordedMap.
		see := func(object Map, by *RecordedMap) string {
			random := rand.New(rand.NewPCG(seed, 2))
			seen := ""
			for queue := []any{object}; len(queue) > 0 && random.IntN(12) > 0; {
				text, inner := entriesIn(queue[0])
				if by != nil {
					by.EntriesRead(OffsetOf(queue[0], object))
				}
				seen += text
				queue = append(queue[1:], inner...)
			}
			if random.IntN(3) == 0 {
				v, _ := object.Get("generation")
				if seen += fmt.Sprint(v); by != nil {
					by.ValueRead(0, "generation")
				}
			}
			return seen
		}
		object, err := Pack(content)
		if err != nil {
			t.Fatal(err)
		}
		recording := (&Recorder{}).Record(object)
		view := recording.Map()
		want := see(object, &view)
		reads := recording.Reads()
		for range 20 {
			switch r.IntN(8) {
			case 0:
				content["generation"] = int64(r.IntN(3))
			case 1:
				content["resourceVersion"] = randomValue(r, 0)
			default:
				change(r, content)
			}
			now, err := Pack(content)
			if err != nil {
				t.Fatal(err)
			}
			moved, hold := reads.Hold(object, now)
			if hold && see(now, nil) != want {
				t.Fatalf("seed %d: the reads %v hold, but a script sees\n%s\nthan\n%s", seed, reads, see(now, nil), want)
			}
			if !hold {
				changed++
				break
			}
			held++
			object, reads = now, moved
		}
	}
	if held < 1000 || changed < 1000 {
		t.Errorf("the reads hold %d times, and %d times not", held, changed)
	}
}

const pod = `{"metadata":{"name":"a","labels":{"app":"x","tier":"y"},"resourceVersion":"1"},
	"spec":{"containers":[{"name":"c","image":"i","args":["1","2"]},{"name":"d"}],"nodeName":"n"},
	"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"n":1}}`

func TestHold(t *testing.T) {
	get := func(keys ...string) func(any) {
		return func(v any) {
			for _, key := range keys {
				switch view := v.(type) {
				case RecordedMap:
					v, _ = view.Get(key)
				case RecordedArray:
					v = view.Index(int(key[0] - '0'))
				}
			}
		}
	}
	view := func(do func(m RecordedMap), keys ...string) func(any) {
		return func(v any) {
			for _, key := range keys {
				v, _ = v.(RecordedMap).Get(key)
			}
			do(v.(RecordedMap))
		}
	}
	length, keys := func(m RecordedMap) { m.Len() }, func(m RecordedMap) { m.Keys() }
	whole := func(m RecordedMap) { Whole(m) }
	for _, c := range []struct {
		name     string
		read     func(any)
		from, to string
		hold     bool
	}{
		{"nothing", get(), `{`, `{"x":1,`, true},
		{"a scalar", get("status", "phase"), `"Running"`, `"Pending"`, false},
		{"a scalar of the same length", get("status", "phase"), `"Running"`, `"Rvnning"`, false},
		{"another scalar", get("status", "n"), `"Running"`, `"Pending"`, true},
		{"what is before it", get("status", "phase"), `"name":"a"`, `"name":"longer"`, true},
		{"an int that becomes a float", get("status", "n"), `"n":1`, `"n":1.0`, false},
		{"a map", get("status"), `"Running"`, `"Pending"`, true},
		{"a map that becomes a scalar", get("metadata", "labels"), `{"app":"x","tier":"y"}`, `"none"`, false},
		{"a map that is gone", get("metadata", "labels"), `"labels"`, `"others"`, false},
		{"a map that is an array", get("metadata", "labels"), `{"app":"x","tier":"y"}`, `[]`, false},
		{"an absent key", get("metadata", "annotations"), `"labels"`, `"others"`, true},
		{"an absent key that appears", get("metadata", "annotations"), `"labels"`, `"annotations"`, false},
		{"an absent key in a map that is gone", get("metadata", "labels", "z"), `"labels"`, `"others"`, false},
		{"an absent key of a map that moves", get("spec", "z"), `"name":"a"`, `"name":"longer"`, true},
		{"keys", view(keys, "metadata", "labels"), `"app":"x"`, `"app":"z"`, true},
		{"other keys", view(keys, "metadata", "labels"), `"app":"x"`, `"bpp":"x"`, false},
		{"the number of keys", view(length, "metadata", "labels"), `"app":"x",`, ``, false},
		{"the keys of another map", view(keys, "metadata"), `"app":"x",`, ``, true},
		{"the whole map", view(whole, "metadata", "labels"), `"app":"x"`, `"app":"z"`, false},
		{"outside the whole map", view(whole, "metadata", "labels"), `"name":"a"`, `"name":"b"`, true},
		{"an element", get("spec", "containers", "0", "image"), `"image":"i"`, `"image":"j"`, false},
		{"another element", get("spec", "containers", "1", "name"), `"image":"i"`, `"image":"j"`, true},
		{"an element that is gone", get("spec", "containers", "1", "name"), `,{"name":"d"}`, ``, false},
		{"an element, of fewer", get("spec", "containers", "0", "name"), `,{"name":"d"}`, ``, true},
	} {
		before, now := parse(t, pod), parse(t, strings.Replace(pod, c.from, c.to, 1))
		recording := (&Recorder{}).Record(before)
		c.read(recording.Map())
		moved, hold := recording.Reads().Hold(before, now)
		if hold != c.hold {
			t.Errorf("%s: hold is %t", c.name, hold)
		}
		if _, again := moved.Hold(now, now); hold && !again {
			t.Errorf("%s: the reads of the other object do not hold for itself", c.name)
		}
	}
}

// A script that reads very much of an object has read the whole object.
func TestManyReads(t *testing.T) {
	content := map[string]any{"unread": int64(1)}
	for i := range 2 * maxReads {
		content[fmt.Sprint(i)] = int64(i)
	}
	for name, key := range map[string]string{"keys": "%d", "absent keys": "absent%d"} {
		object, err := Pack(content)
		if err != nil {
			t.Fatal(err)
		}
		recording := (&Recorder{}).Record(object)
		for i := range 2 * maxReads {
			recording.Map().Get(fmt.Sprintf(key, i))
		}
		content["unread"] = content["unread"].(int64) + 1
		now, err := Pack(content)
		if err != nil {
			t.Fatal(err)
		}
		if _, hold := recording.Reads().Hold(object, now); hold {
			t.Errorf("%s: the reads hold", name)
		}
		if _, hold := recording.Reads().Hold(object, object); !hold {
			t.Errorf("%s: the reads do not hold for the same object", name)
		}
	}
}

func TestEqualBut(t *testing.T) {
	metadata := func(key string) bool { return key == "metadata" }
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{`"name":"a"`, `"name":"b"`, true},
		{`"metadata"`, `"metadatb"`, false},
		{`"Running"`, `"Pending"`, false},
		{`"spec"`, `"spec2"`, false},
		{`"status":{`, `"a":1,"status":{`, false},
		{`"status":{`, `"z":1,"status":{`, false},
	} {
		m, other := parse(t, pod), parse(t, strings.Replace(pod, c.from, c.to, 1))
		if m.EqualBut(other, metadata) != c.want || other.EqualBut(m, metadata) != c.want {
			t.Errorf("%s for %s: want %t", c.to, c.from, c.want)
		}
	}
	if without := parse(t, `{"spec":1}`); !without.EqualBut(parse(t, `{"metadata":{},"spec":1}`), metadata) {
		t.Error("an ignored key of only one object")
	}
}

func BenchmarkRecord(b *testing.B) {
	object := parse(b, pod)
	read := func(get func(any, string) any) {
		for _, path := range [][2]string{{"metadata", "name"}, {"metadata", "labels"}, {"spec", "nodeName"}, {"status", "phase"}, {"status", "n"}} {
			get(get(nil, path[0]), path[1])
		}
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			read(func(v any, key string) any {
				if v == nil {
					v = object
				}
				got, _ := v.(Map).Get(key)
				return got
			})
		}
	})
	b.Run("recorded", func(b *testing.B) {
		b.ReportAllocs()
		var recorder Recorder
		for b.Loop() {
			root := recorder.Record(object).Map()
			read(func(v any, key string) any {
				if v == nil {
					v = root
				}
				got, _ := v.(RecordedMap).Get(key)
				return got
			})
		}
	})
	b.Run("hold", func(b *testing.B) {
		recording := (&Recorder{}).Record(object)
		read(func(v any, key string) any {
			if v == nil {
				v = recording.Map()
			}
			got, _ := v.(RecordedMap).Get(key)
			return got
		})
		reads, now := recording.Reads(), parse(b, strings.Replace(pod, `"image":"i"`, `"image":"j"`, 1))
		b.ReportAllocs()
		for b.Loop() {
			if _, hold := reads.Hold(object, now); !hold {
				b.Fatal("the reads do not hold")
			}
		}
	})
}
