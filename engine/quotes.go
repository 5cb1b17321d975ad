package engine

import (
	"regexp"
	"strings"
)

// quotedIn reports whether a line has the text in a string. A quote and the next quote of the same kind are a string.
func quotedIn(line, text string) bool {
	unpaired := ""
	for i := 0; i < len(line); i++ {
		quote := line[i]
		if quote != '"' && quote != '\'' && quote != '`' || strings.IndexByte(unpaired, quote) >= 0 {
			continue
		}
		n := strings.IndexByte(line[i+1:], quote)
		if n < 0 {
			unpaired += string(quote)
			continue
		}
		compared := line[i+1:i+1+n] == text && typeOf.MatchString(line[max(0, i-maxTypeOf):i])
		if strings.Contains(line[i+1:i+1+n], text) && !compared {
			return true
		}
		i += n + 1
	}
	return false
}

// maxTypeOf is how far before a string its comparison with typeof x may begin, in bytes.
const maxTypeOf = 200

var typeOf = regexp.MustCompile(`\btypeof\b.*[=!]=\s*$`)
