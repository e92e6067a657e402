//go:build journey

package realgateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// The parts of the chat completions API that the gateway reads.

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	// Details holds the number of cached prompt tokens, or is nil if caching is off.
	Details *details `json:"prompt_tokens_details,omitempty"`
}

type details struct {
	Cached int `json:"cached_tokens"`
}

type said struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
	Calls   []use  `json:"tool_calls,omitempty"`
}

type use struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON as a string
	} `json:"function"`
}

type choice struct {
	Index   int     `json:"index"`
	Message *said   `json:"message,omitempty"` // in a complete answer
	Delta   *said   `json:"delta,omitempty"`   // in a chunk of a stream
	Finish  *string `json:"finish_reason"`
}

type answer struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

// tokens estimates the number of tokens in a text. It assumes one token for every
// four characters.
func tokens(characters int) int { return characters/4 + 1 }

func (c completion) usage(text string) *usage {
	read := 0
	for _, m := range c.Messages {
		read += len(m.Content)
	}
	u := &usage{Prompt: tokens(read), Completion: tokens(len(text))}
	u.Total = u.Prompt + u.Completion
	if c.caches {
		u.Details = &details{u.Prompt / 3}
	}
	return u
}

func (c completion) answer(object string) answer {
	now := time.Now()
	return answer{ID: fmt.Sprintf("chatcmpl-%d", now.UnixNano()), Object: object, Created: now.Unix(), Model: c.Model, Choices: []choice{}}
}

// whole sends the model's answer as one JSON document.
func whole(w http.ResponseWriter, in completion, text string) {
	out := in.answer("chat.completion")
	out.Choices = []choice{{Message: &said{Role: "assistant", Content: text}, Finish: new("stop")}}
	out.Usage = in.usage(text)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // fails if the client has disconnected
}

// stream sends the model's answer as server-sent events, followed by the token usage.
func stream(w http.ResponseWriter, in completion, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	send := func(c []choice, u *usage) {
		out := in.answer("chat.completion.chunk")
		out.Choices, out.Usage = c, u
		data, _ := json.Marshal(out) // cannot fail
		fmt.Fprintf(w, "data: %s\n\n", data)
		_ = flush.Flush() // fails if the client has disconnected
	}
	send([]choice{{Delta: &said{Role: "assistant"}}}, nil)
	runes := []rune(text)
	for len(runes) > 0 {
		n := min(24, len(runes))
		send([]choice{{Delta: &said{Content: string(runes[:n])}}}, nil)
		runes = runes[n:]
	}
	send([]choice{{Delta: &said{}, Finish: new("stop")}}, nil)
	send([]choice{}, in.usage(text))
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// usage returns the usage that the model reports for the call.
func (do toolCall) usage(in completion) *usage {
	if do.Used != nil {
		return do.Used
	}
	return in.usage(do.Name)
}

// useTool sends a tool call as the model's answer.
func useTool(w http.ResponseWriter, in completion, do toolCall) {
	args, _ := json.Marshal(do.Args) // cannot fail
	u := use{ID: fmt.Sprintf("call_%d", time.Now().UnixNano()), Type: "function"}
	u.Function.Name, u.Function.Arguments = do.Name, string(args)
	turn := &said{Role: "assistant", Calls: []use{u}}
	if !in.Stream {
		out := in.answer("chat.completion")
		out.Choices, out.Usage = []choice{{Message: turn, Finish: new("tool_calls")}}, do.usage(in)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // fails if the client has disconnected
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, part := range []struct {
		choices []choice
		used    *usage
	}{{[]choice{{Delta: turn}}, nil}, {[]choice{{Delta: &said{}, Finish: new("tool_calls")}}, nil}, {[]choice{}, do.usage(in)}} {
		out := in.answer("chat.completion.chunk")
		out.Choices, out.Usage = part.choices, part.used
		data, _ := json.Marshal(out) // cannot fail
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"type": "scripted", "message": why}})
}
