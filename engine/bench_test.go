package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// BenchmarkCompileCached compiles a script of 4 KiB that is in the cache.
func BenchmarkCompileCached(b *testing.B) {
	e, s := newFakeEngine(fake{}), fakeScript(strings.Repeat("x", 4<<10))
	for b.Loop() {
		if _, err := e.Compile(b.Context(), s, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCacheHit finds a program in the cache, without reading the script.
func BenchmarkCacheHit(b *testing.B) {
	e := newFakeEngine(fake{})
	if _, err := e.Compile(b.Context(), fakeScript("a"), Limits{}); err != nil {
		b.Fatal(err)
	}
	var key compilation
	for _, text := range e.programs.programs.Keys() {
		key.text = text
	}
	for b.Loop() {
		if p, _, _ := e.programs.find(key); p == nil {
			b.Fatal("it is not in the cache")
		}
	}
}

// BenchmarkCall calls a function that does nothing.
func BenchmarkCall(b *testing.B) {
	e := newFakeEngine(fake{})
	p, err := e.Compile(b.Context(), fakeScript("a"), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Call(b.Context(), "sync", nil, Env{Owner: "a"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallsOfManyOwners calls it for many owners, who wait for each other.
func BenchmarkCallsOfManyOwners(b *testing.B) {
	e := newFakeEngine(fake{})
	p, err := e.Compile(b.Context(), fakeScript("a"), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	var owners atomic.Int64
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		env := Env{Owner: fmt.Sprint(owners.Add(1))}
		for pb.Next() {
			if _, err := p.Call(context.Background(), "sync", nil, env); err != nil {
				b.Error(err)
			}
		}
	})
}
