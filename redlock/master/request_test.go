package master

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/quorum"
)

func TestScriptsHaveTheirNames(t *testing.T) {
	for sha, text := range scripts {
		sum := sha1.Sum([]byte(text))
		assert.Equal(t, hex.EncodeToString(sum[:]), sha)
	}
	assert.Len(t, scripts, 6)
}

func TestMillisecondsRoundUp(t *testing.T) {
	assert.EqualValues(t, 1, milliseconds(time.Nanosecond))
	assert.EqualValues(t, 1500, milliseconds(1500*time.Millisecond))
	assert.EqualValues(t, 2, milliseconds(1001*time.Microsecond))
}

// reply is a command that was answered with value, or err.
func reply(r Request, value any, err error) *command {
	c := &command{Request: r, first: redis.NewCmd(nil, "x"), second: redis.NewCmd(nil, "x")} //nolint:staticcheck // nothing is sent
	c.first.SetVal(value)
	c.first.SetErr(err)
	c.second.SetVal(value)
	return c
}

var questions = map[string]Request{
	"acquire":     NewAcquire([]string{"k"}, "t", time.Second, 0),
	"acquire two": NewAcquire([]string{"k", "l"}, "t", time.Second, 0),
	"fenced":      NewFenced([]string{"k"}, "t", time.Second, 0, 0),
	"extend":      NewExtend([]string{"k"}, "t", time.Second, false, 0),
	"release":     NewRelease([]string{"k"}, "t", 0),
	"inspect":     NewInspect("k"),
}

func TestDecode(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		question string
		value    any
		err      error
		want     Reply
	}{
		{"acquire", "OK", nil, Reply{Answer: quorum.Granted}},
		{"acquire", nil, redis.Nil, Reply{Answer: quorum.Refused}},
		{"acquire", nil, boom, Reply{Err: boom}},
		{"acquire", "QUEUED", nil, Reply{Err: errShape}},
		{"acquire", int64(0), nil, Reply{Err: errShape}},
		{"fenced", int64(9), nil, Reply{Answer: quorum.Granted, Fence: 9}},
		{"fenced", int64(0), nil, Reply{Answer: quorum.Refused}},
		{"fenced", int64(-1), nil, Reply{Err: errShape}},
		{"fenced", int64(1 << 53), nil, Reply{Err: errShape}},
		{"fenced", "OK", nil, Reply{Err: errShape}},
		{"acquire two", int64(0), nil, Reply{Answer: quorum.Granted}},
		{"acquire two", int64(1500), nil, Reply{Answer: quorum.Refused, Left: 1500 * time.Millisecond}},
		{"extend", int64(0), nil, Reply{Answer: quorum.Granted}},
		{"extend", int64(-2), nil, Reply{Answer: quorum.Refused, Missing: true}},
		{"extend", int64(-1), nil, Reply{Answer: quorum.Refused, Left: -time.Millisecond}},
		{"extend", "OK", nil, Reply{Err: errShape}},
		{"extend", nil, redis.Nil, Reply{Err: errShape}},
		{"release", int64(-3), nil, Reply{Answer: quorum.Granted}},
		{"release", int64(-7), nil, Reply{Answer: quorum.Granted, Told: 4}},
		{"inspect", nil, redis.Nil, Reply{Err: errShape}}, // PTTL is never nil
		{"inspect", "token", nil, Reply{Err: errShape}},   // nor a text
	} {
		got := reply(questions[tt.question], tt.value, tt.err).decode()
		if tt.want.Err != nil && errors.Is(tt.want.Err, errShape) && got.Err != nil {
			got.Err = errShape
		}
		assert.Equal(t, tt.want, got, "%s: %v, %v", tt.question, tt.value, tt.err)
	}
}

// FuzzDecode looks for a reply that grants what was not granted.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(0), "OK", int64(0))
	f.Add(uint8(1), "", int64(-9))
	f.Add(uint8(2), "ERR x", int64(5))
	f.Add(uint8(3), "", int64(0))
	f.Fuzz(func(t *testing.T, kind uint8, text string, number int64) {
		var value any
		var err error
		switch kind % 5 {
		case 0:
			value = text
		case 1:
			value = number
		case 2:
			err = errors.New(text)
		case 3:
			err = redis.Nil
		case 4:
			value = []any{text, number, nil}
		}
		for name, q := range questions {
			r := reply(q, value, err).decode()
			if r.Answer == quorum.Unknown {
				require.Error(t, r.Err, "unknown says why")
				continue
			}
			require.NoError(t, r.Err)
			if r.Answer == quorum.Granted && name != "inspect" {
				n, isNumber := value.(int64)
				require.True(t, value == "OK" && name == "acquire" || isNumber && (n == 0 || n <= -3) && name != "acquire",
					"%s: %v", name, value)
			}
		}
	})
}
