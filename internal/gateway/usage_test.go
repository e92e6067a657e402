package gateway

import (
	"encoding/json"
	"strings"
	"testing"
)

// Usage has two formats; a missing price is not a price of zero.
func TestUsage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"total":15,"cost":{"total":0.5}}`: `{"Input":1,"Output":2,"CacheRead":3,"CacheWrite":4,"Other":5,"CostNanoUSD":500000000}`,
		`{"input":1,"output":2,"totalTokens":3,"cost":{"total":0}}`:                           `{"Input":1,"Output":2,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null}`,
		// Numbers that are not plausible, negative or contradictory: what remains is kept, and marked.
		`{"input":9223372036854775807,"output":2}`:          `{"Input":0,"Output":2,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null,"Estimated":true}`,
		`{"input":1,"output":2,"total":1e300}`:              `{"Input":1,"Output":2,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null,"Estimated":true}`,
		`{"input":-500,"output":100,"cost":{"total":0.25}}`: `{"Input":0,"Output":100,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":250000000,"Estimated":true}`,
		`{"input":9000,"output":200,"cacheRead":8000,"totalTokens":9200,"cost":{"input":0.009,"output":0.001,"cacheRead":0.0008,"total":0.0108}}`: `{"Input":1000,"Output":200,"CacheRead":8000,"CacheWrite":0,"Other":0,"CostNanoUSD":2800000,"Estimated":true}`,
		`{"input":9000,"output":200,"cacheRead":8000,"totalTokens":9200,"cost":{"total":0.0108}}`:                                                 `{"Input":1000,"Output":200,"CacheRead":8000,"CacheWrite":0,"Other":0,"CostNanoUSD":10800000,"Estimated":true}`,
		`{"input":100,"output":50,"cacheRead":900,"cacheWrite":9,"total":150}`:                                                                    `{"Input":100,"Output":50,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null,"Estimated":true}`,
		`{"input":100,"output":50,"cacheRead":900,"total":1030}`:                                                                                  `{"Input":80,"Output":50,"CacheRead":900,"CacheWrite":0,"Other":0,"CostNanoUSD":null,"Estimated":true}`,
		// Other forms of numbers.
		`{"input":10.9,"output":1e2,"totalTokens":"110","cost":{"total":"2.5e-1"}}`: `{"Input":10,"Output":100,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":250000000}`,
		`{"input":1,"cost":{"input":0.1,"output":0.2}}`:                             `{"Input":1,"Output":0,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":300000000}`,
		`{"cost":{"total":0.5}}`:                                                    `{"Input":0,"Output":0,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":500000000}`,
		`{"input":1,"output":2,"cost":{"total":100001}}`:                            `{"Input":1,"Output":2,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null}`,
		`{"input":1}`:                         `{"Input":1,"Output":0,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null}`,
		`{"input":1,"cost":{"total":null}}`:   `{"Input":1,"Output":0,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null}`,
		`{"input":1,"cost":{"total":-1}}`:     `{"Input":1,"Output":0,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null}`,
		`{"input":1,"cost":"much"}`:           `{"Input":1,"Output":0,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null}`,
		`{"input":-5,"output":"7","total":4}`: `{"Input":0,"Output":7,"CacheRead":0,"CacheWrite":0,"Other":0,"CostNanoUSD":null,"Estimated":true}`,
		`{}`:                                  `null`,
		`null`:                                `null`,
	} {
		var w *wireUsage
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := json.Marshal(w.read("", "", ""))
		if err != nil {
			t.Fatal(err)
		}
		if s := strings.ReplaceAll(string(got), `"Provider":"","Model":"",`, ""); s != want {
			t.Errorf("%s\nis   %s\nwant %s", text, s, want)
		}
	}
	// A sum is unpriced if any part is.
	price := int64(7)
	priced, unpriced := &Usage{Input: 1, CostNanoUSD: &price}, &Usage{Input: 2}
	if sum := priced.add(unpriced); sum.Input != 3 || sum.CostNanoUSD != nil {
		t.Errorf("sum = %+v", sum)
	}
	if sum := priced.add(priced); sum.Input != 2 || *sum.CostNanoUSD != 14 || price != 7 {
		t.Errorf("sum = %+v", sum)
	}
}
