package master

import (
	_ "embed"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// Op is what a request asks of a master.
type Op uint8

// What can be asked.
const (
	Acquire  Op = iota // SET key token NX PX ttl, for one key; the same for several
	CountUp            // count up to a fence, if the keys hold the token
	Extend             // move the keys' end, if they hold the token; never to sooner
	Release            // delete the keys that hold the token, and tell who waits
	Inspect            // say whose the key is, and for how long
	Look               // say who it is, and what its record of tenure is
	Change             // change the record of tenure
	Describe           // say all about itself
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
	fenced   bool  // of a lock, that a fence is asked for too

	// Owe: of a release, that the key may be there, so that a master which is away
	// must get the request when it is back.
	Owe   bool
	Voter int          // comes back in the Reply
	To    chan<- Reply // must have room: a master never waits for who asked

	dialledSince clock.Instant // of Look: over a connection that is no older
}

// NewAcquire asks for keys to be set to token for ttl, if none of them exists.
func NewAcquire(keys []string, token string, ttl time.Duration, notAfter clock.Instant) Request {
	r := Request{op: Acquire, token: token, notAfter: notAfter}
	if len(keys) == 1 {
		r.args = []any{"set", keys[0], token, "nx", "px", milliseconds(ttl)}
	} else {
		r.args = script(acquireSHA, keys, token, milliseconds(ttl))
	}
	return r
}

// NewFenced is NewAcquire, and asks for a fence that is not below hint.
func NewFenced(keys []string, token string, ttl time.Duration, hint uint64, notAfter clock.Instant) Request {
	return Request{op: Acquire, token: token, notAfter: notAfter, fenced: true,
		args: append(script(fenceSHA, keys, token, milliseconds(ttl), hint), counters(keys)...)}
}

// NewCountUp asks the master to count up to a fence, if all keys hold token.
func NewCountUp(keys []string, token string, fence uint64, notAfter clock.Instant) Request {
	return Request{op: CountUp, token: token, notAfter: notAfter,
		args: append(script(countSHA, keys, token, fence), counters(keys)...)}
}

// counterFields is how many counters a master has. Names that share one skip numbers, and
// masters that are asked for them in different orders give different ones.
const counterFields = 1024

// Counter returns the field of the record that counts for a key. All clients must agree on
// this: it is the FNV-1a hash of 32 bits, modulo the number of fields.
func Counter(key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // can't fail
	return counterPrefix + strconv.Itoa(int(h.Sum32()%counterFields))
}

func counters(keys []string) []any {
	fields := make([]any, len(keys))
	for i, k := range keys {
		fields[i] = Counter(k)
	}
	return fields
}

// NewExtend asks for keys to live for ttl from now, if all hold token. It puts those back
// that are gone, if restore says so: a master may have lost them.
func NewExtend(keys []string, token string, ttl time.Duration, restore bool, notAfter clock.Instant) Request {
	flag := "0"
	if restore {
		flag = "1"
	}
	return Request{op: Extend, token: token, notAfter: notAfter,
		args: script(extendSHA, keys, token, milliseconds(ttl), flag)}
}

// NewRelease asks for those keys to be deleted that hold token; by gone, they have
// ended anyway.
func NewRelease(keys []string, token string, gone clock.Instant) Request {
	return Request{op: Release, token: token, notAfter: gone,
		args: script(releaseSHA, keys, token, milliseconds(clock.Grace))}
}

func script(sha string, keys []string, argv ...any) []any {
	args := make([]any, 0, 3+len(keys)+len(argv))
	args = append(args, "evalsha", sha, len(keys))
	for _, k := range keys {
		args = append(args, k)
	}
	return append(args, argv...)
}

// NewInspect asks whose key is.
func NewInspect(key string) Request {
	return Request{op: Inspect, args: []any{"get", key}}
}

// NewLook asks for the tail of a batch alone, over a connection that was not dialled
// before dialledSince: a new one leads to whoever is at the address now.
func NewLook(dialledSince clock.Instant) Request {
	return Request{op: Look, dialledSince: dialledSince}
}

// atExecution stands for the time at which a master changes its record.
const atExecution = tenure.Time(math.MinInt64)

// NewChange asks for a transition of the record that t shows, if that is still the record.
// It reports false if there is nothing to change.
func NewChange(t *guard.Tail, do tenure.Transition) (Request, bool) {
	after, ok := do.Apply(*t.Record, t.Process, atExecution)
	if !ok {
		return Request{}, false
	}
	values := after.Values()
	argv := []any{t.Process, t.Text, whole, strings.Join(values, separator)}
	for i, v := range values {
		argv = append(argv, tenure.Fields[i], v)
	}
	return Request{op: Change, args: script(swapSHA, []string{RecordKey}, argv...)}, true
}

// NewDescribe asks a master all about itself.
func NewDescribe() Request { return Request{op: Describe, args: []any{"info"}} }

// Reply is a master's answer to one Request. Every Request gets exactly one.
type Reply struct {
	Op     Op
	Voter  int
	Run    string // run_id of the process that answered; "" if it hides it
	Answer quorum.Answer
	Token  string        // Inspect: whose the key is; "" for nobody's
	Fence  uint64        // Acquire with a fence: which; 0 for none
	Left   time.Duration // how much longer the key lives, where it is another's; negative: for ever
	Told   int           // of a release: how many connections that wait for the key were told
	// Missing: of a refused Extend or Release, that there is no key at all.
	Missing bool
	Err     error // why the answer is unknown
	Unsent  bool  // nothing was sent, so that it can't have acted
	// Tail: of Acquire, CountUp, Extend and Look, where the client has a guard. Shared.
	Tail   *guard.Tail
	Info   string            // of Describe: INFO
	Config map[string]string // of Describe: CONFIG; nil if it is refused
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
	//go:embed acquire.lua
	acquireLua string
	//go:embed fence.lua
	fenceLua string
	//go:embed count.lua
	countLua string
	//go:embed extend.lua
	extendLua string
	//go:embed release.lua
	releaseLua string
	//go:embed swap.lua
	swapLua string
)

// The names that a master gives the scripts: their SHA-1 sums, which the handshake
// checks, so that no hash is computed here.
const (
	acquireSHA = "292d714c1273574dc3f2f3a9808e17e9abf15037"
	fenceSHA   = "91cc946e79f125a4f7d9da86f02bcdd156302f79"
	countSHA   = "6e938be9c0e244f5f337cb7903ffef866f3f64a8"
	extendSHA  = "48043bdeb34a2106c4dfa503eeae4998116e1169"
	swapSHA    = "2f42cf9e54ea57617716ab6810efca338fba5014"
	releaseSHA = "ed99b534edd0f0e33930f5fc687ec8de79fdc7db"
)

// scripts maps these names to the scripts.
var scripts = map[string]string{
	acquireSHA: acquireLua, fenceSHA: fenceLua, countSHA: countLua,
	extendSHA: extendLua, releaseSHA: releaseLua, swapSHA: swapLua,
}

// command is one request on its way: the Redis commands that it became.
type command struct {
	Request
	first  *redis.Cmd
	second *redis.Cmd // of Inspect: PTTL; of Describe: CONFIG
	third  *redis.Cmd // of Describe: more of it
}

// milliseconds rounds up: a key may outlive what its holder counts on, never the reverse.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// decode reads what the master replied. It trusts nothing but the shape it expects.
func (c *command) decode() Reply {
	if c.op == Look {
		return Reply{Answer: quorum.Granted}
	}
	value, err := c.first.Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return Reply{Err: err}
	}
	switch c.op {
	case Acquire:
		switch {
		case c.fenced:
			return decodeFence(value)
		case c.args[0] == "set":
			return decodeAcquire(value, err)
		}
		return decodeScript(value)
	case Inspect:
		return c.decodeInspect(value)
	case Describe:
		return c.decodeDescribe(value)
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

// decodeFence reads what fence.lua returns.
func decodeFence(value any) Reply {
	fence, ok := value.(int64)
	switch {
	case !ok || fence < 0 || fence > quorum.MaxFence:
		return Reply{Err: errShape}
	case fence == 0:
		return Reply{Answer: quorum.Refused}
	default:
		return Reply{Answer: quorum.Granted, Fence: uint64(fence)}
	}
}

// decodeScript reads the integer that the scripts return.
func decodeScript(value any) Reply {
	left, ok := value.(int64)
	switch {
	case !ok:
		return Reply{Err: errShape}
	case left == 0:
		return Reply{Answer: quorum.Granted}
	case left == -2:
		return Reply{Answer: quorum.Refused, Missing: true}
	case left <= -3:
		return Reply{Answer: quorum.Granted, Told: int(-3 - left)}
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

func (c *command) decodeDescribe(value any) Reply {
	info, ok := value.(string)
	if !ok {
		return Reply{Err: errShape}
	}
	r := Reply{Answer: quorum.Granted, Info: info}
	for _, config := range []*redis.Cmd{c.second, c.third} {
		pairs, err := config.StringSlice()
		if err != nil {
			return r
		}
		for pair := range slices.Chunk(pairs, 2) {
			if r.Config == nil {
				r.Config = map[string]string{}
			}
			r.Config[pair[0]] = pair[len(pair)-1]
		}
	}
	return r
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
