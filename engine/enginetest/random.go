package enginetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"

	"metascript/engine"
)

// A drawing is what a case has in random.json.
type drawing struct {
	Key   string            `json:"key"`
	Err   string            `json:"error"` // of reading the key
	Known map[string]string `json:"known"`
	Drawn map[string]string `json:"drawn"` // the values that the script must get, by label; nil: they are not checked
}

// forCall returns what gives a call random values, and what it has drawn after the call.
func (d *drawing) forCall() (random *engine.Random, drawn map[string]string) {
	if d == nil {
		return nil, nil
	}
	drawn = map[string]string{}
	return &engine.Random{
		FindKey: func(context.Context) ([]byte, error) {
			if d.Err != "" {
				return nil, errors.New(d.Err)
			}
			return []byte(d.Key), nil
		},
		Known: d.Known,
		Drawn: func(one engine.Draw) error {
			if !one.Observed {
				drawn[one.Label] = one.Value
			}
			return nil
		},
	}, drawn
}

// The texts and numbers of random values: those that an encoder may write in a special way.
var (
	texts  = []string{"", "a", "key", "ä", "<&>", "\u2028", "\x00\n\t\"\\", "\x7f", strings.Repeat("long", 100), strings.Repeat("ä\x00", 40)}
	floats = []float64{0, math.Copysign(0, -1), 1.5, 1e-7, 1e21, 123456789.125, 5e-324, math.MaxFloat64, 1e-9, -1e-10}
)

// Random returns a JSON-shaped value of maps and slices, which are nested up to depth. Keys are few.
func Random(r *rand.Rand, depth int) any {
	switch n := r.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return int64(r.Uint64()) >> r.IntN(64)
	case n == 3:
		return floats[r.IntN(len(floats))]
	case n < 6 || depth == 0:
		return texts[r.IntN(len(texts))]
	case n == 6:
		list := make([]any, r.IntN(12))
		for i := range list {
			list[i] = Random(r, depth-1)
		}
		return list
	}
	m := map[string]any{}
	for range r.IntN(12) {
		m[texts[r.IntN(len(texts))]+string(rune('a'+r.IntN(26)))] = Random(r, depth-1)
	}
	return m
}
