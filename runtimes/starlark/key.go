package starlark

import "go.starlark.net/starlark"

// To look up a key, the interpreter hashes the whole key and compares it with all keys of the same hash. The error of a key that
// does not exist shows the whole key. A script can choose the hash of most values: for numbers it is a multiple of their lower 32
// bits, for texts shorter than 12 bytes it is the same in every process, for functions it is that of their name, and for tuples it
// is made from the hashes of their elements. So keys that collide are charged.

// key looks at a value that is about to be hashed.
func (ev *evaluation) key(v starlark.Value) error {
	ev.shown = 0
	if err := ev.walkKey(v, 0); err != nil {
		return err
	}
	return ev.countKey(v)
}

// walkKey walks v as far as it consists of tuples: they are hashed by recursion.
func (ev *evaluation) walkKey(v starlark.Value, depth int) error {
	if ev.shown += shown(v); ev.shown > ev.limits.Memory {
		return ev.tooLarge("the key")
	}
	t, ok := v.(starlark.Tuple)
	if !ok {
		return ev.charge(lengthSteps(v))
	}
	if depth >= maxNested {
		return errDeep
	}
	for _, element := range t {
		if err := ev.spend(); err != nil {
			return err
		}
		if err := ev.walkKey(element, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// shown is how many bytes a part of a key takes as text, its elements not counted.
func shown(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.String, starlark.Bytes:
		return 2 + 4*sizeOf(v)
	case starlark.Int:
		return int64(bits(v)) / 3
	case starlark.Tuple, starlark.NoneType, starlark.Bool, starlark.Float:
		return 8
	}
	return maxSeen + 1 // a function: its text does not say which one it is
}

const (
	// freeKeys is how much keys that collide may weigh before they count: a small one weighs 1.
	freeKeys = 1 << 10
	// maxChosen is how long a text may be whose hash a script can choose. That of longer ones is seeded.
	maxChosen = 11
	// maxSeen is how long a key may be, as text, that is known again.
	maxSeen = 4 << 10
	// maxWeight is what large keys weigh, as text.
	maxWeight = 1 << 20
)

// countKey counts a key whose hash the script may have chosen, and takes as many steps as comparing it with those that
// collide.
func (ev *evaluation) countKey(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.NoneType, starlark.Bool:
		return nil
	case starlark.String:
		if len(v) > maxChosen {
			return nil
		}
	}
	weight := 1 + min(ev.shown, maxWeight)/8
	if ev.counted += weight; ev.counted <= freeKeys {
		return nil
	}
	hash, err := v.Hash()
	if err != nil {
		return nil // the interpreter says so
	}
	if ev.collisions == nil {
		ev.collisions = &collisions{}
	}
	steps := ev.collisions.add(hash, v, weight, ev.shown <= maxSeen)
	ev.collided = plus(ev.collided, steps)
	return ev.charge(steps)
}

// crowdPlaces is how many places are told apart.
const crowdPlaces = 1 << 14

// collisions counts different keys, by weight, for each value of the lower bits of their hash, which choose the place in a table.
// Keys that were not chosen on purpose are spread so evenly that even millions of them are not charged.
type collisions struct {
	weights [crowdPlaces]int32
	seen    map[string]bool // the keys where it is crowded, as texts
}

// add returns the weight of all that a key collides with: 0 where that is little, or when the key is not new.
func (c *collisions) add(hash uint32, key starlark.Value, weight int64, known bool) int64 {
	there := &c.weights[hash%uint32(len(c.weights))]
	if *there >= freeKeys && known {
		text := textOfKey(key)
		if c.seen[text] {
			return 0
		}
		if c.seen == nil {
			c.seen = map[string]bool{}
		}
		c.seen[text] = true
	}
	before := int64(*there)
	*there += int32(weight)
	if before < freeKeys {
		return 0
	}
	return before
}

func textOfKey(key starlark.Value) string {
	if s, ok := key.(starlark.String); ok {
		return string(s)
	}
	return key.String()
}
