package packed

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"metascript/engine/tree"
)

// form returns a value in the form that the documentation of the package describes.
func form(v any) []byte {
	var elements [][]byte
	var tag byte
	switch v := v.(type) {
	case map[string]any:
		tag = tagMap
		for _, key := range slices.Sorted(maps.Keys(v)) {
			entry := append(varint(len(key)), key...)
			elements = append(elements, append(entry, form(v[key])...))
		}
	case []any:
		tag = tagArray
		for _, item := range v {
			elements = append(elements, form(item))
		}
	case nil:
		return []byte{tagNil}
	case bool:
		return []byte{map[bool]byte{false: tagFalse, true: tagTrue}[v]}
	case int64:
		return binary.AppendVarint([]byte{tagInt}, v)
	case float64:
		return binary.LittleEndian.AppendUint64([]byte{tagFloat}, math.Float64bits(v))
	case string:
		if number, ok := wordNumber([]byte(v)); ok {
			return []byte{tagWord, number}
		}
		return append(append([]byte{tagString}, varint(len(v))...), v...)
	}
	content, n := slices.Concat(elements...), len(elements)
	rest := varint(n)
	for at, i := 0, 0; n > maxPlain && i < n; i++ {
		if len(content) < maxNarrow {
			rest = binary.LittleEndian.AppendUint16(rest, uint16(at))
		} else {
			rest = binary.LittleEndian.AppendUint32(rest, uint32(at))
		}
		at += len(elements[i])
	}
	rest = append(rest, content...)
	return append(append([]byte{tag}, varint(len(rest))...), rest...)
}

// around returns text with levels of maps and arrays around it, some of which have other elements too. The keys are not sorted, and
// some occur twice.
func around(r *rand.Rand, levels int, text string) string {
	for range levels {
		switch r.IntN(6) {
		case 0:
			text = `[` + text + `]`
		case 1:
			text = `["a",` + text + `,{"z":[],"a":{"y":1}},7]`
		case 2:
			text = `{"b":` + text + `}`
		case 3:
			text = `{"b":0,"c":{"b":[1]},"a":` + text + `}`
		case 4:
			text = `{"a":{"a":[[1]]},"b":1.5,"a":` + text + `}`
		default:
			text = `[0,1,2,3,4,5,6,7,"Running",` + text + `,{}]`
		}
	}
	return text
}

// What is nested deep has the form that is described, at all levels.
func TestDeepForm(t *testing.T) {
	all := texts()
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		in, err := tree.AppendJSON(nil, randomMap(r, 3))
		if err != nil {
			t.Fatal(err)
		}
		text := around(r, r.IntN(3*maxMoved), string(in))
		if seed%20 == 0 { // elements of just under and just over 64 KiB
			text = around(r, 2*maxMoved, `"`+strings.Repeat("x", maxNarrow-800+r.IntN(200))+`"`)
		}
		all = append(all, `{"spec":`+text+`,"other":`+around(r, 2*maxMoved, `"x"`)+`}`)
	}
	for _, text := range all {
		want, err := decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		m := parse(t, text)
		if string(m.Bytes()) != string(form(want)) {
			t.Errorf("%.300s: other bytes than the form has", text)
		}
		packed, err := Pack(want)
		if err != nil || !packed.Equal(m) {
			t.Errorf("%.300s: other bytes than those of Parse: %v", text, err)
		}
		if _, err := Load(m.Bytes()); err != nil {
			t.Errorf("%.300s: %v", text, err)
		}
	}
}

// However deep a text is nested, it is moved only a few times.
func TestDeepTextIsNotMovedForEachLevel(t *testing.T) {
	const levels = maxDepth/2 - 10 // of one or two maps and arrays
	long := `"` + strings.Repeat("x", 100_000) + `"`
	nested := func(open, close string) string {
		return `{"spec":` + strings.Repeat(open, levels) + long + strings.Repeat(close, levels) + `}`
	}
	for name, text := range map[string]string{
		"arrays":          nested(`[`, `]`),
		"sorted keys":     nested(`{"a":0,"b":`, `}`),
		"unsorted keys":   nested(`{"b":0,"a":`, `}`),
		"equal keys":      nested(`{"a":[0],"b":1,"a":`, `}`),
		"maps and arrays": nested(`{"b":[`, `],"a":{}}`),
		"siblings":        nested(`[`, `,0,1,2,3,4,5,6,7,8,{"b":{},"a":[]}]`),
		"many":            `{"spec":[` + strings.TrimSuffix(strings.Repeat(around(rand.New(rand.NewPCG(1, 1)), 3*maxMoved, `"x"`)+`,`, 200), ",") + `]}`,
		"keys":            `{"spec":{` + manyKeys(20_000) + `}}`,
	} {
		var p Parser
		m, err := p.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		// At each level up to maxMoved for the header, and twice if the keys are not sorted; and for what is deeper twice.
		if limit := (3*maxMoved + 2) * len(text); p.moved > limit {
			t.Errorf("%s: %d bytes were moved for a text of %d", name, p.moved, len(text))
		}
		if err := p.packAgain(m.Build()); err != nil {
			t.Fatal(err)
		}
		if limit := (3*maxMoved + 2) * len(text); p.moved > limit {
			t.Errorf("%s: Pack moved %d bytes for a text of %d", name, p.moved, len(text))
		}
	}
}

func (p *Parser) packAgain(content map[string]any) error {
	p.begin(nil)
	return p.pack(content)
}

func manyKeys(n int) string {
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf(`"key%d":%d`, i*7919%n, i))
	}
	return strings.Join(keys, ",")
}

// After an error within what is nested deep, a Parser can be used again.
func TestParserAfterErrorInDeepText(t *testing.T) {
	var p Parser
	text := around(rand.New(rand.NewPCG(1, 2)), 2*maxMoved, `[{"b":[[1]],"a":2}]`)
	want := parse(t, `{"a":`+text+`}`)
	for range 3 {
		if _, err := p.Parse([]byte(`{"a":` + text[:len(text)/2+20])); err == nil {
			t.Fatal("a text that ends too early has no error")
		}
		if got, err := p.Parse([]byte(`{"a":` + text + `}`)); err != nil || !got.Equal(want) {
			t.Fatalf("got other bytes after an error: %v", err)
		}
	}
}
