package gateway

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/plaintext"
)

// Money is summed over thousands of runs, so it must be exact.
func TestNanos(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0":                                    0,
		"0.0":                                  0,
		"0e5":                                  0,
		"1":                                    1_000_000_000,
		"0.021504":                             21_504_000,
		"0.028314":                             28_314_000,
		"0.1":                                  100_000_000,
		"0.29":                                 290_000_000, // 0.29 * 1e9 is 289999999.99999994 in a float
		"3e-7":                                 300,         // a cache read at $0.30 a million
		"3E-7":                                 300,
		"1.5e+3":                               1_500_000_000_000,
		"0.0000000004":                         0,
		"0.0000000005":                         1,
		"0.0000000015":                         2,
		"0.00000000049999":                     0,
		"9e-60":                                0,
		"9223372036.854775807":                 math.MaxInt64,
		"0.1000000000000000055511151231257827": 100_000_000,
	} {
		if got, err := number(text).nanos(); got != want || err != nil {
			t.Errorf("%s dollars are %d, %v; want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "-1", "-0.5", "9223372036.8547758075", "1e20", "1e999999999", "1e-999999999", "abc", ".5", "1.2.3", strings.Repeat("1", 300)} {
		if got, err := number(bad).nanos(); err == nil {
			t.Errorf("%q is %d", bad, got)
		}
	}
}

// A runtime whose times have fractions or other forms must not lose sessions and runs, and no client may show
// a year that cannot be.
func TestTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`1795161387199`: "2026-11-20T07:56:27.199Z", `1795161387199.9`: "2026-11-20T07:56:27.199Z", `1.795161387199e12`: "2026-11-20T07:56:27.199Z",
		`"1795161387199"`: "2026-11-20T07:56:27.199Z", `946684800000`: "2000-01-01T00:00:00.000Z", `4102444799999.5`: "2099-12-31T23:59:59.999Z",
		`946684799999.9`: "", `4102444800000`: "", `1795161387`: "", `0`: "", `-1795161387199`: "", `1e300`: "", `1e999`: "", `null`: "", `"soon"`: "", `"-"`: "", `"0x1"`: "", `{}`: "", `[1]`: "",
	} {
		var n number
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		got := ""
		if at := n.timeOrNil(); at != nil {
			got = at.Format(clock.Layout)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

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

// The delays grow up to a limit and are random.
func TestBackoff(t *testing.T) {
	t.Parallel()
	b := func(jitter float64) Backoff {
		return Backoff{Jitter: func() float64 { return jitter }}.withDefaults()
	}
	ms := time.Millisecond
	for _, test := range []struct {
		failures    int
		pace        pace
		asked       time.Duration
		least, most time.Duration
	}{
		{1, steady, 0, 125 * ms, 250 * ms},
		{2, steady, 0, 250 * ms, 500 * ms},
		{5, steady, 0, 2000 * ms, 4000 * ms},
		{8, steady, 0, 15000 * ms, 30000 * ms},
		{1 << 30, steady, 0, 15000 * ms, 30000 * ms},
		{1, quick, 0, 125 * ms, 250 * ms},
		{9, quick, 0, 500 * ms, 1000 * ms},
		{1, slow, 0, 15000 * ms, 30000 * ms},
		{1, quick, 500 * ms, 500 * ms, 625 * ms},
		{8, steady, 500 * ms, 15000 * ms, 30000 * ms},
		{1, slow, 5 * time.Minute, 5 * time.Minute, 375 * time.Second},
		{1, slow, 1000 * time.Hour, maxDelay, maxDelay * 5 / 4},
	} {
		if got := b(0).delay(test.failures, test.pace, test.asked); got != test.least {
			t.Errorf("%+v: at least %s", test, got)
		}
		if got := b(1).delay(test.failures, test.pace, test.asked); got != test.most {
			t.Errorf("%+v: at most %s", test, got)
		}
	}
	seen := map[time.Duration]bool{}
	for range 20 {
		seen[Backoff{}.withDefaults().delay(8, steady, 0)] = true
	}
	if len(seen) < 15 {
		t.Errorf("20 clients come back at only %d moments", len(seen))
	}
}

// A ring has a limited size.
func TestRing(t *testing.T) {
	t.Parallel()
	r := newRing[int](3)
	for i, key := range []string{"a", "b", "a", "c", "d", "e"} {
		r.put(key, i)
	}
	r.remove("d")
	r.remove("d")
	r.put("f", 6)
	got := ""
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if _, ok := r.get(key); ok {
			got += key
		}
	}
	if got != "cef" || len(r.order) != 3 || len(r.values) != 3 {
		t.Errorf("kept %s, %v", got, r.order)
	}
}

// The token is redacted in frames and texts, in each of its spellings.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const hard = `very"secret\token<&>`
	s := newSecrets(nil, hard)
	quoted, err := json.Marshal(map[string]string{"text": "it is " + hard + " indeed"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.frame(quoted)); got != `{"text":"it is [token] indeed"}` {
		t.Errorf("frame = %s", got)
	}
	if got := s.line("a\nb\x00 " + hard + strings.Repeat("x", 1000)); !strings.HasPrefix(got, "a b [token]xxx") || len(got) > 410 {
		t.Errorf("words = %s", got)
	}
	// A short token may be a keyword of the protocol, so frames stay unchanged.
	if got := string(newSecrets(nil, "ok").frame([]byte(`{"ok":true}`))); got != `{"ok":true}` {
		t.Errorf("frame = %s", got)
	}
	if got := newSecrets(nil, "").line("as it is"); got != "as it is" {
		t.Errorf("words = %s", got)
	}
}

// Names from agents and other hosts must not contain control characters, hidden text or
// changes of direction.
func TestTexts(t *testing.T) {
	t.Parallel()
	const hidden = "\x1b\a\x7f\x00\u009b\u202e\u2066\u200f\u061c\u200b\ufeff\u00ad\u2060\U000e0041"
	const joined = "👩\u200d💻 می\u200cخواهم ❤\ufe0f 🇩🇪"
	s := newSecrets(nil, "a-secret-of-the-house")
	for _, c := range []struct{ in, line, lines string }{
		{"Anna" + hidden + " B", "Anna B", "Anna B"},
		{"a\u2028b\u2029c\u0085d\re\r\nf\ng\th", "a b c d e f g h", "a\nb\nc\nd\ne\nf\ng\th"},
		{joined, joined, joined},
		{"a-sec\u200bret-of-the-\u2060house!", "[token]!", "[token]!"},
		{"bad \xff byte", "bad \uFFFD byte", "bad \uFFFD byte"},
	} {
		line, lines := s.line(c.in), s.multiline(c.in)
		if line != c.line {
			t.Errorf("words(%q) = %q, want %q", c.in, line, c.line)
		}
		if lines != c.lines {
			t.Errorf("said(%q) = %q, want %q", c.in, lines, c.lines)
		}
	}
	if text, cut := s.text("abc\x1bdef", 5); text != "abcde" || !cut {
		t.Errorf("text = %q, %t", text, cut)
	}
}

// FuzzFrame feeds arbitrary frames to every decoder.
func FuzzFrame(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if strings.HasSuffix(name, ".jsonl") {
			for line := range strings.Lines(string(data)) {
				f.Add([]byte(line))
			}
			continue
		}
		for _, frame := range framesIn(data) {
			f.Add(frame)
		}
	}
	s := newSecrets(nil, "test-gateway-token-0123456789abcdef")
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeFrame(s.frame(data))
		if err != nil {
			return
		}
		if (got.Type == "res") == (got.Type == "event") {
			t.Errorf("a frame of type %q", got.Type)
		}
		if got.Error != nil {
			c := &Client{secrets: s}
			_ = c.refusal(got.Error, credential{})
			if d := got.Error.retryAfter(); d < 0 || d > maxDelay {
				t.Errorf("again in %s", d)
			}
		}
		readEverything(t, got.Payload)
	})
}

// framesIn returns the frames in a recording, at any depth.
func framesIn(data []byte) [][]byte {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	var frames [][]byte
	if json.Unmarshal(data, &object) == nil {
		if _, ok := object["type"]; ok {
			return [][]byte{data}
		}
		for _, v := range object {
			frames = append(frames, framesIn(v)...)
		}
	} else if json.Unmarshal(data, &list) == nil {
		for _, v := range list {
			frames = append(frames, framesIn(v)...)
		}
	}
	return frames
}

// readEverything decodes a payload as each type that it could be.
func readEverything(t *testing.T, payload json.RawMessage) {
	if a, err := readWait(payload); err == nil && a.Outcome == "" {
		t.Errorf("a wait without an outcome: %s", payload)
	}
	if a, ended := readOutcome(payload); ended && (a.Outcome == "" || a.Outcome == Running) {
		t.Errorf("an end without an outcome: %s", payload)
	} else if a.Usage != nil && a.Usage.CostNanoUSD != nil && *a.Usage.CostNanoUSD < 0 {
		t.Errorf("it costs less than nothing: %s", payload)
	}
	var h history
	if json.Unmarshal(payload, &h) == nil {
		rows := h.rows()
		if tr := trace(rows, h, "run"); tr.Answered && tr.Answer.Outcome != Finished {
			t.Errorf("answered and %s", tr.Answer.Outcome)
		}
		for _, r := range rows {
			if m := new(Client).message(r); m.Text != plaintext.Lines(m.Text) {
				t.Errorf("what cannot be seen gets through: %q", m.Text)
			}
		}
	}
	var list roster
	if json.Unmarshal(payload, &list) == nil {
		for _, a := range list.agents(nil) {
			if text := a.ID + " " + a.Name + " " + a.IdentityName + " " + a.Emoji + " " + a.Model; text != plaintext.Lines(text) {
				t.Errorf("what cannot be seen gets through: %+v", a)
			}
		}
	}
	var greeting hello
	if json.Unmarshal(payload, &greeting) == nil {
		if n := greeting.readLimit(); n < 1<<20 || n > 64<<20 {
			t.Errorf("read limit %d", n)
		}
	}
}

// Metrics and the dashboard show only the states in this list.
func TestStatesComplete(t *testing.T) {
	t.Parallel()
	field, _ := reflect.TypeFor[Status]().FieldByName("State")
	var names []string
	for _, s := range States() {
		names = append(names, string(s))
	}
	want := strings.Split(field.Tag.Get("enum"), ",")
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("States() = %v, want those of the API, %v", names, want)
	}
}
