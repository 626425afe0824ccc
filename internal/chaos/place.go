package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

// place is where one client process after another lives.
type place struct {
	no, lives int
	name      string // of the process that lives
	process   *redistest.Process
	stdin     io.Closer // the process ends with it
}

// start has a new client live at a place.
func (s *stage) start(p *place) {
	s.t.Helper()
	p.lives++
	p.name = fmt.Sprintf("c%d.%d", p.no, p.lives)
	var direct []string
	for _, m := range s.masters {
		direct = append(direct, m.Addr())
	}
	config, err := json.Marshal(client{
		Name: p.name, Seed: s.rng.Uint64(), Kind: s.Kind, Masters: s.fronts(), Direct: direct,
		Resource: s.vault.Addr(), Checks: !s.Unfenced, Names: s.names(), Workers: s.Workers,
		MinTTL: s.MinTTL, MaxTTL: s.MaxTTL, Habits: s.Habits,
		File: filepath.Join(s.dir, p.name+".jsonl"),
	})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), clientEnv+"="+string(config))
	if err == nil {
		p.stdin, err = cmd.StdinPipe()
	}
	if err == nil {
		p.process, err = redistest.Spawn(cmd)
	}
	if err != nil {
		s.t.Fatalf("start client %s: %v", p.name, err)
	}
}

// harm kills the client of a place and starts another, or stops it for a while.
func (s *stage) harm(p *place) {
	s.t.Helper()
	if s.rng.IntN(2) == 0 {
		s.faults["a client is killed"]++
		p.end()
		s.rec.write(Event{Kind: Killed, Client: p.name})
		s.start(p)
		return
	}
	s.faults["a client is stopped"]++
	s.rec.write(Event{Kind: Paused, Client: p.name})
	err := p.process.Stop()
	time.Sleep(s.upTo(2 * s.MaxTTL))
	if err == nil {
		err = p.process.Cont()
	}
	if err != nil {
		s.t.Fatalf("client %s: %v", p.name, err)
	}
}

// end kills the client.
func (p *place) end() {
	if p.process != nil {
		p.process.Kill()
		_ = p.stdin.Close()
	}
}

// finish has the client end by itself, and returns what is wrong if it does not.
func (p *place) finish() string {
	_ = p.stdin.Close()
	gone, how := p.process.Gone()
	select {
	case <-gone:
	case <-time.After(redistest.Patience):
		return "does not end"
	}
	if h := how(); h != "exit status 0" {
		return "ended with " + h
	}
	return ""
}
