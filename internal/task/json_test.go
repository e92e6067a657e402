package task

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"wardroom/internal/platform/clock"
)

// A field that is new, renamed or of another order would be missing in every
// answer, or broken, while the document says that it is there.
func TestAppendJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var v Task
		randomize(random, reflect.ValueOf(&v).Elem())
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		if got := append(v.AppendJSON(nil), '\n'); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("appended\n%s\nencoding/json\n%s", got, want.Bytes())
		}
	}
}

// randomize gives each field any value, and takes some away where that is possible.
func randomize(random *rand.Rand, v reflect.Value) {
	switch {
	case !v.CanSet():
	case v.Type() == reflect.TypeFor[clock.Time]():
		v.Set(reflect.ValueOf(clock.Time{Time: time.Unix(random.Int64N(4e9), random.Int64N(1e9)).In(time.FixedZone("", 3600*random.IntN(5)))}))
	case v.Kind() == reflect.Pointer:
		if random.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			randomize(random, v.Elem())
		}
	case v.Kind() == reflect.Struct:
		for _, f := range v.Fields() {
			randomize(random, f)
		}
	case v.Kind() == reflect.Slice:
		if random.IntN(4) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), random.IntN(3), 3))
		}
		for i := range v.Len() {
			randomize(random, v.Index(i))
		}
	case v.Kind() == reflect.String:
		texts := []string{"", "plain", "a \"quote\" \\ <b>", "line\nline\t\x01", "漢字 \u2028 🙂", "broken \xff"}
		v.SetString(texts[random.IntN(len(texts))])
	case v.Kind() == reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case v.Kind() == reflect.Int64:
		v.SetInt(random.Int64N(3) * random.Int64())
	default:
		panic("a kind that the test does not know: " + v.Kind().String())
	}
}
