// Package money stores and formats costs. Amounts are whole nano-dollars, because
// prices per token are tiny: at $0.30 per million tokens, a token read from the cache
// costs 300 nano-dollars. In the API they are decimal strings in dollars, because
// JSON numbers lose precision.
package money

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Nano is an amount in billionths of a US dollar.
type Nano int64

// String formats the amount in dollars with up to nine decimal places, such as
// "0.028314".
func (n Nano) String() string {
	sign, v := "", uint64(n)
	if n < 0 {
		sign, v = "-", -v
	}
	whole, rest := strconv.FormatUint(v/1e9, 10), strconv.FormatUint(v%1e9, 10)
	if rest == "0" {
		return sign + whole
	}
	rest = strings.Repeat("0", 9-len(rest)) + rest
	return sign + whole + "." + strings.TrimRight(rest, "0")
}

// MarshalJSON writes the amount as a decimal string.
func (n Nano) MarshalJSON() ([]byte, error) { return []byte(`"` + n.String() + `"`), nil }

// UnmarshalJSON parses the format that MarshalJSON writes.
func (n *Nano) UnmarshalJSON(data []byte) error {
	text, err := strconv.Unquote(string(data))
	if err != nil {
		return fmt.Errorf("money: %s is not a string", data)
	}
	whole, rest, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	digits := strings.Trim(whole+rest, "0123456789") == ""
	if whole == "" || !digits || len(rest) > 9 {
		return fmt.Errorf("money: %q is not an amount", text)
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign = "-"
	}
	v, err := strconv.ParseInt(sign+whole+rest+strings.Repeat("0", 9-len(rest)), 10, 64)
	if err != nil {
		return fmt.Errorf("money: %q is not an amount", text)
	}
	*n = Nano(v)
	return nil
}

// Schema describes the amount in the OpenAPI document.
func (Nano) Schema(huma.Registry) *huma.Schema {
	longest := len("-9223372036.854775808")
	return &huma.Schema{
		Type: huma.TypeString, Pattern: `^-?\d+(\.\d{1,9})?$`, MaxLength: &longest, Examples: []any{"0.028314"},
		Description: "US dollars.",
	}
}
