package starlark

import "go.starlark.net/starlark"

// To look up a key, the interpreter hashes the whole key and compares it with all keys that have the same hash. The error for a
// key that does not exist shows the whole key. A script can choose the hash of most values: the hash of a number is a multiple of
// its lower 32 bits, the hash of a string shorter than 12 bytes is the same in every process, the hash of a function is that of its
// name, and the hash of a tuple is made from the hashes of its elements. So keys that collide are charged.

// key is called before a value is hashed. It charges for hashing the value, and for collisions.
func (ev *evaluation) key(v starlark.Value) error {
	ev.keyTextSize = 0
	if err := ev.walkKey(v, 0); err != nil {
		return err
	}
	return ev.countKey(v)
}

// walkKey visits v and, if v is a tuple, its elements: the interpreter hashes tuples by recursion.
func (ev *evaluation) walkKey(v starlark.Value, depth int) error {
	if ev.keyTextSize += keyTextSize(v); ev.keyTextSize > ev.limits.Memory {
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

// keyTextSize returns the size of a part of a key as text, in bytes, without its elements.
func keyTextSize(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.String, starlark.Bytes:
		return 2 + 4*sizeOf(v)
	case starlark.Int:
		return int64(bits(v)) / 3
	case starlark.Tuple, starlark.NoneType, starlark.Bool, starlark.Float:
		return 8
	}
	return maxRemembered + 1 // a function: its text does not say which one it is
}

const (
	// freeKeyWeight is the sum of the weights of colliding keys up to which they are not charged. A small key has weight 1.
	freeKeyWeight = 1 << 10
	// maxUnseeded is the maximum length of a string whose hash a script can choose. The hash of a longer string is seeded.
	maxUnseeded = 11
	// maxRemembered is the maximum size, as text, of a key that is remembered, so that it is charged only once.
	maxRemembered = 4 << 10
	// maxKeyWeight is the maximum size, as text, from which the weight of a key is computed.
	maxKeyWeight = 1 << 20
)

// countKey counts a key whose hash the script may have chosen. It charges as many steps as it costs to compare the key with
// the keys that collide with it.
func (ev *evaluation) countKey(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.NoneType, starlark.Bool:
		return nil
	case starlark.String:
		if len(v) > maxUnseeded {
			return nil
		}
	}
	weight := 1 + min(ev.keyTextSize, maxKeyWeight)/8
	if ev.keyWeight += weight; ev.keyWeight <= freeKeyWeight {
		return nil
	}
	hash, err := v.Hash()
	if err != nil {
		return nil // the interpreter reports the error
	}
	if ev.collisions == nil {
		ev.collisions = &collisions{}
	}
	steps := ev.collisions.add(hash, v, weight, ev.keyTextSize <= maxRemembered)
	ev.collisionSteps = plus(ev.collisionSteps, steps)
	return ev.charge(steps)
}

// hashBuckets is the number of buckets in which collisions are counted.
const hashBuckets = 1 << 14

// collisions has the sum of the weights of different keys for each value of the lower bits of their hash, which select the bucket
// of a hash table. Keys that were not chosen on purpose are distributed so evenly that even millions of them are not charged.
type collisions struct {
	weights [hashBuckets]int32
	seen    map[string]bool // the keys in buckets that are charged, as text
}

// add counts a key, and returns the weight of the keys in its bucket. It returns 0 if that weight is below freeKeyWeight, or if
// the key was counted before. remember is whether the key may be stored in seen.
func (c *collisions) add(hash uint32, key starlark.Value, weight int64, remember bool) int64 {
	bucket := &c.weights[hash%uint32(len(c.weights))]
	if *bucket >= freeKeyWeight && remember {
		text := textOfKey(key)
		if c.seen[text] {
			return 0
		}
		if c.seen == nil {
			c.seen = map[string]bool{}
		}
		c.seen[text] = true
	}
	before := int64(*bucket)
	*bucket += int32(weight)
	if before < freeKeyWeight {
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
