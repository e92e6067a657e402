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

// Price is what a million tokens of a model cost from a day on, until a later
// price of the same model.
type Price struct {
	Provider   string     `json:"provider" maxLength:"100" doc:"As the runtime names it; empty for this model at any provider." example:"anthropic"`
	Model      string     `json:"model" minLength:"1" maxLength:"200" doc:"As the runtime names it." example:"claude-sonnet-4"`
	From       string     `json:"from" format:"date" doc:"The first day, in UTC, that it counts for."`
	Input      money.Nano `json:"input" doc:"Dollars for a million tokens, like the others."`
	Output     money.Nano `json:"output"`
	CacheRead  money.Nano `json:"cache_read"`
	CacheWrite money.Nano `json:"cache_write"`
	Other      money.Nano `json:"other"`
}

// Prices are one version of the table that costs are estimated with.
type Prices struct {
	Version   int64       `json:"version" doc:"1 before the first prices were set."`
	UpdatedAt *clock.Time `json:"updated_at"`
	UpdatedBy *string     `json:"updated_by"`
	Prices    []Price     `json:"prices" nullable:"false"`
}

// dearest is a million dollars for a million tokens.
const dearest = money.Nano(1e15)

// checkPrices refuses what cannot be computed with.
func checkPrices(list []Price) error {
	var wrong fault.Fields
	seen := map[[3]string]int{}
	for i, p := range list {
		at := func(name string) string { return fmt.Sprintf("/prices/%d/%s", i, name) }
		if _, err := time.Parse(time.DateOnly, p.From); err != nil {
			wrong.Add(at("from"), "It is a day, such as 2026-11-20.")
		}
		for name, text := range map[string]string{"provider": p.Provider, "model": p.Model} {
			if plaintext.Line(text) != text || name == "model" && text == "" {
				wrong.Add(at(name), "Write it as the runtime does, without spaces around it or characters that cannot be seen. GET /agentrt/models lists the models.")
			}
		}
		for name, v := range map[string]money.Nano{
			"input": p.Input, "output": p.Output, "cache_read": p.CacheRead, "cache_write": p.CacheWrite, "other": p.Other,
		} {
			if v < 0 || v > dearest {
				wrong.Add(at(name), "A price is between 0 and 1000000 dollars for a million tokens.")
			}
		}
		key := [3]string{p.Provider, p.Model, p.From}
		if first, ok := seen[key]; ok {
			wrong.Add(at("from"), "Price %d is for the same model from the same day. Leave one of them out.", first+1)
		} else {
			seen[key] = i
		}
	}
	return wrong.Err()
}

// of is the price of a model at a time; nil without one. A price that names the
// provider goes before one for any, and then the latest that counts.
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

// estimate is what tokens of a model cost at a time; false without a price.
func (p Prices) estimate(provider, model string, t Tokens, at time.Time) (money.Nano, bool) {
	best := p.of(provider, model, at)
	if best == nil {
		return 0, false
	}
	return best.of(t)
}

// of is what tokens cost, to the nearest nano-dollar, a half away from zero; false
// for more than can be written down.
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
