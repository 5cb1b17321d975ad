package secretvalues

import (
	"sync"
	"sync/atomic"
)

// known has the grams of all Values that were made since it was cleared, and the starts of their texts. With it, a text costs the same beside any
// number of Secrets: most of its places are in none of them. It has false positives.
var known filter

// A filter is a set of hashes that may have others.
type filter struct {
	mu    sync.RWMutex // is locked while bits are cleared, and for reading while hashes are put, so that none of them is lost
	bits  [knownBits / 64]atomic.Uint64
	count int          // how many hashes were put; mu is locked while it is used
	age   atomic.Int64 // how often the bits were cleared
}

// most is how many hashes are in a filter before it is cleared: then one of forty places is compared without need.
const most = knownBits / 12

// reserve clears the filter if it has no place for more hashes.
func (f *filter) reserve(hashes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count += hashes; f.count <= most {
		return
	}
	f.age.Add(1)
	for i := range f.bits {
		f.bits[i].Store(0)
	}
	f.count = hashes
}

// putAll calls all, which puts about this number of hashes, and returns the age of the filter that has them.
func (f *filter) putAll(hashes int, all func()) int64 {
	f.reserve(hashes)
	f.mu.RLock()
	defer f.mu.RUnlock()
	all()
	return f.age.Load()
}

// knownBits is the size of a filter in bits. Memory is used for those parts only that were written.
const knownBits = 1 << 27

// places returns the two bits of a hash.
func places(hash uint64) (a, b uint64) { return hash % knownBits, hash >> 32 % knownBits }

func (f *filter) put(hash uint64) {
	a, b := places(hash)
	f.bits[a/64].Or(1 << (a % 64))
	f.bits[b/64].Or(1 << (b % 64))
}

func (f *filter) has(hash uint64) bool {
	a, b := places(hash)
	return f.bits[a/64].Load()&(1<<(a%64)) != 0 && f.bits[b/64].Load()&(1<<(b%64)) != 0
}

// hash returns the hash of a start, which is none of a gram.
func (s start) hash() uint64 { return gram(uint64(s)<<16 | 0xFFFF).hash() }
