package chaos

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// L3: the history must be one of this lock. Someone who ended an attempt without the lock
// shows nothing. A lease that was not let go ends at some time after its deadline.

type step struct {
	acquire bool // else release, or the end of the lease
	id      string
	fence   uint64 // 0 for none
}

type holder struct {
	id   string // "" for nobody
	last uint64 // the greatest fence
}

var lock = porcupine.Model{
	Init: func() any { return holder{} },
	Step: func(state, input, _ any) (bool, any) {
		h, s := state.(holder), input.(step)
		switch {
		case !s.acquire:
			return h.id == s.id, holder{last: h.last}
		case h.id != "" || (s.fence != 0 && s.fence <= h.last):
			return false, h
		}
		return true, holder{id: s.id, last: s.fence}
	},
	DescribeOperation: func(input, _ any) string {
		if s := input.(step); s.acquire {
			return fmt.Sprintf("%s has it, fence %d", s.id, s.fence)
		}
		return fmt.Sprintf("%s has it no more", input.(step).id)
	},
	DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
}

// chunk is how many holds are checked together. The checker's memory grows with the square
// of it. Chunks share a hold, so that neighbours are checked against one another; those
// further apart L1 and L4 compare.
const chunk = 1000

// linearizable is L3. Of what is not, it draws a picture in the directory.
func linearizable(all []*hold, dir string) (found []Violation) {
	for name, holds := range byName(all) {
		holds = slices.DeleteFunc(holds, func(h *hold) bool { return !h.held.Before(h.until) }) // nobody believed in it
		for from := 0; from < len(holds); from += chunk {
			part := holds[from:min(from+chunk+1, len(holds))]
			result, info := porcupine.CheckOperationsVerbose(lock, operations(part), time.Minute)
			if result == porcupine.Ok {
				continue
			}
			picture := fmt.Sprintf("%s-%d.html", name, from)
			if f, err := os.Create(filepath.Join(dir, picture)); err == nil { // without it the verdict stands
				_ = porcupine.Visualize(lock, info, f)
				_ = f.Close()
			}
			found = append(found, violation("L3", "%s: %v, of holds %d and on: see %s", name, result, from, picture))
		}
	}
	return found
}

func operations(holds []*hold) (all []porcupine.Operation) {
	var clients []string
	for _, h := range holds {
		client := slices.Index(clients, h.client)
		if client < 0 {
			client, clients = len(clients), append(clients, h.client)
		}
		all = append(all,
			porcupine.Operation{ClientId: client, Input: step{true, h.id, h.fence}, Call: int64(h.begin), Return: int64(h.held)},
			// A holder begins to let go, or its lease ends: the lock is free some time after.
			porcupine.Operation{ClientId: client, Input: step{false, h.id, 0}, Call: int64(h.until), Return: math.MaxInt64},
		)
	}
	return all
}
