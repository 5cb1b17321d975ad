package process

const (
	// slack is memory that a call may use in addition, for garbage that is not collected yet. From overshoot before the end of it
	// on, Go collects garbage all the time: on a busy machine the collector gets less processor time than the script.
	slack     = 64 << 20
	overshoot = 56 << 20
	// reserve is how much memory is left when a script is stopped, so that it can report its position: it continues to grow
	// until it stops.
	reserve = 24 << 20
	// perCost is how much more a value takes than the encoder's estimate, with the message it came in, and what a
	// runtime derives from it to show it to a script.
	perCost = 3
	// step is the unit of limits, so that they seldom have to be changed.
	step = 16 << 20
)

// allowance is how much a worker may grow for a call: limit for the script, and what the values take by themselves.
func allowance(limit, cost int64) int64 {
	n := limit + perCost*cost + slack
	return (n + step - 1) / step * step
}
