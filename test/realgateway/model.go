//go:build journey

package realgateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Reply is the model's scripted answer to an agent.
type Reply struct {
	Text   string        // the answer; empty for the agent's usual one
	Delay  time.Duration // delay before the first byte
	Status int           // if not 0, an HTTP status instead of an answer
}

// Call is one request that an agent sent to the model.
type Call struct {
	Agent  string
	Model  string   // ID of the model in the gateway's settings
	Prompt string   // the agent's prompt without the gateway's additions
	Tools  []string // names of the tools offered to the agent
	At     time.Time
	Used   *usage // usage of its answer; nil before the answer
}

// Model is a language model with scripted answers that implements the chat completions
// API.
type Model struct {
	URL string // http://127.0.0.1:port, without /v1

	mu      sync.Mutex
	replies map[string]Reply
	calls   []*Call
	begin   int // index of the first call that counts
	linger  bool
	caches  bool
	closing chan struct{}
}

// StartModel starts a model, which stops when the test ends. Until Script is called, it gives all agents the usual
// answer.
func StartModel(t testing.TB) *Model {
	t.Helper()
	m := &Model{replies: map[string]Reply{}, closing: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	server := httptest.NewServer(mux)
	m.URL = server.URL
	t.Cleanup(func() {
		close(m.closing) // ends delays; Close waits for every request
		server.Close()
	})
	return m
}

// Script sets the model's reply to an agent. It applies until the next Script for
// that agent. Script("cto", Reply{}) restores the usual answer.
func (m *Model) Script(agent string, r Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies[agent] = r
}

// Linger sets whether to delay the end of the turn in which the COO starts a standup. A delayed
// turn ends when the COO is asked in another session to review the standup.
func (m *Model) Linger(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.linger = on
}

// Cache sets whether the model reports a third of its input as read from a cache. The
// gateway counts and prices such input separately.
func (m *Model) Cache(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.caches = on
}

// lingers implements Linger. It waits until the COO is asked for a review, but no
// longer than two minutes.
func (m *Model) lingers(r *http.Request, agent string) {
	m.mu.Lock()
	linger := m.linger && agent == "coo"
	m.mu.Unlock()
	end := time.After(2 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for linger && len(m.reviews()) == 0 {
		select {
		case <-tick.C:
		case <-end:
			return
		case <-r.Context().Done():
			return
		case <-m.closing:
			return
		}
	}
}

// reviews returns the calls in which the COO was asked for a review.
func (m *Model) reviews() []Call {
	return slices.DeleteFunc(m.Calls("coo"), func(c Call) bool { return !strings.Contains(c.Prompt, "action_items") })
}

// Calls returns the calls that the agent made since the last Forget, oldest first.
func (m *Model) Calls(agent string) []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	return of(agent, m.calls[m.begin:])
}

// Ever returns every call whose prompt to the agent contains the question, including
// calls from before the last Forget.
func (m *Model) Ever(agent, question string) []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(of(agent, m.calls), func(c Call) bool { return !strings.Contains(c.Prompt, question) })
}

func of(agent string, all []*Call) []Call {
	var calls []Call
	for _, c := range all {
		if c.Agent == agent {
			calls = append(calls, *c)
		}
	}
	return calls
}

// Forget discards the calls recorded so far, so that Calls returns only later ones.
func (m *Model) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begin = len(m.calls)
}

// completion contains the fields of a chat completion request that the model uses.
type completion struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`

	caches bool // see Model.Cache
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// told returns the result of the latest tool call, if the model has not answered it
// yet.
func (c completion) told() (text string, ok bool) {
	for _, m := range slices.Backward(c.Messages) {
		switch m.Role {
		case "tool":
			return string(m.Content), true
		case "assistant":
			return "", false
		}
	}
	return "", false
}

// offered returns the names of the tools that the request offers to the model.
func (c completion) offered() []string {
	names := make([]string, len(c.Tools))
	for i, tool := range c.Tools {
		names[i] = tool.Function.Name
	}
	return names
}

// toolCall is a tool call that the model makes for an agent.
type toolCall struct {
	Name string
	Args map[string]any
	Used *usage // what the model reports; nil for an estimate
}

// content is the text of a message. In JSON it can also be a list of parts; only
// their text is kept.
type content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	var text *string
	if json.Unmarshal(data, &text) == nil {
		if text != nil {
			*c = content(*text)
		}
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("content of a message: %w", err)
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	*c = content(strings.Join(all, "\n"))
	return nil
}

var (
	// Each request has a line such as "Runtime: … | agent=cto | …".
	runtimeLine = regexp.MustCompile(`(?i)Runtime:[^\n]*\bagent=([a-z0-9_-]+)`)
	// The gateway's additions to a question are between these marks or in the Runtime
	// line.
	added = regexp.MustCompile(`(?is)<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>|\n+Runtime:[^\n]*`)
)

// asker returns the agent that sent the request, or an empty string if it is unknown.
func (c completion) asker() string {
	for _, m := range slices.Backward(c.Messages) {
		if found := runtimeLine.FindStringSubmatch(string(m.Content)); found != nil {
			return strings.ToLower(found[1])
		}
	}
	return ""
}

// question returns the user's messages since the model's last answer.
func (c completion) question() string {
	var said []string
	for _, m := range slices.Backward(c.Messages) {
		if m.Role == "assistant" {
			break
		}
		if m.Role != "user" {
			continue
		}
		if text := strings.TrimSpace(added.ReplaceAllString(string(m.Content), "")); text != "" {
			said = append(said, text)
		}
	}
	slices.Reverse(said)
	return strings.Join(said, "\n")
}

func (m *Model) complete(w http.ResponseWriter, r *http.Request) {
	var in completion
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 32<<20)).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	call := &Call{Agent: in.asker(), Model: in.Model, Prompt: in.question(), Tools: in.offered(), At: time.Now()}
	m.mu.Lock()
	m.calls = append(m.calls, call)
	reply := m.replies[call.Agent]
	in.caches = m.caches
	m.mu.Unlock()

	if reply.Delay > 0 {
		select {
		case <-time.After(reply.Delay):
		case <-r.Context().Done(): // the run was stopped, or the gateway was stopped
			return
		case <-m.closing:
			return
		}
	}
	if reply.Status != 0 {
		refuse(w, reply.Status, "as the script says")
		return
	}
	output, told := in.told()
	do := shellCall(call.Agent, call.Prompt)
	if reply.Text == "" {
		text := cmp.Or(output, call.Prompt)
		var stop bool
		if orders.MatchString(call.Prompt) { // the result can be that of a run that was stopped
			text = call.Prompt
		}
		if reply.Text, do, stop = m.obey(w, r, in, text, do); stop {
			return
		}
	}
	if told && reply.Text == "" && do == nil {
		m.lingers(r, call.Agent)
		reply.Text = "Done. It said: " + output
	}
	if do != nil && reply.Text == "" {
		m.mu.Lock()
		call.Used = do.usage(in)
		m.mu.Unlock()
		useTool(w, in, *do)
		return
	}
	if reply.Text == "" {
		reply.Text = usual(call.Agent, call.Prompt)
	}
	m.mu.Lock()
	call.Used = in.usage(reply.Text)
	m.mu.Unlock()
	if in.Stream {
		stream(w, in, reply.Text)
		return
	}
	whole(w, in, reply.Text)
}

// inShell is a phrase in a question. It makes the agent run the question's indented
// lines as shell commands.
const inShell = "Do this in a shell:"

// shellCall returns the tool call that runs the shell commands in a message, or nil.
// The commands are the text between [[exec: and ]], or the indented lines.
func shellCall(agent, prompt string) *toolCall {
	if do := handedOver(prompt); do != nil {
		return do
	}
	if _, rest, ok := strings.Cut(prompt, "Wardroom checks whether you have its tools. Call the tool "); ok {
		name, _, _ := strings.Cut(rest, " ")
		return &toolCall{Name: name, Args: map[string]any{}}
	}
	if _, rest, ok := strings.Cut(prompt, "[[exec:"); ok {
		command, _, _ := strings.Cut(rest, "]]")
		return &toolCall{Name: "exec", Args: map[string]any{"command": strings.TrimSpace(command)}}
	}
	standup := agent == "coo" && strings.Contains(prompt, "POST /api/v1/standups/:id/run")
	if !standup && !strings.Contains(prompt, inShell) {
		return nil
	}
	return shell(indented(prompt))
}

// indented returns the indented lines of a message. They are shell commands.
func indented(prompt string) (lines []string) {
	for line := range strings.Lines(prompt) {
		if command, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    "); ok {
			lines = append(lines, command)
		}
	}
	return lines
}

func shell(lines []string) *toolCall {
	return &toolCall{Name: "exec", Args: map[string]any{"command": strings.Join(lines, "\n")}}
}

// handedOver returns an agent's tool call in response to a prompt that dispatches a task, or nil
// for any other prompt. The call runs each command in the prompt twice: first to report that the
// work has started, then to report that it is done.
func handedOver(prompt string) *toolCall {
	if !strings.HasPrefix(prompt, "You are assigned task ") && !strings.Contains(prompt, "\nYou are assigned task ") && !strings.Contains(prompt, "] You are assigned task ") {
		return nil
	}
	var lines []string
	for _, line := range indented(prompt) {
		lines = append(lines, line, strings.Replace(line, `"kind":"ack"`, `"kind":"done","text":"All of it."`, 1))
	}
	return shell(lines)
}

// usual returns the answer of an agent without a scripted reply: a report in the
// agent's own format, or the facilitator's review.
func usual(agent, prompt string) string {
	switch {
	case agent == "coo" && strings.Contains(prompt, "action_items"):
		return review
	case agent == "cto":
		return "## Yesterday\n- Finished the login of agents\n- Reviewed the migration\n\n" +
			"## Today\n- Start on the retry of webhooks\n\n## Blockers\nNone"
	case agent == "cpo":
		return "**Yesterday:** talked to three customers about the board.\n" +
			"**Today:** write the brief for the weekly report.\n" +
			"**Blockers:** no decision yet about the trial period."
	case agent == "cmo":
		return "Blockers: none.\nToday: the launch page.\nYesterday: two drafts of the launch post."
	default:
		return "Understood."
	}
}

// review is the facilitator's review. It has one entry of each kind. It is in a code
// fence with text around it, because models often answer in this form.
const review = "Here is the review.\n\n```json\n" + `{
  "summary": "Login is done, the launch page is next. The trial period waits for a decision.",
  "resolutions": [{"blocker": 1, "resolution": "Product proposes, the owner decides tomorrow."}],
  "escalations": [{"title": "Decide about the trial period", "detail": "Product cannot price the launch without it.", "task": null}],
  "action_items": [{"title": "Write down the options for the trial period", "assignee": "cpo", "task": null}]
}` + "\n```\n"
