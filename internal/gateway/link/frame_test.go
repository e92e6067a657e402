package link

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wardroom/internal/gateway/wire"
)

// FuzzFrame feeds arbitrary frames to the decoder.
func FuzzFrame(f *testing.F) {
	files, err := filepath.Glob("../testdata/*.json*")
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
		for _, frame := range FramesIn(data) {
			f.Add(frame)
		}
	}
	s := wire.NewSecrets(nil, "test-gateway-token-0123456789abcdef")
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeFrame(s.Frame(data))
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
		var greeting hello
		if json.Unmarshal(got.Payload, &greeting) == nil {
			if n := greeting.readLimit(); n < 1<<20 || n > 64<<20 {
				t.Errorf("read limit %d", n)
			}
		}
	})
}

// FramesIn returns the frames in a recording, at any depth.
func FramesIn(data []byte) [][]byte {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	var frames [][]byte
	if json.Unmarshal(data, &object) == nil {
		if _, ok := object["type"]; ok {
			return [][]byte{data}
		}
		for _, v := range object {
			frames = append(frames, FramesIn(v)...)
		}
	} else if json.Unmarshal(data, &list) == nil {
		for _, v := range list {
			frames = append(frames, FramesIn(v)...)
		}
	}
	return frames
}
