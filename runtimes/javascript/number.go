package javascript

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// Functions of numbers that goja computes wrongly, or in another form.

// ofOneNumber is like ofNumbers, for a function that goja lets convert texts by other rules than Number.
func ofOneNumber(r *run, call goja.FunctionCall, f native) goja.Value {
	numberArgs(r, call.Arguments)
	call, _ = number(call, 0)
	return f(call)
}

// numberOf returns the number on which a method is called.
func numberOf(v goja.Value) (n float64, ok bool) {
	if o, isObject := v.(*goja.Object); isObject {
		if o.ClassName() != "Number" {
			return 0, false
		}
		return o.ToNumber().ToFloat(), true
	}
	if kind(v) != "a number" {
		return 0, false
	}
	return v.ToFloat(), true
}

// inRadix implements Number.prototype.toString with a radix other than ten, as V8 does. goja loses the sign of some numbers.
func inRadix(r *run, call goja.FunctionCall, f native) goja.Value {
	numberArgs(r, call.Arguments)
	if goja.IsUndefined(call.Argument(0)) {
		return f(call)
	}
	call, radix := number(call, 0)
	n, ok := numberOf(call.This)
	radix = math.Trunc(radix)
	if !ok || radix < 2 || radix > 36 || radix == 10 || math.IsNaN(n) || math.IsInf(n, 0) {
		return f(call)
	}
	text := radixText(math.Abs(n), radix)
	if n < 0 {
		text = "-" + text
	}
	return asString(text)
}

const digitCharacters = "0123456789abcdefghijklmnopqrstuvwxyz"

// radixText writes a number, which is not negative, with as many digits as are needed to distinguish it from the next one. Products are
// converted so that no processor computes them together with a sum.
func radixText(n, radix float64) string {
	whole := math.Floor(n)
	rest := n - whole
	delta := max(0.5*(math.Nextafter(n, math.Inf(1))-n), math.SmallestNonzeroFloat64)
	var digits []int
	for rest >= delta {
		rest, delta = float64(rest*radix), float64(delta*radix)
		digit := int(rest)
		digits = append(digits, digit)
		rest -= float64(digit)
		if (rest > 0.5 || rest == 0.5 && digit%2 == 1) && rest+delta > 1 {
			for len(digits) > 0 && digits[len(digits)-1]+1 == int(radix) {
				digits = digits[:len(digits)-1]
			}
			if len(digits) == 0 {
				whole++
			} else {
				digits[len(digits)-1]++
			}
			break
		}
	}
	var b strings.Builder
	b.WriteString(wholeText(whole, radix))
	for i, digit := range digits {
		if i == 0 {
			b.WriteByte('.')
		}
		b.WriteByte(digitCharacters[digit])
	}
	return b.String()
}

// wholeText writes an integer. The last digits of a number above 2^53, which does not have that many, need not be those of V8.
func wholeText(n, radix float64) string {
	var reversed []byte
	for ; n >= 1<<58; n /= radix {
		reversed = append(reversed, '0')
	}
	for first := true; first || n > 0; first = false {
		rest := math.Mod(n, radix)
		reversed = append(reversed, digitCharacters[int(rest)])
		n = (n - rest) / radix
	}
	slices.Reverse(reversed)
	return string(reversed)
}

// maxDigits is more than the number of decimal digits that a number can have, 767.
const maxDigits = 800

// toPrecision implements Number.prototype.toPrecision. goja's digits are wrong where rounding gives a further one.
func toPrecision(r *run, call goja.FunctionCall, f native) goja.Value {
	numberArgs(r, call.Arguments)
	if goja.IsUndefined(call.Argument(0)) {
		return f(call)
	}
	call, places := number(call, 0)
	n, ok := numberOf(call.This)
	p := int(min(1000, max(-1, places)))
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) || p < 1 || p > 100 {
		return f(call)
	}
	digits, exponent := decimal(math.Abs(n), p)
	text := ""
	switch {
	case exponent < -6 || exponent >= p:
		text = withPoint(digits, 1) + "e" + map[bool]string{true: "+"}[exponent >= 0] + strconv.Itoa(exponent)
	case exponent >= 0:
		text = withPoint(digits, exponent+1)
	default:
		text = "0." + strings.Repeat("0", -exponent-1) + digits
	}
	if n < 0 {
		text = "-" + text
	}
	return asString(text)
}

// withPoint inserts a point after that many digits, unless they are all.
func withPoint(digits string, at int) string {
	if at == len(digits) {
		return digits
	}
	return digits[:at] + "." + digits[at:]
}

// decimal returns the first p digits of a number, and its exponent. It rounds half up.
func decimal(n float64, p int) (digits string, exponent int) {
	mantissa, power, _ := strings.Cut(strconv.FormatFloat(n, 'e', maxDigits, 64), "e")
	exponent, _ = strconv.Atoi(power)
	all := strings.Replace(mantissa, ".", "", 1)
	rounded := []byte(all[:p])
	if all[p] < '5' {
		return string(rounded), exponent
	}
	for i := p - 1; i >= 0; i-- {
		if rounded[i] < '9' {
			rounded[i]++
			return string(rounded), exponent
		}
		rounded[i] = '0'
	}
	return "1" + string(rounded[:p-1]), exponent + 1
}

// localNumber implements Number.prototype.toLocaleString for American English, which is the default of Node.js.
func localNumber(r *run, call goja.FunctionCall, f native) goja.Value {
	r.needAmerican(call.Arguments)
	n, ok := numberOf(call.This)
	switch {
	case !ok:
		return f(call)
	case math.IsNaN(n):
		return asString("NaN")
	case math.IsInf(n, 0):
		return asString(map[bool]string{true: "-"}[n < 0] + "\u221e")
	}
	return asString(map[bool]string{true: "-"}[math.Signbit(n)] + grouped(math.Abs(n)))
}

// grouped writes a number with commas and at most three decimal places.
func grouped(n float64) string {
	whole, decimals, _ := strings.Cut(strconv.FormatFloat(n, 'f', -1, 64), ".")
	if len(decimals) > 3 {
		up := decimals[3] >= '5'
		thousandths, _ := strconv.Atoi(decimals[:3])
		if up {
			thousandths++
		}
		if thousandths == 1000 { // such a number is far below 2^53
			whole, thousandths = strconv.FormatInt(int64(n)+1, 10), 0
		}
		decimals = strconv.Itoa(1000 + thousandths)[1:]
	}
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if decimals = strings.TrimRight(decimals, "0"); decimals != "" {
		return whole + "." + decimals
	}
	return whole
}

// needAmerican throws if the arguments of a toLocale… method ask for another language than American English, or for options.
func (r *run) needAmerican(args []goja.Value) {
	for i, v := range args {
		s, ok := v.(goja.String)
		if !goja.IsUndefined(v) && !(i == 0 && ok && (s.String() == "en-US" || s.String() == "en")) {
			panic(r.vm.NewTypeError("languages and options are not supported, since there is no Intl: the only language is en-US"))
		}
	}
}
