package process

const (
	// slack is memory that a call may use in addition, for garbage that is not collected yet. In its last part, of size
	// overshoot, Go collects garbage continuously: on a busy machine the collector gets less CPU time than the script.
	slack     = 64 << 20
	overshoot = 56 << 20
	// reserve is how much memory is left when a script is stopped, so that it can report its position: it continues to grow
	// until it stops.
	reserve = 24 << 20
	// perCost is by how much the memory of a value exceeds the encoder's estimate, with its message and with what a runtime
	// derives from it.
	perCost = 3
	// step is the unit of limits, so that they rarely change.
	step = 16 << 20
)

// allowance returns how much a worker may grow for a call: limit for the script, and the memory of the values.
func allowance(limit, cost int64) int64 {
	n := limit + perCost*cost + slack
	return (n + step - 1) / step * step
}
