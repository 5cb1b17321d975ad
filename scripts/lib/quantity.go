package lib

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// An amount is a Kubernetes quantity.
type amount struct {
	nanos *big.Int // the value, in billionths
	style string   // how it is written: one of the styles below
}

// The styles of quantities.
const (
	decimal  = "decimal"  // 1500m, 2k
	binary   = "binary"   // 1536Mi
	exponent = "exponent" // 15e-1
)

var (
	billion   = big.NewInt(1_000_000_000)
	million   = big.NewInt(1_000_000)
	thousand  = big.NewInt(1000)
	kibi      = big.NewInt(1024)
	maxAmount = new(big.Int).Mul(new(big.Int).SetUint64(1<<63-1), billion)
)

// quantityText matches a quantity: its number and its suffix.
var quantityText = regexp.MustCompile(`^([+-]?)(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+|)$`)

// maxQuantity is the maximum length of the text of a quantity.
const maxQuantity = 64

// amount returns the argument at i, a quantity.
func (c *call) amount(i int) (amount, error) {
	text, ok := c.args[i].(string)
	if !ok {
		text = writeJSON(c.args[i], 0)
	}
	if err := c.meter.Spend(100); err != nil {
		return amount{}, err
	}
	m := quantityText.FindStringSubmatch(text[:min(len(text), maxQuantity+1)])
	if m == nil || len(text) > maxQuantity {
		err := c.errorf("%q is not a quantity", short(text))
		err.Hint = "a quantity is a number with a suffix, such as 100m, 2, 1.5Gi or 1e3"
		return amount{}, err
	}
	a, ok := readAmount(m[2], m[3])
	if !ok {
		return amount{}, c.errorf("%q is larger than a quantity may be", short(text))
	}
	if m[1] == "-" {
		a.nanos.Neg(a.nanos)
	}
	return a, nil
}

// readAmount returns the quantity with a number without sign and a suffix. It is rounded up to a billionth. It returns false if the
// quantity is too large.
func readAmount(number, suffix string) (amount, bool) {
	before, after, _ := strings.Cut(number, ".")
	digits, _ := new(big.Int).SetString(before+after, 10)
	a := amount{nanos: digits, style: decimal}
	shift := 9 - len(after) // digits times this power of ten are billionths
	switch {
	case strings.HasSuffix(suffix, "i"):
		a.style = binary
		digits.Lsh(digits, uint(10*(strings.Index("KMGTPE", suffix[:1])+1)))
	case len(suffix) > 1:
		a.style = exponent
		power, err := strconv.Atoi(suffix[1:])
		if err != nil || power > 100 || power < -100 {
			return a, false
		}
		shift += power
	default:
		shift += 3 * (strings.Index("num kMGTPE", suffix+" "[len(suffix):]) - 3)
	}
	scale(digits, shift)
	return a, digits.Cmp(maxAmount) <= 0
}

// scale multiplies n by a power of ten, rounding up.
func scale(n *big.Int, power int) {
	if power >= 0 {
		n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(power)), nil))
		return
	}
	divideUp(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-power)), nil))
}

// divideUp divides n by d, away from zero.
func divideUp(n, d *big.Int) *big.Int {
	_, rest := n.QuoRem(n, d, new(big.Int))
	return n.Add(n, big.NewInt(int64(rest.Sign())))
}

// parseQuantity returns the value of a quantity as a number.
func parseQuantity(c *call) (any, error) {
	a, err := c.amount(0)
	if err != nil {
		return nil, err
	}
	if whole, rest := new(big.Int).QuoRem(a.nanos, billion, new(big.Int)); rest.Sign() == 0 {
		return whole.Int64(), nil
	}
	f, _ := new(big.Rat).SetFrac(a.nanos, billion).Float64()
	return f, nil
}

// milliQuantity returns the value of a quantity in thousandths, rounded up.
func milliQuantity(c *call) (any, error) {
	a, err := c.amount(0)
	if err != nil {
		return nil, err
	}
	n := divideUp(new(big.Int).Set(a.nanos), million)
	if !n.IsInt64() {
		return nil, c.errorf("%v has more than 64 bits of thousandths", c.args[0])
	}
	return n.Int64(), nil
}

// compareQuantities returns -1, 0 or 1 if the first quantity is less than, equal to or greater than the second.
func compareQuantities(c *call) (any, error) {
	a, b, err := c.amounts()
	if err != nil {
		return nil, err
	}
	return int64(a.nanos.Cmp(b.nanos)), nil
}

// addQuantities returns the sum in the style of the first quantity, or of the second if the first is zero.
func addQuantities(c *call) (any, error) {
	a, b, err := c.amounts()
	if err != nil {
		return nil, err
	}
	if a.nanos.Sign() == 0 {
		a.style = b.style
	}
	a.nanos.Add(a.nanos, b.nanos)
	if a.nanos.CmpAbs(maxAmount) > 0 {
		return nil, c.errorf("the sum is larger than a quantity may be")
	}
	return a.String(), nil
}

// amounts returns the first two arguments, which are quantities.
func (c *call) amounts() (a, b amount, err error) {
	if a, err = c.amount(0); err == nil {
		b, err = c.amount(1)
	}
	return a, b, err
}

// formatQuantity returns the canonical text of a quantity in Kubernetes.
func formatQuantity(c *call) (any, error) {
	a, err := c.amount(0)
	if err != nil {
		return nil, err
	}
	switch style := c.args[1]; style {
	case nil:
	case decimal, binary, exponent:
		a.style = style.(string)
	default:
		return nil, c.errorf("style is %q, want %s, %s or %s", short(style.(string)), decimal, binary, exponent)
	}
	return a.String(), nil
}

// String returns the text of a with the largest suffix with which its number is an integer.
func (a amount) String() string {
	n := new(big.Int).Set(a.nanos)
	if n.Sign() == 0 {
		return "0"
	}
	whole, rest := new(big.Int).QuoRem(n, billion, new(big.Int))
	if a.style == binary && rest.Sign() == 0 && whole.CmpAbs(kibi) >= 0 {
		n = whole
		power := reduce(n, kibi, len(binarySuffixes)-1)
		return n.String() + binarySuffixes[power]
	}
	power := reduce(n, thousand, len(decimalSuffixes)-1)
	if a.style == exponent {
		return n.String() + exponentSuffixes[power]
	}
	return n.String() + decimalSuffixes[power]
}

var (
	binarySuffixes   = []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	decimalSuffixes  = []string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}
	exponentSuffixes = []string{"e-9", "e-6", "e-3", "", "e3", "e6", "e9", "e12", "e15", "e18"}
)

// reduce divides n by factor until there would be a remainder, at most limit times. It returns the number of divisions.
func reduce(n, factor *big.Int, limit int) int {
	quotient, rest := new(big.Int), new(big.Int)
	for times := range limit {
		if quotient.QuoRem(n, factor, rest); rest.Sign() != 0 {
			return times
		}
		n.Set(quotient)
	}
	return limit
}
