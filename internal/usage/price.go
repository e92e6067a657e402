package usage

import (
	"fmt"
	"math/big"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/plaintext"
)

// Price is the price of a million tokens of a model. It applies from a given day until the next
// price for the same model.
type Price struct {
	Provider   string     `json:"provider" maxLength:"100" doc:"The provider's name in the runtime; empty for any provider." example:"anthropic"`
	Model      string     `json:"model" minLength:"1" maxLength:"200" doc:"The model's name in the runtime." example:"claude-sonnet-4"`
	From       string     `json:"from" format:"date" doc:"The first day, in UTC, on which the price applies."`
	Input      money.Nano `json:"input" doc:"In dollars per million tokens, like the other prices."`
	Output     money.Nano `json:"output"`
	CacheRead  money.Nano `json:"cache_read"`
	CacheWrite money.Nano `json:"cache_write"`
	Other      money.Nano `json:"other"`
}

// Prices is one version of the price table for cost estimates.
type Prices struct {
	Version   int64       `json:"version" doc:"1 until prices are set for the first time."`
	UpdatedAt *clock.Time `json:"updated_at"`
	UpdatedBy *string     `json:"updated_by"`
	Prices    []Price     `json:"prices" nullable:"false"`
}

// maxPrice is the highest valid price: a million dollars per million tokens.
const maxPrice = money.Nano(1e15)

// checkPrices returns a validation error for an invalid price table.
func checkPrices(list []Price) error {
	var wrong fault.Fields
	seen := map[[3]string]int{}
	for i, p := range list {
		at := func(name string) string { return fmt.Sprintf("/prices/%d/%s", i, name) }
		if _, err := time.Parse(time.DateOnly, p.From); err != nil {
			wrong.Add(at("from"), "Must be a day, such as 2026-11-20.")
		}
		for name, text := range map[string]string{"provider": p.Provider, "model": p.Model} {
			if odd := plaintext.Odd(text); odd != "" {
				wrong.Add(at(name), "Contains %s.", odd)
			} else if plaintext.Line(text) != text || name == "model" && text == "" {
				wrong.Add(at(name),
					"Must be the name in the runtime, without surrounding spaces. GET /agentrt/models lists the models.")
			}
		}
		for name, v := range map[string]money.Nano{
			"input": p.Input, "output": p.Output, "cache_read": p.CacheRead, "cache_write": p.CacheWrite, "other": p.Other,
		} {
			if v < 0 || v > maxPrice {
				wrong.Add(at(name), "Must be between 0 and 1000000 dollars per million tokens.")
			}
		}
		key := [3]string{p.Provider, p.Model, p.From}
		if first, ok := seen[key]; ok {
			wrong.Add(at("from"), "Price %d is for the same model and day. Remove one of them.", first+1)
		} else {
			seen[key] = i
		}
	}
	return wrong.Err()
}

// of returns the price of a model at a given time, or nil if it has none. Prices for the given
// provider take precedence over prices that apply to any provider. Among prices of equal
// precedence, the most recent one applies.
func (p Prices) of(provider, model string, at time.Time) *Price {
	day := at.UTC().Format(time.DateOnly)
	var best *Price
	for i := range p.Prices {
		c := &p.Prices[i]
		if c.Model != model || c.Provider != provider && c.Provider != "" || c.From > day {
			continue
		}
		named := c.Provider != ""
		if best == nil || named && best.Provider == "" || named == (best.Provider != "") && c.From > best.From {
			best = c
		}
	}
	return best
}

// estimate returns the cost of tokens at the model's price at the given time. It returns false if
// the model had no price or if the cost overflows.
func (p Prices) estimate(provider, model string, t Tokens, at time.Time) (money.Nano, bool) {
	best := p.of(provider, model, at)
	if best == nil {
		return 0, false
	}
	return best.of(t)
}

// of returns the cost of the tokens, rounded half away from zero to a nano-dollar. It returns false
// if the cost overflows.
func (p Price) of(t Tokens) (money.Nano, bool) {
	sum := new(big.Int)
	for _, c := range [][2]int64{
		{t.Input, int64(p.Input)},
		{t.Output, int64(p.Output)},
		{t.CacheRead, int64(p.CacheRead)},
		{t.CacheWrite, int64(p.CacheWrite)},
		{t.Other, int64(p.Other)},
	} {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(c[0]), big.NewInt(c[1])))
	}
	const million = 1_000_000
	half := big.NewInt(million / 2)
	if sum.Sign() < 0 {
		half.Neg(half)
	}
	sum.Quo(sum.Add(sum, half), big.NewInt(million))
	if !sum.IsInt64() {
		return 0, false
	}
	return money.Nano(sum.Int64()), true
}
