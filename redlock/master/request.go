package master

import (
	_ "embed"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
)

// Op is what a request asks of a master.
type Op uint8

// What can be asked.
const (
	Acquire Op = iota // SET key token NX PX ttl
	Extend            // move the key's end, if it holds the token; never to sooner
	Release           // delete the key, if it holds the token
	Inspect           // say whose the key is, and for how long
)

// Request is one question. The same one can be sent to any number of masters, with
// another Voter and Owe for each.
type Request struct {
	op    Op
	token string
	// Of a lock or an extension, the instant from which the answer is of no use to
	// anybody, so that the request is not sent any more. Of a release, the instant
	// from which the key is gone by itself.
	notAfter clock.Instant
	args     []any // the Redis command; shared, never written

	// Owe: of a release, that the key may be there, so that a master which is away
	// must get the request when it is back.
	Owe   bool
	Voter int          // comes back in the Reply
	To    chan<- Reply // must have room: a master never waits for who asked
}

// NewAcquire asks for key to be set to token for ttl, if there is no such key.
func NewAcquire(key, token string, ttl time.Duration, notAfter clock.Instant) Request {
	return Request{op: Acquire, token: token, notAfter: notAfter,
		args: []any{"set", key, token, "nx", "px", milliseconds(ttl)}}
}

// NewExtend asks for key to live for ttl from now, if it holds token.
func NewExtend(key, token string, ttl time.Duration, notAfter clock.Instant) Request {
	return Request{op: Extend, token: token, notAfter: notAfter,
		args: []any{"evalsha", extendSHA, 1, key, token, milliseconds(ttl)}}
}

// NewRelease asks for key to be deleted, if it holds token; by gone, it has ended anyway.
func NewRelease(key, token string, gone clock.Instant) Request {
	return Request{op: Release, token: token, notAfter: gone,
		args: []any{"evalsha", releaseSHA, 1, key, token}}
}

// NewInspect asks whose key is.
func NewInspect(key string) Request {
	return Request{op: Inspect, args: []any{"get", key}}
}

// Reply is a master's answer to one Request. Every Request gets exactly one.
type Reply struct {
	Op     Op
	Voter  int
	Run    string // run_id of the process that answered; "" if it hides it
	Answer quorum.Answer
	Token  string        // Inspect: whose the key is; "" for nobody's
	Left   time.Duration // how much longer the key lives, where it is another's; negative: for ever
	// Missing: of a refused Extend or Release, that there is no key at all.
	Missing bool
	Err     error // why the answer is unknown
	Unsent  bool  // nothing was sent, so that it can't have acted
}

// answer gives r's one reply.
func (r Request) answer(a Reply) {
	a.Op, a.Voter = r.op, r.Voter
	r.To <- a
}

// decline answers a request of which nothing was sent.
func (r Request) decline(err error) {
	r.answer(Reply{Err: err, Unsent: true})
}

var (
	//go:embed release.lua
	releaseLua string
	//go:embed extend.lua
	extendLua string
)

// The names that a master gives the scripts: their SHA-1 sums, which the handshake
// checks, so that no hash is computed here.
const (
	releaseSHA = "686f8d258aaf9542f6d8a5c969eb4ba10c702488"
	extendSHA  = "7f390a788057fc3131cde98cfa2110533b8b4a84"
)

// command is one request on its way: the Redis commands that it became.
type command struct {
	Request
	first  *redis.Cmd
	second *redis.Cmd // of Inspect only: PTTL
}

// milliseconds rounds up: a key may outlive what its holder counts on, never the reverse.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// decode reads what the master replied. It trusts nothing but the shape it expects.
func (c *command) decode() Reply {
	value, err := c.first.Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return Reply{Err: err}
	}
	switch c.op {
	case Acquire:
		return decodeAcquire(value, err)
	case Inspect:
		return c.decodeInspect(value)
	default:
		return decodeScript(value)
	}
}

func decodeAcquire(value any, err error) Reply {
	switch {
	case errors.Is(err, redis.Nil):
		return Reply{Answer: quorum.Refused}
	case value == "OK":
		return Reply{Answer: quorum.Granted}
	default:
		return Reply{Err: errShape}
	}
}

// decodeScript reads the integer that release.lua and extend.lua return.
func decodeScript(value any) Reply {
	left, ok := value.(int64)
	switch {
	case !ok || left < -2:
		return Reply{Err: errShape}
	case left == 0:
		return Reply{Answer: quorum.Granted}
	case left == -2:
		return Reply{Answer: quorum.Refused, Missing: true}
	default:
		return Reply{Answer: quorum.Refused, Left: time.Duration(left) * time.Millisecond}
	}
}

func (c *command) decodeInspect(value any) Reply {
	left, err := c.second.Int64()
	if err != nil {
		return Reply{Err: err}
	}
	if value == nil || left == -2 {
		return Reply{Answer: quorum.Granted} // it was free, or has just ended
	}
	token, ok := value.(string)
	if !ok || left < -2 {
		return Reply{Err: errShape}
	}
	return Reply{Answer: quorum.Refused, Token: token, Left: time.Duration(left) * time.Millisecond}
}

var errShape = errors.New("the reply has a shape that Redis would not send: is this a Redis master?")

// unfit reports whether a reply says that this connection must not be used any more:
// what answers is no master now, has not its memory yet, or has forgotten the scripts.
func unfit(err error) bool {
	if !isReply(err) || errors.Is(err, redis.Nil) {
		return false
	}
	code, _, _ := strings.Cut(err.Error(), " ")
	switch code {
	case "READONLY", "LOADING", "MASTERDOWN", "NOSCRIPT", "MOVED", "CLUSTERDOWN", "NOAUTH":
		return true
	}
	return false
}
