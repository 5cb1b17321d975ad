package host

// A Call is a call in a stack, or a group of calls that repeats.
type Call[T comparable] struct {
	Call  T
	Times int // how often the call, or the group of calls with the same Times to which it belongs, repeats; 0 is once
}

// The limits of the calls of a stack that an error has.
const (
	maxCalls  = 20
	maxPeriod = 4 // calls in a group
	minTimes  = 3 // a group of calls that repeats less often is not folded
)

// Fold returns the innermost calls of a stack, which begins with the innermost. A recursion is one group of calls.
func Fold[T comparable](stack []T) []Call[T] {
	var calls []Call[T]
	for len(stack) > 0 && len(calls) < maxCalls {
		period, times := 1, 0
		for p := 1; p <= min(maxPeriod, len(stack)/minTimes) && times == 0; p++ {
			if n := repeats(stack, p); n >= minTimes {
				period, times = p, n
			}
		}
		for _, call := range stack[:period] {
			calls = append(calls, Call[T]{call, times})
		}
		stack = stack[period*max(1, times):]
	}
	return calls[:min(len(calls), maxCalls)]
}

// repeats returns how often the first calls of a stack, that many, follow each other.
func repeats[T comparable](stack []T, period int) int {
	same := period
	for same < len(stack) && stack[same] == stack[same-period] {
		same++
	}
	return same / period
}
