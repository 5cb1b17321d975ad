package javascript

import (
	"math"

	"github.com/dop251/goja"
)

// Logarithms. Go's package math returns 14.999999999999998 for log10(1e15), and on some machines another value than the logarithm for
// numbers below 2^-1022. These are computed as in V8, which has them from FreeBSD's msun (e_log.c, e_log10.c).

// ofReal returns the guard of a function of Math of one number.
func ofReal(f func(float64) float64) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, _ native) goja.Value {
		call, x := number(call, 0)
		if len(call.Arguments) == 0 || math.IsNaN(call.Arguments[0].ToFloat()) {
			x = math.NaN() // of which number makes 0
		}
		return r.vm.ToValue(f(x))
	}
}

// apart returns f and k with x = f * 2^k and f from 1 to 2, for x > 0.
func apart(x float64) (f float64, k int) {
	f, k = math.Frexp(x)
	return f * 2, k - 1
}

// naturalLog returns the natural logarithm.
func naturalLog(x float64) float64 {
	const (
		ln2Hi, ln2Lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10
		l1, l2, l3   = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01
		l4, l5       = 2.222219843214978396e-01, 1.818357216161805012e-01
		l6, l7       = 1.531383769920937332e-01, 1.479819860511658591e-01
	)
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	m, exponent := apart(x)
	high := int(math.Float64bits(m)>>32) & 0xfffff
	if high+0x95f64 >= 0x100000 { // about the square root of 2
		m, exponent = m/2, exponent+1
	}
	k, f := float64(exponent), m-1
	if (high+2)&0xfffff < 3 {
		r := float64(f*f) * (0.5 - float64(0.33333333333333333*f))
		return float64(k*ln2Hi) - ((r - float64(k*ln2Lo)) - f)
	}
	s := f / (2 + f)
	z := s * s
	w := z * z
	r := float64(z*(l1+float64(w*(l3+float64(w*(l5+float64(w*l7))))))) + float64(w*(l2+float64(w*(l4+float64(w*l6)))))
	if (high-0x6147a)|(0x6b851-high) <= 0 {
		return float64(k*ln2Hi) - ((float64(s*(f-r)) - float64(k*ln2Lo)) - f)
	}
	half := float64(0.5*f) * f
	return float64(k*ln2Hi) - ((half - (float64(s*(half+r)) + float64(k*ln2Lo))) - f)
}

// log10 returns the logarithm with base 10.
func log10(x float64) float64 {
	const (
		perE, hi, lo = 4.34294481903251816668e-01, 3.01029995663611771306e-01, 3.69423907715893078616e-13
	)
	if !(x > 0) || math.IsInf(x, 1) || x == 1 {
		return naturalLog(x)
	}
	f, exponent := apart(x)
	if exponent < 0 {
		f, exponent = f/2, exponent+1
	}
	k := float64(exponent)
	return float64(k*lo) + float64(perE*naturalLog(f)) + float64(k*hi)
}
