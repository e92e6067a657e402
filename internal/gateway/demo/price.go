package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// model is an imaginary language model with a realistic price.
type model struct {
	provider, id, name string
	window             int64 // context size in tokens
	input, output      int64 // nano-dollars per token, like all prices here
	cacheRead          int64
	cacheWrite         int64
}

// models lists the imaginary models, with prices that are typical of 2026. Per million tokens, the first model costs 3
// dollars for input, 15 for output, 0.30 for cache reads and 3.75 for cache writes. The second model costs a third of
// that.
var models = []model{
	{"demo", "demo-1", "Demo 1", 200_000, 3_000, 15_000, 300, 3_750},
	{"demo", "demo-2", "Demo 2", 100_000, 1_000, 5_000, 100, 1_250},
}

// modelOf returns the model that an agent uses.
func modelOf(a Agent) model {
	for _, m := range models {
		if a.Model == m.provider+"/"+m.id {
			return m
		}
	}
	m := models[0]
	if provider, id, ok := strings.Cut(a.Model, "/"); ok {
		m.provider, m.id, m.name = provider, id, id
	}
	return m
}

// baseContext is the approximate number of tokens that instructions, tools and skills
// take up in a new conversation on the real gateway.
const baseContext = 7_000

const (
	// cacheLifetime is how long a provider caches a session's prompt.
	cacheLifetime = time.Hour
	// cacheBlock is the size of a cache block in tokens.
	cacheBlock = 1024
)

// tokens estimates the number of tokens in a text.
func tokens(text string) int64 { return (int64(len(text)) + 3) / 4 }

// spent is the token usage for one answer.
type spent struct {
	model                                model
	input, output, cacheRead, cacheWrite int64 // tokens
}

// prompt returns the number of tokens that the model read.
func (u spent) prompt() int64 { return u.input + u.cacheRead + u.cacheWrite }

func (u spent) total() int64 { return u.prompt() + u.output }

// cost returns the price of the usage in nano-dollars.
func (u spent) cost() int64 {
	return u.input*u.model.input + u.output*u.model.output + u.cacheRead*u.model.cacheRead +
		u.cacheWrite*u.model.cacheWrite
}

// spend returns the usage for an answer to a question. The preceding conversation has
// `context` tokens, and `cached` of them are in the provider's cache.
func spend(m model, context, cached int64, question, answer string) spent {
	return spent{
		model: m, input: tokens(question), output: tokens(answer), cacheRead: cached, cacheWrite: context - cached,
	}
}

// json returns the `usage` member of a message.
func (u spent) json() object {
	m := u.model
	return object{
		"input": u.input, "output": u.output, "totalTokens": u.total(), "cacheRead": u.cacheRead, "cacheWrite": u.cacheWrite,
		"cost": object{
			"input": usd(u.input * m.input), "output": usd(u.output * m.output),
			"cacheRead": usd(u.cacheRead * m.cacheRead), "cacheWrite": usd(u.cacheWrite * m.cacheWrite), "total": usd(u.cost()),
		},
	}
}

// usd converts nano-dollars to dollars and formats them as a JSON number, without
// rounding.
func usd(nano int64) json.Number {
	s := fmt.Sprintf("%d.%09d", nano/1e9, nano%1e9)
	return json.Number(strings.TrimSuffix(strings.TrimRight(s, "0"), "."))
}
