package work

// A Most is how many keys a map had at most since it was made, as far as Emptied knows.
type Most int

// many is the number of keys from which the memory of a map matters.
const many = 1000

// Emptied returns m, or a new map if m is empty and had many keys: a map keeps the memory for all the keys that it had. It is called after
// each deletion.
func Emptied[K comparable, V any](m map[K]V, most *Most) map[K]V {
	*most = max(*most, Most(len(m)))
	if len(m) > 0 || *most < many {
		return m
	}
	*most = 0
	return map[K]V{}
}
