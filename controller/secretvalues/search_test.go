package secretvalues

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func benchValue(r *rand.Rand, n int) string {
	value := make([]byte, n)
	for i := range value {
		value[i] = byte('!' + r.IntN('~'-'!'))
	}
	return string(value)
}

func BenchmarkSearch(b *testing.B) {
	text := strings.Repeat(`create Service default/web: Invalid value: "no-such-thing\n" `, 5)
	for _, c := range []struct{ secrets, size int }{{1, 200}, {1, 1 << 20}, {500, 200}, {5000, 200}} {
		b.Run(fmt.Sprintf("%dx%d", c.secrets, c.size), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var values []*Values
			for range c.secrets {
				values = append(values, newValues([]string{benchValue(r, c.size)}))
			}
			for b.Loop() {
				Search([]string{text}, values)
			}
		})
	}
}

func BenchmarkNewValues(b *testing.B) {
	for _, size := range []int{200, 1 << 20} {
		value := benchValue(rand.New(rand.NewPCG(1, 2)), size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newValues([]string{value})
			}
		})
	}
}
