package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// Kind is what happened.
type Kind string

// What clients write: Begin, then Held or Failed. Of what was held: Extended, Seen, Wrote
// or Refused by the resource, and End before it is let go.
const (
	Begin    Kind = "begin"
	Failed   Kind = "failed"
	Held     Kind = "held"
	Extended Kind = "extended"
	Seen     Kind = "seen"
	Wrote    Kind = "wrote"
	Refused  Kind = "refused"
	End      Kind = "end"
	// Suspended comes before the jump of a client's clock, by which all its leases are shorter.
	Suspended Kind = "suspended"
)

// What the harness writes: what it does to clients and masters, and when that is over.
const (
	Killed Kind = "killed"
	Paused Kind = "paused"
	Fault  Kind = "fault"
	Mended Kind = "mended"
)

// Event is one line of a history.
type Event struct {
	At     clock.Instant `json:"at"` // since the machine's boot
	Kind   Kind          `json:"kind"`
	Client string        `json:"client,omitempty"` // its process
	ID     string        `json:"id,omitempty"`     // of the attempt
	Name   string        `json:"name,omitempty"`
	Until  clock.Instant `json:"until,omitempty"` // of Held and Extended: the holder's belief
	Fence  uint64        `json:"fence,omitempty"`
	Master int           `json:"master,omitempty"` // of Fault and Mended: from 1; 0 for none alone
	Detail string        `json:"detail,omitempty"` // of Failed, Refused: the error; of Fault: which
	Sights []Sight       `json:"sights,omitempty"` // of Seen
	Jump   time.Duration `json:"jump,omitempty"`   // of Suspended
}

// Sight is what one master had of a lock: nothing, if it could not be asked.
type Sight struct {
	Master int           `json:"master"` // from 1
	Until  clock.Instant `json:"until"`  // how long it keeps the holder's token, at least
}

// recorder writes a history to a file: each event at once, as the process may be killed.
type recorder struct {
	mu   sync.Mutex // guards file
	file *os.File
}

func newRecorder(path string) (*recorder, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &recorder{file: f}, err
}

// write records an event of now.
func (r *recorder) write(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.At = clock.System.Now()
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("write a history: %v", err)) // what isn't written can't be judged
	}
}

func (r *recorder) close() error { return r.file.Close() }

// load reads the histories of several processes as one, in the order of time. The last line
// of a process that was killed may be half a line.
func load(paths []string) ([]Event, error) {
	var all []Event
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e Event
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				all = append(all, e)
			}
		}
		err = lines.Err()
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return int(a.At.Sub(b.At)) })
	return all, nil
}

// hold is what the history tells of one acquisition.
type hold struct {
	id, client, name string
	begin, held      clock.Instant // Lock was called, and returned
	until            clock.Instant // the holder could believe in it
	fence            uint64
}

// holds returns all acquisitions, by the time when they were held.
func holds(history []Event) []*hold {
	begun := map[string]clock.Instant{}
	byID := map[string]*hold{}
	byClient := map[string][]*hold{}
	var all []*hold
	for _, e := range history {
		switch h := byID[e.ID]; e.Kind {
		case Begin:
			begun[e.ID] = e.At
		case Held:
			h = &hold{id: e.ID, client: e.Client, name: e.Name, begin: begun[e.ID], held: e.At, until: e.Until, fence: e.Fence}
			byID[e.ID] = h
			byClient[e.Client] = append(byClient[e.Client], h)
			all = append(all, h)
		case Extended:
			h.until = max(h.until, e.Until)
		case End:
			h.until = min(h.until, e.At)
		case Killed: // the dead believe in nothing
			for _, h := range byClient[e.Client] {
				h.until = min(h.until, e.At)
			}
		case Suspended:
			for _, h := range byClient[e.Client] {
				if e.At.Before(h.until) && h.until != clock.Never {
					h.until = max(e.At, h.until.Add(-e.Jump))
				}
			}
		default:
		}
	}
	return all
}
