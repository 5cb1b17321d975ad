package process

const (
	// slack is what a call may take besides: garbage that is not collected yet. Of it, overshoot is beyond the limit at which Go
	// collects all the time, since on a busy machine the collector gets less of the processor than the script.
	slack     = 64 << 20
	overshoot = 56 << 20
	// reserve is how much is left when a script is stopped, so that it can say where it stands: in the time that it takes
	// to stop it, it grows further.
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
