package secretvalues

import (
	"sync"
	"sync/atomic"
)

// known has the grams of the Values that are kept, and the starts of their texts. With it, a text costs the same beside any number of
// Secrets: most of its places are in none of them. It has false positives.
var known filter

// A filter is a set of hashes that may have others. It has two generations: when the present one is full, the one before is dropped, and an
// empty one begins. So many new Secrets of one tenant do not cost the others anything but that what they still use is put again.
type filter struct {
	mu    sync.RWMutex // is locked while a generation begins, and for reading while hashes are put, so that none of them is lost
	sets  [2]hashes    // the present generation is that of age modulo 2
	count int          // how many hashes were put into it; mu is locked while it is used
	age   atomic.Int64 // how many generations were before
}

type hashes [knownBits / 64]atomic.Uint64

// most is how many hashes are in a generation before the next one begins: then one of forty places is compared without need.
const most = knownBits / 12

// knownBits is the size of a generation in bits. Memory is used for those parts only that were written.
const knownBits = 1 << 27

// reserve begins another generation if the present one has no place for more hashes.
func (f *filter) reserve(more int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count += more; f.count <= most {
		return
	}
	f.age.Add(1) // before the hashes go, so that a search that sees them incomplete sees this
	next := &f.sets[f.age.Load()%2]
	for i := range next {
		if next[i].Load() != 0 { // what was never written uses no memory
			next[i].Store(0)
		}
	}
	f.count = more
}

// putAll calls all, which puts about this number of hashes, and returns the generation that has them.
func (f *filter) putAll(more int, all func(put func(hash uint64))) int64 {
	f.reserve(more)
	f.mu.RLock()
	defer f.mu.RUnlock()
	all(f.sets[f.age.Load()%2].put)
	return f.now()
}

// now returns the number of the present generation. The first one is 1.
func (f *filter) now() int64 { return f.age.Load() + 1 }

// keeps reports whether hashes of a generation are still in the filter, while it is in the generation now.
func keeps(age, now int64) bool { return age > 0 && age >= now-1 }

func (f *filter) has(hash uint64) bool { return f.sets[0].has(hash) || f.sets[1].has(hash) }

// bitsOf returns the two bits of a hash. They follow from its lower half, which parts keep.
func bitsOf(hash uint64) (a, b uint32) {
	low := entryOf(hash)
	return low % knownBits, low * 0x9E3779B1 >> 5
}

func (s *hashes) put(hash uint64) {
	a, b := bitsOf(hash)
	s[a/64].Or(1 << (a % 64))
	s[b/64].Or(1 << (b % 64))
}

func (s *hashes) has(hash uint64) bool {
	a, b := bitsOf(hash)
	return s[a/64].Load()&(1<<(a%64)) != 0 && s[b/64].Load()&(1<<(b%64)) != 0
}

// hash returns the hash of a start, which is none of a gram.
func (s start) hash() uint64 { return gram(uint64(s)<<16 | 0xFFFF).hash() }
